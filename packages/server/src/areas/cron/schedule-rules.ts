/** Rows of schedules as what the timetable and the plans are made from. */
import type { CronCatchupPolicy } from "@svc/contract"
import type { Due } from "./planning.ts"
import type { ScheduleRow } from "./store.ts"
import { type Timing, timesOf } from "./timetable.ts"

export type TimingRow = Pick<
  ScheduleRow,
  "cron" | "interval_seconds" | "run_at" | "timezone" | "anchor_at" | "start_at" | "end_at"
>

const timingOf = (row: TimingRow): Timing => ({
  cron: row.cron,
  intervalSeconds: row.interval_seconds,
  runAtMs: row.run_at?.getTime() ?? null,
  timezone: row.timezone,
  anchorMs: row.anchor_at.getTime(),
  startMs: row.start_at?.getTime() ?? null,
  endMs: row.end_at?.getTime() ?? null,
})

export type PlannedRow = TimingRow &
  Pick<ScheduleRow, "id" | "next_runs" | "catchup_policy" | "catchup_window_seconds" | "jitter_seconds">

/** Throws the parser's error for an expression that it does not understand. */
export const dueOf = (row: PlannedRow): Due => ({
  id: row.id,
  next: timesOf(timingOf(row)),
  plannedMs: row.next_runs.map(at => at.getTime()),
  catchup: row.catchup_policy as CronCatchupPolicy,
  windowMs: row.catchup_window_seconds * 1_000,
  jitterMs: row.jitter_seconds * 1_000,
})

/** The columns that say when it is next. */
export const planColumns = (plan: {
  readonly nextMs: readonly number[]
  readonly dueMs: number | undefined
}) => ({
  next_runs: plan.nextMs.map(at => new Date(at)),
  due_at: plan.dueMs === undefined ? null : new Date(plan.dueMs),
})
