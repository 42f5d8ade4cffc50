import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { isList, type Operation, type Reply } from "@svc/contract"
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify"
import type { Incoming } from "../exchange.ts"
import { type Fault, fault, isFault } from "../fault.ts"
import type { BoundOperation } from "../implement.ts"
import type { Logger } from "../log.ts"
import { type Answer, type Pipeline, refusal, requestIdFor } from "../pipeline.ts"
import { readJson } from "./body.ts"
import { createClientAddress } from "./client-address.ts"

export interface HttpEdgeNeeds {
  readonly pipeline: Pipeline
  readonly operations: readonly BoundOperation[]
  readonly log: Logger
  readonly baseUrl: string
  readonly trustedProxies: readonly string[]
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const
const HEADERS_TIMEOUT_MS = 15_000
const PARAM_LENGTH_MAX = 4096

/** `/v1/keys/{id}/rotate` → `/v1/keys/:id/rotate`, which is how the router writes it. */
const routePath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1")

/** Routes that browsers call from pages of other origins: they need no secret, so any origin may. */
const isCrossOrigin = ({ scope }: Operation): boolean => scope === "publishable"

const isBodyless = ({ status }: Reply): boolean => status === 204 || status === 304

/** The payload in the operation's envelope. */
const wrap = (operation: Operation, { reply, requestId }: Answer): unknown => {
  if (reply.status >= 400 || operation.envelope !== "data") return reply.body
  const schema = operation.replies[reply.status]
  return schema && isList(schema) && typeof reply.body === "object"
    ? { ...reply.body, request_id: requestId }
    : { data: reply.body, request_id: requestId }
}

const send = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string>) => {
  const text = body === undefined ? "" : JSON.stringify(body)
  if (text !== "") headers["content-type"] = "application/json; charset=utf-8"
  headers["cache-control"] ??= "no-store"
  headers["content-length"] = String(Buffer.byteLength(text))
  if (status === 413 || status === 408) headers.connection = "close"
  if (status === 401) headers["www-authenticate"] ??= "Bearer"
  response.writeHead(status, headers)
  response.end(text)
}

/** Node silently keeps the first of two Authorization headers; a proxy in front may have read the second. */
const checkDuplicates = ({ rawHeaders }: IncomingMessage) => {
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 13 && name.toLowerCase() === "authorization" && ++seen > 1)
      throw fault("header_duplicated")
  }
}

const createIncoming = (request: FastifyRequest, ip: string): Incoming => {
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
    json: bytesMax => readJson(raw, bytesMax),
    stream: () => raw,
    signal() {
      const controller = new AbortController()
      raw.socket.once("close", () => controller.abort())
      return controller.signal
    },
  }
}

/** HTTP in front of the pipeline: routing, bytes and status lines; no rule of the platform lives here. */
export const createHttpEdge = ({
  pipeline,
  operations,
  log,
  baseUrl,
  trustedProxies,
}: HttpEdgeNeeds): FastifyInstance => {
  const clientAddress = createClientAddress(trustedProxies)

  const refuse = (
    request: IncomingMessage,
    response: ServerResponse,
    error: Fault,
    extra: Record<string, string> = {},
  ) => {
    const given = request.headers["x-request-id"]
    const requestId = requestIdFor(typeof given === "string" ? given : undefined)
    const { status, body, headers } = refusal(error, baseUrl, requestId)
    send(response, status, body, { "x-request-id": requestId, ...headers, ...extra })
  }

  const app = Fastify({
    logger: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: false },
    bodyLimit: Number.MAX_SAFE_INTEGER,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    http: { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: 0 },
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      refuse(request.raw, reply.raw, fault("uri_invalid"))
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, baseUrl),
  })

  // The pipeline reads bodies itself, after it knows who is calling and how much they may send.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, done) => done(null))

  app.setErrorHandler((error, request, reply) => {
    reply.hijack()
    const status = (error as { statusCode?: number }).statusCode
    const known = isFault(error)
      ? error
      : fault(status === 415 ? "unsupported_media_type" : "internal_error", undefined, { internal: error })
    if (known.status >= 500) log.error({ err: error }, "http edge")
    refuse(request.raw, reply.raw, known)
  })

  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    refuse(request.raw, reply.raw, fault("route_not_found"))
  })

  const answer = async (bound: BoundOperation, request: FastifyRequest, response: ServerResponse) => {
    checkDuplicates(request.raw)
    const result = await pipeline(bound, createIncoming(request, clientAddress(request.raw)))
    const headers: Record<string, string> = {
      "x-request-id": result.requestId,
      ...result.headers,
      ...result.reply.headers,
    }
    if (isCrossOrigin(bound.operation)) headers["access-control-allow-origin"] = "*"
    send(
      response,
      result.reply.status,
      isBodyless(result.reply) ? undefined : wrap(bound.operation, result),
      headers,
    )
  }

  const ownHead = new Set(
    operations.filter(({ operation }) => operation.method === "HEAD").map(({ operation }) => operation.path),
  )
  for (const bound of operations) {
    const { method, path } = bound.operation
    app.route({
      method: method === "GET" && !ownHead.has(path) ? ["GET", "HEAD"] : method,
      url: routePath(path),
      handler: (request, reply) => {
        reply.hijack()
        return answer(bound, request, reply.raw).catch(error => {
          refuse(
            request.raw,
            reply.raw,
            isFault(error) ? error : fault("internal_error", undefined, { internal: error }),
          )
        })
      },
    })
  }
  addOtherMethods(app, operations, refuse)
  return app
}

type Refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  error: Fault,
  extra?: Record<string, string>,
) => void

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
      handler: (request, reply) => {
        reply.hijack()
        if (request.method !== "OPTIONS")
          return refuse(request.raw, reply.raw, fault("method_not_allowed"), { allow })
        send(reply.raw, 204, undefined, {
          allow,
          "x-request-id": requestIdFor(undefined),
          ...(crossOrigin && corsHeaders(allow)),
        })
      },
    })
  }
}

const corsHeaders = (allow: string): Record<string, string> => ({
  "access-control-allow-origin": "*",
  "access-control-allow-methods": allow,
  "access-control-allow-headers": "authorization, content-type, apikey, idempotency-key, x-request-id",
  "access-control-expose-headers":
    "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after",
  "access-control-max-age": "600",
})

/** Bytes that are not HTTP, headers too large or too slow: there is no request to answer, only a socket. */
const answerBrokenRequest = (error: NodeJS.ErrnoException, socket: Socket, baseUrl: string) => {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy()
  const known = fault(error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? "request_timeout" : "invalid_request")
  const requestId = requestIdFor(undefined)
  const body = JSON.stringify(refusal(known, baseUrl, requestId).body)
  socket.end(
    `HTTP/1.1 ${known.status} ${known.status === 408 ? "Request Timeout" : "Bad Request"}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
  )
}
