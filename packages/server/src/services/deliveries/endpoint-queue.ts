import type { DisabledReason, Endpoint } from "./deliveries.ts"
import type { ClaimedQueue, PendingDelivery, QueueOf, QueueState, Settlement } from "./dispatch-store.ts"
import {
  type AttemptResult,
  CIRCUIT_FAILURES,
  failingOf,
  isGone,
  isOverloaded,
  isSuccess,
  probeDelayMs,
  RETRY_DELAYS_MS,
  retryDelayMs,
} from "./rules.ts"

/** At the same time to one endpoint: few until it has answered, then one more with each success. */
const WINDOW_START = 4
const WINDOW_MAX = 32

/** One endpoint, as the process that sends to it knows it. */
export interface EndpointQueue {
  readonly of: QueueOf
  /** False while it is not known whether another process has taken it. */
  isOurs: boolean
  readonly ready: PendingDelivery[]
  /** Under way. */
  readonly flying: Set<string>
  /** Ready, under way, or ended and not written yet: what a load must not take for new. */
  readonly known: Set<string>
  /** Written while a load was under way, which may have seen them as they were before. */
  readonly stale: Set<string>
  /** The database may have more that is due. */
  hasMore: boolean
  isLoading: boolean
  window: number
  /** The last attempt succeeded. */
  isProven: boolean
  consecutiveFailures: number
  failingSinceMs: number | null
  isWarned: boolean
  isDisabling: boolean
  blockedUntilMs: number | null
  probes: number
  lastDeliveryMs: number | null
  lastSuccessMs: number | null
  /** The earliest retry that is not due yet. */
  nextDueMs: number
  maxPerSecond: number | null
  tokens: number
  tokensAtMs: number
  usedMs: number
}

export const createEndpointQueue = (claimed: ClaimedQueue, nowMs: number): EndpointQueue => ({
  of: { endpointId: claimed.endpointId, tenantId: claimed.tenantId, kind: claimed.kind },
  isOurs: true,
  ready: [],
  flying: new Set(),
  known: new Set(),
  stale: new Set(),
  hasMore: true,
  isLoading: false,
  window: WINDOW_START,
  isProven: claimed.hasSucceeded && claimed.consecutiveFailures === 0,
  consecutiveFailures: claimed.consecutiveFailures,
  failingSinceMs: claimed.failingSinceMs,
  isWarned: claimed.isWarned,
  isDisabling: false,
  blockedUntilMs: claimed.blockedUntilMs,
  probes: 0,
  lastDeliveryMs: null,
  lastSuccessMs: null,
  nextDueMs: Number.POSITIVE_INFINITY,
  maxPerSecond: null,
  tokens: 1,
  tokensAtMs: nowMs,
  usedMs: nowMs,
})

export const stateOf = (queue: EndpointQueue): QueueState => ({
  endpointId: queue.of.endpointId,
  consecutiveFailures: queue.consecutiveFailures,
  failingSinceMs: queue.failingSinceMs,
  blockedUntilMs: queue.blockedUntilMs,
  lastDeliveryMs: queue.lastDeliveryMs,
  lastSuccessMs: queue.lastSuccessMs,
})

/** What the database says of an endpoint's health takes the place of what was known. */
export const refreshEndpointQueue = (queue: EndpointQueue, claimed: ClaimedQueue): void => {
  queue.isOurs = true
  queue.consecutiveFailures = claimed.consecutiveFailures
  queue.failingSinceMs = claimed.failingSinceMs
  queue.isWarned = claimed.isWarned
  queue.blockedUntilMs = claimed.blockedUntilMs
  queue.isDisabling = false
  queue.probes = 0
  queue.hasMore = true
}

export const isCutOff = ({ consecutiveFailures }: EndpointQueue): boolean =>
  consecutiveFailures >= CIRCUIT_FAILURES

/** A second's worth gathers at most. */
const refill = (queue: EndpointQueue, rate: number, nowMs: number): void => {
  const gained = (Math.max(0, nowMs - queue.tokensAtMs) / 1_000) * rate
  queue.tokens = Math.min(Math.max(1, rate), queue.tokens + gained)
  queue.tokensAtMs = nowMs
}

/** How many more may be sent now. */
export const roomOf = (queue: EndpointQueue, nowMs: number): number => {
  if (queue.isDisabling) return 0
  if (queue.blockedUntilMs !== null && nowMs < queue.blockedUntilMs) return 0
  const places = (isCutOff(queue) ? 1 : queue.window) - queue.flying.size
  if (queue.maxPerSecond === null) return places
  refill(queue, queue.maxPerSecond, nowMs)
  return Math.min(places, Math.floor(queue.tokens))
}

/** Ready in memory for each that may be under way. */
const READY_FACTOR = 8

/** How many are worth having in memory. */
export const readyMaxOf = (queue: EndpointQueue): number => {
  if (isCutOff(queue)) return 1
  const readyMax = queue.window * READY_FACTOR
  return queue.maxPerSecond === null ? readyMax : Math.min(readyMax, Math.ceil(queue.maxPerSecond))
}

/** What an endpoint's settings say from now on. */
export const takeSettings = (queue: EndpointQueue, { maxPerSecond = null }: Endpoint): void => {
  // What was sent while there was no bound is not to be made up for, but for what is under way.
  if (queue.maxPerSecond === null) queue.tokens = Math.max(queue.tokens, -queue.flying.size)
  queue.maxPerSecond = maxPerSecond
}

const noteSuccess = (queue: EndpointQueue): void => {
  queue.isProven = true
  queue.window = Math.min(queue.window + 1, WINDOW_MAX)
  queue.consecutiveFailures = 0
  queue.failingSinceMs = null
  queue.blockedUntilMs = null
  queue.probes = 0
}

export interface Outcome {
  readonly settlement: Omit<Settlement, "attempt">
  readonly disable: DisabledReason | undefined
}

export interface Circumstances {
  readonly nowMs: number
  readonly schedule: readonly number[] | undefined
  /** All delays are taken times this. */
  readonly delayFactor: number
  readonly random: () => number
}

/** What an attempt means for its delivery, and what it says of the endpoint. */
export const conclude = (
  queue: EndpointQueue,
  delivery: PendingDelivery,
  verdict: AttemptResult,
  around: Circumstances,
): Outcome => {
  const { nowMs, schedule = RETRY_DELAYS_MS, delayFactor, random } = around
  const { id, attemptCount, attemptsFrom, attemptsMax } = delivery
  queue.lastDeliveryMs = nowMs
  if (isSuccess(verdict)) {
    queue.lastSuccessMs = nowMs
    noteSuccess(queue)
    return { settlement: { id, attemptCount, status: "delivered", dueAt: null }, disable: undefined }
  }
  const { sinceMs, disable } = failingOf(queue.failingSinceMs, nowMs, verdict)
  const retry = attemptCount + 1 - attemptsFrom
  const delayMs = delayFactor * retryDelayMs({ verdict, retry, schedule, nowMs, random })
  const wasBlocked = queue.blockedUntilMs !== null && nowMs < queue.blockedUntilMs
  queue.failingSinceMs = sinceMs
  queue.isProven = false
  queue.consecutiveFailures++
  queue.window = isOverloaded(verdict) ? 1 : Math.max(1, queue.window >> 1)
  // One that ends late says nothing new of an endpoint that is left alone already.
  if (isCutOff(queue) && !wasBlocked)
    queue.blockedUntilMs = nowMs + delayFactor * probeDelayMs(queue.probes++, random)
  else if (verdict.statusCode === 429 && !wasBlocked) queue.blockedUntilMs = nowMs + delayMs
  if (isGone(verdict)) return { settlement: { id, attemptCount, status: "failed", dueAt: null }, disable }
  if (attemptCount + 1 >= attemptsMax) {
    return { settlement: { id, attemptCount, status: "dead_lettered", dueAt: null }, disable }
  }
  const dueAt = new Date(nowMs + delayMs)
  queue.nextDueMs = Math.min(queue.nextDueMs, dueAt.getTime())
  return { settlement: { id, attemptCount, status: "retrying", dueAt }, disable }
}
