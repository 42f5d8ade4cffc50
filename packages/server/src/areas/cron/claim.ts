/** Turns what is due into executions: in one transaction, so that a time runs once whatever process finds it. */
import type { CronExecutionStatus, CronOverlapPolicy } from "@svc/contract"
import { sql } from "kysely"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database, Tx } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import type { Jobs, NewJob } from "../../kernel/jobs/jobs.ts"
import type { Logger } from "../../kernel/log.ts"
import { type Plan, planDue, type Tick } from "./planning.ts"
import { dueOf } from "./schedule-rules.ts"
import type { ScheduleRow } from "./store.ts"

export const EXECUTE_QUEUE = "cron.execute"
/** The topic under which cancelled executions are announced, by id. */
export const CANCELLED_TOPIC = "cron_cancelled"

/** Schedules of one transaction; also what a look computes before requests get their turn again. */
const CLAIMED_MAX = 200

export interface ClaimNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly changes: Changes
  readonly log: Logger
}

interface NewExecution extends Tick {
  readonly id: string
  readonly number: number
  readonly status: CronExecutionStatus
  readonly skipReason: "overlap" | "outside_catchup_window" | null
  readonly error: string | null
}

interface Claimed {
  readonly row: ScheduleRow
  readonly plan: Plan
  readonly executions: readonly NewExecution[]
  readonly cancelsOthers: boolean
}

/** How many unfinished executions there may be when another one is due; `all` has an end too. */
const UNFINISHED_MAX: Readonly<Record<CronOverlapPolicy, number>> = {
  skip: 0,
  buffer_one: 1,
  buffer_all: 100,
  allow_all: 100,
  cancel_other: Number.POSITIVE_INFINITY,
}

export const jobOf = (
  { id, organization_id, overlap_policy, target_key }: ScheduleRow,
  executionId: string,
  ordered = overlap_policy === "buffer_one" || overlap_policy === "buffer_all",
): NewJob => ({
  queue: EXECUTE_QUEUE,
  tenantId: organization_id,
  payload: { executionId },
  targetKey: target_key,
  ...(ordered && { orderingKey: id }),
})

/** The executions of a plan, missed ones first, numbered on from those that the schedule has had. */
const executionsOf = (row: ScheduleRow, plan: Plan, unfinished: number): Claimed => {
  const policy = row.overlap_policy as CronOverlapPolicy
  let number = row.executions_made
  const made = (tick: Tick, status: CronExecutionStatus, rest: Partial<NewExecution> = {}): NewExecution => {
    number++
    return { ...tick, id: newId(), number, status, skipReason: null, error: null, ...rest }
  }
  const missed = plan.missed.map(tick =>
    made(tick, "missed", {
      skipReason: tick.reason,
      error:
        tick.lastMs > tick.scheduledForMs
          ? `Missed, with all runs until ${new Date(tick.lastMs).toISOString()}.`
          : null,
    }),
  )
  let waiting = unfinished
  const runs = plan.runs.map((tick, at) => {
    const isReplaced = policy === "cancel_other" && at < plan.runs.length - 1
    if (isReplaced) return made(tick, "cancelled")
    if (waiting > UNFINISHED_MAX[policy]) return made(tick, "skipped", { skipReason: "overlap" })
    waiting++
    return made(tick, "queued")
  })
  const cancelsOthers = policy === "cancel_other" && unfinished > 0 && runs.length > 0
  return { row, plan, executions: [...missed, ...runs], cancelsOthers }
}

const takeDue = (tx: Tx, now: Date): Promise<ScheduleRow[]> =>
  tx
    .selectFrom("cron.schedules")
    .selectAll()
    .where("due_at", "<=", now)
    .orderBy("due_at")
    .limit(CLAIMED_MAX)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()

const countUnfinished = async (tx: Tx, rows: readonly ScheduleRow[]): Promise<Map<string, number>> => {
  const ids = rows.map(({ id }) => id)
  const counts = await tx
    .selectFrom("cron.executions")
    .select(["schedule_id", ({ fn }) => fn.countAll<number>().as("count")])
    .where("schedule_id", "in", ids)
    .where("status", "in", ["queued", "running"])
    .groupBy("schedule_id")
    .execute()
  return new Map(counts.map(({ schedule_id, count }) => [schedule_id, count]))
}

const cancelOthers = async (tx: Tx, changes: Changes, claimed: readonly Claimed[], now: Date) => {
  const ids = claimed.filter(({ cancelsOthers }) => cancelsOthers).map(({ row }) => row.id)
  if (ids.length === 0) return
  const cancelled = await tx
    .updateTable("cron.executions")
    .set({ status: "cancelled", finished_at: now })
    .where("schedule_id", "in", ids)
    .where("status", "in", ["queued", "running"])
    .returning("id")
    .execute()
  for (const { id } of cancelled) await changes.notify(tx, CANCELLED_TOPIC, id)
}

const FINISHED: ReadonlySet<CronExecutionStatus> = new Set(["skipped", "missed", "cancelled"])

/** Gives the ids of those that were not there already. */
const insertExecutions = async (tx: Tx, claimed: readonly Claimed[], now: Date): Promise<Set<string>> => {
  const rows = claimed.flatMap(({ row, executions }) =>
    executions.map(made => ({
      id: made.id,
      organization_id: row.organization_id,
      schedule_id: row.id,
      number: made.number,
      scheduled_for: new Date(made.scheduledForMs),
      due_at: new Date(made.dueMs),
      trigger: made.trigger,
      status: made.status,
      attempt: 0,
      finished_at: FINISHED.has(made.status) ? now : null,
      error: made.error,
      skip_reason: made.skipReason,
      created_at: now,
    })),
  )
  const inserted = new Set<string>()
  // One statement takes 65,535 parameters.
  for (let from = 0; from < rows.length; from += 1_000) {
    const kept = await tx
      .insertInto("cron.executions")
      .values(rows.slice(from, from + 1_000))
      .onConflict(oc =>
        oc.columns(["schedule_id", "scheduled_for"]).where("trigger", "!=", "manual").doNothing(),
      )
      .returning("id")
      .execute()
    for (const { id } of kept) inserted.add(id)
  }
  return inserted
}

const advance = async (tx: Tx, claimed: readonly Claimed[]) => {
  const ids = claimed.map(({ row }) => row.id)
  const dueAt = claimed.map(({ plan }) => (plan.dueMs === undefined ? null : new Date(plan.dueMs)))
  const nextRuns = claimed.map(
    ({ plan }) => `{${plan.nextMs.map(at => new Date(at).toISOString()).join(",")}}`,
  )
  const made = claimed.map(({ row, executions }) => row.executions_made + executions.length)
  await sql`
    UPDATE cron.schedules AS schedule
    SET due_at = given.due_at, next_runs = given.next_runs::timestamptz[], executions_made = given.made
    FROM unnest(${ids}::uuid[], ${dueAt}::timestamptz[], ${nextRuns}::text[], ${made}::bigint[])
      AS given (id, due_at, next_runs, made)
    WHERE schedule.id = given.id`.execute(tx)
}

/** One look: what is due now, up to a bound. Gives how many schedules it dealt with, and whether there may be more. */
export const claimDue = async (needs: ClaimNeeds, nowMs: number): Promise<{ isFull: boolean }> => {
  const { database, jobs, changes, log } = needs
  const now = new Date(nowMs)
  return await database.transaction(async tx => {
    const rows = await takeDue(tx, now)
    if (rows.length === 0) return { isFull: false }
    const unfinished = await countUnfinished(tx, rows)
    const claimed = rows.map(row => {
      try {
        return executionsOf(row, planDue(dueOf(row), nowMs), unfinished.get(row.id) ?? 0)
      } catch (error) {
        // Its zone is gone from this machine, say. Without a time it does not come up again and again.
        log.error({ err: error, schedule: row.id }, "computing the next run of a cron schedule failed")
        return {
          row,
          plan: { runs: [], missed: [], nextMs: [], dueMs: undefined },
          executions: [],
          cancelsOthers: false,
        }
      }
    })
    await cancelOthers(tx, changes, claimed, now)
    const inserted = await insertExecutions(tx, claimed, now)
    await advance(tx, claimed)
    const queued = claimed.flatMap(({ row, executions }) =>
      executions
        .filter(({ id, status }) => status === "queued" && inserted.has(id))
        .map(({ id }) => jobOf(row, id)),
    )
    if (queued.length > 0) await jobs.enqueue(tx, queued)
    return { isFull: rows.length === CLAIMED_MAX }
  })
}
