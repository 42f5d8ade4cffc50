/**
 * Reads commits out of segments, as far as their time is concerned. Layouts of PostgreSQL 16 to 18, little-endian:
 * src/include/access/xlog_internal.h (pages), xlogrecord.h (records), xact.h (commits).
 */
import type { Lsn } from "../../../port.ts"
import { type Archive, readWalFile, replayFiles } from "./archive.ts"
import { formatLsn, parseSegmentName, segmentStart } from "./position.ts"

export interface Commit {
  readonly time: Date
  /** Where its record ends. */
  readonly lsn: Lsn
}

/** How much is searched: a database in which so much was written without any commit has none worth telling. */
const SEARCHED_BYTES_MAX = 64 * 1024 ** 2

const PAGE_BYTES = 8192
const PAGE_HEADER_BYTES = 24
const LONG_PAGE_HEADER_BYTES = 40
const PAGE_INFO_AT = 2
const PAGE_POSITION_AT = 8
const REMAINING_AT = 16
const LONG_HEADER = 0x0002
/** The record that reaches into this page was never finished: a crashed server began anew here. */
const OVERWRITTEN = 0x0008

const RECORD_HEADER_BYTES = 24
const PREVIOUS_AT = 8
const INFO_AT = 16
const MANAGER_AT = 17
const CHECKSUM_AT = 20
const TRANSACTION_MANAGER = 1
const OPERATION_MASK = 0x70
/** COMMIT, COMMIT PREPARED. */
const COMMITS: ReadonlySet<number> = new Set([0x00, 0x30])
const SHORT_DATA = 255
const LONG_DATA = 254
const ORIGIN = 253
const TOP_TRANSACTION = 252
const POSTGRES_EPOCH_MS = 946_684_800_000

/** CRC-32C, reflected, as PostgreSQL's pg_crc32c. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  return crc
})

const crc32c = (parts: readonly Buffer[]): number => {
  let crc = 0xffff_ffff
  for (const part of parts) for (const byte of part) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0)
  return (crc ^ 0xffff_ffff) >>> 0
}

const align = (offset: number): number => (offset + 7) & ~7

/** The contents of pages one after another, so that records are in one piece. */
interface Contents {
  readonly bytes: Buffer
  /** Where a record is known to begin: the first of each segment, and where an unfinished one was given up. */
  readonly beginnings: readonly number[]
  /** Those of the latter kind: what reaches across is no record. */
  readonly cuts: readonly number[]
  /** The position of what is at an offset. */
  positionAt(offset: number): bigint
}

const readContents = (segments: readonly { bytes: Buffer; position: bigint }[]): Contents => {
  const pieces: Buffer[] = []
  const pages: { offset: number; position: bigint }[] = []
  const beginnings: number[] = []
  const cuts: number[] = []
  let length = 0
  for (const { bytes, position } of segments) {
    for (let at = 0; at + PAGE_BYTES <= bytes.length; at += PAGE_BYTES) {
      // A page that was not written yet, or one of the file's earlier use.
      if (bytes.readBigUInt64LE(at + PAGE_POSITION_AT) !== position + BigInt(at)) break
      const info = bytes.readUInt16LE(at + PAGE_INFO_AT)
      const header = info & LONG_HEADER ? LONG_PAGE_HEADER_BYTES : PAGE_HEADER_BYTES
      if (at === 0) beginnings.push(length + align(bytes.readUInt32LE(REMAINING_AT)))
      else if (info & OVERWRITTEN) beginnings.push(length)
      if (info & OVERWRITTEN) cuts.push(length)
      pages.push({ offset: length, position: position + BigInt(at + header) })
      pieces.push(bytes.subarray(at + header, at + PAGE_BYTES))
      length += PAGE_BYTES - header
    }
  }
  const positionAt = (offset: number) => {
    let [low, high] = [0, pages.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((pages[middle]?.offset ?? 0) <= offset) low = middle
      else high = middle
    }
    const page = pages[low]
    return page ? page.position + BigInt(offset - page.offset) : 0n
  }
  return { bytes: Buffer.concat(pieces), beginnings, cuts, positionAt }
}

/** The time of a commit; undefined when the record is another one, or not whole. */
const commitTime = (record: Buffer): Date | undefined => {
  if (record[MANAGER_AT] !== TRANSACTION_MANAGER || !COMMITS.has((record[INFO_AT] ?? 0) & OPERATION_MASK))
    return undefined
  const checked = crc32c([record.subarray(RECORD_HEADER_BYTES), record.subarray(0, CHECKSUM_AT)])
  if (checked !== record.readUInt32LE(CHECKSUM_AT)) return undefined
  let at = RECORD_HEADER_BYTES
  while (record[at] === ORIGIN || record[at] === TOP_TRANSACTION) at += record[at] === ORIGIN ? 3 : 5
  const size =
    record[at] === SHORT_DATA ? record[at + 1] : record[at] === LONG_DATA ? record.readUInt32LE(at + 1) : 0
  if (!size || size < 8) return undefined
  const microseconds = record.readBigInt64LE(record.length - size)
  return new Date(Number(microseconds / 1000n) + POSTGRES_EPOCH_MS)
}

const lastIn = ({ bytes, beginnings, cuts, positionAt }: Contents): Commit | undefined => {
  let last: Commit | undefined
  let previous: bigint | undefined
  let at = beginnings[0] ?? bytes.length
  while (at + RECORD_HEADER_BYTES <= bytes.length) {
    const end = at + bytes.readUInt32LE(at)
    const isWhole = end - at >= RECORD_HEADER_BYTES && end <= bytes.length
    const isCut = cuts.some(cut => at < cut && cut < end)
    const follows = previous === undefined || bytes.readBigUInt64LE(at + PREVIOUS_AT) === previous
    if (isWhole && follows && !isCut) {
      const time = commitTime(bytes.subarray(at, end))
      if (time) last = { time, lsn: formatLsn(positionAt(end - 1) + 1n) }
      previous = positionAt(at)
      at = align(end)
    } else {
      // After a switch the rest of the segment is empty; at the end of the log there is no other beginning.
      const from = at
      at = beginnings.find(beginning => beginning > from) ?? bytes.length
      previous = undefined
    }
  }
  return last
}

/**
 * The last commit of the newest timeline, or of the one given; undefined when there is none in the last 64 MB. A time
 * is that of the server's clock when it committed.
 */
export const lastCommit = async (archive: Archive, timeline?: number): Promise<Commit | undefined> => {
  const { segments, segmentBytes } = archive
  const [first] = segments
  const newest = timeline ?? segments.at(-1)?.timeline
  if (!first || newest === undefined || segmentBytes === undefined) return undefined
  const from = { timeline: first.timeline, redo: formatLsn(segmentStart(first.number, segmentBytes)) }
  const numbered = replayFiles(archive, { from, timeline: newest }).files.flatMap(({ name, path }) => {
    const parsed = parseSegmentName(name, segmentBytes)
    return parsed ? [{ path, position: segmentStart(parsed.number, segmentBytes) }] : []
  })
  // From the end on, more each time: as a rule the last segments hold a commit.
  for (let count = 2; ; count *= 4) {
    const read = numbered.slice(-count)
    const loaded = await Promise.all(
      read.map(async ({ path, position }) => ({ bytes: await readWalFile({ path }), position })),
    )
    const found = lastIn(readContents(loaded))
    if (found || read.length === numbered.length || count * segmentBytes >= SEARCHED_BYTES_MAX) return found
  }
}
