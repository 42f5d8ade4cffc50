/** Requests to ports of sandboxes, by the host names of their URLs. */
import { type ClientRequest, request as httpRequest, type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { HostGate } from "../../../kernel/edges/host-gate.ts"
import type { Relay, Upgrade } from "../../../kernel/edges/relay.ts"
import { openTunnel } from "../../../kernel/edges/tunnel.ts"
import { requestHeaders, responseHeaders } from "../../../services/proxy/headers.ts"
import type { Fleet } from "../../../services/workloads/fleet.ts"
import { awaitStart } from "../../../services/workloads/served.ts"
import type { Live } from "../../../services/workloads/workload.ts"
import type { SandboxItem } from "../policy.ts"
import type { PortUrls } from "./urls.ts"

export interface GateNeeds {
  readonly urls: PortUrls
  readonly fleet: Fleet<SandboxItem>
  /** What is under way ends when the platform stops. */
  readonly stopping: AbortSignal
  readonly relay: Relay
  /** Who serves a sandbox that does not run here. */
  readonly elsewhere: (id: string) => Promise<readonly URL[]>
}

/** Of one sandbox: half of what its agent has channels for. */
const CONNECTIONS_MAX = 128
/** Of a connection on which nothing moves. */
const IDLE_MS_MAX = 600_000

interface Refusal {
  readonly status: number
  readonly text: string
}

const UNKNOWN: Refusal = { status: 404, text: "There is no such sandbox, or it does not show this port." }
const ELSEWHERE: Refusal = { status: 503, text: "The sandbox does not run here." }
const CROWDED: Refusal = { status: 503, text: "The sandbox has too many connections." }
const SILENT: Refusal = { status: 502, text: "Nothing answers on this port of the sandbox." }

const refuse = (response: ServerResponse, { status, text }: Refusal): void => {
  if (response.headersSent) return void response.destroy()
  const body = `${text}\n`
  const headers = { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(body) }
  response.writeHead(status, { ...headers, "cache-control": "no-store", connection: "close" }).end(body)
}

/** Opens connections to the ports that requests are for; a sandbox is in use until they close. */
const createConnect = ({ urls, fleet, stopping }: GateNeeds) => {
  const open = new Map<string, number>()

  const find = async ({ headers }: IncomingMessage) => {
    const of = urls.read(headers.host ?? "")
    if (!of) return UNKNOWN
    const item = fleet.itemOf(of.id)
    if (!item) return ELSEWHERE
    if (!item.ports.includes(of.port)) return UNKNOWN
    const ready = fleet.ready(of.id)
    const live = ready instanceof Promise ? await awaitStart(ready, stopping) : ready
    return live ? { live, port: of.port } : ELSEWHERE
  }

  const hold = (live: Live<SandboxItem>): Disposable | undefined => {
    const { id } = live.item.spec
    const count = open.get(id) ?? 0
    if (count >= CONNECTIONS_MAX) return undefined
    open.set(id, count + 1)
    const held = fleet.hold(live)
    return {
      [Symbol.dispose]() {
        held[Symbol.dispose]()
        const left = (open.get(id) ?? 1) - 1
        if (left > 0) open.set(id, left)
        else open.delete(id)
      },
    }
  }

  return async (request: IncomingMessage): Promise<Duplex | Refusal> => {
    const found = await find(request)
    if ("status" in found) return found
    const held = hold(found.live)
    if (!held) return CROWDED
    const connection = await found.live.guest.connect(found.port).catch(() => undefined)
    if (!connection || stopping.aborted) {
      held[Symbol.dispose]()
      connection?.destroy()
      return SILENT
    }
    const stop = () => connection.destroy()
    stopping.addEventListener("abort", stop)
    connection.once("close", () => {
      stopping.removeEventListener("abort", stop)
      held[Symbol.dispose]()
    })
    return connection
  }
}

/** The request as it goes on, over a connection of its own. */
const createPass =
  ({ scheme }: PortUrls) =>
  (request: IncomingMessage, connection: Duplex, address: string, more: readonly string[]): ClientRequest => {
    const { host = "" } = request.headers
    return httpRequest({
      ...{ method: request.method, path: request.url, setHost: false },
      createConnection: () => connection,
      headers: [...requestHeaders(request.rawHeaders, { address, scheme, host }), ...more],
    })
  }

const answer = (answered: IncomingMessage, response: ServerResponse): void => {
  answered.on("error", () => response.destroy())
  const { statusCode = 502, statusMessage, rawHeaders } = answered
  try {
    response.writeHead(statusCode, statusMessage, responseHeaders(rawHeaders))
    answered.pipe(response)
  } catch {
    // A status or a header that is none.
    refuse(response, SILENT)
  }
}

const bodyHeaders = ({ headers }: IncomingMessage): string[] =>
  headers["transfer-encoding"] === undefined ? [] : ["Transfer-Encoding", "chunked"]

interface PortRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly address: string
  readonly upgrade?: Upgrade
}

/** Has the sandbox's own host answer; false when there is none, or it was another host that asked. */
const createGoOn =
  ({ urls, relay, elsewhere }: GateNeeds) =>
  async (asked: PortRequest): Promise<boolean> => {
    const { request, response } = asked
    const of = urls.read(request.headers.host ?? "")
    if (!of || relay.callerOf(request) !== undefined) return false
    const stream = () => {
      if (request.headers.expect !== undefined) response.writeContinue()
      return request
    }
    return relay.pass({ ...asked, body: undefined, stream, to: await elsewhere(of.id) })
  }

export const createGate = (needs: GateNeeds): HostGate => {
  const connect = createConnect(needs)
  const goOn = createGoOn(needs)
  const pass = createPass(needs.urls)
  const timed = new WeakSet<Socket>()

  const limitIdle = (socket: Socket) => {
    if (timed.has(socket)) return
    timed.add(socket)
    socket.setTimeout(IDLE_MS_MAX)
    socket.on("timeout", () => socket.destroy())
  }

  const serve = async (request: IncomingMessage, response: ServerResponse, address: string) => {
    const connection = await connect(request)
    if (connection === ELSEWHERE && (await goOn({ request, response, address }))) return
    if ("status" in connection) return refuse(response, connection)
    if (response.destroyed) return void connection.destroy()
    response.once("close", () => connection.destroy())
    if (request.headers.expect !== undefined) response.writeContinue()
    const passed = pass(request, connection, address, ["Connection", "close", ...bodyHeaders(request)])
    passed.on("error", () => refuse(response, SILENT))
    passed.on("response", answered => answer(answered, response))
    // It was not asked to go on otherwise.
    passed.on("upgrade", () => refuse(response, SILENT))
    request.on("error", () => passed.destroy())
    request.pipe(passed)
  }

  const upgrade = async (request: IncomingMessage, socket: Socket, head: Buffer, address: string) => {
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once("finish", () => socket.end())
    const connection = await connect(request)
    const asked = { request, response, address, upgrade: { socket, head } }
    if (connection === ELSEWHERE && (await goOn(asked))) return
    if ("status" in connection) return refuse(response, connection)
    socket.once("close", () => connection.destroy())
    connection.once("close", () => socket.destroySoon())
    if (socket.destroyed) return void connection.destroy()
    const passed = pass(request, connection, address, ["Connection", "Upgrade", "Upgrade", "websocket"])
    passed.on("error", () => refuse(response, SILENT))
    // Anything else than agreement is an answer as to any request, and the last on this connection.
    passed.on("response", answered => answer(answered, response))
    passed.on("upgrade", (answered, _connection, first) => {
      response.detachSocket(socket)
      openTunnel({ socket, connection, headers: responseHeaders(answered.rawHeaders), first, head })
    })
    passed.end()
  }

  const ending = (response: { destroy(): unknown }) => () => void response.destroy()
  return {
    claims: ({ headers }) => needs.urls.claims(headers.host),
    serve(request, response, address) {
      limitIdle(request.socket)
      serve(request, response, address).catch(ending(response))
    },
    upgrade(request, socket, head, address) {
      socket.on("error", () => undefined)
      limitIdle(socket as Socket)
      upgrade(request, socket as Socket, head, address).catch(ending(socket))
    },
  }
}
