import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http"
import { Readable } from "node:stream"
import { type Envelope, isList, type Operation, type Reply } from "@svc/contract"
import Fastify, { type FastifyInstance } from "fastify"
import createRouter, { type HTTPVersion, type Instance } from "find-my-way"
import { type Clock, systemClock } from "../clock.ts"
import type { Incoming } from "../exchange.ts"
import { fault, isFault } from "../fault.ts"
import type { BoundOperation } from "../implement.ts"
import type { Logger } from "../log.ts"
import { type Answer, type Pipeline, refusal } from "../pipeline.ts"
import { type BodyReader, createBodyReader, hasBody } from "./body.ts"
import { createClientAddress } from "./client-address.ts"
import { createBrokenRequestHandler, createConnectionCloser } from "./connections.ts"
import type { HostGate } from "./host-gate.ts"
import {
  NO_STORE,
  type RefusalBody,
  type RenderError,
  requestIdOf,
  send,
  sendStream,
  sendWhole,
} from "./reply.ts"

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
  readonly renderErrors?: { readonly [Name in Envelope]?: RenderError }
  /** Where a request goes that a protocol addresses otherwise than its operations are declared. */
  readonly reroute?: (request: IncomingMessage) => string | undefined
  /** Who answers for other hosts, once there is somebody. */
  readonly gate?: () => HostGate | undefined
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] as const
type Method = (typeof METHODS)[number]
const PARAM_LENGTH_MAX = 4096

/** `/v1/keys/{id}/rotate` → `/v1/keys/:id/rotate`, which is how the router writes it. */
const routePath = ({ path, rest }: Operation): string => {
  const named = path.replaceAll(/\{(\w+)\}/g, ":$1")
  return rest ? named.replace(/:\w+$/, "*") : named
}

/** Routes that browsers call from pages of other origins: no cookie counts there, so any origin may. */
const isCrossOrigin = ({ scope, crossOrigin }: Operation): boolean =>
  scope === "publishable" || crossOrigin === true

const CROSS_ORIGIN = {
  "access-control-allow-origin": "*",
  // Without credentials, `*` stands for every header there is.
  "access-control-expose-headers": "*",
} as const

const preflightHeaders = (allow: string): Record<string, string> => ({
  "access-control-allow-origin": "*",
  "access-control-allow-methods": allow,
  // `*` does not cover Authorization (Fetch standard, CORS-safelisting).
  "access-control-allow-headers": "*, authorization",
  "access-control-max-age": "600",
})

const isBodyless = ({ replies }: Operation, { status }: Reply): boolean =>
  status === 204 || status === 304 || replies[status] === null

/** The payload in the operation's envelope. */
const wrap = (operation: Operation, { reply, requestId }: Answer): unknown => {
  if (reply.status >= 400 || operation.envelope !== "data") return reply.body
  const schema = operation.replies[reply.status]
  return schema && isList(schema) && typeof reply.body === "object"
    ? { ...reply.body, request_id: requestId }
    : { data: reply.body, request_id: requestId }
}

/** Node keeps the first of two Authorization or Host headers; a proxy in front may have read the second. */
const checkHeaders = ({ rawHeaders, httpVersion }: IncomingMessage) => {
  let authorizations = 0
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1
    else if (name.length === 4 && name.toLowerCase() === "host") hosts += 1
  }
  if (authorizations > 1) throw fault("header_duplicated", { header: "authorization" })
  if (hosts > 1) throw fault("header_duplicated", { header: "host" })
  if (hosts === 0 && httpVersion !== "1.0")
    throw fault("invalid_request", { reason: "it has no Host header" })
}

/** A request with what its route told. */
interface Routed {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, unknown>>
}

/** A class for the sake of its prototype: what no stage asks for costs the request nothing. */
class HttpIncoming implements Incoming {
  readonly ip: string
  readonly params: Incoming["params"]
  readonly query: Incoming["query"]
  readonly #routed: Routed
  readonly #bodies: BodyReader
  #hangUp: AbortController | undefined

  constructor(routed: Routed, ip: string, bodies: BodyReader) {
    this.ip = ip
    this.params = routed.params
    this.query = routed.query
    this.#routed = routed
    this.#bodies = bodies
  }

  get path() {
    return (this.#routed.request.url ?? "").split("?", 1)[0] ?? ""
  }

  get target() {
    return this.#routed.request.url ?? ""
  }

  header(name: string) {
    const value = this.#routed.request.headers[name]
    return Array.isArray(value) ? value.join(", ") : value
  }

  headerNames() {
    return Object.keys(this.#routed.request.headers)
  }

  json(bytesMax: number) {
    return this.#bodies.json(this.#routed.request, this.#routed.response, bytesMax)
  }

  stream() {
    return this.#bodies.stream(this.#routed.request, this.#routed.response)
  }

  signal() {
    if (this.#hangUp) return this.#hangUp.signal
    const { response } = this.#routed
    const controller = new AbortController()
    const onClose = () => response.writableFinished || controller.abort()
    // Of the response, not of the socket, which lives on for the next request.
    if (response.destroyed) onClose()
    else response.once("close", onClose)
    this.#hangUp = controller
    return controller.signal
  }
}

/** HTTP in front of the pipeline: routing, bytes and status lines; no rule of the platform lives here. */
export const createHttpEdge = (needs: HttpEdgeNeeds): FastifyInstance => {
  const { pipeline, operations, log, baseUrl, clock = systemClock, renderErrors } = needs
  const clientAddress = createClientAddress(needs.trustedProxies)
  const bodies = createBodyReader(clock)

  const refuse: Refuse = (request, response, error, extra) => {
    const known = isFault(error) ? error : fault("internal_error", undefined, { internal: error })
    const requestId = requestIdOf(request)
    if (known.status >= 500) log.error({ request_id: requestId, err: error }, "http edge")
    if (response.headersSent) return void response.destroy()
    const { status, body, headers } = refusal(known, baseUrl, requestId)
    send(request, response, status, body, { ...NO_STORE, "x-request-id": requestId, ...headers, ...extra })
  }

  const answer = async (bound: BoundOperation, routed: Routed) => {
    const { request, response } = routed
    try {
      checkHeaders(request)
      const result = await pipeline(bound, new HttpIncoming(routed, clientAddress(request), bodies))
      const headers: Record<string, string> = result.headers
      headers["x-request-id"] = result.requestId
      if (result.reply.headers) Object.assign(headers, result.reply.headers)
      if (isCrossOrigin(bound.operation)) Object.assign(headers, CROSS_ORIGIN)
      // To S3's clients the header is part of the object.
      if (bound.operation.envelope !== "s3") headers["cache-control"] ??= NO_STORE["cache-control"]
      const { status, body: payload } = result.reply
      if (payload instanceof Readable) return await sendStream(request, response, status, payload, headers)
      if (payload instanceof Uint8Array) return sendWhole(request, response, status, payload, headers)
      if (status >= 400) {
        headers["x-error-code"] = String((payload as { code?: string }).code)
        const rendered = renderErrors?.[bound.operation.envelope]?.(payload as RefusalBody, routed.request)
        if (rendered) {
          headers["content-type"] = rendered.type
          return sendWhole(request, response, rendered.status ?? status, rendered.text, headers)
        }
      }
      const body = isBodyless(bound.operation, result.reply) ? undefined : wrap(bound.operation, result)
      send(request, response, result.reply.status, body, headers)
    } catch (error) {
      refuse(request, response, error)
    }
  }

  const router = createRoutes(operations, refuse, answer)
  const app = createPagesApp(router, refuse, needs)
  app.addHook("onClose", async () => bodies[Symbol.dispose]())
  return app
}

type Route = (routed: Routed) => void
type Routes = Instance<HTTPVersion.V1>

/** The operations by method and path; beside them OPTIONS for all, and 405 with `Allow` for methods a path lacks. */
const createRoutes = (
  operations: readonly BoundOperation[],
  refuse: Refuse,
  answer: (bound: BoundOperation, routed: Routed) => void,
): Routes => {
  const refuseUrl = (_path: string, request: IncomingMessage, response: ServerResponse) =>
    refuse(request, response, fault("uri_invalid"))
  // A rest parameter ends in `*`, whose value the router keeps under that name.
  const router = createRouter({
    maxParamLength: PARAM_LENGTH_MAX,
    onBadUrl: refuseUrl,
    onMaxParamLength: refuseUrl,
  })
  const add = (methods: readonly Method[], url: string, route: Route) =>
    router.on([...methods], url, (request, response, params, _store, query) =>
      route({ request, response, params, query: query as Routed["query"] }),
    )

  const byPath = Map.groupBy(operations, ({ operation }) => routePath(operation))
  for (const [url, bounds] of byPath) {
    const declared = new Set<Method>(bounds.map(({ operation }) => operation.method))
    for (const bound of bounds) {
      const { method } = bound.operation
      const alsoHead = method === "GET" && !declared.has("HEAD")
      const named = bound.operation.rest ? nameRest(bound.operation) : (routed: Routed) => routed
      add(alsoHead ? ["GET", "HEAD"] : [method], url, routed => answer(bound, named(routed)))
    }
    if (declared.has("GET")) declared.add("HEAD")
    const allow = [...declared, "OPTIONS"].sort().join(", ")
    const isPublic = bounds.some(({ operation }) => isCrossOrigin(operation))
    const others = METHODS.filter(method => !declared.has(method))
    add(others, url, ({ request, response }) => answerOther(request, response, refuse, allow, isPublic))
  }
  return router
}

/** Gives the rest of the path the name that its operation has for it. */
const nameRest = ({ path }: Operation) => {
  const name = /\{(\w+)\}$/.exec(path)?.[1] ?? "*"
  return (routed: Routed): Routed => {
    const { "*": rest, ...params } = routed.params
    return { ...routed, params: { ...params, [name]: rest } }
  }
}

const answerOther = (
  request: IncomingMessage,
  response: ServerResponse,
  refuse: Refuse,
  allow: string,
  isPublic: boolean,
) => {
  if (request.method !== "OPTIONS") {
    return refuse(request, response, fault("method_not_allowed", { methods: allow }), { allow })
  }
  const headers = {
    ...NO_STORE,
    allow,
    "x-request-id": requestIdOf(request),
    ...(isPublic && preflightHeaders(allow)),
  }
  send(request, response, 204, undefined, headers)
}

type Refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  extra?: Record<string, string>,
) => void

const HEADERS_TIMEOUT_MS = 15_000
/** Longer than the minute after which balancers usually drop an idle connection, so that it is never us who do. */
const KEEP_ALIVE_MS = 72_000

const createHttpServer = (
  listener: RequestListener,
  { headersTimeoutMs = HEADERS_TIMEOUT_MS, gate = () => undefined, trustedProxies }: HttpEdgeNeeds,
): Server => {
  const clientAddress = createClientAddress(trustedProxies)
  const options = {
    // Anybody else who asks to go on in another protocol is answered in this one.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      request.headers.upgrade?.toLowerCase() === "websocket" && gate()?.claims(request) === true,
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
    .on("upgrade", (request, socket, head) => gate()?.upgrade(request, socket, head, clientAddress(request)))
}

/**
 * The server, with Fastify for the pages behind it. Operations go past Fastify: its request and reply objects and its
 * life cycle would cost a key-value read a quarter more, and the pipeline uses none of them (docs/decisions/0012).
 */
const createPagesApp = (routes: Routes, refuse: Refuse, needs: HttpEdgeNeeds): FastifyInstance => {
  const { reroute, gate } = needs
  const clientAddress = createClientAddress(needs.trustedProxies)
  const app = Fastify({
    logger: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: false },
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    return503OnClosing: false,
    serverFactory(pages) {
      const listener: RequestListener = (request, response) => {
        const other = gate?.()
        if (other?.claims(request)) return other.serve(request, response, clientAddress(request))
        const found = routes.find(request.method as Method, reroute?.(request) ?? request.url ?? "")
        if (!found) return pages(request, response)
        found.handler(request, response, found.params, found.store, found.searchParams)
      }
      return createHttpServer(listener, needs)
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
    refuse(request.raw, reply.raw, fault("route_not_found"))
  })
  return app
}
