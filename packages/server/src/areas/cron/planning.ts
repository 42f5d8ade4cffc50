/** Which times of a schedule are run, and which are not, once some of them are due. Pure. */
import { createHash } from "node:crypto"
import { CRON_NEXT_RUNS, type CronCatchupPolicy, type CronTrigger } from "@svc/contract"
import { type NextAfter, timesAfter } from "./timetable.ts"

/** A run that starts later than this was missed, and is made up for as the schedule says. */
export const LATE_MS = 10_000
/** Runs that one look at a schedule makes; what is left over is due at once again. */
export const TICKS_MAX = 100

export interface Due {
  readonly id: string
  readonly next: NextAfter
  /** As they were planned, the nearest first. */
  readonly plannedMs: readonly number[]
  readonly catchup: CronCatchupPolicy
  readonly windowMs: number
  readonly jitterMs: number
}

export interface Tick {
  readonly scheduledForMs: number
  /** With its jitter. */
  readonly dueMs: number
  readonly trigger: Exclude<CronTrigger, "manual">
}

export interface MissedTick extends Tick {
  readonly reason: "outside_catchup_window" | null
  /** The last time that was missed together with this one; the same when it is only one. */
  readonly lastMs: number
}

export interface Plan {
  /** The earliest first. */
  readonly runs: readonly Tick[]
  /** What is passed over: one entry for each stretch of time, however many runs would have been in it. */
  readonly missed: readonly MissedTick[]
  readonly nextMs: readonly number[]
  readonly dueMs: number | undefined
}

/** The same whoever asks, so that processes agree on when a time is due. */
export const jitterOf = (id: string, atMs: number, jitterMs: number): number => {
  if (jitterMs === 0) return 0
  return createHash("sha1").update(`${id} ${atMs}`).digest().readUInt32BE() % (jitterMs + 1)
}

const dueOf = ({ id, jitterMs }: Pick<Due, "id" | "jitterMs">, atMs: number): number =>
  atMs + jitterOf(id, atMs, jitterMs)

/** Times from a schedule's plan first, which were computed before, then from its timetable. */
const upcoming = ({ plannedMs, next }: Due, afterMs: number): number[] => {
  const known = plannedMs.filter(at => at > afterMs)
  return [...known, ...timesAfter(next, known.at(-1) ?? afterMs, CRON_NEXT_RUNS - known.length)]
}

const STEPS_MS = [1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000, 31 * 86_400_000] as const

/** The last time at or before another, from a first one on, without walking through all that lie between. */
const lastAtOrBefore = (next: NextAfter, firstMs: number, untilMs: number): number => {
  let last = firstMs
  for (const stepMs of STEPS_MS) {
    const found = untilMs - stepMs > firstMs ? next(untilMs - stepMs) : firstMs
    if (found === undefined || found > untilMs) continue
    last = found
    break
  }
  for (;;) {
    const after = next(last)
    if (after === undefined || after > untilMs) return last
    last = after
  }
}

/** The next times and when to look again, after the last one that is dealt with. */
const rest = (due: Due, afterMs: number): Pick<Plan, "nextMs" | "dueMs"> => {
  const nextMs = upcoming(due, afterMs)
  return { nextMs, dueMs: nextMs[0] === undefined ? undefined : dueOf(due, nextMs[0]) }
}

/** The plan of a schedule that is new, changed or resumed. */
export const planFrom = (due: Omit<Due, "plannedMs">, afterMs: number) =>
  rest({ ...due, plannedMs: [] }, afterMs)

/** Every time that is due, from a certain one on, up to the bound. */
const ticksAfter = (due: Due, fromMs: number, nowMs: number): Tick[] => {
  const ticks: Tick[] = []
  const known = [...due.plannedMs]
  let at: number | undefined = known.find(planned => planned >= fromMs) ?? due.next(fromMs - 1)
  while (at !== undefined && ticks.length < TICKS_MAX) {
    const dueMs = dueOf(due, at)
    if (dueMs > nowMs) break
    ticks.push({ scheduledForMs: at, dueMs, trigger: nowMs - dueMs > LATE_MS ? "catchup" : "schedule" })
    const last: number = at
    at = known.find(planned => planned > last) ?? due.next(last)
  }
  return ticks
}

const missedFrom = (due: Due, firstMs: number, lastMs: number, reason: MissedTick["reason"]): MissedTick => ({
  scheduledForMs: firstMs,
  dueMs: dueOf(due, firstMs),
  trigger: "catchup",
  reason,
  lastMs,
})

export const planDue = (due: Due, nowMs: number): Plan => {
  const missed: MissedTick[] = []
  let from = due.plannedMs[0]
  let passedMs = from ?? nowMs
  /** Passes over all from `from` to this time, and goes on with the one after. */
  const pass = (untilMs: number, reason: MissedTick["reason"]) => {
    if (from === undefined || from > untilMs) return
    passedMs = lastAtOrBefore(due.next, from, untilMs)
    missed.push(missedFrom(due, from, passedMs, reason))
    from = due.next(passedMs)
  }
  const lateUntilMs = nowMs - LATE_MS - due.jitterMs - 1
  pass(nowMs - Math.max(due.windowMs, LATE_MS) - due.jitterMs - 1, "outside_catchup_window")
  if (due.catchup === "none") pass(lateUntilMs, null)
  if (due.catchup === "latest" && from !== undefined && from <= lateUntilMs) {
    pass(lastAtOrBefore(due.next, from, nowMs - due.jitterMs) - 1, null)
  }
  if (from === undefined) return { runs: [], missed, ...rest(due, passedMs) }
  const ticks = ticksAfter(due, from, nowMs)
  const runs = due.catchup === "none" ? ticks.filter(({ trigger }) => trigger === "schedule") : ticks
  return { runs, missed, ...rest(due, ticks.at(-1)?.scheduledForMs ?? from - 1) }
}
