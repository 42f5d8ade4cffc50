/** From what a caller gives to what a schedule's row says. */
import {
  type areas,
  CRON_TARGET_BYTES_MAX,
  type CronTargetOf,
  type Input,
  workloadLimits,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { planFrom } from "./planning.ts"
import { dueOf, type PlannedRow, planColumns, type TimingRow } from "./schedule-rules.ts"
import type { ScheduleRow } from "./store.ts"
import { cronTimes, isTimezone, splitZone } from "./timetable.ts"

type Specs = typeof areas.cron.specs
export type ScheduleInput =
  | Input<Specs["create"]>
  | Omit<Input<Specs["replace"]>, "id">
  | Omit<Input<Specs["update"]>, "id">

const invalid = (reason: string) => fault("invalid_parameter", { reason })

/** What a fault's text can hold on one line. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").slice(0, 300)

const checkZone = (timezone: string): string => {
  if (!isTimezone(timezone))
    throw invalid(`timezone: ${timezone} is not a name of the IANA time zone database`)
  return timezone
}

/** An expression and its zone, understood; throws `invalid_parameter` with what the parser says. */
export const readCron = (
  expression: string,
  timezone: string | undefined,
): { cron: string; timezone: string | undefined } => {
  const split = splitZone(expression)
  if (split.timezone !== undefined && timezone !== undefined && split.timezone !== timezone) {
    throw invalid("timezone: the expression names another time zone")
  }
  const zone = split.timezone ?? timezone
  if (zone !== undefined) checkZone(zone)
  try {
    cronTimes(split.cron, zone ?? "UTC")
  } catch (error) {
    throw invalid(`cron: ${reasonOf(error)}`)
  }
  return { cron: split.cron, timezone: zone }
}

const WHEN = ["cron", "interval_seconds", "run_at"] as const
const SECONDS_FIELDS = 6
const MINUTE_SECONDS = 60

/** Finer than a minute is for plans that are paid. */
const checkGrain = ({ organization }: Call, { cron, interval_seconds }: Partial<TimingRow>) => {
  if (organization.plan !== "free") return
  const isFine =
    (cron?.split(/\s+/).length ?? 0) >= SECONDS_FIELDS ||
    (interval_seconds ?? MINUTE_SECONDS) < MINUTE_SECONDS
  if (isFine) throw fault("plan_limit_reached", { limit: "one run a minute for", resources: "a schedule" })
}

/** The columns that say when; those of before where nothing is said. */
const timingColumns = (input: ScheduleInput, before: ScheduleRow | undefined, call: Call): TimingRow => {
  const given = WHEN.filter(name => input[name] !== undefined)
  if (given.length > 1) throw invalid(`give only one of ${WHEN.join(", ")}`)
  if (given.length === 0 && !before)
    throw fault("missing_parameter", { field: "cron, interval_seconds or run_at" })
  const read =
    input.cron === undefined
      ? { cron: null, timezone: input.timezone && checkZone(input.timezone) }
      : readCron(input.cron, input.timezone)
  const start_at = dateOf(input.start_at, before?.start_at)
  const end_at = dateOf(input.end_at, before?.end_at)
  if (start_at && end_at && end_at < start_at) throw invalid("end_at: it is before start_at")
  const isNewInterval = input.interval_seconds !== undefined || input.start_at !== undefined
  const bounds = {
    timezone: read.timezone ?? before?.timezone ?? "UTC",
    anchor_at: before && !isNewInterval ? before.anchor_at : (start_at ?? call.now),
    ...{ start_at, end_at },
  }
  if (given.length === 0 && before) {
    const { cron, interval_seconds, run_at } = before
    return { cron, interval_seconds, run_at, ...bounds }
  }
  const run_at = input.run_at === undefined ? null : new Date(input.run_at)
  if (run_at && run_at <= call.now) throw invalid("run_at: it is in the past")
  const timing = { cron: read.cron, interval_seconds: input.interval_seconds ?? null, run_at, ...bounds }
  checkGrain(call, timing)
  return timing
}

const dateOf = (given: string | null | undefined, before: Date | null | undefined): Date | null => {
  if (given === undefined) return before ?? null
  return given === null ? null : new Date(given)
}

const DEFAULTS = {
  description: "",
  enabled: true,
  overlap_policy: "skip",
  catchup_policy: "latest",
  catchup_window_seconds: 3_600,
  jitter_seconds: 0,
  /** Of any target but a function. */
  timeout_seconds: 30,
  max_retries: 3,
  pause_on_failure: false,
} as const satisfies Partial<ScheduleRow>

type PolicyColumns = Pick<ScheduleRow, keyof typeof DEFAULTS>

/** A function ends at its own limit, so its schedule's default is the longest that any function may have. */
const defaultsOf = ({ target, function_name }: ScheduleInput): Readonly<Record<string, unknown>> =>
  function_name !== undefined || target?.type === "function"
    ? { ...DEFAULTS, timeout_seconds: workloadLimits.function.timeout_seconds.max }
    : DEFAULTS

const policyColumns = (input: ScheduleInput, before: ScheduleRow | undefined): PolicyColumns =>
  Object.fromEntries(
    Object.entries(defaultsOf(input)).map(([name, otherwise]) => {
      const field = name as keyof PolicyColumns
      return [field, input[field] ?? before?.[field] ?? otherwise]
    }),
  ) as unknown as PolicyColumns

/** Anything that changes when it runs, so that it is planned anew. */
const PLANNING = [
  "cron",
  "interval_seconds",
  "run_at",
  "timezone",
  "start_at",
  "end_at",
  "jitter_seconds",
  "enabled",
]

/** All columns that a caller decides, and the plan that follows. */
export const scheduleColumns = (
  input: ScheduleInput,
  id: string,
  before: ScheduleRow | undefined,
  call: Call,
) => {
  const timing = timingColumns(input, before, call)
  const policies = policyColumns(input, before)
  const columns = { ...timing, ...policies }
  const isPlanned = !before || PLANNING.some(field => field in input)
  if (!isPlanned) return columns
  if (!policies.enabled) return { ...columns, next_runs: [], due_at: null }
  const row: PlannedRow = { id, next_runs: [], ...columns }
  const plan = planFrom(dueOf(row), call.now.getTime())
  if (plan.dueMs === undefined && !before) throw invalid("this never comes")
  return { ...columns, ...planColumns(plan) }
}

/** The target that is given, if one is; throws for one that says too much. */
export const readTarget = ({ target, function_name }: ScheduleInput): CronTargetOf | undefined => {
  if (target && function_name !== undefined) throw invalid("give target or function_name, not both")
  const given: CronTargetOf | undefined =
    function_name === undefined ? target : { type: "function", function_name }
  if (given && Buffer.byteLength(JSON.stringify(given)) > CRON_TARGET_BYTES_MAX) {
    throw invalid(`target: it has more than ${CRON_TARGET_BYTES_MAX} bytes`)
  }
  return given
}
