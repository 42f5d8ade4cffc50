import type { IncomingMessage, ServerResponse } from "node:http"
import type { ReadBody } from "./forward.ts"
import { hasBody } from "./request-guard.ts"

/**
 * The first bytes of a body, for whoever looks at it before it goes on; undefined where there is none. Waits for no more
 * than `bytesMax`, and for less where the body ends. Undefined too where the client hung up.
 */
export const readAhead = (
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
): Promise<ReadBody | undefined> => {
  if (!hasBody(request)) return Promise.resolve(undefined)
  if (request.headers.expect !== undefined) response.writeContinue()
  const { promise, resolve } = Promise.withResolvers<ReadBody | undefined>()
  const chunks: Buffer[] = []
  let size = 0
  const done = (isWhole: boolean) => {
    request.off("data", take).off("end", end).off("close", gone).off("error", gone)
    resolve({ bytes: Buffer.concat(chunks), isWhole })
  }
  const take = (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size < bytesMax) return
    request.pause()
    done(false)
  }
  const end = () => done(true)
  const gone = () => resolve(undefined)
  request.on("data", take).on("end", end).on("close", gone).on("error", gone)
  return promise
}

/** Whether all of a body is small enough to be kept, so that the request can be sent twice. */
export const isSmall = ({ headers }: IncomingMessage, bytesMax: number): boolean =>
  headers["content-length"] !== undefined && Number(headers["content-length"]) <= bytesMax
