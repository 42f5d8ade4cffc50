import { endOfQuota, plans } from "@svc/contract"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { OrganizationFacts } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import { fault } from "../../kernel/fault.ts"
import type { BucketStore } from "./store/buckets.ts"

/** A GB of storage, as of memory, is 1024 MB. */
const GB = 1024 ** 3
/** What other processes stored is known after this time. */
const FRESH_MS = 10_000
const CACHED_MAX = 10_000
/** Where something is stored during each of so many, it is counted on top: rather twice than not at all. */
const LOOKS_MAX = 3

/** Bytes that were received and are not on record yet. */
export interface QuotaReservation {
  /** They are on record. */
  stored(): void
  /** They never will be. */
  dropped(): void
}

export interface Quota {
  /**
   * How many bytes the organization may store now, at least `bytes`; throws 402 when those are too many. `replaced` tells
   * how many of its bytes they take the place of, and is asked only where there would be no room otherwise.
   */
  admit(organization: OrganizationFacts, bytes: number, replaced?: () => Promise<number>): Promise<number>
  hold(organization: OrganizationFacts, bytes: number): QuotaReservation
  included(organization: OrganizationFacts): { readonly bytes: number | null; readonly canExceed: boolean }
}

interface CachedUsage {
  bytes: number
  readonly untilMs: number
}

/**
 * Usage is looked up once in a while and counted on in between: no query for each object. What was deleted or overwritten
 * meanwhile is not counted, so the database is asked again before anything is refused.
 */
export const createQuota = (buckets: Pick<BucketStore, "bytesOf">, clock: Clock): Quota => {
  const known = createBoundedCache<CachedUsage>(CACHED_MAX)
  const held = new Map<string, number>()
  const lookingUp = new Set<{ readonly organizationId: string; storedMeanwhile: number }>()

  const lookUp = async (organizationId: string): Promise<CachedUsage> => {
    const look = { organizationId, storedMeanwhile: 0 }
    lookingUp.add(look)
    try {
      let counted = await buckets.bytesOf(organizationId)
      // Nobody knows whether the count has what was stored meanwhile: one more that nothing was stored beside is exact.
      for (let tries = 1; look.storedMeanwhile > 0 && tries < LOOKS_MAX; tries++) {
        look.storedMeanwhile = 0
        counted = await buckets.bytesOf(organizationId)
      }
      const fresh = { bytes: counted + look.storedMeanwhile, untilMs: clock.now() + FRESH_MS }
      known.set(organizationId, fresh)
      return fresh
    } finally {
      lookingUp.delete(look)
    }
  }

  const usageOf = (organizationId: string): CachedUsage | Promise<CachedUsage> => {
    const found = known.get(organizationId)
    return found && clock.now() < found.untilMs ? found : lookUp(organizationId)
  }

  const addHeld = (organizationId: string, bytes: number) => {
    const sum = (held.get(organizationId) ?? 0) + bytes
    if (sum === 0) held.delete(organizationId)
    else held.set(organizationId, sum)
  }

  const included: Quota["included"] = ({ plan }) => {
    const gb = plans[plan].included.storage_gb
    return { bytes: gb === null ? null : gb * GB, canExceed: endOfQuota(plan, "storage_gb") === null }
  }

  return {
    included,

    async admit(organization, bytes, replaced = async () => 0) {
      const { bytes: limit, canExceed } = included(organization)
      if (canExceed || limit === null) return Number.POSITIVE_INFINITY
      const { id } = organization
      const leftBeside = (usage: CachedUsage) => limit - usage.bytes - (held.get(id) ?? 0)
      const left = leftBeside(await usageOf(id))
      if (bytes <= left) return left
      const leftNow = leftBeside(await lookUp(id))
      if (bytes <= leftNow) return leftNow
      const room = leftNow + (await replaced())
      if (bytes <= room) return room
      throw fault("plan_limit_reached", { limit: limit / GB, resources: "GB of storage" })
    },

    hold({ id }, bytes) {
      addHeld(id, bytes)
      return {
        stored() {
          addHeld(id, -bytes)
          const found = known.get(id)
          if (found) found.bytes += bytes
          for (const look of lookingUp) if (look.organizationId === id) look.storedMeanwhile += bytes
        },
        dropped: () => addHeld(id, -bytes),
      }
    },
  }
}
