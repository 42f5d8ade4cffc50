/** Sends requests to upstreams: those of the operator over pools of connections, those of tenants through the guarded client. */

import type { Readable } from "node:stream"
import { Pool } from "undici"
import type { Clock } from "../../kernel/clock.ts"
import { every } from "../../kernel/every.ts"
import type { Failure, Outbound } from "../../kernel/outbound/outbound.ts"
import type { Upstream } from "./catalog.ts"
import { Cancelled, UpstreamFailure } from "./failure.ts"

const CONNECT_MS = 2_000
const IDLE_MS = 60_000
/** From the first try to the last byte. */
export const REQUEST_MS_MAX = 10 * 60_000
const CONNECTIONS_MAX = 1_024
const TICK_MS = 1_000
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

export interface UpstreamRequest {
  readonly method: "GET" | "POST"
  /** Below the base URL. */
  readonly path: string
  readonly body?: string | Uint8Array
  readonly contentType?: string
}

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}

/** One request on its way, with the times that it must keep. */
export interface Flight {
  readonly signal: AbortSignal
  /** What it was aborted for. */
  reason(): UpstreamFailure | Cancelled | undefined
  /** Something came. */
  touch(): void
  /** The first words are there: from now on only pauses count. */
  started(): void
  abort(reason: UpstreamFailure | Cancelled): void
  end(): void
}

export interface UpstreamClient extends AsyncDisposable {
  /** `startedMs`: when the first try began, which its ten minutes count from. */
  fly(caller: AbortSignal, startedMs: number, firstByteMs: number): Flight
  /** Throws UpstreamFailure or Cancelled. */
  send(upstream: Upstream, request: UpstreamRequest, flight: Flight): Promise<UpstreamAnswer>
}

const timeout = (what: string) => new UpstreamFailure("timeout", what)

const createFlights = (clock: Clock) => {
  const flights = new Set<() => void>()
  const ticker = every(clock, TICK_MS, () => {
    for (const check of flights) check()
  })

  const fly = (caller: AbortSignal, startedMs: number, firstByteMs: number): Flight => {
    const controller = new AbortController()
    const sentMs = clock.now()
    let touchedMs = sentMs
    let isStarted = false
    let why: UpstreamFailure | Cancelled | undefined
    const abort = (reason: UpstreamFailure | Cancelled) => {
      why ??= reason
      controller.abort(why)
    }
    const check = () => {
      const nowMs = clock.now()
      if (nowMs - startedMs >= REQUEST_MS_MAX) abort(timeout("it took longer than ten minutes"))
      else if (!isStarted && nowMs - sentMs >= firstByteMs)
        abort(timeout("it did not begin to answer in time"))
      else if (isStarted && nowMs - touchedMs >= IDLE_MS) abort(timeout("it fell silent for a minute"))
    }
    const onCaller = () => abort(new Cancelled("the caller went away"))
    caller.addEventListener("abort", onCaller, { once: true })
    flights.add(check)
    if (caller.aborted) onCaller()
    return {
      signal: controller.signal,
      reason: () => why,
      touch() {
        touchedMs = clock.now()
      },
      started() {
        isStarted = true
        touchedMs = clock.now()
      },
      abort,
      end() {
        flights.delete(check)
        caller.removeEventListener("abort", onCaller)
      },
    }
  }
  return { fly, dispose: () => ticker[Symbol.dispose]() }
}

const headersOf = ({ apiKey }: Upstream, { body, contentType = "application/json" }: UpstreamRequest) => ({
  accept: "*/*",
  ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  ...(body !== undefined && { "content-type": contentType }),
})

const flat = (headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  )

const unreachable = (error: unknown): UpstreamFailure => {
  const { code = "", message } = error as NodeJS.ErrnoException
  const kind = code === "UND_ERR_CONNECT_TIMEOUT" ? "timeout" : "transient"
  return new UpstreamFailure(kind, `it cannot be reached: ${code || message}`, { cause: error })
}

const refusedBy = ({ kind, message }: Failure): UpstreamFailure => {
  if (kind === "refused") return new UpstreamFailure("misconfigured", message, { retryAfterMs: 60_000 })
  return new UpstreamFailure(kind === "timeout" ? "timeout" : "transient", message)
}

export const createUpstreamClient = ({
  outbound,
  clock,
}: {
  readonly outbound: Outbound
  readonly clock: Clock
}): UpstreamClient => {
  const pools = new Map<string, Pool>()
  const flights = createFlights(clock)

  const poolOf = (origin: string): Pool => {
    const known = pools.get(origin)
    if (known) return known
    const pool = new Pool(origin, {
      connections: CONNECTIONS_MAX,
      // One retry loop only, and one place for deadlines: the gateway's.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: CONNECT_MS },
    })
    pools.set(origin, pool)
    return pool
  }

  const sendDirect = async (
    upstream: Upstream,
    request: UpstreamRequest,
    { signal }: Flight,
  ): Promise<UpstreamAnswer> => {
    const url = new URL(`${upstream.baseUrl}${request.path}`)
    const answer = await poolOf(url.origin).request({
      path: url.pathname + url.search,
      method: request.method,
      headers: headersOf(upstream, request),
      body: request.body ?? null,
      signal,
    })
    return { status: answer.statusCode, headers: flat(answer.headers), body: answer.body }
  }

  const sendGuarded = async (
    upstream: Upstream,
    request: UpstreamRequest,
    { signal }: Flight,
  ): Promise<UpstreamAnswer> => {
    const answer = await outbound.open({
      url: `${upstream.baseUrl}${request.path}`,
      method: request.method,
      headers: headersOf(upstream, request),
      ...(request.body !== undefined && { body: request.body }),
      timeoutMs: REQUEST_MS_MAX,
      responseBytesMax: ANSWER_BYTES_MAX,
      signal,
    })
    if (answer.kind !== "answered") throw refusedBy(answer)
    return answer
  }

  return {
    fly: flights.fly,

    async send(upstream, request, flight) {
      try {
        return await (upstream.isOwn ? sendGuarded : sendDirect)(upstream, request, flight)
      } catch (error) {
        throw flight.reason() ?? (error instanceof UpstreamFailure ? error : unreachable(error))
      }
    },

    async [Symbol.asyncDispose]() {
      flights.dispose()
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
    },
  }
}
