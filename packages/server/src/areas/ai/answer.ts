/** Whole answers of upstreams, read and judged. */
import type { Readable } from "node:stream"
import { Cancelled, failureInside, failureOfStatus, UpstreamFailure } from "./failure.ts"
import { ANSWER_BYTES_MAX, type Flight, type UpstreamAnswer } from "./upstream-client.ts"

const ERROR_BYTES_MAX = 64 * 1024

const collect = async (body: Readable, flight: Flight, bytesMax: number, isCut: boolean): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      flight.touch()
      bytes += chunk.length
      if (bytes <= bytesMax) chunks.push(chunk)
      else if (isCut) break
      else throw new UpstreamFailure("transient", `its answer is longer than ${bytesMax} bytes`)
    }
  } catch (error) {
    const failure = flight.reason() ?? error
    if (failure instanceof UpstreamFailure || failure instanceof Cancelled) throw failure
    throw new UpstreamFailure("transient", "its answer broke off", { cause: error })
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/** Throws the failure that a status other than 2xx is. */
export const checkStatus = async (
  { status, headers, body }: UpstreamAnswer,
  flight: Flight,
  nowMs: number,
): Promise<void> => {
  if (status >= 200 && status < 300) return
  const bytes = await collect(body, flight, ERROR_BYTES_MAX, true)
  throw failureOfStatus(status, headers, parse(bytes), nowMs)
}

export const readBytes = (answer: UpstreamAnswer, flight: Flight): Promise<Buffer> => {
  flight.started()
  return collect(answer.body, flight, ANSWER_BYTES_MAX, false)
}

export interface JsonAnswer {
  /** As they came. */
  readonly bytes: Buffer
  readonly value: Readonly<Record<string, unknown>>
}

/** A JSON object that has this list; whatever else comes with status 200 is a failure. */
export const readJson = async (
  answer: UpstreamAnswer,
  flight: Flight,
  listName: string,
  nowMs: number,
): Promise<JsonAnswer> => {
  const bytes = await readBytes(answer, flight)
  const value = parse(bytes)
  if (typeof value !== "object" || value === null)
    throw new UpstreamFailure("transient", "its answer is not the JSON that was asked for")
  const fields = value as Record<string, unknown>
  if (Array.isArray(fields[listName])) return { bytes, value: fields }
  if (fields.error) throw failureInside(fields, nowMs)
  throw new UpstreamFailure("transient", `its answer has no ${listName}`)
}
