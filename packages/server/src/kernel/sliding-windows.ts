import { createBoundedCache } from "./bounded-cache.ts"
import type { RateLimitResult } from "./buckets.ts"

/**
 * At most `max` tries in any span of `spanMs`, by name. A refused try does not count. The least recently used names are
 * forgotten past `namesMax`.
 */
export const createSlidingWindows = (max: number, spanMs: number, namesMax = 20_000) => {
  const tries = createBoundedCache<readonly number[]>(namesMax)

  return {
    take(name: string, nowMs: number): RateLimitResult {
      const recent = (tries.get(name) ?? []).filter(at => at > nowMs - spanMs && at <= nowMs)
      const allowed = recent.length < max
      const counted = allowed ? [...recent, nowMs] : recent
      tries.set(name, counted)
      const [oldest = nowMs] = counted
      return {
        allowed,
        limit: max,
        remaining: max - counted.length,
        fullAtMs: (counted.at(-1) ?? nowMs) + spanMs,
        waitMs: allowed ? 0 : oldest + spanMs - nowMs,
      }
    },
  }
}
