import { sql } from "kysely"
import type { Clock } from "../../../kernel/clock.ts"
import type { Database } from "../../../kernel/db/database.ts"
import type { Jobs } from "../../../kernel/jobs/jobs.ts"

const DAY_MS = 86_400_000
/** Mails with their texts and attachments. */
const MAILS_KEPT_MS = 90 * DAY_MS
/** A year of figures, and a month in which somebody may compare them. */
const EVENTS_KEPT_MS = 400 * DAY_MS
const BATCH = 1_000
const TIMEOUT_MS = 15 * 60_000

/** Deletes what is older than it is kept. What a job still waits for is younger. */
export const defineRetention = ({
  database,
  clock,
  jobs,
}: {
  readonly database: Database
  readonly clock: Clock
  readonly jobs: Jobs
}): void => {
  const batch = async (table: "email.messages" | "email.events", before: Date): Promise<number> => {
    const { numAffectedRows = 0n } = await sql`
      DELETE FROM ${sql.table(table)} WHERE id IN (
        SELECT id FROM ${sql.table(table)} WHERE created_at < ${before} ORDER BY created_at LIMIT ${BATCH})`.execute(
      database.db,
    )
    return Number(numAffectedRows)
  }
  const all = async (table: "email.messages" | "email.events", keptMs: number, signal: AbortSignal) => {
    const before = new Date(clock.now() - keptMs)
    while (!signal.aborted && (await batch(table, before)) === BATCH) {}
  }

  jobs.schedule({
    ...{ name: "email.retention", every: DAY_MS, timeoutMs: TIMEOUT_MS },
    async run(_tick, { signal }) {
      await all("email.messages", MAILS_KEPT_MS, signal)
      await all("email.events", EVENTS_KEPT_MS, signal)
    },
  })
}
