import type { ChainCheck, ChainHead } from "../../core/audit/chain.ts"
import { inspectChain } from "../../core/audit/chain.ts"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { Clock } from "../../kernel/clock.ts"
import { createSemaphore } from "../../kernel/concurrency/semaphore.ts"
import type { Db } from "../../kernel/db/database.ts"

/** Each holds a connection of the pool for as long as it reads. */
const VERIFYING_MAX = 2
/** How long a result serves the status, which is asked often. */
const FRESH_MS = 300_000
const RESULTS_MAX = 1_000

export interface Verified extends ChainCheck {
  readonly head: ChainHead
  readonly at: Date
}

export interface Chains {
  /** Reads the whole chain. Who asks while it is being read waits for the same result. */
  verify(tenantId: string): Promise<Verified>
  /** A result of the last minutes, or a new one. */
  recent(tenantId: string): Promise<Verified>
}

export const createChains = (db: Db, clock: Pick<Clock, "now">): Chains => {
  const permits = createSemaphore(VERIFYING_MAX)
  // No more of them wait than there are tenants.
  const running = new Map<string, Promise<Verified>>()
  const results = createBoundedCache<Verified>(RESULTS_MAX)

  const read = (tenantId: string): Promise<Verified> =>
    permits.run(async () => {
      const at = new Date(clock.now())
      const verified = { ...(await inspectChain(db, tenantId)), at }
      results.set(tenantId, verified)
      return verified
    })

  const verify = (tenantId: string): Promise<Verified> => {
    const known = running.get(tenantId)
    if (known) return known
    const reading = read(tenantId).finally(() => running.delete(tenantId))
    running.set(tenantId, reading)
    return reading
  }

  return {
    verify,
    recent(tenantId) {
      const known = results.get(tenantId)
      return known && clock.now() - known.at.getTime() < FRESH_MS ? Promise.resolve(known) : verify(tenantId)
    },
  }
}
