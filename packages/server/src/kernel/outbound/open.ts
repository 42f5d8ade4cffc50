import type { Socket } from "node:net"
import { Readable } from "node:stream"
import type { Family, MetricSources } from "../metrics.ts"
import { createAddressRules } from "./addresses.ts"
import { type Decoder, decoderOf, exchangeError, readBody, shapeBody, tooLarge } from "./body.ts"
import { follow } from "./exchange.ts"
import { headersProblem } from "./headers.ts"
import { createNames, type Names } from "./names.ts"
import {
  type BufferedRequest,
  type Outbound,
  OutboundError,
  type OutboundRequest,
  type Reason,
} from "./outbound.ts"
import { createTargetRules, hostOf, type TargetRules } from "./targets.ts"

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

const outcomes = (counts: ReadonlyMap<string, number>): Family => ({
  name: "svc_outbound_requests_total",
  type: "counter",
  help: "Requests to URLs that users gave, by outcome.",
  samples: [...counts].map(([outcome, value]) => ({ labels: { outcome }, value })),
})

/** What connects, loaded with the first request: an installation that makes none goes without some megabytes. */
const openTransport = async (rules: TargetRules, names: Names) => {
  const [{ createConnections }, { createConnector }] = await Promise.all([
    import("./connections.ts"),
    import("./connector.ts"),
  ])
  return {
    connections: createConnections(createConnector(rules, names)),
    connect: createConnector(rules, names, true),
  }
}

type Transport = ReturnType<typeof openTransport>

/** An answer whose headers are there. */
interface OpenResponse {
  readonly body: Readable
  readonly decoder: Decoder | undefined
  readonly signal: AbortSignal
  /** Must be called once, when the body is no longer read. */
  close(): void
}

/** Sends a request and has its answer's body handled; a failure of either is the outcome. */
const createSend =
  (transport: () => Transport, rules: TargetRules, stopping: AbortSignal) =>
  async <Body>(request: OutboundRequest, handle: (sent: OpenResponse) => Promise<Body> | Body) => {
    const startedMs = performance.now()
    const deadline = createDeadline(request, stopping)
    const { signal } = deadline
    try {
      const { connections } = await transport()
      const { url, answer } = await follow(connections, rules, request, signal)
      const { status, headers, address } = answer
      const isEmpty = request.method === "HEAD" || status === 204 || status === 304
      const decoder = request.decompress && !isEmpty ? decoderOf(headers["content-encoding"]) : undefined
      const close = () => {
        deadline[Symbol.dispose]()
        answer.release(answer.body.readableEnded)
      }
      const handled = await handle({ body: answer.body, decoder, signal, close })
      const durationMs = Math.round(performance.now() - startedMs)
      return { kind: "answered" as const, status, headers, url: url.href, address, durationMs, ...handled }
    } catch (error) {
      deadline[Symbol.dispose]()
      if (request.body instanceof Readable) request.body.on("error", () => undefined).destroy()
      const { reason } = signal.aborted ? signal.reason : exchangeError(error)
      return { ...(reason as Reason), durationMs: Math.round(performance.now() - startedMs) }
    }
  }

/** Connects without a request; what goes wrong is the outcome. */
const createConnect =
  (transport: () => Transport, rules: TargetRules, stopping: AbortSignal) =>
  async (text: string, signal: AbortSignal) => {
    const startedMs = performance.now()
    const deadline = createDeadline({ url: text, signal }, stopping)
    const aborted = Promise.withResolvers<never>()
    deadline.signal.addEventListener("abort", () => aborted.reject(deadline.signal.reason), { once: true })
    aborted.promise.catch(() => undefined)
    try {
      const url = rules.read(text)
      const { protocol, host, port } = url
      const { connect } = await transport()
      deadline.signal.throwIfAborted()
      const connecting = new Promise<Socket>((resolve, reject) => {
        connect({ protocol, host, hostname: hostOf(url), port }, (...[error, socket]) => {
          if (error) reject(error)
          else if (deadline.signal.aborted) socket.destroy()
          else resolve(socket)
        })
      })
      return { kind: "connected" as const, socket: await Promise.race([connecting, aborted.promise]) }
    } catch (error) {
      const { reason } = deadline.signal.aborted ? deadline.signal.reason : exchangeError(error)
      return { ...(reason as Reason), durationMs: Math.round(performance.now() - startedMs) }
    } finally {
      deadline[Symbol.dispose]()
    }
  }

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
  let opened: Transport | undefined
  const transport = () => {
    opened ??= openTransport(rules, names)
    return opened
  }
  const stopping = new AbortController()
  const counts = new Map<string, number>()
  metrics?.collect(() => [outcomes(counts)])

  const counted = <Outcome extends { readonly kind: string }>(outcome: Outcome): Outcome => {
    counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1)
    return outcome
  }

  const send = createSend(transport, rules, stopping.signal)
  const connect = createConnect(transport, rules, stopping.signal)

  const request = ({ responseBytesMax = RESPONSE_BYTES_MAX, overflow = "cut", ...given }: BufferedRequest) =>
    send(given, async sent => {
      const { body, close } = sent
      try {
        // Most answers are not compressed, and a pipeline costs as much as the rest of the request.
        const source = sent.decoder ? shapeBody(body, { ...sent, bytesMax: Number.POSITIVE_INFINITY }) : body
        const read = await readBody(source, responseBytesMax)
        if (read.truncated && overflow === "fail") throw tooLarge(responseBytesMax)
        return read
      } finally {
        close()
      }
    })

  const open = ({ responseBytesMax = RESPONSE_BYTES_MAX, ...given }: OutboundRequest) =>
    send(given, sent => ({
      body: shapeBody(sent.body, { ...sent, bytesMax: responseBytesMax, onEnd: sent.close }),
    }))

  return {
    request: async given => counted(await request(given)),
    open: async given => counted(await open(given)),
    connect: async (url, signal) => counted(await connect(url, signal)),
    urlProblem: url => problemOf(() => rules.read(url)),
    headersProblem,
    async [Symbol.asyncDispose]() {
      stopping.abort(abortedBy("The platform stops."))
      const { connections } = (await opened) ?? {}
      connections?.[Symbol.dispose]()
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
