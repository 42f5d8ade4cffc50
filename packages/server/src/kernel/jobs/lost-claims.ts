import type { Clock } from "../clock.ts"
import type { Logger } from "../log.ts"
import type { Queue } from "./rules.ts"
import type { JobStore } from "./store.ts"

/** Longer than the server lets a statement run whose client has gone. */
const UNSURE_MS = 60_000

interface LostClaimsNeeds {
  readonly store: JobStore
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Claims that this process does not hold although the table may say so. Its lease is extended for the sake of other
 * jobs, so these would stay with it for good.
 */
export const createLostClaims = (queue: Queue, { store, clock, log }: LostClaimsNeeds, freed: () => void) => {
  const claims = new Map<
    string,
    { readonly token: string; readonly hasRun: boolean; readonly sinceMs: number }
  >()
  let isFreeing = false

  return {
    add(token: string, hasRun: boolean) {
      claims.set(token, { token, hasRun, sinceMs: clock.now() })
    },
    async free() {
      if (claims.size === 0 || isFreeing) return
      isFreeing = true
      const untilMs = clock.now() - UNSURE_MS
      try {
        await store.freeClaims(queue.name, [...claims.values()])
        for (const { token, sinceMs } of claims.values()) if (sinceMs < untilMs) claims.delete(token)
        freed()
      } catch (error) {
        log.debug(
          { queue: queue.name, error: String(error) },
          "releasing claims of lost jobs failed; will retry",
        )
      } finally {
        isFreeing = false
      }
    },
  }
}
