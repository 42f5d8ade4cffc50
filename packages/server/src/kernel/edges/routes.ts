/** From a method and a path to the operation. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Operation } from "@svc/contract"
import createRouter, { type HTTPVersion, type Instance } from "find-my-way"
import { fault } from "../fault.ts"
import type { BoundOperation } from "../implement.ts"
import type { PipelineResult } from "../pipeline.ts"
import type { Routed } from "./incoming.ts"
import { NO_STORE, type RenderError, type RenderErrors, requestIdOf, send } from "./reply.ts"

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] as const
export type Method = (typeof METHODS)[number]
const KNOWN: ReadonlySet<string> = new Set(METHODS)

/** The parser knows other methods too, `QUERY` and WebDAV's, which nothing here has. */
export const isKnownMethod = ({ method = "" }: IncomingMessage): boolean => KNOWN.has(method)

/** The router keeps a tree per method, and every path answers every method: one tree is enough for all. */
const ROUTED = "GET"

/** The refusal of a method that nothing has, anywhere. */
export const methodNowhere = (refuse: Refuse, request: IncomingMessage, response: ServerResponse): void => {
  const allow = METHODS.join(", ")
  refuse(request, response, fault("method_not_allowed", { methods: allow }), { allow })
}
export const PARAM_LENGTH_MAX = 4096

/** `/v1/keys/{id}/rotate` → `/v1/keys/:id/rotate`, which is how the router writes it. */
export const routePath = ({ path, rest }: Operation): string => {
  const named = path.replaceAll(/\{(\w+)\}/g, ":$1")
  return rest ? named.replace(/:\w+$/, "*") : named
}

/** Routes that browsers call from pages of other origins: no cookie counts there, so any origin may. */
export const isCrossOrigin = ({ scope, crossOrigin }: Operation): boolean =>
  scope === "publishable" || scope === "end-user" || crossOrigin === true

const CROSS_ORIGIN = {
  "access-control-allow-origin": "*",
  // Without credentials, `*` stands for every header there is.
  "access-control-expose-headers": "*",
} as const

/** Unless the handler said whom its reply is for; an empty origin is nobody's. */
export const openToOrigins = (headers: Record<string, string>): void => {
  const origin = headers["access-control-allow-origin"]
  if (origin === undefined) Object.assign(headers, CROSS_ORIGIN)
  if (origin === "") delete headers["access-control-allow-origin"]
}

const preflightHeaders = (allow: string): Record<string, string> => ({
  "access-control-allow-origin": "*",
  "access-control-allow-methods": allow,
  // `*` does not cover Authorization (Fetch standard, CORS-safelisting).
  "access-control-allow-headers": "*, authorization",
  "access-control-max-age": "600",
})

type Route = (routed: Routed) => void
type Router = Instance<HTTPVersion.V1>

export interface Routes {
  find(target: string): ReturnType<Router["find"]>
}

/** The operations by method and path; beside them OPTIONS for all, and 405 with `Allow` for methods a path lacks. */
export const createRoutes = (
  operations: readonly BoundOperation[],
  refuse: Refuse,
  answer: (bound: BoundOperation, routed: Routed) => void,
  renderErrors: RenderErrors = {},
): Routes => {
  const refuseUrl = (_path: string, request: IncomingMessage, response: ServerResponse) =>
    refuse(request, response, fault("uri_invalid"))
  // A rest parameter ends in `*`, whose value the router keeps under that name.
  const router = createRouter({
    maxParamLength: PARAM_LENGTH_MAX,
    onBadUrl: refuseUrl,
    onMaxParamLength: refuseUrl,
  })
  const byPath = Map.groupBy(operations, ({ operation }) => routePath(operation))
  for (const [url, bounds] of byPath) {
    const byMethod = new Map<string, Route>()
    for (const bound of bounds) {
      const named = bound.operation.rest ? nameRest(bound.operation) : (routed: Routed) => routed
      const { method } = bound.operation
      if (byMethod.has(method)) throw new Error(`${method} ${url} is declared twice`)
      byMethod.set(method, routed => answer(bound, named(routed)))
    }
    const get = byMethod.get("GET")
    if (get && !byMethod.has("HEAD")) byMethod.set("HEAD", get)
    const allow = [...new Set([...byMethod.keys(), "OPTIONS"])].sort().join(", ")
    const isPublic = bounds.some(({ operation }) => isCrossOrigin(operation))
    const optionsHeaders = Object.assign({}, ...bounds.map(({ operation }) => operation.optionsHeaders))
    const render = bounds.map(({ operation }) => renderErrors[operation.envelope]).find(known => known)
    const other: Route = ({ request, response }) =>
      answerOther({ request, response, refuse, allow, isPublic, optionsHeaders, render })
    router.on(ROUTED, url, (request, response, params, _store, query) => {
      const route = byMethod.get(request.method ?? "") ?? other
      route({ request, response, params, query: query as Routed["query"] })
    })
  }
  return { find: target => router.find(ROUTED, target) }
}

/** Gives the rest of the path the name that its operation has for it. */
const nameRest = ({ path }: Operation) => {
  const name = /\{(\w+)\}$/.exec(path)?.[1] ?? "*"
  return (routed: Routed): Routed => {
    const { "*": rest, ...params } = routed.params
    return { ...routed, params: { ...params, [name]: rest } }
  }
}

interface OtherMethod extends Pick<Routed, "request" | "response"> {
  readonly refuse: Refuse
  readonly allow: string
  readonly isPublic: boolean
  readonly optionsHeaders: Readonly<Record<string, string>>
  readonly render: RenderError | undefined
}

const answerOther = (other: OtherMethod) => {
  const { request, response, refuse, allow, isPublic, optionsHeaders, render } = other
  if (request.method !== "OPTIONS") {
    return refuse(request, response, fault("method_not_allowed", { methods: allow }), { allow }, render)
  }
  const headers = {
    ...NO_STORE,
    ...optionsHeaders,
    allow,
    "x-request-id": requestIdOf(request),
    ...(isPublic && preflightHeaders(allow)),
  }
  send(request, response, 204, undefined, headers)
}

export type Write = (bound: BoundOperation, routed: Routed, result: PipelineResult) => Promise<void> | void

export type Refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  extra?: Record<string, string>,
  render?: RenderError,
) => void
