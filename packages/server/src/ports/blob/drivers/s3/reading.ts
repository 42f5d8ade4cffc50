import { Readable } from "node:stream"
import { GetObjectCommand, type GetObjectCommandOutput } from "@aws-sdk/client-s3"
import { PortError } from "../../../port-error.ts"
import type { ByteRange } from "../../port.ts"
import { asPortError, type Bucket, rejectAsPortError } from "./client.ts"

const CHUNK_BYTES = 64 * 1024

const broken = (why: string): PortError => new PortError("unavailable", `the blob server ${why}`)

/** Which bytes a body has. Servers may give more than was asked for, up to everything. */
const rangeOf = ({ ContentRange = "", ContentLength = 0 }: GetObjectCommandOutput): ByteRange => {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(ContentRange)
  if (!match) return { start: 0, end: ContentLength - 1 }
  const total = match[3] === "*" ? Number.POSITIVE_INFINITY : Number(match[3])
  return { start: Number(match[1]), end: Math.min(Number(match[2]), total - 1) }
}

/** Chunks of a body, each within the time. */
async function* inTime(body: Readable, timeoutMs: number): AsyncGenerator<Uint8Array> {
  const chunks = body.iterator({ destroyOnReturn: true })
  try {
    for (;;) {
      const timer = setTimeout(() => body.destroy(broken("stopped in the middle of a blob")), timeoutMs)
      const { done, value } = await chunks.next().finally(() => clearTimeout(timer))
      if (done) return
      yield value
    }
  } catch (error) {
    throw asPortError(error)
  } finally {
    body.destroy()
  }
}

/** Of a body that has `has`, the bytes `wanted`, all of them. */
async function* cut(
  chunks: AsyncIterable<Uint8Array>,
  has: ByteRange,
  wanted: ByteRange,
): AsyncGenerator<Uint8Array> {
  let at = has.start
  for await (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, wanted.start - at), Math.max(0, wanted.end + 1 - at))
    at += chunk.length
    if (part.length > 0) yield part
    if (at > wanted.end) return
  }
  if (at <= wanted.end) throw broken("ended a blob early")
}

export interface Opened {
  readonly stream: Readable
  readonly metadata: Readonly<Record<string, string>>
}

export const openObject = async (
  { client, bucket, timeoutMs }: Bucket,
  key: string,
  range?: ByteRange,
): Promise<Opened> => {
  const asked = range && `bytes=${range.start}-${range.end}`
  const answer = await client
    .send(new GetObjectCommand({ Bucket: bucket, Key: key, ...(asked && { Range: asked }) }))
    .catch(rejectAsPortError)
  const body = answer.Body
  if (!(body instanceof Readable)) throw broken("gave no body")
  // Whoever reads hears of an error; before anybody does it must not end the process.
  body.on("error", () => undefined)
  const has = rangeOf(answer)
  const wanted = range ?? has
  if (wanted.start < has.start || wanted.end > has.end) {
    body.destroy()
    throw new PortError("refused", "the blob ends before the range does")
  }
  const stream = Readable.from(cut(inTime(body, timeoutMs), has, wanted), {
    objectMode: false,
    highWaterMark: CHUNK_BYTES,
  })
  // A stream that nobody began to read never starts its generators, which would close the body.
  stream.once("close", () => body.destroy())
  return { stream, metadata: answer.Metadata ?? {} }
}
