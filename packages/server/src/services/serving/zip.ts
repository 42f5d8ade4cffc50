import { constants, crc32, inflateRawSync } from "node:zlib"

/** A zip archive that is not taken; the message is for its sender. */
export class ZipError extends Error {
  override readonly name = "ZipError"
}

export interface ZipLimits {
  readonly entriesMax: number
  readonly bytesMax: number
}

export interface ZipEntry {
  readonly path: string
  readonly content: Buffer
  readonly isExecutable: boolean
}

// The numbers are those of the format: PKWARE APPNOTE.TXT 6.3.10, sections 4.3 and 4.4.
const END = 0x06054b50
const END_BYTES = 22
const COMMENT_BYTES_MAX = 65_535
const CENTRAL = 0x02014b50
const CENTRAL_BYTES = 46
const LOCAL = 0x04034b50
const LOCAL_BYTES = 30
const STORED = 0
const DEFLATED = 8
const ENCRYPTED_FLAG = 1
const UNIX = 3
const TYPE_MASK = 0o170000
const REGULAR = 0o100000
const DIRECTORY = 0o040000
const ZIP64_MARK = 0xffffffff
/** Deflate cannot do better than 1032:1, so more is a lie about sizes. */
const RATIO_MAX = 1_040

const refuse = (message: string): never => {
  throw new ZipError(message)
}

const findEnd = (bytes: Buffer): number => {
  const first = Math.max(0, bytes.length - END_BYTES - COMMENT_BYTES_MAX)
  for (let at = bytes.length - END_BYTES; at >= first; at--) {
    if (bytes.readUInt32LE(at) === END && at + END_BYTES + bytes.readUInt16LE(at + 20) === bytes.length)
      return at
  }
  return refuse("it is no zip archive")
}

/** Whether a path stays below the folder it is unpacked in, on every system, and means the same to everybody. */
export const isSafePath = (path: string): boolean =>
  path.length > 0 &&
  path.length <= 512 &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be in it
  !/[\\\u0000-\u001f\u007f]/.test(path) &&
  path.isWellFormed() &&
  path.split("/").length <= 32 &&
  path
    .split("/")
    .every(part => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 255)

interface Header {
  readonly path: string
  readonly mode: number
  readonly method: number
  readonly crc: number
  readonly packedBytes: number
  readonly bytes: number
  readonly offset: number
  readonly next: number
}

const readHeader = (bytes: Buffer, at: number): Header => {
  if (at + CENTRAL_BYTES > bytes.length || bytes.readUInt32LE(at) !== CENTRAL)
    refuse("its directory is damaged")
  const nameEnd = at + CENTRAL_BYTES + bytes.readUInt16LE(at + 28)
  const next = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  if (next > bytes.length) refuse("its directory is damaged")
  if (bytes.readUInt16LE(at + 8) & ENCRYPTED_FLAG) refuse("it is encrypted")
  return {
    path: bytes.toString("utf8", at + CENTRAL_BYTES, nameEnd),
    mode: bytes.readUInt8(at + 5) === UNIX ? bytes.readUInt16LE(at + 40) : 0,
    method: bytes.readUInt16LE(at + 10),
    crc: bytes.readUInt32LE(at + 16),
    packedBytes: bytes.readUInt32LE(at + 20),
    bytes: bytes.readUInt32LE(at + 24),
    offset: bytes.readUInt32LE(at + 42),
    next,
  }
}

/** Where the packed bytes of a file begin. */
const startOf = (bytes: Buffer, { path, packedBytes, bytes: size, offset }: Header): number => {
  if ([packedBytes, size, offset].includes(ZIP64_MARK)) refuse(`${path} is too large`)
  if (offset + LOCAL_BYTES > bytes.length || bytes.readUInt32LE(offset) !== LOCAL)
    refuse(`${path} is damaged`)
  const start = offset + LOCAL_BYTES + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28)
  if (start + packedBytes > bytes.length) refuse(`${path} is cut off`)
  return start
}

const checkApart = (bytes: Buffer, files: readonly Header[]) => {
  let free = 0
  for (const file of files.toSorted((a, b) => a.offset - b.offset)) {
    if (file.offset < free) refuse("its entries overlap")
    free = startOf(bytes, file) + file.packedBytes
  }
}

const inflate = (packed: Buffer, { path, bytes }: Header): Buffer => {
  if (bytes > packed.length * RATIO_MAX) refuse(`${path} is smaller than it says`)
  try {
    // One byte more than announced: a stream that goes on is a lie about its size.
    return inflateRawSync(packed, { maxOutputLength: bytes + 1, finishFlush: constants.Z_SYNC_FLUSH })
  } catch {
    return refuse(`${path} is damaged, or larger than it says`)
  }
}

const contentOf = (archive: Buffer, header: Header): Buffer => {
  const start = startOf(archive, header)
  const packed = archive.subarray(start, start + header.packedBytes)
  if (header.method !== STORED && header.method !== DEFLATED)
    refuse(`${header.path} is compressed in a way that is not known here`)
  const content = header.method === STORED ? Buffer.from(packed) : inflate(packed, header)
  if (content.length !== header.bytes || crc32(content) !== header.crc) refuse(`${header.path} is damaged`)
  return content
}

/**
 * The files of an archive. Its directory alone counts, local headers only tell where bytes begin, and no two entries may
 * share bytes: what unpacks is bounded before anything is unpacked. Throws a ZipError for what is not a plain tree of
 * regular files within the limits.
 */
export const readZip = (archive: Buffer, { entriesMax, bytesMax }: ZipLimits): ZipEntry[] => {
  if (archive.length < END_BYTES) refuse("it is no zip archive")
  const end = findEnd(archive)
  const count = archive.readUInt16LE(end + 10)
  if (count > entriesMax) refuse(`it has more than ${entriesMax} entries`)
  const headers: Header[] = []
  let at = archive.readUInt32LE(end + 16)
  for (let index = 0; index < count; index++) {
    const header = readHeader(archive, at)
    headers.push(header)
    at = header.next
  }
  return unpack(archive, headers, bytesMax)
}

const unpack = (archive: Buffer, headers: readonly Header[], bytesMax: number): ZipEntry[] => {
  const files = headers.filter(header => !isDirectory(header))
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > bytesMax) refuse(`it unpacks to more than ${bytesMax} bytes`)
  checkApart(archive, files)
  const seen = new Set<string>()
  return files.map(header => {
    const { path, mode } = header
    if (!isSafePath(path)) refuse(`the path ${JSON.stringify(path.slice(0, 200))} is not allowed`)
    if (seen.has(path)) refuse(`${path} is there twice`)
    seen.add(path)
    const type = mode & TYPE_MASK
    if (type !== 0 && type !== REGULAR) refuse(`${path} is not a regular file`)
    return { path, content: contentOf(archive, header), isExecutable: (mode & 0o111) !== 0 }
  })
}

const isDirectory = ({ path, mode }: Header): boolean =>
  (path.endsWith("/") && isSafePath(path.slice(0, -1))) || (mode & TYPE_MASK) === DIRECTORY
