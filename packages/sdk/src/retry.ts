import type { SvcError } from "./errors.ts"
import { finalCodes, retryableCodes } from "./routes.gen.ts"

const BASE_MS = 200
const LONGEST_MS = 8_000
/** A platform that asks for more patience than this gets its answer thrown to the caller. */
const RETRY_AFTER_SECONDS_MAX = 60

const transientStatuses: ReadonlySet<number> = new Set([0, 429, 502, 503, 504])
const retryable: ReadonlySet<string> = new Set(retryableCodes)
const final: ReadonlySet<string> = new Set(finalCodes)

/** Refusals given before anything was done: repeating them is safe whatever the operation. */
const refusedBeforeItRan = ({ status, code }: SvcError): boolean =>
  status === 429 || code === "idempotency_key_in_use"

const isTransient = ({ status, code }: SvcError): boolean =>
  retryable.has(code) || (transientStatuses.has(status) && !final.has(code))

/** Milliseconds to wait before the next attempt; undefined when there should be none. */
export const retryDelayMs = (error: SvcError, attemptsBefore: number, repeatable: boolean) => {
  if (!isTransient(error) || !(repeatable || refusedBeforeItRan(error))) return undefined
  if ((error.retryAfter ?? 0) > RETRY_AFTER_SECONDS_MAX) return undefined
  // Full jitter: clients that failed together must not come back together.
  const jitterMs = Math.random() * Math.min(LONGEST_MS, BASE_MS * 2 ** attemptsBefore)
  return (error.retryAfter ?? 0) * 1000 + jitterMs
}

/** Seconds of a `Retry-After`, which is a number of them or an HTTP date. */
export const readRetryAfter = (headers: Headers): number | undefined => {
  const text = headers.get("retry-after")
  if (!text) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}
