/** Operations that go on as WebSockets: through the same stages, then past HTTP. */
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { isWebSocket, MIB } from "@svc/contract"
import createRouter, { type HTTPVersion, type Instance } from "find-my-way"
import { type WebSocket, WebSocketServer } from "ws"
import type { Handshake } from "../call.ts"
import { fault } from "../fault.ts"
import type { BoundOperation } from "../implement.ts"
import type { Pipeline, PipelineResult } from "../pipeline.ts"
import { type BodyReader, hasBody } from "./body.ts"
import { checkHeaders, HttpIncoming, type Routed } from "./incoming.ts"
import type { Relay } from "./relay.ts"
import { PARAM_LENGTH_MAX, type Refuse, routePath, type Write } from "./routes.ts"

export interface WebSocketEdgeNeeds {
  readonly operations: readonly BoundOperation[]
  readonly pipeline: Pipeline
  readonly callerAddress: (request: IncomingMessage) => string
  readonly bodies: BodyReader
  readonly write: Write
  readonly refuse: Refuse
  readonly relay?: Relay
}

export interface WebSocketEdge {
  /** Whether the request is the handshake of an operation that is a WebSocket. */
  claims(request: IncomingMessage): boolean
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/** Of one message, however many frames it comes in, where the operation says nothing else. */
const MESSAGE_BYTES_MAX = MIB
const KEY = /^[+/0-9A-Za-z]{22}==$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** What browsers offer as a subprotocol, because they can send no header with a WebSocket, and the header's own prefix. */
const STAND_INS: Readonly<Record<string, readonly [protocol: string, prefix: string]>> = {
  authorization: ["svc.bearer.", "Bearer "],
  "x-svc-project": ["svc.project.", ""],
  "x-svc-organization": ["svc.organization.", ""],
}

/** The subprotocols that a client offers; undefined where the header is none. */
const offeredBy = ({ headers }: IncomingMessage): readonly string[] | undefined => {
  const text = headers["sec-websocket-protocol"]
  if (text === undefined) return []
  const offered = text.split(",").map(name => name.trim())
  return offered.every(name => TOKEN.test(name)) && new Set(offered).size === offered.length
    ? offered
    : undefined
}

const isHandshake = (request: IncomingMessage, subprotocol: string | undefined): boolean => {
  const { method, httpVersion, headers } = request
  const offered = offeredBy(request)
  return (
    method === "GET" &&
    httpVersion === "1.1" &&
    headers["sec-websocket-version"] === "13" &&
    KEY.test(headers["sec-websocket-key"] ?? "") &&
    !hasBody(request) &&
    offered !== undefined &&
    (offered.length === 0 || subprotocol === undefined || offered.includes(subprotocol))
  )
}

class PendingHandshake implements Handshake {
  #taker: ((socket: WebSocket | undefined) => void) | undefined

  take(taker: (socket: WebSocket | undefined) => void) {
    this.#taker = taker
  }

  /** The first time counts. */
  settle(socket?: WebSocket) {
    const taker = this.#taker
    this.#taker = undefined
    taker?.(socket)
  }
}

class UpgradeIncoming extends HttpIncoming {
  readonly handshake: Handshake
  readonly #standIns = new Map<string, string>()

  constructor(
    handshake: Handshake,
    ...[routed, ip, bodies, relay]: ConstructorParameters<typeof HttpIncoming>
  ) {
    super(routed, ip, bodies, relay)
    this.handshake = handshake
    const offered = offeredBy(routed.request) ?? []
    for (const [header, [protocol, prefix]] of Object.entries(STAND_INS)) {
      const [name, ...more] = offered.filter(candidate => candidate.startsWith(protocol))
      if (name === undefined) continue
      if (more.length > 0 || super.header(header) !== undefined) throw fault("header_duplicated", { header })
      this.#standIns.set(header, `${prefix}${name.slice(protocol.length)}`)
    }
  }

  override header(name: string) {
    return super.header(name) ?? this.#standIns.get(name)
  }
}

/** The operations by their path; the router of all others knows them too, for requests that are no handshake. */
const createRoutes = (operations: readonly BoundOperation[]): Instance<HTTPVersion.V1> => {
  const router = createRouter({ maxParamLength: PARAM_LENGTH_MAX, onBadUrl: () => undefined })
  for (const bound of operations) {
    if (isWebSocket(bound.operation)) router.on("GET", routePath(bound.operation), () => undefined, bound)
  }
  return router
}

export const createWebSocketEdge = (needs: WebSocketEdgeNeeds): WebSocketEdge => {
  const { pipeline, callerAddress, bodies, write, refuse, relay } = needs
  const routes = createRoutes(needs.operations)
  const find = ({ url = "" }: IncomingMessage) => {
    const found = routes.find("GET", url)
    return found?.store ? { ...found, bound: found.store as BoundOperation } : undefined
  }
  const servers = new Map<number, WebSocketServer>()
  const serverFor = ({ operation }: BoundOperation): WebSocketServer => {
    const maxPayload = operation.messageBytesMax ?? MESSAGE_BYTES_MAX
    const known = servers.get(maxPayload)
    if (known) return known
    const server = new WebSocketServer({
      ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload },
      handleProtocols: (offered, request) => {
        const subprotocol = find(request)?.bound.operation.subprotocol
        return subprotocol !== undefined && offered.has(subprotocol) && subprotocol
      },
    })
    servers.set(maxPayload, server)
    return server
  }

  /** Answers 101, with the headers that every reply has. */
  const accept = (
    bound: BoundOperation,
    { request, response }: Routed,
    socket: Socket,
    head: Buffer,
    { headers, requestId }: PipelineResult,
    handshake: PendingHandshake,
  ) => {
    response.detachSocket(socket)
    const server = serverFor(bound)
    const addHeaders = (lines: string[]) => {
      for (const [name, value] of Object.entries({ ...headers, "x-request-id": requestId }))
        lines.push(`${name}: ${value}`)
    }
    server.on("headers", addHeaders)
    try {
      server.handleUpgrade(request, socket, head, connection => handshake.settle(connection))
    } finally {
      server.off("headers", addHeaders)
    }
  }

  const serve = async (bound: BoundOperation, routed: Routed, socket: Socket, head: Buffer) => {
    const { request, response } = routed
    const handshake = new PendingHandshake()
    try {
      checkHeaders(request)
      const incoming = new UpgradeIncoming(handshake, routed, callerAddress(request), bodies, relay)
      const result = await pipeline(bound, incoming)
      if (result.elsewhere && (await incoming.goOn(result, { socket, head }))) return
      if (result.reply.status === 101) accept(bound, routed, socket, head, result, handshake)
      else await write(bound, routed, result)
    } catch (error) {
      refuse(request, response, error)
    } finally {
      handshake.settle()
    }
  }

  return {
    claims(request) {
      const found = find(request)
      return found !== undefined && isHandshake(request, found.bound.operation.subprotocol)
    },
    upgrade(request, duplex, head) {
      const socket = duplex as Socket
      socket.on("error", () => undefined)
      const found = find(request)
      if (!found) return void socket.destroy()
      const response = new ServerResponse(request)
      response.shouldKeepAlive = false
      response.assignSocket(socket)
      response.once("finish", () => socket.destroySoon())
      const { bound, params, searchParams } = found
      void serve(bound, { request, response, params, query: searchParams as Routed["query"] }, socket, head)
    },
  }
}
