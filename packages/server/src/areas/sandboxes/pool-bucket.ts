/** Demand for prewarmed sandboxes of one size. */
import type { Started } from "../../services/workloads/workload.ts"
import type { SpecOfMany } from "./rules.ts"

export interface Member extends Started {
  readonly id: string
}

/** Prewarmed sandboxes of one size, and the recent requests for that size. */
export interface PoolBucket {
  readonly spec: SpecOfMany
  readonly members: Member[]
  /** Times of the latest requests, the newest last. */
  wantedMs: number[]
  /** Reservations of starting sandboxes; removing one discards its sandbox once it has started. */
  readonly starting: Set<Disposable>
}

/** As many sandboxes are prewarmed as were requested within this time. */
const DEMAND_MS = 10_000
/** A size without requests for this time has no prewarmed sandboxes. */
const IDLE_MS = 60_000
/** Number of sandboxes to prewarm: the recent requests, and at least one until the size is idle. */
export const wanted = ({ wantedMs }: Pick<PoolBucket, "wantedMs">, nowMs: number): number => {
  if (nowMs - (wantedMs.at(-1) ?? 0) >= IDLE_MS) return 0
  return Math.max(1, wantedMs.filter(atMs => nowMs - atMs < DEMAND_MS).length)
}

export const remove = ({ members }: PoolBucket, member: Member): boolean => {
  const at = members.indexOf(member)
  if (at >= 0) members.splice(at, 1)
  return at >= 0
}
