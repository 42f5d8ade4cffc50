import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"
import { FUNCTION_CODE_BYTES_MAX, FUNCTION_FILES_MAX } from "@svc/contract"
import { isSafePath, readZip, type ZipEntry, ZipError } from "./zip.ts"

/** The files of a program, under paths relative to its folder. */
export type CodeFile = ZipEntry

/** Files as they are kept. */
export interface Code {
  readonly sha256: string
  /** gzip of: length of the directory (4 bytes), the directory as JSON, the contents one after the other. */
  readonly pack: Buffer
  readonly sizeBytes: number
  readonly files: number
}

const LIMITS = { entriesMax: FUNCTION_FILES_MAX, bytesMax: FUNCTION_CODE_BYTES_MAX }

/** Files that cannot be stored; the message tells the person who sent them why. */
export class SourceError extends Error {
  override readonly name = "SourceError"
}

const unusable = (reason: string) => new SourceError(reason)

export const fromZip = (archive: Buffer): CodeFile[] => {
  try {
    return readZip(archive, LIMITS)
  } catch (error) {
    if (error instanceof ZipError) throw unusable(error.message)
    throw error
  }
}

export const fromBase64 = (field: string, text: string): Buffer => {
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text)) throw unusable(`${field} is not base64`)
  return Buffer.from(text, "base64")
}

export const fromBase64Zip = (field: string, text: string): CodeFile[] => fromZip(fromBase64(field, text))

export const fromFiles = (files: Readonly<Record<string, string>>): CodeFile[] =>
  Object.entries(files).map(([path, text]) => {
    if (!isSafePath(path)) throw unusable(`the path ${JSON.stringify(path.slice(0, 200))} is not allowed`)
    return { path, content: Buffer.from(text), isExecutable: false }
  })

/** A file cannot be a folder too. */
const checkTree = (files: readonly CodeFile[]) => {
  const paths = new Set(files.map(({ path }) => path))
  for (const { path } of files) {
    for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1)) {
      if (paths.has(path.slice(0, slash))) throw unusable(`${path.slice(0, slash)} is a file and a folder`)
    }
  }
}

export const packCode = async (given: readonly CodeFile[]): Promise<Code> => {
  if (given.length === 0) throw unusable("it has no file")
  const sizeBytes = given.reduce((sum, { content }) => sum + content.length, 0)
  if (given.length > FUNCTION_FILES_MAX) throw unusable(`it has more than ${FUNCTION_FILES_MAX} files`)
  if (sizeBytes > FUNCTION_CODE_BYTES_MAX) throw unusable(`it has more than ${FUNCTION_CODE_BYTES_MAX} bytes`)
  checkTree(given)
  // The same files give the same digest, in whatever order they came.
  const files = given.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const directory = Buffer.from(
    JSON.stringify(files.map(({ path, content, isExecutable }) => [path, content.length, isExecutable])),
  )
  const length = Buffer.alloc(4)
  length.writeUInt32LE(directory.length)
  const whole = Buffer.concat([length, directory, ...files.map(({ content }) => content)])
  const sha256 = createHash("sha256").update(whole).digest("hex")
  return { sha256, pack: await promisify(gzip)(whole), sizeBytes, files: files.length }
}

export const unpackCode = async (pack: Buffer): Promise<CodeFile[]> => {
  const whole = await promisify(gunzip)(pack)
  const start = 4 + whole.readUInt32LE(0)
  const directory = JSON.parse(whole.toString("utf8", 4, start)) as [string, number, boolean][]
  let at = start
  return directory.map(([path, bytes, isExecutable]) => {
    const content = whole.subarray(at, at + bytes)
    at += bytes
    return { path, content, isExecutable }
  })
}
