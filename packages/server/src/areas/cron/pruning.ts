import { CRON_EXECUTIONS_KEPT } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

export const PRUNE_EVERY_MS = 600_000
const KEPT_MS = 30 * 86_400_000
const STEP_MAX = 5_000

/** Forgets executions that are finished and too old or too many, in short steps. */
export const pruneExecutions = async (db: Db, nowMs: number): Promise<void> => {
  const old = sql`SELECT id FROM cron.executions
    WHERE created_at < ${new Date(nowMs - KEPT_MS)} AND status NOT IN ('queued', 'running') LIMIT ${STEP_MAX}`
  const many = sql`SELECT execution.id FROM cron.schedules AS schedule
    JOIN cron.executions AS execution ON execution.schedule_id = schedule.id
      AND execution.number <= schedule.executions_made - ${CRON_EXECUTIONS_KEPT}
    WHERE schedule.executions_made > ${CRON_EXECUTIONS_KEPT}
      AND execution.status NOT IN ('queued', 'running') LIMIT ${STEP_MAX}`
  for (const chosen of [old, many]) {
    for (;;) {
      const { numAffectedRows = 0n } = await sql`
        DELETE FROM cron.executions WHERE id = ANY(ARRAY(${chosen}))`.execute(db)
      if (numAffectedRows < STEP_MAX) break
    }
  }
}
