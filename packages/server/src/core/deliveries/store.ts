import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import type {
  Attempt,
  AttemptTrigger,
  Delivery,
  DeliveryFilter,
  DeliveryStatus,
  EndpointHealth,
  EndpointOf,
  NewMessage,
} from "./deliveries.ts"
import { eventIdOf, type Message, messageIdOf } from "./envelope.ts"

/** A delivery that is owed, as the process that sends it holds it. */
export interface Owed {
  readonly id: string
  readonly endpointId: string
  readonly orderingKey: string | null
  readonly attemptCount: number
  /** Attempts of before it was sent again by hand or replayed. */
  readonly attemptsFrom: number
  readonly attemptsMax: number
  readonly trigger: AttemptTrigger
  readonly bytes: number
  /** Undefined: it is not kept any more. */
  readonly message: Message | undefined
}

/** What became of an attempt, or of a delivery without one. */
export interface Settlement {
  readonly id: string
  /** Attempts before this one. */
  readonly attemptCount: number
  readonly status: "delivered" | "failed" | "dead_lettered" | "cancelled" | "retrying"
  readonly dueAt: Date | null
  readonly attempt: Attempt | null
}

export interface LaneState {
  readonly endpointId: string
  readonly consecutiveFailures: number
  readonly failingSinceMs: number | null
  readonly blockedUntilMs: number | null
  /** Null: not since it was last written. */
  readonly lastDeliveryMs: number | null
  readonly lastSuccessMs: number | null
}

export interface ClaimedLane {
  readonly endpointId: string
  readonly tenantId: string
  readonly kind: string
  readonly consecutiveFailures: number
  readonly failingSinceMs: number | null
  readonly isWarned: boolean
  readonly blockedUntilMs: number | null
  readonly hasSucceeded: boolean
}

export interface LaneOf extends EndpointOf {
  readonly kind: string
}

const dateOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))

interface LaneRow {
  readonly endpoint_id: string
  readonly tenant_id: string
  readonly kind: string
  readonly consecutive_failures: number
  readonly failing_since: Date | null
  readonly is_warned: boolean
  readonly blocked_until: Date | null
  readonly last_success_at: Date | null
}

const toLane = (row: LaneRow): ClaimedLane => ({
  endpointId: row.endpoint_id,
  tenantId: row.tenant_id,
  kind: row.kind,
  consecutiveFailures: row.consecutive_failures,
  failingSinceMs: row.failing_since?.getTime() ?? null,
  isWarned: row.is_warned,
  blockedUntilMs: row.blocked_until?.getTime() ?? null,
  hasSucceeded: row.last_success_at !== null,
})

interface DueRow {
  readonly id: string
  readonly endpoint_id: string
  readonly ordering_key: string | null
  readonly attempt_count: number
  readonly attempts_from: number
  readonly attempts_max: number
  readonly trigger: AttemptTrigger
  readonly bytes: number
  readonly message_id: string
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly type: string
  readonly source: string | null
  readonly topic: string | null
  readonly at: Date
  readonly data: string
}

const toOwed = (row: DueRow): Owed => ({
  id: row.id,
  endpointId: row.endpoint_id,
  orderingKey: row.ordering_key,
  attemptCount: row.attempt_count,
  attemptsFrom: row.attempts_from,
  attemptsMax: row.attempts_max,
  trigger: row.trigger,
  bytes: row.bytes,
  message:
    row.tenant_id === null
      ? undefined
      : {
          id: row.message_id,
          tenantId: row.tenant_id,
          projectId: row.project_id,
          type: row.type,
          source: row.source,
          topic: row.topic,
          at: row.at,
          data: row.data,
        },
})

export const messageOf = (message: Omit<NewMessage, "recipients">): Message => ({
  id: messageIdOf(message.id),
  tenantId: message.tenantId,
  projectId: message.projectId,
  type: message.type,
  source: message.source,
  topic: message.topic,
  at: message.at,
  data: message.data,
})

const insertMessages = (messages: readonly Omit<NewMessage, "recipients">[]) => sql`
  INSERT INTO deliveries.messages (id, kind, tenant_id, project_id, stream_id, type, source, topic, at, data)
  SELECT * FROM unnest(
    ${messages.map(({ id }) => messageIdOf(id))}::uuid[], ${messages.map(({ kind }) => kind)}::text[],
    ${messages.map(({ tenantId }) => tenantId)}::uuid[], ${messages.map(({ projectId }) => projectId)}::uuid[],
    ${messages.map(({ streamId }) => streamId)}::uuid[], ${messages.map(({ type }) => type)}::text[],
    ${messages.map(({ source }) => source)}::text[], ${messages.map(({ topic }) => topic)}::text[],
    ${messages.map(({ at }) => at)}::timestamptz[], ${messages.map(({ data }) => data)}::text[])`

/** What an `enqueue` has written, for the process that wrote it. */
export interface Fresh {
  readonly lane: LaneOf
  readonly owed: Owed
}

const freshOf = (message: NewMessage): Fresh[] => {
  const sent = messageOf(message)
  const bytes = Buffer.byteLength(message.data)
  return message.recipients.map(({ endpointId, maxRetries, orderingKey }) => ({
    lane: { endpointId, tenantId: message.tenantId, kind: message.kind },
    owed: {
      ...{ id: newId(), endpointId, orderingKey: orderingKey ?? null, attemptCount: 0, attemptsFrom: 0 },
      ...{ attemptsMax: maxRetries + 1, trigger: "scheduled", bytes, message: sent },
    },
  }))
}

/** Messages and what is owed for them, in one statement. */
export const insertDeliveries = async (
  db: Db,
  now: Date,
  messages: readonly NewMessage[],
): Promise<readonly Fresh[]> => {
  const fresh = messages.flatMap(freshOf)
  if (fresh.length === 0) {
    await insertMessages(messages).execute(db)
    return fresh
  }
  await sql`
    WITH written AS (${insertMessages(messages)})
    INSERT INTO deliveries.pending (id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes,
      attempts_max, max_retries, due_at, created_at)
    SELECT d.*, d.attempts_max - 1, ${now}::timestamptz, ${now}::timestamptz FROM unnest(
      ${fresh.map(({ owed }) => owed.id)}::uuid[], ${fresh.map(({ lane }) => lane.kind)}::text[],
      ${fresh.map(({ lane }) => lane.tenantId)}::uuid[], ${fresh.map(({ lane }) => lane.endpointId)}::uuid[],
      ${fresh.map(({ owed }) => owed.message?.id)}::uuid[], ${fresh.map(({ owed }) => owed.message?.type)}::text[],
      ${fresh.map(({ owed }) => owed.orderingKey)}::text[], ${fresh.map(({ owed }) => owed.bytes)}::int4[],
      ${fresh.map(({ owed }) => owed.attemptsMax)}::int2[])
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
export const insertTest = async (
  db: Db,
  message: Omit<NewMessage, "recipients">,
  delivery: Delivery,
): Promise<void> => {
  await sql`
    WITH written AS (${insertMessages([message])})
    INSERT INTO deliveries.finished (id, kind, tenant_id, endpoint_id, message_id, event_type, bytes, max_retries,
      attempt_count, status, created_at, completed_at, attempts)
    VALUES (${delivery.id}, ${message.kind}, ${delivery.tenantId}, ${delivery.endpointId},
      ${messageIdOf(message.id)}, ${message.type}, ${Buffer.byteLength(message.data)}, 0, 1, ${delivery.status},
      ${delivery.createdAt}, ${delivery.completedAt}, ${delivery.attempts.map(attempt => JSON.stringify(attempt))}::text[])
  `.execute(db)
}

/** What the processes that send read and write. */
export const dispatchStore = (db: Db, worker: string) => ({
  async claim(now: Date, lanes: readonly LaneOf[]): Promise<ClaimedLane[]> {
    const { rows } = await sql<LaneRow>`
      SELECT * FROM deliveries.claim_lanes(${worker}, ${now}, ${lanes.map(({ endpointId }) => endpointId)}::uuid[],
        ${lanes.map(({ tenantId }) => tenantId)}::uuid[], ${lanes.map(({ kind }) => kind)}::text[])`.execute(
      db,
    )
    return rows.map(toLane)
  },

  async load(now: Date, endpointIds: readonly string[], limit: number, bytes: number): Promise<Owed[]> {
    const { rows } = await sql<DueRow>`
      SELECT * FROM deliveries.load_due(${now}, ${endpointIds}::uuid[], ${limit}, ${bytes})`.execute(db)
    return rows.map(toOwed)
  },

  /** Gives the ids of those that were still owed. */
  async settle(
    now: Date,
    settlements: readonly Settlement[],
    lanes: readonly LaneState[],
  ): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ id: string }>`
      SELECT settle AS id FROM deliveries.settle(${worker}, ${now},
        ${settlements.map(({ id }) => id)}::uuid[], ${settlements.map(({ attemptCount }) => attemptCount)}::int2[],
        ${settlements.map(({ status }) => status)}::text[], ${settlements.map(({ dueAt }) => dueAt)}::timestamptz[],
        ${settlements.map(({ attempt }) => attempt && JSON.stringify(attempt))}::text[],
        ${lanes.map(({ endpointId }) => endpointId)}::uuid[],
        ${lanes.map(({ consecutiveFailures }) => consecutiveFailures)}::int4[],
        ${lanes.map(({ failingSinceMs }) => dateOf(failingSinceMs))}::timestamptz[],
        ${lanes.map(({ blockedUntilMs }) => dateOf(blockedUntilMs))}::timestamptz[],
        ${lanes.map(({ lastDeliveryMs }) => dateOf(lastDeliveryMs))}::timestamptz[],
        ${lanes.map(({ lastSuccessMs }) => dateOf(lastSuccessMs))}::timestamptz[])`.execute(db)
    return new Set(rows.map(({ id }) => id))
  },

  /** The end of an attempt whose delivery was cancelled meanwhile. */
  async settleLate(now: Date, { id, attemptCount, status, attempt }: Settlement): Promise<void> {
    await sql`
      UPDATE deliveries.finished
      SET attempts = array_append(attempts, ${attempt && JSON.stringify(attempt)}), attempt_count = attempt_count + 1,
        status = CASE WHEN ${status} = 'delivered' THEN 'delivered' ELSE status END, completed_at = ${now}
      WHERE id = ${id} AND attempt_count = ${attemptCount} AND status = 'cancelled'`.execute(db)
  },

  /** Endpoints with something due, and which process sends to them. */
  async look(now: Date): Promise<readonly (LaneOf & { readonly workerId: string | null })[]> {
    const { rows } = await sql<{
      endpoint_id: string
      tenant_id: string
      kind: string
      worker_id: string | null
    }>`SELECT endpoint_id, tenant_id, kind, worker_id FROM deliveries.look(${now})`.execute(db)
    return rows.map(row => ({
      endpointId: row.endpoint_id,
      tenantId: row.tenant_id,
      kind: row.kind,
      workerId: row.worker_id,
    }))
  },

  /** Says that this process lives; false when others were free to take its lanes meanwhile. */
  async beat(now: Date, until: Date): Promise<boolean> {
    const { rows } = await sql<{ was_live: boolean }>`
      WITH before AS (SELECT leased_until FROM deliveries.workers WHERE id = ${worker})
      INSERT INTO deliveries.workers (id, leased_until) VALUES (${worker}, ${until})
      ON CONFLICT (id) DO UPDATE SET leased_until = excluded.leased_until
      RETURNING coalesce((SELECT leased_until > ${now} FROM before), false) AS was_live`.execute(db)
    return rows[0]?.was_live ?? false
  },

  /** Nobody sends to these endpoints any more. */
  async release(endpointIds: readonly string[]): Promise<void> {
    await sql`
      UPDATE deliveries.lanes SET worker_id = NULL
      WHERE endpoint_id = ANY(${endpointIds}::uuid[]) AND worker_id = ${worker}`.execute(db)
  },

  async end(): Promise<void> {
    await db.deleteFrom("deliveries.workers").where("id", "=", worker).execute()
  },
})

export type DispatchStore = ReturnType<typeof dispatchStore>
