import { sql } from "kysely"
import type { Clock } from "../clock.ts"
import type { Database, Db } from "../db/database.ts"
import type { DeadLetters, DeadSelection, NewJob } from "./jobs.ts"
import type { Queue } from "./rules.ts"
import { targetOf, tenantColumn, tenantOf } from "./store.ts"

const LIST_MAX = 200
const STEP_MAX = 1_000

const selected = (db: Db, { queue, tenantId, ids }: DeadSelection) => {
  const query = db
    .selectFrom("kernel.dead_jobs")
    .where("tenant_id", "=", tenantColumn(tenantId))
    .where("queue", "=", queue)
  return ids === undefined ? query : query.where("id", "in", [0, ...ids])
}

const taken = async (db: Db, selection: DeadSelection) => {
  const chosen = selected(db, selection).select("id").orderBy("id").limit(STEP_MAX).forUpdate()
  const rows = await db.deleteFrom("kernel.dead_jobs").where("id", "in", chosen).returningAll().execute()
  return rows.sort((a, b) => a.id - b.id)
}

export const deadLetters = (
  { transaction }: Database,
  clock: Clock,
  enqueue: (db: Db, jobs: readonly NewJob[]) => Promise<void>,
): DeadLetters => ({
  async list(db, { limit, before, ...selection }) {
    const query = selected(db, selection).selectAll().orderBy("id", "desc").limit(Math.min(limit, LIST_MAX))
    const rows = await (before === undefined ? query : query.where("id", "<", before)).execute()
    return rows.map(row => ({
      id: row.id,
      queue: row.queue,
      tenantId: tenantOf(row.tenant_id),
      payload: row.payload,
      attempts: row.attempts,
      error: row.error,
      enqueuedAt: row.enqueued_at,
      diedAt: row.died_at,
      targetKey: targetOf(row.target_key),
      orderingKey: row.ordering_key ?? undefined,
    }))
  },

  async requeue(db, selection) {
    const requeueOn = async (tx: Db) => {
      const rows = await taken(tx, selection)
      const runAt = new Date(clock.now())
      const jobs = rows.map(row => {
        const targetKey = targetOf(row.target_key)
        return {
          queue: row.queue,
          tenantId: tenantOf(row.tenant_id),
          payload: row.payload,
          runAt,
          priority: row.priority,
          ...(targetKey !== undefined && { targetKey }),
          ...(row.ordering_key !== null && { orderingKey: row.ordering_key }),
          ...(row.dedupe_key !== null && { dedupeKey: row.dedupe_key }),
        }
      })
      if (jobs.length > 0) await enqueue(tx, jobs)
      return jobs.length
    }
    return db.isTransaction ? requeueOn(db) : transaction(requeueOn)
  },

  drop: async (db, selection) => (await taken(db, selection)).length,
})

/** Forgets what its queue does not keep any longer, in short steps. */
export const pruneDead = async (db: Db, nowMs: number, queues: readonly Queue[]): Promise<void> => {
  for (const { name, deadRetentionMs } of queues) {
    for (;;) {
      const { numAffectedRows = 0n } = await sql`
        DELETE FROM kernel.dead_jobs WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM kernel.dead_jobs
          WHERE queue = ${name} AND died_at <= ${new Date(nowMs - deadRetentionMs)}
          LIMIT ${STEP_MAX} FOR UPDATE SKIP LOCKED))`.execute(db)
      if (numAffectedRows < STEP_MAX) break
    }
  }
}
