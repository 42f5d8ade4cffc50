/** When a failed delivery is tried again, and what its failures say of the endpoint. Pure. */
import type { AttemptErrorCode, DisabledReason } from "./deliveries.ts"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Before the first, second, … retry; the last one repeats. The example of Standard Webhooks 1.0.0. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  DAY,
]
/** Either way, so that what failed together does not come back together. */
const JITTER = 0.2
/** An endpoint that is overloaded is left alone at least this long. */
const OVERLOAD_DELAY_MS = MINUTE
/** Failures in a row after which an endpoint gets only probes. */
export const CIRCUIT_FAILURES = 5
/** Between probes at most, so that one that is well again is found out soon. */
const PROBE_DELAY_MS_MAX = 5 * MINUTE
const DISABLE_AFTER_MS = 5 * DAY
/** Failures this far apart say nothing of what lies between them. */
const FORGIVEN_AFTER_MS = 2 * DISABLE_AFTER_MS

/** What came of an attempt. */
export interface AttemptResult {
  readonly statusCode: number | null
  readonly errorCode: AttemptErrorCode | null
  /** The value of the Retry-After header. */
  readonly retryAfter: string | undefined
}

export const isSuccess = ({ statusCode, errorCode }: AttemptResult): boolean =>
  errorCode === null && statusCode !== null && statusCode >= 200 && statusCode < 300

export const isGone = ({ statusCode }: AttemptResult): boolean => statusCode === 410

/** It says itself that it has too much to do, or shows it. */
export const isOverloaded = ({ statusCode, errorCode }: AttemptResult): boolean =>
  errorCode === "timeout" || statusCode === 429 || statusCode === 502 || statusCode === 504

/** RFC 9110, 10.2.3: seconds, or a date. Undefined where it says neither. */
export const retryAfterMs = (value: string | undefined, nowMs: number): number | undefined => {
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * SECOND
  const atMs = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

const scheduled = (schedule: readonly number[], retry: number): number =>
  schedule[Math.min(retry, schedule.length) - 1] ?? 0

export interface DelayQuestion {
  readonly verdict: AttemptResult
  /** 1 before the first retry. */
  readonly retry: number
  readonly schedule: readonly number[]
  readonly nowMs: number
  readonly random: () => number
}

/** Milliseconds before a retry. Retry-After is honoured between the schedule's delay and twice that. */
export const retryDelayMs = ({ verdict, retry, schedule, nowMs, random }: DelayQuestion): number => {
  const plainMs = scheduled(schedule, retry) * (1 - JITTER + 2 * JITTER * random())
  const isSlow = verdict.errorCode === "timeout" || verdict.statusCode === 429
  const delayMs = isSlow ? Math.max(plainMs, OVERLOAD_DELAY_MS) : plainMs
  const askedMs = retryAfterMs(verdict.retryAfter, nowMs) ?? 0
  return Math.round(Math.min(Math.max(delayMs, askedMs), 2 * delayMs))
}

/** Milliseconds until the next probe of an endpoint that is cut off, after that many probes that failed. */
export const probeDelayMs = (probes: number, random: () => number): number => {
  const delayMs = Math.min(scheduled(RETRY_DELAYS_MS, probes + 1), PROBE_DELAY_MS_MAX)
  return Math.round(delayMs * (1 - JITTER + 2 * JITTER * random()))
}

export interface Failing {
  readonly sinceMs: number
  readonly disable: DisabledReason | undefined
}

/** Since when an endpoint fails that has failed now, and whether that is too long. */
export const failingOf = (sinceMs: number | null, nowMs: number, verdict: AttemptResult): Failing => {
  if (isGone(verdict)) return { sinceMs: sinceMs ?? nowMs, disable: "gone" }
  if (sinceMs === null || nowMs - sinceMs > FORGIVEN_AFTER_MS) return { sinceMs: nowMs, disable: undefined }
  return { sinceMs, disable: nowMs - sinceMs >= DISABLE_AFTER_MS ? "failing" : undefined }
}
