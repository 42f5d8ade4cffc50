import { type FileHandle, open, rename } from "node:fs/promises"
import { join } from "node:path"
import { segmentAt, segmentName, segmentStart } from "./position.ts"

export const PARTIAL = ".partial"
const ZEROS = Buffer.alloc(1024 ** 2)

/** Writes the log of one timeline into segment files of an archive. One call at a time. */
export interface SegmentWriter extends AsyncDisposable {
  /**
   * Appends what follows on everything before. When this resolves the bytes survive a crash of the machine, and
   * segments that are full have their final names. After an error nothing more may be written: what the kernel has
   * dropped of a file it may not tell twice, so the whole segment is to be written again.
   */
  append(position: bigint, chunks: readonly Buffer[]): Promise<void>
}

/** What was made or renamed in a folder is on disk after this. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r")
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/**
 * Opens the file of a segment as it is, since what it holds may be the only copy of something that was acknowledged:
 * writing the same log over it changes nothing. It has its full size from the start, as PostgreSQL's own have, so that
 * syncing what is written into it later need not touch the file system's metadata.
 */
const openPartial = async (path: string, segmentBytes: number): Promise<FileHandle> => {
  const file = await open(path, "r+").catch(error => {
    if (error.code !== "ENOENT") throw error
    return open(path, "wx+", 0o600)
  })
  const { size } = await file.stat()
  try {
    for (let filled = size; filled < segmentBytes; ) {
      const { bytesWritten } = await file.write(
        ZEROS,
        0,
        Math.min(ZEROS.length, segmentBytes - filled),
        filled,
      )
      filled += bytesWritten
    }
    return file
  } catch (error) {
    // Of a full disk the last blocks are the server's, which needs some to go on without an archive.
    await file.truncate(size).catch(() => undefined)
    await file.close()
    throw error
  }
}

const writeAll = async (file: FileHandle, chunks: readonly Buffer[], offset: number): Promise<void> => {
  const total = chunks.reduce((sum, { length }) => sum + length, 0)
  const { bytesWritten } = await file.writev(chunks, offset)
  if (bytesWritten === total) return
  const rest = Buffer.concat(chunks).subarray(bytesWritten)
  for (let written = 0; written < rest.length; ) {
    const last = await file.write(rest, written, rest.length - written, offset + bytesWritten + written)
    written += last.bytesWritten
  }
}

/** The first `bytes` of chunks, and what is left of them. */
const splitAfter = (chunks: readonly Buffer[], bytes: number): [Buffer[], Buffer[]] => {
  const head: Buffer[] = []
  const tail: Buffer[] = []
  let room = bytes
  for (const chunk of chunks) {
    if (room > 0) head.push(chunk.subarray(0, room))
    if (chunk.length > room) tail.push(chunk.subarray(room))
    room = Math.max(0, room - chunk.length)
  }
  return [head, tail]
}

/** `start` is where the first append begins: the beginning of a segment. */
export const createSegmentWriter = (options: {
  readonly walDir: string
  readonly timeline: number
  readonly segmentBytes: number
  readonly start: bigint
}): SegmentWriter => {
  const { walDir, timeline, segmentBytes, start } = options
  let next = start
  let current: { readonly file: FileHandle; readonly path: string; readonly number: bigint } | undefined

  const begin = async (number: bigint) => {
    const path = join(walDir, segmentName(timeline, number, segmentBytes))
    const opened = { file: await openPartial(path + PARTIAL, segmentBytes), path, number }
    current = opened
    await syncDirectory(walDir)
    return opened
  }

  const finish = async ({ file, path }: { file: FileHandle; path: string }) => {
    current = undefined
    await file.close()
    await rename(path + PARTIAL, path)
    await syncDirectory(walDir)
  }

  /** Writes chunks that lie in one segment. */
  const writePart = async (chunks: readonly Buffer[], bytes: number) => {
    const number = segmentAt(next, segmentBytes)
    const segment = current ?? (await begin(number))
    const offset = Number(next - segmentStart(number, segmentBytes))
    await writeAll(segment.file, chunks, offset)
    await segment.file.datasync()
    next += BigInt(bytes)
    if (offset + bytes === segmentBytes) await finish(segment)
  }

  return {
    async append(position, chunks) {
      if (position !== next) throw new Error(`the log goes on at ${position}, not at ${next}`)
      let rest = chunks
      let bytes = chunks.reduce((sum, { length }) => sum + length, 0)
      while (bytes > 0) {
        const room = segmentBytes - Number(next % BigInt(segmentBytes))
        const [part, after] = splitAfter(rest, room)
        const partBytes = Math.min(bytes, room)
        await writePart(part, partBytes)
        rest = after
        bytes -= partBytes
      }
    },
    async [Symbol.asyncDispose]() {
      await current?.file.close()
      current = undefined
    },
  }
}
