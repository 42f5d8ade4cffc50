import type { Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { type Fault, fault } from "../fault.ts"
import { refusal, requestIdFor } from "../pipeline.ts"

/** How long a connection that we have ended may take to hear of it. */
const LINGER_MS = 2000

/** The reply that a connection is waiting for; of several, the one that comes first. Node has no public name for it. */
const replyUnderWay = (socket: Socket): ServerResponse | undefined =>
  (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined

interface Refusal {
  readonly known: Fault
  readonly status: number
  readonly phrase: string
}

/** Answers where there is no response to write to, and ends the connection. */
export const answerOnSocket = (socket: Duplex, baseUrl: string, { known, status, phrase }: Refusal): void => {
  const requestId = requestIdFor(undefined)
  const body = JSON.stringify(refusal(known, baseUrl, requestId).body)
  socket.end(
    `HTTP/1.1 ${status} ${phrase}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `cache-control: no-store\r\nx-request-id: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
  )
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** What is wrong with bytes that the parser gave up on. */
const brokenBecause = (code: string | undefined): Refusal => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return { known: fault("request_timeout"), status: 408, phrase: "Request Timeout" }
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    const known = fault("invalid_request", { reason: "its headers are too large" })
    return { known, status: 431, phrase: "Request Header Fields Too Large" }
  }
  const known = fault("invalid_request", { reason: "it is not HTTP/1.1" })
  return { known, status: 400, phrase: "Bad Request" }
}

type BrokenRequestHandler = (error: NodeJS.ErrnoException, socket: Socket) => void

/** Bytes that are not HTTP, headers too large or too slow: there is no request to answer, only a socket. */
export const createBrokenRequestHandler = (baseUrl: string): BrokenRequestHandler => {
  const waiting = new WeakSet<Socket>()

  const answer = (error: NodeJS.ErrnoException, socket: Socket) =>
    answerOnSocket(socket, baseUrl, brokenBecause(error.code))

  const handle: BrokenRequestHandler = (error, socket) => {
    // Answered already; the timer ends it.
    if (socket.writableEnded || waiting.has(socket)) return
    if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy()

    const reply = replyUnderWay(socket)
    if (!reply) return answer(error, socket)
    // The broken bytes are its own body's. Once its status line is out, nothing better can be said.
    if (!reply.req.complete) return reply.headersSent ? void socket.destroy() : answer(error, socket)
    // They follow a request that was whole, which must get its own answer and not this one.
    waiting.add(socket)
    reply.once("close", () => {
      waiting.delete(socket)
      handle(error, socket)
    })
  }
  return handle
}

/** Ends every connection as soon as it waits for no reply, without asking whether it was ever used. */
export const createConnectionCloser = (server: Server): (() => void) => {
  const open = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    open.add(socket)
    socket.once("close", () => open.delete(socket))
  })

  const endWhenIdle = (socket: Socket) => {
    const reply = replyUnderWay(socket)
    if (reply) reply.once("close", () => endWhenIdle(socket))
    else socket.destroySoon()
  }
  return () => open.forEach(endWhenIdle)
}
