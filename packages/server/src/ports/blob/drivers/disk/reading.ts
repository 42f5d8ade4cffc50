import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { Readable } from "node:stream"
import { PortError } from "../../../port-error.ts"
import type { ByteRange } from "../../port.ts"
import { asPortError, rejectAsPortError } from "./failures.ts"

/** What a stream holds at most twice of. */
const CHUNK_BYTES = 256 * 1024
/** What is read before the answer; blobs of up to this are there with it, and their files closed. */
const FIRST_BYTES = 64 * 1024

const tooShort = (): PortError => new PortError("refused", "the blob ends before the range does")

export const openForReading = (path: string): Promise<FileHandle> =>
  open(path, constants.O_RDONLY | constants.O_NOFOLLOW)

/** A buffer of its own size: a small blob must not keep a large one in memory. */
const readAt = async (handle: FileHandle, position: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafeSlow(length)
  const { bytesRead } = await handle.read(buffer, 0, length, position)
  if (bytesRead === length) return buffer
  return bytesRead > length / 2 ? buffer.subarray(0, bytesRead) : Buffer.from(buffer.subarray(0, bytesRead))
}

/** The rest of a file, whose first chunk was read already. `left` is infinite where the file decides. */
const streamRest = (handle: FileHandle, first: Buffer, start: number, length: number): Readable => {
  let position = start + first.length
  let left = length - first.length

  const readNext = async (stream: Readable): Promise<void> => {
    try {
      const wanted = Math.min(CHUNK_BYTES, left)
      const chunk = wanted === 0 ? undefined : await readAt(handle, position, wanted)
      if (chunk && chunk.length > 0) {
        position += chunk.length
        left -= chunk.length
        stream.push(chunk)
      } else if (left === 0 || left === Number.POSITIVE_INFINITY) stream.push(null)
      else throw tooShort()
    } catch (error) {
      stream.destroy(asPortError(error))
    }
  }

  const stream = new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      void readNext(this)
    },
    destroy(error, done) {
      handle.close().then(
        () => done(error),
        closeError => done(error ?? asPortError(closeError)),
      )
    },
  })
  stream.push(first)
  return stream
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
    if (first.length === wanted && length > wanted) return streamRest(handle, first, start, length)
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
