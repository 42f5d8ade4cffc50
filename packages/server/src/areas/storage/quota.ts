import { plans } from "@svc/contract"
import { LRUCache } from "lru-cache"
import type { OrganizationFacts } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import { fault } from "../../kernel/fault.ts"
import type { BucketStore } from "./store/buckets.ts"

/** A GB of storage, as of memory, is 1024 MB. */
const GB = 1024 ** 3
/** What other processes stored is known after this time. */
const FRESH_MS = 10_000
const CACHED_MAX = 10_000

/** Plans without a price past what they include (specification 8.3): there it ends. */
const ENDS: ReadonlySet<string> = new Set(["free", "chat_plus"])

export interface Quota {
  /** Bytes that the organization may still store; throws 402 when `bytes` of them are too many. */
  admit(organization: OrganizationFacts, bytes: number): Promise<number>
  /** Counts what was stored or given back here, until the next look at the database. */
  stored(organization: OrganizationFacts, bytes: number): void
  included(organization: OrganizationFacts): { readonly bytes: number | null; readonly canExceed: boolean }
}

interface Known {
  bytes: number
  readonly untilMs: number
}

/** Usage is looked up once in a while and counted on in between: no query for each object. */
export const createQuota = (buckets: Pick<BucketStore, "bytesOf">, clock: Clock): Quota => {
  const known = new LRUCache<string, Known>({ max: CACHED_MAX })

  const usageOf = async (organizationId: string): Promise<Known> => {
    const found = known.get(organizationId)
    if (found && clock.now() < found.untilMs) return found
    const bytes = await buckets.bytesOf(organizationId)
    const fresh = { bytes, untilMs: clock.now() + FRESH_MS }
    known.set(organizationId, fresh)
    return fresh
  }

  const included: Quota["included"] = ({ plan }) => {
    const gb = plans[plan].included.storage_gb
    return { bytes: gb === null ? null : gb * GB, canExceed: !ENDS.has(plan) }
  }

  return {
    included,

    async admit(organization, bytes) {
      const limit = included(organization)
      if (limit.canExceed || limit.bytes === null) return Number.POSITIVE_INFINITY
      const left = limit.bytes - (await usageOf(organization.id)).bytes
      if (bytes > left || left <= 0)
        throw fault("plan_limit_reached", { limit: limit.bytes / GB, resources: "GB of storage" })
      return left
    },

    stored({ id }, bytes) {
      const found = known.get(id)
      if (found) found.bytes += bytes
    },
  }
}
