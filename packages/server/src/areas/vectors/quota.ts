import { endOfQuota } from "@svc/contract"
import { usageStore } from "../../core/meters/store.ts"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"

/** What other processes counted is known after this time. */
const FRESH_MS = 10_000
const CACHED_MAX = 10_000

interface CachedUsage {
  operations: number
  readonly month: string
  readonly untilMs: number
}

export interface VectorQuota {
  /** Throws 402 where the plan's operations of this month (UTC) do not go that far; counts them where the work succeeds. */
  within<Result>(
    call: Pick<Call, "organization" | "now">,
    operations: number,
    work: () => Promise<Result>,
  ): Promise<Result>
}

/** Usage is looked up once in a while and counted on in between: no query for each search. */
export const createVectorQuota = (db: Db, clock: Clock): VectorQuota => {
  const known = createBoundedCache<CachedUsage>(CACHED_MAX)

  const usageOf = async (organizationId: string, now: Date): Promise<CachedUsage> => {
    const month = now.toISOString().slice(0, 7)
    const found = known.get(organizationId)
    if (found?.month === month && clock.now() < found.untilMs) return found
    const stored = await usageStore(db).ofMonth(organizationId, "vector_ops", now)
    // What this process has admitted may not be stored yet.
    const operations = Math.max(stored, found?.month === month ? found.operations : 0)
    const fresh = { operations, month, untilMs: clock.now() + FRESH_MS }
    known.set(organizationId, fresh)
    return fresh
  }

  return {
    async within({ organization, now }, operations, work) {
      const limit = endOfQuota(organization.plan, "vector_ops")
      if (limit === null) return await work()
      const used = await usageOf(organization.id, now)
      if (used.operations + operations > limit)
        throw fault("plan_limit_reached", { limit, resources: "vector operations a month" })
      // Before the work, so that calls at once are counted together.
      used.operations += operations
      try {
        return await work()
      } catch (error) {
        const latest = known.get(organization.id)
        if (latest) latest.operations -= operations
        throw error
      }
    },
  }
}
