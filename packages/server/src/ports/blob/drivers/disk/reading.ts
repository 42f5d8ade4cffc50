import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { Readable } from "node:stream"
import type { ByteRange } from "../../port.ts"
import { asPortError, rejectAsPortError } from "./failures.ts"
import { CHUNK_BYTES, FileBody, tooShort } from "./file-body.ts"

/** What is read before the answer; blobs of up to this are there with it, and their files closed. */
const FIRST_BYTES = 64 * 1024

export const openForReading = (path: string): Promise<FileHandle> =>
  open(path, constants.O_RDONLY | constants.O_NOFOLLOW)

/** A buffer of its own size: a small blob must not keep a large one in memory. */
const readAt = async (handle: FileHandle, position: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafeSlow(length)
  const { bytesRead } = await handle.read(buffer, 0, length, position)
  if (bytesRead === length) return buffer
  return bytesRead > length / 2 ? buffer.subarray(0, bytesRead) : Buffer.from(buffer.subarray(0, bytesRead))
}

const streamOf = (bytes: Buffer): Readable => {
  const stream = new Readable({ read() {} })
  if (bytes.length > 0) stream.push(bytes)
  stream.push(null)
  return stream
}

export const readFile = async (path: string, range: ByteRange | undefined): Promise<Readable> => {
  const start = range?.start ?? 0
  const length = range ? range.end - start + 1 : Number.POSITIVE_INFINITY
  const handle = await openForReading(path).catch(rejectAsPortError)
  try {
    const wanted = Math.min(FIRST_BYTES, length)
    const first = await readAt(handle, start, wanted)
    if (first.length === wanted && length > wanted) return new FileBody(handle, first, start, length)
    if (range && first.length < length) throw tooShort()
    await handle.close()
    return streamOf(first)
  } catch (error) {
    await handle.close().catch(() => undefined)
    throw asPortError(error)
  }
}

/** The chunks of a whole file, one in memory at a time. */
export async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const chunk = await readAt(handle, position, CHUNK_BYTES)
    if (chunk.length === 0) return
    position += chunk.length
    yield chunk
  }
}
