import type { DisabledReason, Endpoint } from "./deliveries.ts"
import type { ClaimedLane, LaneOf, LaneState, Owed, Settlement } from "./dispatch-store.ts"
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
export interface Lane {
  readonly of: LaneOf
  /** False while it is not known whether another process has taken it. */
  isOurs: boolean
  readonly ready: Owed[]
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

export const createLane = (claimed: ClaimedLane, nowMs: number): Lane => ({
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

export const stateOf = (lane: Lane): LaneState => ({
  endpointId: lane.of.endpointId,
  consecutiveFailures: lane.consecutiveFailures,
  failingSinceMs: lane.failingSinceMs,
  blockedUntilMs: lane.blockedUntilMs,
  lastDeliveryMs: lane.lastDeliveryMs,
  lastSuccessMs: lane.lastSuccessMs,
})

/** What the database says of an endpoint's health takes the place of what was known. */
export const refreshLane = (lane: Lane, claimed: ClaimedLane): void => {
  lane.isOurs = true
  lane.consecutiveFailures = claimed.consecutiveFailures
  lane.failingSinceMs = claimed.failingSinceMs
  lane.isWarned = claimed.isWarned
  lane.blockedUntilMs = claimed.blockedUntilMs
  lane.isDisabling = false
  lane.probes = 0
  lane.hasMore = true
}

export const isCutOff = ({ consecutiveFailures }: Lane): boolean => consecutiveFailures >= CIRCUIT_FAILURES

/** A second's worth gathers at most. */
const refill = (lane: Lane, rate: number, nowMs: number): void => {
  const gained = (Math.max(0, nowMs - lane.tokensAtMs) / 1_000) * rate
  lane.tokens = Math.min(Math.max(1, rate), lane.tokens + gained)
  lane.tokensAtMs = nowMs
}

/** How many more may be sent now. */
export const roomOf = (lane: Lane, nowMs: number): number => {
  if (lane.isDisabling) return 0
  if (lane.blockedUntilMs !== null && nowMs < lane.blockedUntilMs) return 0
  const places = (isCutOff(lane) ? 1 : lane.window) - lane.flying.size
  if (lane.maxPerSecond === null) return places
  refill(lane, lane.maxPerSecond, nowMs)
  return Math.min(places, Math.floor(lane.tokens))
}

/** Ready in memory for each that may be under way. */
const READY_FACTOR = 8

/** How many are worth having in memory. */
export const readyMaxOf = (lane: Lane): number => {
  if (isCutOff(lane)) return 1
  const readyMax = lane.window * READY_FACTOR
  return lane.maxPerSecond === null ? readyMax : Math.min(readyMax, Math.ceil(lane.maxPerSecond))
}

/** What an endpoint's settings say from now on. */
export const takeSettings = (lane: Lane, { maxPerSecond = null }: Endpoint): void => {
  // What was sent while there was no bound is not to be made up for, but for what is under way.
  if (lane.maxPerSecond === null) lane.tokens = Math.max(lane.tokens, -lane.flying.size)
  lane.maxPerSecond = maxPerSecond
}

const noteSuccess = (lane: Lane): void => {
  lane.isProven = true
  lane.window = Math.min(lane.window + 1, WINDOW_MAX)
  lane.consecutiveFailures = 0
  lane.failingSinceMs = null
  lane.blockedUntilMs = null
  lane.probes = 0
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
export const conclude = (lane: Lane, owed: Owed, verdict: AttemptResult, around: Circumstances): Outcome => {
  const { nowMs, schedule = RETRY_DELAYS_MS, delayFactor, random } = around
  const { id, attemptCount, attemptsFrom, attemptsMax } = owed
  lane.lastDeliveryMs = nowMs
  if (isSuccess(verdict)) {
    lane.lastSuccessMs = nowMs
    noteSuccess(lane)
    return { settlement: { id, attemptCount, status: "delivered", dueAt: null }, disable: undefined }
  }
  const { sinceMs, disable } = failingOf(lane.failingSinceMs, nowMs, verdict)
  const retry = attemptCount + 1 - attemptsFrom
  const delayMs = delayFactor * retryDelayMs({ verdict, retry, schedule, nowMs, random })
  const wasBlocked = lane.blockedUntilMs !== null && nowMs < lane.blockedUntilMs
  lane.failingSinceMs = sinceMs
  lane.isProven = false
  lane.consecutiveFailures++
  lane.window = isOverloaded(verdict) ? 1 : Math.max(1, lane.window >> 1)
  // One that ends late says nothing new of an endpoint that is left alone already.
  if (isCutOff(lane) && !wasBlocked)
    lane.blockedUntilMs = nowMs + delayFactor * probeDelayMs(lane.probes++, random)
  else if (verdict.statusCode === 429 && !wasBlocked) lane.blockedUntilMs = nowMs + delayMs
  if (isGone(verdict)) return { settlement: { id, attemptCount, status: "failed", dueAt: null }, disable }
  if (attemptCount + 1 >= attemptsMax) {
    return { settlement: { id, attemptCount, status: "dead_lettered", dueAt: null }, disable }
  }
  const dueAt = new Date(nowMs + delayMs)
  lane.nextDueMs = Math.min(lane.nextDueMs, dueAt.getTime())
  return { settlement: { id, attemptCount, status: "retrying", dueAt }, disable }
}
