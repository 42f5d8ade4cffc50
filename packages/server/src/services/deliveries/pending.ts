/** What is done to an endpoint's deliveries from outside: sent again, cancelled, buried. */
import { sql, type Updateable } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { EndpointOf, ReplayRange } from "./deliveries.ts"

const REPLAYED_MAX = 10_000

/** Takes finished deliveries back to those that are pending. `more`: how many attempts they get beside those they had. */
const putBack = async (
  db: Db,
  now: Date,
  trigger: "manual" | "replay",
  chosen: ReturnType<typeof sql>,
): Promise<number> => {
  const { numAffectedRows } = await sql`
    WITH taken AS (DELETE FROM deliveries.finished WHERE id = ANY(ARRAY(${chosen})) RETURNING *)
    INSERT INTO deliveries.pending (id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes,
      due_at, max_retries, attempt_count, attempts_from, attempts_max, trigger, created_at, attempts)
    SELECT id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes, ${now}, max_retries,
      attempt_count, attempt_count,
      attempt_count + ${trigger === "manual" ? sql`1` : sql`max_retries + 1`}, ${trigger}, created_at, attempts
    FROM taken`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

export const sendAgain = async (
  db: Db,
  now: Date,
  { tenantId, endpointId }: EndpointOf,
  deliveryId: string,
): Promise<void> => {
  await sql`
    UPDATE deliveries.pending SET due_at = ${now}, trigger = 'manual'
    WHERE tenant_id = ${tenantId} AND endpoint_id = ${endpointId} AND id = ${deliveryId} AND due_at > ${now}
  `.execute(db)
  await putBack(
    db,
    now,
    "manual",
    sql`SELECT id FROM deliveries.finished
      WHERE tenant_id = ${tenantId} AND endpoint_id = ${endpointId} AND id = ${deliveryId}`,
  )
}

export const replayRange = (
  db: Db,
  now: Date,
  { tenantId, endpointId }: EndpointOf,
  { since, until, status = "dead_lettered" }: ReplayRange,
): Promise<number> =>
  putBack(
    db,
    now,
    "replay",
    sql`SELECT id FROM deliveries.finished
      WHERE tenant_id = ${tenantId} AND endpoint_id = ${endpointId} AND status = ${status}
        AND ${since === undefined ? sql`true` : sql`created_at >= ${since}`}
        AND ${until === undefined ? sql`true` : sql`created_at < ${until}`}
      ORDER BY id LIMIT ${REPLAYED_MAX}`,
  )

const bury = async (
  db: Db,
  now: Date,
  status: "cancelled" | "dead_lettered",
  chosen: ReturnType<typeof sql>,
) => {
  await sql`
    WITH gone AS (DELETE FROM deliveries.pending WHERE ${chosen} RETURNING *)
    INSERT INTO deliveries.finished (id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes,
      max_retries, attempt_count, status, created_at, completed_at, attempts)
    SELECT id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes, max_retries, attempt_count,
      ${status}, created_at, ${now}, attempts
    FROM gone`.execute(db)
}

/** Ends everything that waits for an endpoint. */
export const buryAll = (
  db: Db,
  now: Date,
  { tenantId, endpointId }: EndpointOf,
  status: "cancelled" | "dead_lettered",
): Promise<void> => bury(db, now, status, sql`tenant_id = ${tenantId} AND endpoint_id = ${endpointId}`)

/** Ends what has waited for so long that the days it belongs to are about to be dropped. */
export const buryOld = (db: Db, now: Date, before: Date): Promise<void> =>
  bury(db, now, "dead_lettered", sql`created_at < ${before}`)

const updateQueue = async (
  db: Db,
  { tenantId, endpointId }: EndpointOf,
  change: Updateable<Tables["deliveries.lanes"]>,
): Promise<void> => {
  await db
    .updateTable("deliveries.lanes")
    .set(change)
    .where("tenant_id", "=", tenantId)
    .where("endpoint_id", "=", endpointId)
    .execute()
}

export const forgetFailures = (db: Db, endpoint: EndpointOf): Promise<void> =>
  updateQueue(db, endpoint, {
    consecutive_failures: 0,
    failing_since: null,
    blocked_until: null,
    is_warned: false,
  })

/** Sends the next one now, regardless of failures, because a caller requested it. */
export const unblock = (db: Db, endpoint: EndpointOf): Promise<void> =>
  updateQueue(db, endpoint, { blocked_until: null })

export const setWarned = (db: Db, endpoint: EndpointOf, is_warned: boolean): Promise<void> =>
  updateQueue(db, endpoint, { is_warned })
