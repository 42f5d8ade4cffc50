import { awaitDecision, decidedAnswer, pendingApproval } from "./approvals.ts"
import { createConnect } from "./connect.ts"
import { type Approval, ApprovalPending } from "./errors.ts"
import { prepare } from "./prepare.ts"
import { createRaw } from "./raw.ts"
import { errorFrom, type ParsedResponse, requestIdOf, unwrap } from "./reply.ts"
import { readRetryAfter } from "./retry.ts"
import type { Route, Routes } from "./route.ts"
import { routes } from "./routes.gen.ts"
import { readSettings, type SvcOptions } from "./settings.ts"
import type { CallOptions, Reply, RequestBody, Svc } from "./surface.ts"
import { createTransport } from "./transport.ts"

type Fields = Readonly<Record<string, unknown>>
type Options = CallOptions & { readonly body?: RequestBody | undefined }

/**
 * A client of one installation. Every operation of the contract is a method: `svc.kv.set({ key, value })`.
 * Methods throw SvcError; with `approvals: "throw"`, ApprovalPending where a person must decide first.
 */
export const createSvc = (options: SvcOptions = {}): Svc => {
  const settings = readSettings(options)
  const transport = createTransport(settings)
  const connect = createConnect(settings, transport)

  const call = async (
    route: Route,
    input: Fields = {},
    callOptions: Options = {},
  ): Promise<Reply<unknown>> => {
    if (route.reply === "websocket") {
      const data = await connect(route, input, callOptions)
      return { status: 101, headers: new Headers(), data, requestId: undefined }
    }
    const answer = await transport.send(prepare(settings, route, input, callOptions))
    const requestId = requestIdOf(answer.headers)
    const approval = pendingApproval(answer)
    if (!approval) {
      const { status, headers, body } = answer
      return { status, headers, data: unwrap(route, body), requestId }
    }
    const { status, headers, body } = await decide(approval, answer, callOptions.signal)
    // The record keeps the payload, not the reply, so there is no envelope to take off.
    return { status, headers, data: body, requestId }
  }

  const decide = async (approval: Approval, answer: ParsedResponse, signal: AbortSignal | undefined) => {
    const retryAfter = readRetryAfter(answer.headers)
    if (settings.approvals === "throw")
      throw new ApprovalPending(approval, {
        requestId: requestIdOf(answer.headers),
        docsUrl: `${settings.baseUrl}/docs/errors/approval_required`,
        retryAfter,
      })
    const decided = await awaitDecision(approval, {
      retryAfter,
      pause: ms => transport.pause(ms, signal),
      find: async id => (await call(routeOf("approvals.get"), { id }, { signal })).data as Approval,
    })
    const final = decidedAnswer(decided, answer)
    if (final.status >= 400) throw errorFrom(final)
    return final
  }

  const client = {
    ...methods(async (route, input, callOptions) => (await call(route, input, callOptions)).data),
    request: (name: string, input?: Fields, callOptions?: Options) => call(routeOf(name), input, callOptions),
    raw: createRaw(settings),
    get rateLimit() {
      return transport.rateLimit()
    },
  }
  // The methods come from the table and their types from the contract that the table was made of.
  return client as unknown as Svc
}

type Method = (route: Route, input?: Fields, options?: Options) => Promise<unknown>

const methods = (method: Method) =>
  mapValues(routes as Routes, operations =>
    mapValues(operations, route => (input?: Fields, options?: Options) => method(route, input, options)),
  )

const mapValues = <From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))

const routeOf = (name: string): Route => {
  const [area = "", key = ""] = name.split(".")
  const operations = Object.hasOwn(routes, area) ? (routes as Routes)[area] : undefined
  const route = operations && Object.hasOwn(operations, key) ? operations[key] : undefined
  if (!route) throw new TypeError(`unknown operation: ${name}`)
  return route
}
