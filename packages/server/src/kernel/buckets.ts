import { createBoundedCache } from "./bounded-cache.ts"

export interface RateLimitResult {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** When the bucket is full again, in milliseconds since the epoch. */
  readonly fullAtMs: number
  /** How long until one more is allowed; 0 when one is. */
  readonly waitMs: number
}

interface Bucket {
  tokens: number
  filledAtMs: number
}

export interface Rate {
  /** The most that may come at once. */
  readonly burst: number
  readonly perSecond: number
}

/**
 * Token buckets by name (an organization, an address). A bucket starts full and fills at its rate up to its burst.
 * The least recently used are forgotten past `bucketsMax`, which can only let a caller do more, never less.
 */
export const createBuckets = (bucketsMax = 20_000) => {
  const buckets = createBoundedCache<Bucket>(bucketsMax)

  const filled = (name: string, rate: Rate, nowMs: number): Bucket => {
    const bucket = buckets.get(name)
    if (!bucket) {
      const fresh = { tokens: rate.burst, filledAtMs: nowMs }
      buckets.set(name, fresh)
      return fresh
    }
    // A clock set back must not drain the bucket.
    const elapsedMs = Math.max(0, nowMs - bucket.filledAtMs)
    bucket.tokens = Math.min(rate.burst, bucket.tokens + (elapsedMs / 1000) * rate.perSecond)
    bucket.filledAtMs = nowMs
    return bucket
  }

  const state = (bucket: Bucket, rate: Rate, nowMs: number, allowed: boolean): RateLimitResult => ({
    allowed,
    limit: rate.burst,
    remaining: Math.floor(bucket.tokens),
    fullAtMs: nowMs + ((rate.burst - bucket.tokens) / rate.perSecond) * 1000,
    waitMs: bucket.tokens >= 1 ? 0 : ((1 - bucket.tokens) / rate.perSecond) * 1000,
  })

  return {
    take(name: string, rate: Rate, nowMs: number): RateLimitResult {
      const bucket = filled(name, rate, nowMs)
      const allowed = bucket.tokens >= 1
      if (allowed) bucket.tokens -= 1
      return state(bucket, rate, nowMs, allowed)
    },
    /** The state without taking. */
    peek(name: string, rate: Rate, nowMs: number): RateLimitResult {
      const bucket = filled(name, rate, nowMs)
      return state(bucket, rate, nowMs, bucket.tokens >= 1)
    },
  }
}

export type Buckets = ReturnType<typeof createBuckets>
