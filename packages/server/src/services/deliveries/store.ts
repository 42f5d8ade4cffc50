import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import type { Stored } from "./at-rest.ts"
import type {
  Attempt,
  Delivery,
  DeliveryFilter,
  DeliveryStatus,
  EndpointHealth,
  EndpointOf,
  NewMessage,
} from "./deliveries.ts"
import type { PendingDelivery, QueueOf } from "./dispatch-store.ts"
import { eventIdOf, type Message, messageIdOf } from "./envelope.ts"

export const messageOf = (message: Omit<NewMessage, "recipients">): Message => {
  const { tenantId, projectId, type, source, topic, at, data } = message
  return { id: messageIdOf(message.id), tenantId, projectId, type, source, topic, at, data }
}

type Row = Stored<Omit<NewMessage, "recipients">>

const insertMessages = (rows: readonly Row[]) => {
  const messages = rows.map(({ message }) => message)
  return sql`
  INSERT INTO deliveries.messages (id, kind, tenant_id, project_id, stream_id, type, source, topic, at, data)
  SELECT * FROM unnest(
    ${messages.map(({ id }) => messageIdOf(id))}::uuid[], ${messages.map(({ kind }) => kind)}::text[],
    ${messages.map(({ tenantId }) => tenantId)}::uuid[], ${messages.map(({ projectId }) => projectId)}::uuid[],
    ${messages.map(({ streamId }) => streamId)}::uuid[], ${messages.map(({ type }) => type)}::text[],
    ${messages.map(({ source }) => source)}::text[], ${messages.map(({ topic }) => topic)}::text[],
    ${messages.map(({ at }) => at)}::timestamptz[], ${rows.map(({ data }) => data)}::text[])`
}

/** What an `enqueue` has written, for the process that wrote it. */
export interface Fresh {
  readonly queue: QueueOf
  readonly delivery: PendingDelivery
}

const freshOf = (message: NewMessage): Fresh[] => {
  const sent = messageOf(message)
  const bytes = Buffer.byteLength(message.data)
  return message.recipients.map(({ endpointId, maxRetries, orderingKey }) => ({
    queue: { endpointId, tenantId: message.tenantId, kind: message.kind },
    delivery: {
      ...{ id: newId(), endpointId, orderingKey: orderingKey ?? null, attemptCount: 0, attemptsFrom: 0 },
      ...{ attemptsMax: maxRetries + 1, trigger: "scheduled", bytes, message: sent },
    },
  }))
}

/** Messages and what is pending of them, in one statement. */
export const insertDeliveries = async (
  db: Db,
  now: Date,
  messages: readonly Stored[],
): Promise<readonly Fresh[]> => {
  const fresh = messages.flatMap(({ message }) => freshOf(message))
  if (fresh.length === 0) {
    await insertMessages(messages).execute(db)
    return fresh
  }
  await sql`
    WITH written AS (${insertMessages(messages)})
    INSERT INTO deliveries.pending (id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes,
      attempts_max, max_retries, due_at, created_at)
    SELECT d.*, d.attempts_max - 1, ${now}::timestamptz, ${now}::timestamptz FROM unnest(
      ${fresh.map(({ delivery }) => delivery.id)}::uuid[], ${fresh.map(({ queue }) => queue.kind)}::text[],
      ${fresh.map(({ queue }) => queue.tenantId)}::uuid[], ${fresh.map(({ queue }) => queue.endpointId)}::uuid[],
      ${fresh.map(({ delivery }) => delivery.message?.id)}::uuid[], ${fresh.map(({ delivery }) => delivery.message?.type)}::text[],
      ${fresh.map(({ delivery }) => delivery.orderingKey)}::text[], ${fresh.map(({ delivery }) => delivery.bytes)}::int4[],
      ${fresh.map(({ delivery }) => delivery.attemptsMax)}::int2[])
      AS d (id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes, attempts_max)`.execute(
    db,
  )
  return fresh
}

interface ListedRow {
  readonly id: string
  readonly tenant_id: string
  readonly endpoint_id: string
  readonly message_id: string
  readonly event_type: string
  readonly status: DeliveryStatus
  readonly attempt_count: number
  readonly max_retries: number
  readonly next_attempt_at: Date | null
  readonly created_at: Date
  readonly completed_at: Date | null
  readonly attempts: readonly string[]
}

const toDelivery = (row: ListedRow): Delivery => ({
  id: row.id,
  tenantId: row.tenant_id,
  endpointId: row.endpoint_id,
  eventId: eventIdOf(row.message_id),
  eventType: row.event_type,
  status: row.status,
  attemptCount: row.attempt_count,
  maxRetries: row.max_retries,
  nextAttemptAt: row.next_attempt_at,
  createdAt: row.created_at,
  completedAt: row.completed_at,
  attempts: row.attempts.map(attempt => JSON.parse(attempt) as Attempt),
})

/** Counting ends here: an endpoint may have had more deliveries in its days than a request can count. */
const COUNTED_MAX = 100_000

export const listDeliveries = async (
  db: Db,
  { tenantId, endpointId }: EndpointOf,
  { status, eventType, since, until, limit, offset }: DeliveryFilter,
  underWay: readonly string[],
): Promise<{ rows: Delivery[]; total: number }> => {
  const found = sql`
    FROM deliveries.listed d
    WHERE tenant_id = ${tenantId} AND endpoint_id = ${endpointId}
      AND ${
        status === undefined
          ? sql`true`
          : status === "delivering"
            ? sql`id = ANY(${underWay}::uuid[])`
            : sql`status = ${status} AND NOT (completed_at IS NULL AND id = ANY(${underWay}::uuid[]))`
      }
      AND ${eventType === undefined ? sql`true` : sql`event_type = ${eventType}`}
      AND ${since === undefined ? sql`true` : sql`created_at >= ${since}`}
      AND ${until === undefined ? sql`true` : sql`created_at < ${until}`}`
  const [{ rows }, { rows: counts }] = await Promise.all([
    sql<ListedRow>`SELECT d.* ${found} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`.execute(db),
    sql<{ total: number }>`
      SELECT count(*) AS total FROM (SELECT ${found} LIMIT ${COUNTED_MAX}) AS c`.execute(db),
  ])
  const busy = new Set(underWay)
  return {
    rows: rows
      .map(toDelivery)
      .map(row => (row.completedAt === null && busy.has(row.id) ? { ...row, status: "delivering" } : row)),
    total: counts[0]?.total ?? 0,
  }
}

export const findDelivery = async (
  db: Db,
  { tenantId, endpointId }: EndpointOf,
  deliveryId: string,
): Promise<Delivery | undefined> => {
  const { rows } = await sql<ListedRow>`
    SELECT d.* FROM deliveries.listed d
    WHERE tenant_id = ${tenantId} AND endpoint_id = ${endpointId} AND id = ${deliveryId}`.execute(db)
  return rows[0] && toDelivery(rows[0])
}

export const readHealth = async (
  db: Db,
  tenantId: string,
  endpointIds: readonly string[],
): Promise<ReadonlyMap<string, EndpointHealth>> => {
  const rows = await db
    .selectFrom("deliveries.lanes")
    .select(["endpoint_id", "consecutive_failures", "failing_since", "last_delivery_at", "last_success_at"])
    .where("tenant_id", "=", tenantId)
    .where("endpoint_id", "in", endpointIds.length > 0 ? endpointIds : [newId()])
    .execute()
  return new Map(
    rows.map(row => [
      row.endpoint_id,
      {
        consecutiveFailures: row.consecutive_failures,
        failingSince: row.failing_since,
        lastDeliveryAt: row.last_delivery_at,
        lastSuccessAt: row.last_success_at,
      },
    ]),
  )
}

/** A delivery that is over before it is listed for the first time. */
export const insertTest = async (db: Db, stored: Row, delivery: Delivery): Promise<void> => {
  const { message } = stored
  await sql`
    WITH written AS (${insertMessages([stored])})
    INSERT INTO deliveries.finished (id, kind, tenant_id, endpoint_id, message_id, event_type, bytes, max_retries,
      attempt_count, status, created_at, completed_at, attempts)
    VALUES (${delivery.id}, ${message.kind}, ${delivery.tenantId}, ${delivery.endpointId},
      ${messageIdOf(message.id)}, ${message.type}, ${Buffer.byteLength(message.data)}, 0, 1, ${delivery.status},
      ${delivery.createdAt}, ${delivery.completedAt}, ${delivery.attempts.map(attempt => JSON.stringify(attempt))}::text[])
  `.execute(db)
}
