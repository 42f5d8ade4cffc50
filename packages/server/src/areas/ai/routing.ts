/** One retry loop: which upstream is asked next, and when to give up. */
import { setTimeout as delay } from "node:timers/promises"
import { fault } from "../../kernel/fault.ts"
import type { Candidate } from "./catalog.ts"
import { Cancelled, UpstreamFailure } from "./failure.ts"
import { type Health, SHORT_WAIT_MS } from "./health.ts"

const ATTEMPTS_MAX = 5
const ROUNDS_MAX = 3
const DELAY_MS_MIN = 100
const DELAY_MS_MAX = 2_000
const TRAIL_MAX = 400

/** In random order, those with more weight earlier (Efraimidis and Spirakis). */
const shuffled = (candidates: readonly Candidate[], random: () => number): Candidate[] =>
  candidates
    .map(candidate => ({ candidate, key: random() ** (1 / candidate.upstream.weight) }))
    .sort((a, b) => b.key - a.key)
    .map(({ candidate }) => candidate)

/** By rank, by weight within one; a model that the caller names later is tried later, whatever its upstreams' rank. */
export const ordered = (groups: readonly (readonly Candidate[])[], random: () => number): Candidate[] =>
  groups.flatMap(group => {
    const ranks = [...new Set(group.map(({ upstream }) => upstream.rank))].sort((a, b) => a - b)
    return ranks.flatMap(rank =>
      shuffled(
        group.filter(({ upstream }) => upstream.rank === rank),
        random,
      ),
    )
  })

export interface Routed<Result> {
  readonly result: Result
  readonly candidate: Candidate
  readonly attempts: number
  readonly isFallback: boolean
}

/** Nothing is configured that could answer: repeating the request is in vain. */
export const notConfigured = (what: string) =>
  fault(
    "all_providers_exhausted",
    {
      reason: `no upstream for ${what} is configured; set SVC_AI_UPSTREAMS or SVC_AI_URL, or add one with POST /v1/ai/upstreams`,
    },
    { headers: { "x-should-retry": "false" } },
  )

const exhausted = (reason: string, retryAfterMs: number) => {
  const headers = { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }
  return fault("all_providers_exhausted", { reason: reason.slice(0, TRAIL_MAX) }, { headers })
}

/** The breaker of everything is open: the one that failed longest ago is tried, rather than none. */
const lastResort = (candidates: readonly Candidate[], health: Health): Candidate[] =>
  candidates
    .filter(candidate => health.standing(candidate) === "open")
    .sort((a, b) => health.failedAtMs(a) - health.failedAtMs(b))
    .slice(0, 1)

export interface RoutingNeeds {
  readonly health: Health
  readonly now: () => number
  readonly random?: () => number
}

export const createRouting = ({ health, now, random = Math.random }: RoutingNeeds) => {
  const soonest = (candidates: readonly Candidate[]): number =>
    Math.min(...candidates.map(candidate => Math.max(0, health.coolUntilMs(candidate) - now())))

  const tryOne = async <Result>(candidate: Candidate, call: (candidate: Candidate) => Promise<Result>) => {
    health.begin(candidate)
    try {
      const result = await call(candidate)
      health.succeeded(candidate)
      return { result }
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) {
        health.cancelled(candidate)
        throw error
      }
      health.failed(candidate, error)
      if (error.kind === "refused") throw fault("ai_request_refused", { reason: error.message })
      return { failure: error }
    }
  }

  /** Full jitter, or what the upstream asked for where that is short. */
  const pause = async (round: number, waits: readonly number[], signal: AbortSignal) => {
    const most = Math.min(DELAY_MS_MIN * 2 ** round, DELAY_MS_MAX)
    const ms = Math.min(Math.max(random() * most, ...waits), SHORT_WAIT_MS)
    await delay(ms, undefined, { signal }).catch(() => {
      throw new Cancelled("the caller went away")
    })
  }

  return async <Result>(
    candidates: readonly Candidate[],
    signal: AbortSignal,
    call: (candidate: Candidate) => Promise<Result>,
  ): Promise<Routed<Result>> => {
    const healthy = candidates.filter(candidate => health.standing(candidate) === "healthy")
    let queue = healthy.length > 0 ? healthy : lastResort(candidates, health)
    if (queue.length === 0) throw exhausted("all upstreams of this model cool down", soonest(candidates))
    const trail: string[] = []
    for (let round = 0, attempts = 0; round < ROUNDS_MAX && queue.length > 0; round++) {
      const again: Candidate[] = []
      const waits: number[] = []
      for (const candidate of queue) {
        if (attempts === ATTEMPTS_MAX) break
        attempts++
        const { result, failure } = await tryOne(candidate, call)
        if (!failure) {
          const isFallback = candidate !== candidates[0]
          return { result: result as Result, candidate, attempts, isFallback }
        }
        trail.push(`${candidate.upstream.name}: ${failure.message}`)
        if (failure.kind !== "transient" || (failure.retryAfterMs ?? 0) > SHORT_WAIT_MS) continue
        again.push(candidate)
        if (failure.retryAfterMs !== undefined) waits.push(failure.retryAfterMs)
      }
      queue = attempts < ATTEMPTS_MAX && round + 1 < ROUNDS_MAX ? again : []
      if (queue.length > 0) await pause(round, waits, signal)
    }
    throw exhausted(trail.join("; "), soonest(candidates))
  }
}

export type Routing = ReturnType<typeof createRouting>
