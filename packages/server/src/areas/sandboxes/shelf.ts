/** How many workloads of a shape are worth keeping started. */
import type { Started } from "../../services/workloads/workload.ts"
import type { SpecOfMany } from "./rules.ts"

export interface Member extends Started {
  readonly id: string
}

/** Members of one shape, and when one was wanted. */
export interface Shelf {
  readonly spec: SpecOfMany
  readonly members: Member[]
  /** When one was wanted, the latest last; no more than count. */
  wantedMs: number[]
  /** Places of those on their way; one that is taken back means that its workload is not wanted any more. */
  readonly starting: Set<Disposable>
}

/** What was wanted in this time is kept ready. */
const DEMAND_MS = 10_000
/** A shape that nobody wanted for so long has no members. */
const IDLE_MS = 60_000
/** As many as were wanted lately, and one at least of a shape that was wanted at all. */
export const wanted = ({ wantedMs }: Pick<Shelf, "wantedMs">, nowMs: number): number => {
  if (nowMs - (wantedMs.at(-1) ?? 0) >= IDLE_MS) return 0
  return Math.max(1, wantedMs.filter(atMs => nowMs - atMs < DEMAND_MS).length)
}

export const remove = ({ members }: Shelf, member: Member): boolean => {
  const at = members.indexOf(member)
  if (at >= 0) members.splice(at, 1)
  return at >= 0
}
