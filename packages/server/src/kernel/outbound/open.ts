import { Readable } from "node:stream"
import type { Family, MetricSources } from "../metrics.ts"
import { createAddressRules } from "./addresses.ts"
import { decoderOf, exchangeError, shapeBody, tooLarge } from "./body.ts"
import { type Connections, createConnections } from "./connections.ts"
import { createConnector } from "./connector.ts"
import { acrossOrigins, headersProblem, requestHeaders, responseHeaders } from "./headers.ts"
import { createNames } from "./names.ts"
import { type Answer, type Failure, type Outbound, OutboundError, type OutboundRequest } from "./outbound.ts"
import { createTargetRules, refused, type TargetRules } from "./targets.ts"

export interface OutboundOptions {
  /** CIDRs of targets that are refused otherwise. */
  readonly outboundAllow: readonly string[]
  /** `address` or `address:port`; none: the system's. */
  readonly dnsServers: readonly string[]
  /** `production` refuses plain http. */
  readonly mode: "development" | "production"
  /** The platform's own; its name is a local one to others. */
  readonly baseUrl: string
}

const TIMEOUT_MS = 15_000
const RESPONSE_BYTES_MAX = 65_536

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const abortedBy = (message: string): OutboundError => new OutboundError({ kind: "aborted", message })

/** Aborts a call at its deadline, with its caller's signal, and when the platform stops. */
const createDeadline = ({ timeoutMs = TIMEOUT_MS, signal }: OutboundRequest, stopping: AbortSignal) => {
  const controller = new AbortController()
  const onAbort = () => controller.abort(abortedBy("The caller gave the request up."))
  const onStop = () => controller.abort(stopping.reason)
  const timer = setTimeout(() => {
    const message = `There was no whole answer in ${timeoutMs} ms.`
    controller.abort(new OutboundError({ kind: "timeout", message }))
  }, timeoutMs)
  signal?.addEventListener("abort", onAbort, { once: true })
  stopping.addEventListener("abort", onStop, { once: true })
  if (signal?.aborted) onAbort()
  if (stopping.aborted) onStop()
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
      stopping.removeEventListener("abort", onStop)
    },
  }
}

/** The URL that a redirect leads to; undefined for an answer that is none. */
const redirectOf = (status: number, location: string | undefined, from: URL): string | undefined => {
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  if (!URL.canParse(location, from.href)) throw refused("url", "The answer redirects to what is not a URL.")
  return new URL(location, from.href).href
}

interface Exchange {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
  readonly address: string
  /** Must be called once; `isRead`: the body was read to its end. */
  release(isRead: boolean): void
}

/** One request and the headers of its answer, without redirects. */
const exchange = async (
  connections: Connections,
  url: URL,
  { method = "GET", body }: OutboundRequest,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Exchange> => {
  const connection = await connections.take(url.origin, signal)
  // The signal is not handed to undici, which ignores it while it connects.
  const abort = () => void connection.client.destroy(signal.reason)
  signal.addEventListener("abort", abort, { once: true })
  const release = (isRead: boolean) => {
    signal.removeEventListener("abort", abort)
    connections.give(connection, isRead)
  }
  try {
    const path = url.pathname + url.search
    const request = { path, method, headers, body: body ?? null, responseHeaders: "raw" as const }
    const answer = await connection.client.request(request)
    return {
      status: answer.statusCode,
      headers: responseHeaders(answer.headers as unknown as readonly string[]),
      body: answer.body,
      address: connection.address(),
      release,
    }
  } catch (error) {
    release(false)
    throw signal.aborted ? signal.reason : error
  }
}

/** A request and, if the caller asked for it, those that its redirects lead to. */
const follow = async (
  connections: Connections,
  rules: TargetRules,
  request: OutboundRequest,
  signal: AbortSignal,
): Promise<{ readonly url: URL; readonly answer: Exchange }> => {
  const { method = "GET", redirectsMax = 0, decompress = false } = request
  let url = rules.read(request.url)
  const problem = headersProblem(request.headers ?? {})
  if (problem !== undefined) throw refused("headers", problem)
  let headers = requestHeaders(request.headers ?? {}, decompress)
  for (let redirects = 0; ; redirects++) {
    const answer = await exchange(connections, url, request, headers, signal)
    if (redirectsMax === 0 || (method !== "GET" && method !== "HEAD")) return { url, answer }
    const next = redirectOf(answer.status, answer.headers.location, url)
    if (next === undefined) return { url, answer }
    answer.body.on("error", () => undefined).destroy()
    answer.release(false)
    if (redirects === redirectsMax)
      throw refused("redirects", `The URL redirects more than ${redirectsMax} times.`)
    const target = rules.read(next)
    if (target.origin !== url.origin) headers = acrossOrigins(headers)
    url = target
  }
}

/** What the whole answer becomes: cut at the bound, or too large. */
const readBody = async (body: Readable, bytesMax: number, overflow: "cut" | "fail") => {
  const chunks: Buffer[] = []
  let room = bytesMax
  let truncated = false
  for await (const chunk of body) {
    chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
    truncated = chunk.length > room
    room -= chunk.length
    if (truncated) break
  }
  if (truncated && overflow === "fail") throw tooLarge(bytesMax)
  return { body: Buffer.concat(chunks), truncated }
}

const outcomes = (counts: ReadonlyMap<string, number>): Family => ({
  name: "svc_outbound_requests_total",
  type: "counter",
  help: "Requests to URLs that users gave, by outcome.",
  samples: [...counts].map(([outcome, value]) => ({ labels: { outcome }, value })),
})

/** The only client for URLs that users give; its promises are in outbound.ts. */
export const createOutbound = (options: OutboundOptions, metrics?: MetricSources): Outbound => {
  const { outboundAllow, dnsServers, mode, baseUrl } = options
  const rules = createTargetRules({
    verdictOf: createAddressRules(outboundAllow),
    isAnyOpened: outboundAllow.length > 0,
    isProduction: mode === "production",
    ownName: new URL(baseUrl).hostname,
  })
  const names = createNames(dnsServers)
  const connections = createConnections(createConnector(rules, names))
  const stopping = new AbortController()
  const counts = new Map<string, number>()
  metrics?.collect(() => [outcomes(counts)])

  const counted = <Outcome extends { readonly kind: string }>(outcome: Outcome): Outcome => {
    counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1)
    return outcome
  }

  const send = async (request: OutboundRequest, bytesMax: number): Promise<Answer<Readable> | Failure> => {
    const startedMs = performance.now()
    const durationMs = () => Math.round(performance.now() - startedMs)
    const deadline = createDeadline(request, stopping.signal)
    try {
      const { url, answer } = await follow(connections, rules, request, deadline.signal)
      const { status, headers, address } = answer
      const isEmpty = request.method === "HEAD" || status === 204 || status === 304
      const decoder = request.decompress && !isEmpty ? decoderOf(headers["content-encoding"]) : undefined
      const onEnd = (error: Error | null | undefined) => {
        deadline[Symbol.dispose]()
        answer.release(!error)
      }
      const body = shapeBody(answer.body, { decoder, bytesMax, signal: deadline.signal, onEnd })
      return { kind: "answered", status, headers, body, url: url.href, address, durationMs: durationMs() }
    } catch (error) {
      deadline[Symbol.dispose]()
      if (request.body instanceof Readable) request.body.on("error", () => undefined).destroy()
      return { ...exchangeError(error).reason, durationMs: durationMs() }
    }
  }

  const request: Outbound["request"] = async request => {
    const startedMs = performance.now()
    const { responseBytesMax = RESPONSE_BYTES_MAX, overflow = "cut" } = request
    const answer = await send(request, Number.POSITIVE_INFINITY)
    if (answer.kind !== "answered") return answer
    try {
      const read = await readBody(answer.body, responseBytesMax, overflow)
      return { ...answer, ...read, durationMs: Math.round(performance.now() - startedMs) }
    } catch (error) {
      const durationMs = Math.round(performance.now() - startedMs)
      return { ...exchangeError(error).reason, durationMs }
    }
  }

  return {
    request: async given => counted(await request(given)),
    open: async given => counted(await send(given, given.responseBytesMax ?? RESPONSE_BYTES_MAX)),
    urlProblem: url => problemOf(() => rules.read(url)),
    headersProblem,
    async [Symbol.asyncDispose]() {
      stopping.abort(abortedBy("The platform stops."))
      connections[Symbol.dispose]()
      names[Symbol.dispose]()
    },
  }
}

/** What a judgement has against its subject. */
const problemOf = (judge: () => unknown): string | undefined => {
  try {
    judge()
    return undefined
  } catch (error) {
    if (error instanceof OutboundError) return error.message
    throw error
  }
}
