import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { type Duplex, Readable } from "node:stream"
import { isList, type Operation, type Reply } from "@svc/contract"
import Fastify, { type FastifyInstance } from "fastify"
import { type Clock, systemClock } from "../clock.ts"
import { type Fault, fault, isFault } from "../fault.ts"
import type { BoundOperation } from "../implement.ts"
import type { Logger } from "../log.ts"
import { logRefusal, type Pipeline, type PipelineResult, refusal } from "../pipeline.ts"
import type { CountUnrouted } from "../unrouted.ts"
import { createBodyReader, hasBody } from "./body.ts"
import { createClientAddress } from "./client-address.ts"
import { answerOnSocket, createBrokenRequestHandler, createConnectionCloser } from "./connections.ts"
import type { HostGate } from "./host-gate.ts"
import { checkHeaders, HttpIncoming, type Routed } from "./incoming.ts"
import type { Relay } from "./relay.ts"
import {
  NO_STORE,
  type RefusalBody,
  type RenderError,
  type RenderErrors,
  requestIdOf,
  send,
  sendStream,
  sendWhole,
} from "./reply.ts"
import {
  createRoutes,
  isCrossOrigin,
  isKnownMethod,
  METHODS,
  methodNowhere,
  openToOrigins,
  PARAM_LENGTH_MAX,
  type Refuse,
  type Routes,
  type Write,
} from "./routes.ts"
import { createWebSocketEdge, type WebSocketEdge } from "./websockets.ts"

/**
 * Where a request goes that a protocol addresses otherwise than its operations are declared: to another path, or nowhere,
 * with the reason in that protocol's form.
 */
export type Reroute = (
  request: IncomingMessage,
) => string | { readonly refusal: Fault; readonly render: RenderError } | undefined

export interface HttpEdgeNeeds {
  readonly pipeline: Pipeline
  readonly operations: readonly BoundOperation[]
  readonly log: Logger
  readonly baseUrl: string
  readonly trustedProxies: readonly string[]
  /** Times bodies; the system's unless told. */
  readonly clock?: Clock
  /** How long the headers of a request may take to arrive. */
  readonly headersTimeoutMs?: number
  /** How refusals look in protocols that fix it. */
  readonly renderErrors?: RenderErrors
  readonly reroute?: Reroute
  /** Who answers for other hosts. */
  readonly gate?: HostGate
  /** Counts requests that reach no operation. */
  readonly countUnrouted?: CountUnrouted
  /** How requests go on to other processes of the platform. */
  readonly relay?: Relay
}

type CallerAddress = (request: IncomingMessage) => string

/** What the parts of the edge share. */
interface OwnNeeds extends HttpEdgeNeeds {
  readonly callerAddress: CallerAddress
  readonly refuse: Refuse
  readonly refuseUnrouted: Refuse
}

/** Who called: the platform's own word for it, or what the connection and trusted proxies tell. */
const createCallerAddress = ({ trustedProxies, relay }: HttpEdgeNeeds): CallerAddress => {
  const clientAddress = createClientAddress(trustedProxies)
  return relay ? request => relay.callerOf(request) ?? clientAddress(request) : clientAddress
}

const isBodyless = ({ replies }: Operation, { status }: Reply): boolean =>
  status === 204 || status === 304 || replies[status] === null

/** The payload in the operation's envelope. */
const wrap = (operation: Operation, { reply, requestId }: PipelineResult): unknown => {
  if (reply.status >= 400 || operation.envelope !== "data") return reply.body
  const schema = operation.replies[reply.status]
  return schema && isList(schema) && typeof reply.body === "object"
    ? { ...reply.body, request_id: requestId }
    : { data: reply.body, request_id: requestId }
}

/** HTTP in front of the pipeline: routing, bytes and status lines; no rule of the platform lives here. */
export const createHttpEdge = (needs: HttpEdgeNeeds): FastifyInstance => {
  const { pipeline, operations, log, baseUrl, clock = systemClock, renderErrors } = needs
  const callerAddress = createCallerAddress(needs)
  const bodies = createBodyReader(clock)

  const refuse: Refuse = (request, response, error, extra, render) => {
    const known = isFault(error) ? error : fault("internal_error", undefined, { internal: error })
    const requestId = requestIdOf(request)
    logRefusal(log, known, { request_id: requestId })
    if (response.headersSent) return void response.destroy()
    const { status, body, headers } = refusal(known, baseUrl, requestId)
    const sent = { ...NO_STORE, "x-request-id": requestId, ...headers, ...extra }
    if (!render) return send(request, response, status, body, sent)
    const rendered = render(body as RefusalBody, request)
    const named = {
      ...sent,
      ...rendered.headers,
      "content-type": rendered.type,
      "x-error-code": known.publicCode,
    }
    sendWhole(request, response, rendered.status ?? status, rendered.text, named)
  }

  const refuseUnrouted: Refuse = (request, response, error, extra, render) => {
    if (!needs.countUnrouted) return refuse(request, response, error, extra, render)
    const header = (name: string) => {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(", ") : value
    }
    needs.countUnrouted({ header, ip: callerAddress(request) }).then(
      ({ headers, refusal }) => refuse(request, response, refusal ?? error, { ...headers, ...extra }, render),
      failure => refuse(request, response, failure, extra, render),
    )
  }

  /** A promise only where the reply is a stream. */
  const write: Write = ({ operation }, { request, response }, result) => {
    const headers: Record<string, string> = result.headers
    headers["x-request-id"] = result.requestId
    if (result.reply.headers) Object.assign(headers, result.reply.headers)
    if (operation.envelope === "s3") headers["x-amz-request-id"] = result.requestId
    if (isCrossOrigin(operation)) openToOrigins(headers)
    // To S3's clients the header is part of the object.
    if (operation.envelope !== "s3") headers["cache-control"] ??= NO_STORE["cache-control"]
    const { status, body: payload } = result.reply
    if (payload instanceof Readable) return sendStream(request, response, status, payload, headers)
    if (payload instanceof Uint8Array) return sendWhole(request, response, status, payload, headers)
    if (status >= 400) {
      headers["x-error-code"] = String((payload as { code?: string }).code)
      const rendered = renderErrors?.[operation.envelope]?.(payload as RefusalBody, request)
      if (rendered) {
        Object.assign(headers, rendered.headers, { "content-type": rendered.type })
        return sendWhole(request, response, rendered.status ?? status, rendered.text, headers)
      }
    }
    const body = isBodyless(operation, result.reply) ? undefined : wrap(operation, result)
    send(request, response, status, body, headers)
  }

  const answer = async (bound: BoundOperation, routed: Routed) => {
    const { request, response } = routed
    try {
      checkHeaders(request)
      const incoming = new HttpIncoming(routed, callerAddress(request), bodies, needs.relay)
      const result = await pipeline(bound, incoming)
      if (result.elsewhere && (await incoming.goOn(result))) return
      const written = write(bound, routed, result)
      if (written) await written
    } catch (error) {
      refuse(request, response, error, undefined, renderErrors?.[bound.operation.envelope])
    }
  }

  const router = createRoutes(operations, refuseUnrouted, answer, renderErrors)
  const own = { ...needs, callerAddress, bodies, write, refuse, refuseUnrouted }
  const sockets = createWebSocketEdge(own)
  const app = createPagesApp({ routes: router, sockets }, own)
  app.addHook("onClose", async () => bodies[Symbol.dispose]())
  return app
}

const HEADERS_TIMEOUT_MS = 15_000
/** Longer than the minute after which balancers usually drop an idle connection, so that it is never us who do. */
const KEEP_ALIVE_MS = 72_000

const createHttpServer = (
  listener: RequestListener,
  sockets: WebSocketEdge,
  { headersTimeoutMs = HEADERS_TIMEOUT_MS, gate, callerAddress, baseUrl }: OwnNeeds,
): Server => {
  const endConnect = (socket: Duplex) => {
    const known = fault("method_not_allowed", { methods: METHODS.join(", ") })
    answerOnSocket(socket, baseUrl, { known, status: 405, phrase: "Method Not Allowed" })
  }
  const isGates = (request: IncomingMessage) => gate?.claims(request) === true
  const options = {
    // Anybody else who asks to go on in another protocol is answered in this one.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      request.headers.upgrade?.toLowerCase() === "websocket" && (isGates(request) || sockets.claims(request)),
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs / 5,
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Answered in our own words, by checkHeaders.
    requireHostHeader: false,
  }
  // Without the other two, Node would invite every body, and refuse other expectations in its own words.
  return createServer(options, listener)
    .on("checkContinue", listener)
    .on("checkExpectation", listener)
    .on("connect", (_request, socket) => endConnect(socket))
    .on("upgrade", (request, socket, head) => {
      if (isGates(request)) gate?.upgrade(request, socket, head, callerAddress(request))
      else sockets.upgrade(request, socket, head)
    })
}

/** The parser also takes a request line of HTTP/2.0 or 0.9, whose rules for the bytes that follow are others. */
const notHttp1 = () => fault("invalid_request", { reason: "it is not HTTP/1.1" })

/**
 * The server, with Fastify for the pages behind it. Operations go past Fastify: its request and reply objects and its
 * life cycle would cost a key-value read a quarter more, and the pipeline uses none of them (docs/decisions/0012).
 */
const createPagesApp = (
  { routes, sockets }: { readonly routes: Routes; readonly sockets: WebSocketEdge },
  needs: OwnNeeds,
): FastifyInstance => {
  const { reroute, gate, refuse, refuseUnrouted, callerAddress } = needs
  const app = Fastify({
    logger: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: false },
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    return503OnClosing: false,
    serverFactory(pages) {
      const listener: RequestListener = (request, response) => {
        if (request.httpVersionMajor !== 1) return refuse(request, response, notHttp1())
        if (gate?.claims(request)) return gate.serve(request, response, callerAddress(request))
        const target = reroute?.(request) ?? request.url ?? ""
        if (typeof target !== "string")
          return refuse(request, response, target.refusal, undefined, target.render)
        const found = routes.find(target)
        if (!found && isKnownMethod(request)) return pages(request, response)
        if (!found) return methodNowhere(refuse, request, response)
        found.handler(request, response, found.params, found.store, found.searchParams)
      }
      return createHttpServer(listener, sockets, needs)
    },
    frameworkErrors(_error, request, reply) {
      reply.hijack()
      refuse(request.raw, reply.raw, fault("uri_invalid"))
    },
    clientErrorHandler: createBrokenRequestHandler(needs.baseUrl),
  })
  // No page reads a body.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })

  const endConnections = createConnectionCloser(app.server)
  app.addHook("preClose", async () => endConnections())
  // Fastify closes only a server that it let listen itself.
  app.addHook("onClose", async ({ server }) => {
    if (server.listening) await new Promise(resolve => server.close(resolve))
  })
  // Pages answer without reading a body, so the connection ends there as well.
  app.addHook("onSend", async ({ raw }, reply) => {
    if (!raw.complete && hasBody(raw)) reply.header("connection", "close")
  })
  app.setErrorHandler((error, request, reply) => {
    reply.hijack()
    refuse(request.raw, reply.raw, error)
  })
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    refuseUnrouted(request.raw, reply.raw, fault("route_not_found"))
  })
  return app
}
