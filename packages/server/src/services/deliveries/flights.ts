import type { EndpointQueue } from "./endpoint-queue.ts"

/** Attempts under way in this process. */
const FLYING_MAX = 512
/** Of them to endpoints whose last attempt did not succeed: they may hang for as long as an attempt lasts. */
const UNPROVEN_MAX = FLYING_MAX / 2

/** Places of which a tenant may take half of what the others leave, so that there is always one for who comes next. */
const createPlaces = (max: number) => {
  const byTenant = new Map<string, number>()
  let count = 0

  const change = (tenantId: string, by: 1 | -1) => {
    const taken = (byTenant.get(tenantId) ?? 0) + by
    if (taken === 0) byTenant.delete(tenantId)
    else byTenant.set(tenantId, taken)
    count += by
  }

  return {
    count: () => count,
    hasFor(tenantId: string): boolean {
      const taken = byTenant.get(tenantId) ?? 0
      return taken < (max - (count - taken)) / 2
    },
    take: (tenantId: string) => change(tenantId, 1),
    free: (tenantId: string) => change(tenantId, -1),
  }
}

/** Counts what is under way, so that no tenant and no endpoints that hang take all places. */
export const createFlights = () => {
  const all = createPlaces(FLYING_MAX)
  const unproven = createPlaces(UNPROVEN_MAX)

  return {
    count: all.count,
    hasRoom: () => all.count() < FLYING_MAX,
    isOverShare: ({ isProven, of: { tenantId } }: EndpointQueue): boolean =>
      !all.hasFor(tenantId) || (!isProven && !unproven.hasFor(tenantId)),

    /** Gives what ends it. */
    begin({ isProven, of: { tenantId } }: EndpointQueue): () => void {
      const taken = isProven ? [all] : [all, unproven]
      for (const places of taken) places.take(tenantId)
      return () => {
        for (const places of taken) places.free(tenantId)
      }
    },
  }
}
