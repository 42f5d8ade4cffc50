import type { IncomingMessage, ServerResponse } from "node:http"
import { isList, type Operation, type Reply } from "@svc/contract"
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify"
import { type Clock, systemClock } from "../clock.ts"
import type { Incoming } from "../exchange.ts"
import { fault, isFault } from "../fault.ts"
import type { BoundOperation } from "../implement.ts"
import type { Logger } from "../log.ts"
import { type Answer, type Pipeline, refusal } from "../pipeline.ts"
import { type BodyReader, createBodyReader, hasBody, inviteBody } from "./body.ts"
import { createClientAddress } from "./client-address.ts"
import { createBrokenRequestHandler, createConnectionCloser } from "./connections.ts"
import { requestIdOf, send } from "./reply.ts"

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
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] as const
const PARAM_LENGTH_MAX = 4096

/** `/v1/keys/{id}/rotate` → `/v1/keys/:id/rotate`, which is how the router writes it. */
const routePath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1")

/** Routes that browsers call from pages of other origins: they need no secret, so any origin may. */
const isCrossOrigin = ({ scope }: Operation): boolean => scope === "publishable"

const CROSS_ORIGIN = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after",
} as const

const preflightHeaders = (allow: string): Record<string, string> => ({
  "access-control-allow-origin": "*",
  "access-control-allow-methods": allow,
  "access-control-allow-headers": "authorization, content-type, apikey, idempotency-key, x-request-id",
  "access-control-max-age": "600",
})

const isBodyless = ({ status }: Reply): boolean => status === 204 || status === 304

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

const createIncoming = (
  request: FastifyRequest,
  response: ServerResponse,
  ip: string,
  bodies: BodyReader,
): Incoming => {
  const raw = request.raw
  return {
    ip,
    get path() {
      return (raw.url ?? "").split("?", 1)[0] ?? ""
    },
    params: request.params as Record<string, string>,
    query: request.query as Record<string, string>,
    header(name) {
      const value = raw.headers[name]
      return Array.isArray(value) ? value.join(", ") : value
    },
    json: bytesMax => bodies.json(raw, response, bytesMax),
    stream() {
      inviteBody(raw, response)
      return raw
    },
    signal() {
      const controller = new AbortController()
      // Of the response, not of the socket, which lives on for the next request.
      response.once("close", () => response.writableFinished || controller.abort())
      return controller.signal
    },
  }
}

/** HTTP in front of the pipeline: routing, bytes and status lines; no rule of the platform lives here. */
export const createHttpEdge = (needs: HttpEdgeNeeds): FastifyInstance => {
  const { pipeline, operations, log, baseUrl, clock = systemClock } = needs
  const clientAddress = createClientAddress(needs.trustedProxies)
  const bodies = createBodyReader(clock)

  const refuse: Refuse = (request, response, error, extra) => {
    const known = isFault(error) ? error : fault("internal_error", undefined, { internal: error })
    const requestId = requestIdOf(request)
    if (known.status >= 500) log.error({ request_id: requestId, err: error }, "http edge")
    if (response.headersSent) return void response.destroy()
    const { status, body, headers } = refusal(known, baseUrl, requestId)
    send(request, response, status, body, { "x-request-id": requestId, ...headers, ...extra })
  }

  const app = createServer(refuse, baseUrl, needs.headersTimeoutMs)
  app.addHook("onClose", async () => bodies[Symbol.dispose]())

  const answer = async (bound: BoundOperation, request: FastifyRequest, response: ServerResponse) => {
    try {
      checkHeaders(request.raw)
      const result = await pipeline(
        bound,
        createIncoming(request, response, clientAddress(request.raw), bodies),
      )
      const headers: Record<string, string> = {
        "x-request-id": result.requestId,
        ...result.headers,
        ...result.reply.headers,
      }
      if (isCrossOrigin(bound.operation)) Object.assign(headers, CROSS_ORIGIN)
      const body = isBodyless(result.reply) ? undefined : wrap(bound.operation, result)
      send(request.raw, response, result.reply.status, body, headers)
    } catch (error) {
      refuse(request.raw, response, error)
    }
  }

  const ownHead = new Set(
    operations.filter(({ operation }) => operation.method === "HEAD").map(({ operation }) => operation.path),
  )
  for (const bound of operations) {
    const { method, path } = bound.operation
    app.route({
      method: method === "GET" && !ownHead.has(path) ? ["GET", "HEAD"] : method,
      url: routePath(path),
      handler(request, reply) {
        reply.hijack()
        void answer(bound, request, reply.raw)
      },
    })
  }
  addOtherMethods(app, operations, refuse)
  return app
}

type Refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  extra?: Record<string, string>,
) => void

const HEADERS_TIMEOUT_MS = 15_000

/** Fastify as a router and nothing more: it reads no body, writes no reply and answers no error in its own words. */
const createServer = (
  refuse: Refuse,
  baseUrl: string,
  headersTimeoutMs = HEADERS_TIMEOUT_MS,
): FastifyInstance => {
  const app = Fastify({
    logger: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: false },
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    return503OnClosing: false,
    http: {
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: headersTimeoutMs / 5,
      requestTimeout: 0,
      // Answered in our own words, by checkHeaders.
      requireHostHeader: false,
    },
    frameworkErrors(_error, request, reply) {
      reply.hijack()
      refuse(request.raw, reply.raw, fault("uri_invalid"))
    },
    clientErrorHandler: createBrokenRequestHandler(baseUrl),
  })
  // The pipeline reads bodies itself, after it knows who is calling and how much they may send.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  // Without these, Node would invite every body, and refuse other expectations in its own words.
  app.server.on("checkContinue", app.routing).on("checkExpectation", app.routing)

  const endConnections = createConnectionCloser(app.server)
  app.addHook("preClose", async () => endConnections())
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

/** OPTIONS for all, and 405 with `Allow` for methods that a path does not have. */
const addOtherMethods = (app: FastifyInstance, operations: readonly BoundOperation[], refuse: Refuse) => {
  const byPath = Map.groupBy(operations, ({ operation }) => routePath(operation.path))
  for (const [url, bounds] of byPath) {
    const declared = new Set<string>(bounds.map(({ operation }) => operation.method))
    if (declared.has("GET")) declared.add("HEAD")
    const allow = [...declared, "OPTIONS"].sort().join(", ")
    const crossOrigin = bounds.some(({ operation }) => isCrossOrigin(operation))
    app.route({
      method: METHODS.filter(method => !declared.has(method)),
      url,
      handler({ raw }, reply) {
        reply.hijack()
        if (raw.method !== "OPTIONS") {
          return refuse(raw, reply.raw, fault("method_not_allowed", { methods: allow }), { allow })
        }
        const headers = {
          allow,
          "x-request-id": requestIdOf(raw),
          ...(crossOrigin && preflightHeaders(allow)),
        }
        send(raw, reply.raw, 204, undefined, headers)
      },
    })
  }
}
