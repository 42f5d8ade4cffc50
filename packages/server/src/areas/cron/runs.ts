/** What becomes of an execution, written down. */
import type { CronExecutionStatus } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { cronStore, type ExecutionRow, type ScheduleRow } from "./store.ts"

/** An execution that begins, with what it takes to do it. */
export interface Begun {
  readonly execution: Pick<ExecutionRow, "id" | "organization_id" | "schedule_id" | "scheduled_for">
  readonly schedule: Pick<
    ScheduleRow,
    "id" | "organization_id" | "project_id" | "name" | "target" | "timeout_seconds" | "max_retries"
  >
  /** Its organization or project is deleted. */
  readonly orphaned: boolean
}

interface BegunRow {
  readonly id: string
  readonly scheduled_for: Date
  readonly schedule_id: string
  readonly project_id: string | null
  readonly name: string
  readonly target: string
  readonly timeout_seconds: number
  readonly max_retries: number
  readonly orphaned: boolean
}

export interface Finish {
  readonly status: CronExecutionStatus
  readonly attempt: number
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly durationMs: number | null
  readonly statusCode: number | null
  readonly responseBody: string | null
  readonly error: string | null
}

export const runStore = (db: Db) => ({
  /** Undefined when there is nothing to do any more: it was cancelled, or is finished. */
  async begin(
    organizationId: string,
    executionId: string,
    attempt: number,
    now: Date,
  ): Promise<Begun | undefined> {
    const { rows } = await sql<BegunRow>`
      UPDATE cron.executions AS execution
      SET status = 'running', attempt = ${attempt}, started_at = ${now},
        lag_ms = coalesce(execution.lag_ms, greatest(0, least(2147483647,
          round(extract(epoch FROM ${now}::timestamptz - execution.due_at) * 1000)))::integer)
      FROM cron.schedules AS schedule
        JOIN core.organizations AS organization ON organization.id = schedule.organization_id
        LEFT JOIN core.projects AS project ON project.id = schedule.project_id
      WHERE execution.organization_id = ${organizationId} AND execution.id = ${executionId}
        AND execution.status IN ('queued', 'running') AND schedule.id = execution.schedule_id
      RETURNING execution.id, execution.scheduled_for, execution.schedule_id, schedule.project_id, schedule.name,
        schedule.target, schedule.timeout_seconds, schedule.max_retries,
        coalesce(organization.deleted_at, project.deleted_at) IS NOT NULL AS orphaned`.execute(db)
    const [row] = rows
    if (!row) return undefined
    const { id, schedule_id, scheduled_for, orphaned, ...schedule } = row
    return {
      execution: { id, organization_id: organizationId, schedule_id, scheduled_for },
      schedule: { ...schedule, id: schedule_id, organization_id: organizationId },
      orphaned,
    }
  },

  /** It waits for its next attempt. */
  async putOff({ execution }: Begun, finish: Finish): Promise<void> {
    await db
      .updateTable("cron.executions")
      .set({
        ...{ status: "queued", duration_ms: finish.durationMs, status_code: finish.statusCode },
        ...{ response_body: finish.responseBody, error: finish.error },
      })
      .where("organization_id", "=", execution.organization_id)
      .where("id", "=", execution.id)
      .where("status", "=", "running")
      .where("attempt", "=", finish.attempt)
      .execute()
  },

  /**
   * It is over. False when that was known before: it was cancelled, or another process has taken it. The schedule's
   * row is locked first, in the order of everybody who changes both.
   */
  async finish({ execution }: Begun, finish: Finish): Promise<boolean> {
    const { status } = finish
    const hasFailed = status === "failed" || status === "timed_out"
    const { rows } = await sql`
      WITH schedule AS (
        SELECT id FROM cron.schedules
        WHERE organization_id = ${execution.organization_id} AND id = ${execution.schedule_id}
        FOR NO KEY UPDATE
      ), ended AS (
        UPDATE cron.executions AS execution
        SET status = ${status}, finished_at = ${finish.finishedAt}, duration_ms = ${finish.durationMs},
          status_code = ${finish.statusCode}, response_body = ${finish.responseBody}, error = ${finish.error}
        FROM schedule
        WHERE execution.organization_id = ${execution.organization_id} AND execution.id = ${execution.id}
          AND execution.schedule_id = schedule.id
          AND execution.status = 'running' AND execution.attempt = ${finish.attempt}
        RETURNING execution.schedule_id
      )
      UPDATE cron.schedules AS changed
      SET last_run_at = ${finish.startedAt}, last_status = ${status},
        failure_count = CASE WHEN ${hasFailed} THEN failure_count + 1 ELSE 0 END,
        enabled = enabled AND NOT (pause_on_failure AND ${hasFailed}),
        due_at = CASE WHEN pause_on_failure AND ${hasFailed} THEN NULL ELSE due_at END,
        next_runs = CASE WHEN pause_on_failure AND ${hasFailed} THEN '{}' ELSE next_runs END
      FROM ended
      WHERE changed.id = ended.schedule_id
      RETURNING changed.id`.execute(db)
    return rows.length > 0
  },

  /** Nobody is left for whom it could run: it ends, and so does its schedule. */
  async abandon({ execution, schedule }: Begun, now: Date): Promise<void> {
    await db
      .updateTable("cron.schedules")
      .set({ enabled: false, due_at: null, next_runs: [] })
      .where("organization_id", "=", execution.organization_id)
      .where("id", "=", execution.schedule_id)
      .execute()
    await cronStore(db).cancel(schedule, now)
  },
})
