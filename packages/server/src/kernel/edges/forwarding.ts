/** Requests for host names of tenants, which go on to a program of theirs over a connection of their own. */
import { type ClientRequest, request as httpRequest, type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { TLSSocket } from "node:tls"
import { requestHeaders, responseHeaders } from "./forwarded-headers.ts"
import type { HostGate } from "./host-gate.ts"
import type { Relay, Upgrade } from "./relay.ts"
import { openTunnel } from "./tunnel.ts"

/** What the caller is told where nobody serves him. */
export interface Refusal {
  readonly status: number
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
  /** Other processes of the platform that may serve him. */
  readonly elsewhere?: () => Promise<readonly URL[]>
}

/** A connection to the program, for one request. */
export interface Route {
  readonly connection: Duplex
  /** Headers of the request, in lower case, that are for the platform alone. */
  readonly withheld?: readonly string[]
  /** What the caller is told when the program answers nothing, or no HTTP. */
  readonly silent: () => Refusal
  /** The answer has begun, with that status; -1 where there is none. */
  readonly answered?: (status: number) => void
}

export interface ForwardingNeeds {
  readonly claims: HostGate["claims"]
  /** Of requests that came without TLS. */
  readonly scheme: "http" | "https"
  readonly relay: Relay
  /** Finds who serves a request. `signal` aborts when the caller leaves. */
  readonly route: (request: IncomingMessage, address: string, signal: AbortSignal) => Promise<Route | Refusal>
}

/** Of a connection on which nothing moves. */
const IDLE_MS_MAX = 600_000

const refuse = (response: ServerResponse, { status, text, headers }: Refusal): void => {
  if (response.headersSent) return void response.destroy()
  const body = `${text}\n`
  const own = { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(body) }
  response
    .writeHead(status, { ...own, "cache-control": "no-store", ...headers, connection: "close" })
    .end(body)
}

const without = (raw: readonly string[], withheld: readonly string[]): string[] =>
  raw.flatMap((name, at) =>
    at % 2 === 0 && !withheld.includes(name.toLowerCase()) ? [name, raw[at + 1] ?? ""] : [],
  )

interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly address: string
  readonly upgrade?: Upgrade
}

export const createForwarding = ({ claims, scheme, relay, route }: ForwardingNeeds): HostGate => {
  const timed = new WeakSet<Socket>()

  const limitIdle = (socket: Socket) => {
    if (timed.has(socket)) return
    timed.add(socket)
    socket.setTimeout(IDLE_MS_MAX)
    socket.on("timeout", () => socket.destroy())
  }

  /** The request as it goes on. */
  const pass = (
    { request, address }: Asked,
    { connection, withheld = [] }: Route,
    more: readonly string[],
  ): ClientRequest => {
    const { host = "" } = request.headers
    const isSecure = (request.socket as Partial<TLSSocket>).encrypted === true
    const client = { address, scheme: isSecure ? "https" : scheme, host }
    const headers = requestHeaders(without(request.rawHeaders, withheld), client)
    return httpRequest({
      ...{ method: request.method, path: request.url, setHost: false },
      createConnection: () => connection,
      headers: [...headers, ...more],
    })
  }

  const silence = (response: ServerResponse, { silent, answered }: Route) => {
    if (!response.headersSent) answered?.(-1)
    refuse(response, silent())
  }

  const answer = (from: IncomingMessage, response: ServerResponse, to: Route): void => {
    from.on("error", () => response.destroy())
    const { statusCode = 502, statusMessage, rawHeaders } = from
    try {
      response.writeHead(statusCode, statusMessage, responseHeaders(rawHeaders))
      to.answered?.(statusCode)
      from.pipe(response)
    } catch {
      // A status or a header that is none.
      silence(response, to)
    }
  }

  /** Has another process answer; false when none does, or it was another that asked. */
  const goOn = async (asked: Asked, { elsewhere }: Refusal): Promise<boolean> => {
    const { request, response } = asked
    if (!elsewhere || relay.callerOf(request) !== undefined) return false
    const stream = () => {
      if (request.headers.expect !== undefined) response.writeContinue()
      return request
    }
    return relay.pass({ ...asked, body: undefined, stream, to: await elsewhere() })
  }

  /** Who serves; undefined where the answer is given already. */
  const find = async (asked: Asked): Promise<Route | undefined> => {
    const leaving = new AbortController()
    const leave = () => leaving.abort()
    asked.response.once("close", leave)
    const found = await route(asked.request, asked.address, leaving.signal)
    asked.response.off("close", leave)
    if ("connection" in found) return found
    if (!(await goOn(asked, found))) refuse(asked.response, found)
    return undefined
  }

  const bodyHeaders = ({ headers }: IncomingMessage): string[] =>
    headers["transfer-encoding"] === undefined ? [] : ["Transfer-Encoding", "chunked"]

  const serve = async (asked: Asked) => {
    const { request, response } = asked
    const to = await find(asked)
    if (!to) return
    const { connection } = to
    if (response.destroyed) return void connection.destroy()
    response.once("close", () => connection.destroy())
    if (request.headers.expect !== undefined) response.writeContinue()
    const passed = pass(asked, to, ["Connection", "close", ...bodyHeaders(request)])
    passed.on("error", () => silence(response, to))
    passed.on("response", answered => answer(answered, response, to))
    // It was not asked to go on otherwise.
    passed.on("upgrade", () => silence(response, to))
    request.on("error", () => passed.destroy())
    request.pipe(passed)
  }

  const upgrade = async (request: IncomingMessage, socket: Socket, head: Buffer, address: string) => {
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once("finish", () => socket.end())
    const asked = { request, response, address, upgrade: { socket, head } }
    const to = await find(asked)
    if (!to) return
    const { connection } = to
    socket.once("close", () => connection.destroy())
    connection.once("close", () => socket.destroySoon())
    if (socket.destroyed) return void connection.destroy()
    const passed = pass(asked, to, ["Connection", "Upgrade", "Upgrade", "websocket"])
    passed.on("error", () => silence(response, to))
    // Anything else than agreement is an answer as to any request, and the last on this connection.
    passed.on("response", answered => answer(answered, response, to))
    passed.on("upgrade", (answered, _connection, first) => {
      response.detachSocket(socket)
      to.answered?.(101)
      openTunnel({ socket, connection, headers: responseHeaders(answered.rawHeaders), first, head })
    })
    passed.end()
  }

  const ending = (response: { destroy(): unknown }) => () => void response.destroy()
  return {
    claims,
    serve(request, response, address) {
      limitIdle(request.socket)
      serve({ request, response, address }).catch(ending(response))
    },
    upgrade(request, socket, head, address) {
      socket.on("error", () => undefined)
      limitIdle(socket as Socket)
      upgrade(request, socket as Socket, head, address).catch(ending(socket))
    },
  }
}
