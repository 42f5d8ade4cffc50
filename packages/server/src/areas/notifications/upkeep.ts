import { NOTIFICATION_RETENTION_DAYS } from "@svc/contract"
import { sql } from "kysely"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { ScheduleDefinition } from "../../kernel/jobs/jobs.ts"
import { DEDUPE_MS } from "./sending-store.ts"

const EVERY_MS = 3_600_000
const BATCH_MAX = 5_000
const RETENTION_MS = NOTIFICATION_RETENTION_DAYS * 86_400_000

/** Tables of which each row belongs to one recipient; entries take their deliveries with them. */
const OF_RECIPIENTS = ["entries", "devices", "preferences", "inboxes"] as const

/**
 * Forgets what is over, a bounded piece at a time: notifications past their retention or their `ttl_seconds`, and all
 * that belongs to people and keys that their organization no longer has.
 */
export const upkeepSchedule = ({
  db,
  clock,
}: {
  readonly db: Db
  readonly clock: Clock
}): ScheduleDefinition => ({
  name: "notifications.upkeep",
  every: EVERY_MS,
  timeoutMs: 10 * 60_000,
  async run(_tick, { signal }) {
    const now = new Date(clock.now())
    const old = new Date(now.getTime() - RETENTION_MS)
    const untilNone = async (remove: () => Promise<bigint | undefined>) => {
      while (!signal.aborted && ((await remove()) ?? 0n) >= BATCH_MAX);
    }

    await untilNone(async () => {
      const { numAffectedRows } = await sql`
        DELETE FROM notifications.messages WHERE id IN (
          SELECT id FROM notifications.messages WHERE created_at < ${old} OR expires_at < ${now} LIMIT ${BATCH_MAX}
        )`.execute(db)
      return numAffectedRows
    })
    await sql`DELETE FROM notifications.dedupe_keys WHERE created_at < ${new Date(now.getTime() - DEDUPE_MS)}`.execute(
      db,
    )
    for (const table of OF_RECIPIENTS) {
      const rows = sql.table(`notifications.${table}`)
      await untilNone(async () => {
        const { numAffectedRows } = await sql`
          DELETE FROM ${rows} WHERE ctid = ANY (ARRAY(
            SELECT of.ctid FROM ${rows} AS of WHERE NOT EXISTS (
              SELECT FROM core.members WHERE organization_id = of.organization_id AND user_id = of.user_id
            ) AND NOT EXISTS (
              SELECT FROM core.api_keys WHERE organization_id = of.organization_id AND id = of.user_id
            ) LIMIT ${BATCH_MAX}
          ))`.execute(db)
        return numAffectedRows
      })
    }
  },
})
