/** What the processes that send read and write. */

import { sql } from "kysely"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { Db } from "../../kernel/db/database.ts"
import { decrypted } from "./at-rest.ts"
import type { Attempt, AttemptTrigger, EndpointOf } from "./deliveries.ts"
import type { Message } from "./envelope.ts"
import { type MessageRow, toMessage } from "./messages.ts"

/** A delivery that is pending, as the process that sends it holds it. */
export interface PendingDelivery {
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

export interface QueueState {
  readonly endpointId: string
  readonly consecutiveFailures: number
  readonly failingSinceMs: number | null
  readonly blockedUntilMs: number | null
  /** Null: not since it was last written. */
  readonly lastDeliveryMs: number | null
  readonly lastSuccessMs: number | null
}

export interface ClaimedQueue {
  readonly endpointId: string
  readonly tenantId: string
  readonly kind: string
  readonly consecutiveFailures: number
  readonly failingSinceMs: number | null
  readonly isWarned: boolean
  readonly blockedUntilMs: number | null
  readonly hasSucceeded: boolean
}

export interface QueueOf extends EndpointOf {
  readonly kind: string
}

const dateOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))

interface QueueRow {
  readonly endpoint_id: string
  readonly tenant_id: string
  readonly kind: string
  readonly consecutive_failures: number
  readonly failing_since: Date | null
  readonly is_warned: boolean
  readonly blocked_until: Date | null
  readonly last_success_at: Date | null
}

const toQueue = (row: QueueRow): ClaimedQueue => ({
  endpointId: row.endpoint_id,
  tenantId: row.tenant_id,
  kind: row.kind,
  consecutiveFailures: row.consecutive_failures,
  failingSinceMs: row.failing_since?.getTime() ?? null,
  isWarned: row.is_warned,
  blockedUntilMs: row.blocked_until?.getTime() ?? null,
  hasSucceeded: row.last_success_at !== null,
})

interface DueRow extends Omit<MessageRow, "tenant_id"> {
  readonly endpoint_id: string
  readonly ordering_key: string | null
  readonly attempt_count: number
  readonly attempts_from: number
  readonly attempts_max: number
  readonly trigger: AttemptTrigger
  readonly bytes: number
  readonly message_id: string
  /** Null, like everything of the message, where that is not kept any more. */
  readonly tenant_id: string | null
}

const toPendingDelivery = (row: DueRow): PendingDelivery => ({
  id: row.id,
  endpointId: row.endpoint_id,
  orderingKey: row.ordering_key,
  attemptCount: row.attempt_count,
  attemptsFrom: row.attempts_from,
  attemptsMax: row.attempts_max,
  trigger: row.trigger,
  bytes: row.bytes,
  message:
    row.tenant_id === null ? undefined : toMessage({ ...row, id: row.message_id, tenant_id: row.tenant_id }),
})

export const dispatchStore = (db: Db, worker: string, atRest: AtRest) => ({
  async claim(now: Date, queues: readonly QueueOf[]): Promise<ClaimedQueue[]> {
    const { rows } = await sql<QueueRow>`
      SELECT * FROM deliveries.claim_lanes(${worker}, ${now}, ${queues.map(({ endpointId }) => endpointId)}::uuid[],
        ${queues.map(({ tenantId }) => tenantId)}::uuid[], ${queues.map(({ kind }) => kind)}::text[])`.execute(
      db,
    )
    return rows.map(toQueue)
  },

  async load(
    now: Date,
    endpointIds: readonly string[],
    limit: number,
    bytes: number,
  ): Promise<PendingDelivery[]> {
    const { rows } = await sql<DueRow>`
      SELECT * FROM deliveries.load_due(${now}, ${endpointIds}::uuid[], ${limit}, ${bytes})`.execute(db)
    return Promise.all(
      rows.map(toPendingDelivery).map(async delivery => {
        const { message } = delivery
        return message ? { ...delivery, message: await decrypted(atRest, message) } : delivery
      }),
    )
  },

  /** Gives the ids of those that were still pending. */
  async settle(
    now: Date,
    settlements: readonly Settlement[],
    queues: readonly QueueState[],
  ): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ id: string }>`
      SELECT settle AS id FROM deliveries.settle(${worker}, ${now},
        ${settlements.map(({ id }) => id)}::uuid[], ${settlements.map(({ attemptCount }) => attemptCount)}::int2[],
        ${settlements.map(({ status }) => status)}::text[], ${settlements.map(({ dueAt }) => dueAt)}::timestamptz[],
        ${settlements.map(({ attempt }) => attempt && JSON.stringify(attempt))}::text[],
        ${queues.map(({ endpointId }) => endpointId)}::uuid[],
        ${queues.map(({ consecutiveFailures }) => consecutiveFailures)}::int4[],
        ${queues.map(({ failingSinceMs }) => dateOf(failingSinceMs))}::timestamptz[],
        ${queues.map(({ blockedUntilMs }) => dateOf(blockedUntilMs))}::timestamptz[],
        ${queues.map(({ lastDeliveryMs }) => dateOf(lastDeliveryMs))}::timestamptz[],
        ${queues.map(({ lastSuccessMs }) => dateOf(lastSuccessMs))}::timestamptz[])`.execute(db)
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
  async look(now: Date): Promise<readonly (QueueOf & { readonly workerId: string | null })[]> {
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

  /** Says that this process lives; false when others were free to take its queues meanwhile. */
  async beat(now: Date, until: Date): Promise<boolean> {
    const { rows } = await sql<{ was_live: boolean }>`
      WITH before AS (SELECT leased_until FROM deliveries.workers WHERE id = ${worker})
      INSERT INTO deliveries.workers (id, leased_until) VALUES (${worker}, ${until})
      ON CONFLICT (id) DO UPDATE SET leased_until = excluded.leased_until
      RETURNING coalesce((SELECT leased_until > ${now} FROM before), false) AS was_live`.execute(db)
    return rows[0]?.was_live ?? false
  },

  /** Releases the claims of this process on these endpoints. */
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
