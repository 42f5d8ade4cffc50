import type { IncomingMessage, ServerResponse } from "node:http"
import type { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Envelope } from "@svc/contract"
import { DirectBody } from "../direct-body.ts"
import { requestIdFor } from "../pipeline.ts"
import { hasBody } from "./body.ts"

export const NO_STORE = { "cache-control": "no-store" } as const

/** By name in lower case. */
export type ReplyHeaders = Record<string, string | string[]>

/** Bytes and time for which an unwanted body is still read, so that its sender receives the reply. */
const LINGER_MS = 2000
const LINGER_BYTES_MAX = 16 * 1024 * 1024

/** The request's own id when it sent a usable one. */
export const requestIdOf = ({ headers }: IncomingMessage): string => {
  const given = headers["x-request-id"]
  return requestIdFor(typeof given === "string" ? given : undefined)
}

const awaitsBody = (request: IncomingMessage): boolean => !request.complete && hasBody(request)

/**
 * Answers before the body has arrived. The connection ends with the answer, so that no byte of the body can be taken
 * for the next request; but not at once, because closing on a client that still sends makes its system drop the
 * answer unread (RFC 9112, 9.6).
 */
const endBeforeBody = (request: IncomingMessage, response: ServerResponse, body: string | Uint8Array) => {
  response.flushHeaders()
  if (body.length > 0) response.write(body)
  let bytes = 0
  const end = () => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, LINGER_MS)
  request.once("end", end).once("close", end)
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > LINGER_BYTES_MAX) end()
  })
  request.resume()
}

interface Ready {
  readonly response: ServerResponse
  readonly body: string | Uint8Array
}

let ready: Ready[] = []

const writeReady = () => {
  const batch = ready
  ready = []
  for (const { response, body } of batch) response.end(body)
}

/**
 * Writes at the end of this turn of the event loop, with all other replies of the turn. Each write to a client that
 * sleeps has the kernel wake it; written together, the first one does and the others find it awake. A key-value read
 * costs a fifth less for it.
 */
const writeSoon = (response: ServerResponse, body: string | Uint8Array) => {
  if (ready.push({ response, body }) === 1) setImmediate(writeReady)
}

/** Writes a whole reply of JSON; `headers` is completed in place. */
export const send = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string>,
): void => {
  const text = body === undefined ? "" : JSON.stringify(body)
  if (text !== "") headers["content-type"] = "application/json; charset=utf-8"
  if (status === 401) headers["www-authenticate"] ??= "Bearer"
  sendWhole(request, response, status, text, headers)
}

/** Writes a whole reply; `headers` names its content type. */
export const sendWhole = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: string | Uint8Array,
  headers: ReplyHeaders,
): void => {
  // The answer to HEAD may tell the length of what GET would send.
  if (status !== 204 && status !== 304 && !(request.method === "HEAD" && body.length === 0))
    headers["content-length"] = String(Buffer.byteLength(body))
  if (!awaitsBody(request)) {
    response.writeHead(status, headers)
    writeSoon(response, body)
    return
  }

  // A small body lies in the packet that the parser is just working through: one turn later it is here.
  setImmediate(() => {
    if (!awaitsBody(request) || request.destroyed) return response.writeHead(status, headers).end(body)
    headers.connection = "close"
    response.writeHead(status, headers)
    endBeforeBody(request, response, body)
  })
}

/**
 * The text of a refusal in a protocol's own form, its content type, what else that protocol tells in headers, and its
 * status where that differs from ours.
 */
export type RenderError = (
  refusal: RefusalBody,
  request: IncomingMessage,
) => {
  readonly type: string
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly status?: number
}

/** By the envelope of the operation that refuses. */
export type RenderErrors = { readonly [Name in Envelope]?: RenderError }

/** What every refusal tells. */
export interface RefusalBody {
  readonly code: string
  readonly error: string
  readonly request_id: string
}

const WHOLE_BYTES_MAX = 64 * 1024
/** How long headers wait for a first byte. */
const HEADERS_ALONE_MS = 10

/** All bytes of a stream that has them ready. Sent at once they cost a small object half of what a pipe does. */
const takeWhole = (body: Readable, headers: Readonly<ReplyHeaders>): Buffer | undefined => {
  const length = Number(headers["content-length"])
  const isReady = length > 0 && length <= WHOLE_BYTES_MAX && body.readableLength === length
  return isReady && !body.readableObjectMode ? (body.read(length) ?? undefined) : undefined
}

const sendDirect = async (body: DirectBody, response: ServerResponse): Promise<void> => {
  await body.sendTo(response)
  response.end()
}

/**
 * Writes a body as it comes, as fast as the caller takes it; `headers` names its content type. A source that fails
 * breaks the connection off, because the status has left already, and a caller that hangs up destroys the source.
 */
export const sendStream = async (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: Readable,
  headers: ReplyHeaders,
): Promise<void> => {
  const whole = takeWhole(body, headers)
  if (whole) return sendWhole(request, response, status, whole, headers)
  if (awaitsBody(request)) headers.connection = "close"
  response.writeHead(status, headers)
  if (request.method === "HEAD") {
    body.destroy()
    response.end()
    return
  }
  // Otherwise the first byte takes them along, which may be long in coming.
  const timer = setTimeout(() => response.flushHeaders(), HEADERS_ALONE_MS)
  const sent = body instanceof DirectBody ? sendDirect(body, response) : pipeline(body, response)
  await sent.catch(() => response.destroy())
  clearTimeout(timer)
}
