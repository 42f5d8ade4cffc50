import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type Fault, fault } from "../fault.ts"
import { refusal, requestIdFor } from "../pipeline.ts"
import { hasBody } from "./body.ts"

/** How much and how long is still read of a body that nobody wants, so that its sender gets to see the answer. */
const LINGER_MS = 2000
const LINGER_BYTES_MAX = 16 * 1024 * 1024

/** The request's own id when it sent a usable one. */
export const requestIdOf = ({ headers }: IncomingMessage): string => {
  const given = headers["x-request-id"]
  return requestIdFor(typeof given === "string" ? given : undefined)
}

/**
 * Answers before the body has arrived. The connection ends with the answer, so that no byte of the body can be taken
 * for the next request; but not at once, because closing on a client that still sends makes its system drop the
 * answer unread (RFC 9112, 9.6).
 */
const sendEarly = (request: IncomingMessage, response: ServerResponse, text: string) => {
  if (request.destroyed) return void response.end(text)
  response.flushHeaders()
  if (text !== "") response.write(text)
  let bytes = 0
  const close = () => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(close, LINGER_MS)
  request.once("end", close).once("close", close)
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > LINGER_BYTES_MAX) close()
  })
  request.resume()
}

/** Writes a whole reply; `headers` is completed in place. */
export const send = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string>,
): void => {
  const text = body === undefined ? "" : JSON.stringify(body)
  if (text !== "") headers["content-type"] = "application/json; charset=utf-8"
  headers["cache-control"] ??= "no-store"
  if (status !== 204 && status !== 304) headers["content-length"] = String(Buffer.byteLength(text))
  if (status === 401) headers["www-authenticate"] ??= "Bearer"
  const early = !request.complete && hasBody(request)
  if (early) headers.connection = "close"
  response.writeHead(status, headers)
  if (early) sendEarly(request, response, text)
  else response.end(text)
}

/** What is wrong with bytes that the parser gave up on. */
const brokenBecause = (code: string | undefined): { known: Fault; status: number; phrase: string } => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return { known: fault("request_timeout"), status: 408, phrase: "Request Timeout" }
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    const known = fault("invalid_request", { reason: "its headers are too large" })
    return { known, status: 431, phrase: "Request Header Fields Too Large" }
  }
  return {
    known: fault("invalid_request", { reason: "it is not HTTP/1.1" }),
    status: 400,
    phrase: "Bad Request",
  }
}

type BrokenRequestHandler = (error: NodeJS.ErrnoException, socket: Socket) => void

/** Bytes that are not HTTP, headers too large or too slow: there is no request to answer, only a socket. */
export const createBrokenRequestHandler = (baseUrl: string): BrokenRequestHandler => {
  const waiting = new WeakSet<Socket>()

  const answer = (error: NodeJS.ErrnoException, socket: Socket) => {
    const { known, status, phrase } = brokenBecause(error.code)
    const requestId = requestIdFor(undefined)
    const body = JSON.stringify(refusal(known, baseUrl, requestId).body)
    socket.end(
      `HTTP/1.1 ${status} ${phrase}\r\n` +
        `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
        `cache-control: no-store\r\nx-request-id: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
    )
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }

  const handle: BrokenRequestHandler = (error, socket) => {
    // Answered already; the timer ends it.
    if (socket.writableEnded || waiting.has(socket)) return
    if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy()

    const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: ServerResponse | null }
    if (!underWay) return answer(error, socket)
    // The broken bytes are its own body's. Once its status line is out, nothing better can be said.
    if (!underWay.req.complete) return underWay.headersSent ? void socket.destroy() : answer(error, socket)
    // They follow a request that was whole, which must get its own answer and not this one.
    waiting.add(socket)
    underWay.once("close", () => {
      waiting.delete(socket)
      handle(error, socket)
    })
  }
  return handle
}
