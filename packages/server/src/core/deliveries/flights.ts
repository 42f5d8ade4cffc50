import type { Lane } from "./lane.ts"

/** Attempts under way in this process. */
const FLYING_MAX = 512
/** Of them to one tenant's endpoints, and to endpoints whose last attempt did not succeed. */
const SHARE_MAX = FLYING_MAX / 2

/** Counts what is under way, so that no tenant and no endpoints that hang take all places. */
export const createFlights = () => {
  const byTenant = new Map<string, number>()
  let count = 0
  let unproven = 0

  return {
    count: () => count,
    hasRoom: () => count < FLYING_MAX,
    isOverShare: ({ isProven, of }: Lane): boolean =>
      (!isProven && unproven >= SHARE_MAX) || (byTenant.get(of.tenantId) ?? 0) >= SHARE_MAX,

    /** Gives what ends it. */
    begin({ isProven, of: { tenantId } }: Lane): () => void {
      count++
      if (!isProven) unproven++
      byTenant.set(tenantId, (byTenant.get(tenantId) ?? 0) + 1)
      return () => {
        count--
        if (!isProven) unproven--
        const left = (byTenant.get(tenantId) ?? 1) - 1
        if (left === 0) byTenant.delete(tenantId)
        else byTenant.set(tenantId, left)
      }
    },
  }
}
