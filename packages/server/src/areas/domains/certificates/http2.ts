/**
 * HTTP/2. Each request goes on to the platform's server as one of HTTP/1.1 over a connection in memory, so that there is
 * one set of rules for both, and a request is framed anew by ourselves, whatever its client said of its length.
 */
import { request as httpRequest, type IncomingMessage } from "node:http"
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2"
import { type Duplex, duplexPair } from "node:stream"
import { CONNECTION_HEADERS } from "../../../kernel/connection-headers.ts"
import type { OwnServer } from "../../../kernel/edges/own-server.ts"

const STREAMS_MAX = 128
const HEADERS_MAX = 100
const HEADERS_BYTES_MAX = 16_384
/** Requests that a client takes back: so many at once, and so many a second from then on, before it is sent away. */
const RESETS_BURST = 200
const RESETS_PER_SECOND = 33
const IDLE_MS = 72_000
const SESSION_MEMORY_MB = 10

const CONNECTION: ReadonlySet<string> = new Set(CONNECTION_HEADERS)
const AUTHORITY = /^(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::\d{1,5})?$/i
const OWN: ReadonlySet<string> = new Set([
  ...CONNECTION_HEADERS,
  "host",
  "expect",
  "content-length",
  "http2-settings",
])

/** What the server looks at on a socket of its own. */
const asSocket = (connection: Duplex, remoteAddress: string | undefined): Duplex => {
  const itself = () => connection
  return Object.assign(connection, {
    ...{ remoteAddress, encrypted: true },
    ...{ setTimeout: itself, setNoDelay: itself, setKeepAlive: itself, ref: itself, unref: itself },
  })
}

/** Undefined where the request names no host, or two. */
const hostOf = (headers: IncomingHttpHeaders): string | undefined => {
  const { ":authority": authority, host } = headers
  const name = authority ?? host
  if (name === undefined || !AUTHORITY.test(name)) return undefined
  return host === undefined || host.toLowerCase() === name.toLowerCase() ? name : undefined
}

const requestHeaders = (headers: IncomingHttpHeaders, host: string): string[] => {
  const pairs = ["Host", host]
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(":") || OWN.has(name) || value === undefined) continue
    for (const each of [value].flat()) pairs.push(name, each)
  }
  return pairs
}

const responseHeaders = ({ statusCode = 502, rawHeaders }: IncomingMessage): OutgoingHttpHeaders => {
  const headers: Record<string, string | string[]> = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase()
    const value = rawHeaders[at + 1] ?? ""
    if (CONNECTION.has(name)) continue
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat()
  }
  return { ...headers, ":status": statusCode }
}

/** Ends a session whose client takes back too many requests: each costs the server more than the client. */
const limitResets = (session: ServerHttp2Session, socket: Duplex) => {
  let left = RESETS_BURST
  let countedMs = performance.now()
  return () => {
    const nowMs = performance.now()
    left = Math.min(RESETS_BURST, left + ((nowMs - countedMs) / 1_000) * RESETS_PER_SECOND) - 1
    countedMs = nowMs
    if (left >= 0 || session.destroyed) return
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
    // The session alone would leave the connection open for as long as its client likes.
    setImmediate(() => socket.destroy())
  }
}

const refuse = (stream: ServerHttp2Stream, status: number): void => {
  if (!stream.destroyed && !stream.headersSent) stream.respond({ ":status": status }, { endStream: true })
}

const serve = (ownServer: OwnServer, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  stream.on("error", () => undefined)
  const { ":method": method = "", ":path": path = "" } = headers
  const host = hostOf(headers)
  if (method === "CONNECT" || method === "TRACE") return refuse(stream, 405)
  if (host === undefined || !path.startsWith("/")) return refuse(stream, 400)
  const [own, theirs] = duplexPair()
  const remoteAddress = stream.session?.socket.remoteAddress
  const pairs = requestHeaders(headers, host)
  const length = headers["content-length"]
  if (!stream.endAfterHeaders)
    pairs.push(...(length === undefined ? ["Transfer-Encoding", "chunked"] : ["Content-Length", length]))
  const passed = httpRequest({ method, path, headers: pairs, setHost: false, createConnection: () => own })
  const end = () => {
    passed.destroy()
    own.destroy()
  }
  passed.on("error", () => {
    refuse(stream, 502)
    if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  })
  passed.on("response", answer => {
    if (stream.destroyed) return end()
    stream.respond(responseHeaders(answer))
    answer.on("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
    answer.pipe(stream)
  })
  stream.on("close", end)
  ownServer.accept(asSocket(theirs, remoteAddress))
  if (stream.endAfterHeaders) passed.end()
  else stream.pipe(passed)
}

export const createHttp2 = (needs: {
  readonly ownServer: OwnServer
  readonly sessions: Set<ServerHttp2Session>
}): ((socket: Duplex) => void) => {
  const { ownServer, sessions } = needs
  const server = createServer({
    settings: { maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: HEADERS_BYTES_MAX, enablePush: false },
    maxHeaderListPairs: HEADERS_MAX,
    maxSessionMemory: SESSION_MEMORY_MB,
    maxSettings: 32,
    maxOutstandingPings: 10,
    unknownProtocolTimeout: IDLE_MS,
  })
  server.on("sessionError", () => undefined)
  return socket => {
    const begin = (session: ServerHttp2Session) => {
      sessions.add(session)
      session.setTimeout(IDLE_MS, () => session.close())
      session.once("close", () => sessions.delete(session))
      session.on("error", () => session.destroy())
      const reset = limitResets(session, socket)
      session.on("stream", (stream, headers) => {
        stream.once("close", () => void (stream.rstCode !== constants.NGHTTP2_NO_ERROR && reset()))
        serve(ownServer, stream, headers)
      })
    }
    // It is emitted at once.
    server.once("session", begin)
    server.emit("connection", socket)
    server.off("session", begin)
  }
}
