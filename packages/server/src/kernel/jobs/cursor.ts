import type { Claimed, Cursor } from "./store.ts"

/** Tenants whose last target is remembered. */
const TENANTS_MAX = 256
const FIRST_TENANT = "00000000-0000-0000-0000-000000000000"

/** Remembers whose turn it was, so that tenants, and the targets of each, take turns from claim to claim. */
export const createCursor = () => {
  let tenant = FIRST_TENANT
  const targets = new Map<string, string>()

  return {
    current: (): Cursor => ({ tenant, targets }),
    /** Advances after a claim. If the claim left no jobs behind, no target had to wait, and their turns start afresh. */
    move(claimed: readonly Claimed[], leftSome: boolean) {
      tenant = claimed.at(-1)?.tenant ?? tenant
      if (!leftSome) return targets.clear()
      for (const { tenant, target } of claimed) {
        targets.delete(tenant)
        targets.set(tenant, target)
      }
      for (const oldest of targets.keys()) {
        if (targets.size <= TENANTS_MAX) return
        targets.delete(oldest)
      }
    },
  }
}
