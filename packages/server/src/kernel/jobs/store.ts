import { sql } from "kysely"
import type { Db } from "../db/database.ts"
import { toIso } from "../to-iso.ts"
import {
  ENQUEUE_MAX,
  type EnqueueOptions,
  type Job,
  KEY_LENGTH_MAX,
  type NewJob,
  PAYLOAD_BYTES_MAX,
} from "./jobs.ts"
import { checkName, type Queue, type Settlement } from "./rules.ts"

/** The platform's own work; RFC 9562, 5.10. */
const PLATFORM = "ffffffff-ffff-ffff-ffff-ffffffffffff"
const NO_TARGET = "-"

export const tenantColumn = (tenantId: string | null | undefined): string => tenantId ?? PLATFORM
export const tenantOf = (column: string): string | null => (column === PLATFORM ? null : column)
export const targetOf = (column: string): string | undefined =>
  column === NO_TARGET ? undefined : column.slice(1)

interface JobRow {
  readonly id: number
  readonly tenant_id: string
  readonly target_key: string
  readonly ordering_key: string | null
  readonly due_at: Date
  readonly attempts: number
  readonly last_error: string | null
  readonly enqueued_at: Date
  readonly payload: unknown
}

/** A claimed job, and the token under which it is; tenant and target as the table has them. */
export interface Claimed {
  readonly job: Omit<Job, "isLastAttempt">
  readonly token: string
  readonly tenant: string
  readonly target: string
}

const toJob = (row: JobRow): Claimed["job"] => ({
  id: row.id,
  tenantId: tenantOf(row.tenant_id),
  payload: row.payload,
  attempt: row.attempts,
  dueAt: row.due_at,
  enqueuedAt: row.enqueued_at,
  targetKey: targetOf(row.target_key),
  orderingKey: row.ordering_key ?? undefined,
  lastError: row.last_error ?? undefined,
})

interface Settled extends Settlement {
  readonly id: number
  readonly token: string
}

/** Where the next claim begins: after the tenant that was last, and after each tenant's last target. */
export interface Cursor {
  readonly tenant: string
  readonly targets: ReadonlyMap<string, string>
}

export interface QueueScan {
  readonly queue: string
  readonly isReady: boolean
  readonly nextAt: Date | null
  readonly hasExpired: boolean
}

const checkKeys = ({ dedupeKey = "", orderingKey = "", targetKey = "" }: NewJob): void => {
  for (const key of [dedupeKey, orderingKey, targetKey]) {
    if (key.length > KEY_LENGTH_MAX) throw new RangeError(`a key has ${key.length} characters`)
  }
}

const payloadText = ({ payload, queue }: NewJob): string => {
  const text = JSON.stringify(payload) ?? "null"
  const bytes = Buffer.byteLength(text)
  if (bytes > PAYLOAD_BYTES_MAX) throw new RangeError(`a payload for ${queue} has ${bytes} bytes`)
  return text
}

const dedupeOf = ({ queue, tenantId, dedupeKey }: NewJob): string | undefined =>
  dedupeKey === undefined ? undefined : JSON.stringify([queue, tenantId ?? null, dedupeKey])

/** One job for each dedupe key: the first to be kept, or the last to replace. */
const distinct = (jobs: readonly NewJob[], duplicates: "keep" | "replace"): NewJob[] => {
  const byKey = new Map<string, NewJob>()
  for (const job of jobs) {
    const key = dedupeOf(job)
    if (key !== undefined && (duplicates === "replace" || !byKey.has(key))) byKey.set(key, job)
  }
  const kept = new Set(byKey.values())
  const chosen = jobs.filter(job => job.dedupeKey === undefined || kept.has(job))
  if (chosen.some(({ orderingKey }) => orderingKey !== undefined)) return chosen
  // Transactions that meet on several keys lock them in the same order.
  return chosen.sort((a, b) => ((dedupeOf(a) ?? "") < (dedupeOf(b) ?? "") ? -1 : 1))
}

const REPLACE = (now: Date) => sql`
  DO UPDATE SET
    again_at = CASE WHEN jobs.state = 'running' THEN excluded.run_at END,
    run_at = CASE WHEN jobs.state = 'running' THEN jobs.run_at ELSE excluded.run_at END,
    due_at = CASE WHEN jobs.state = 'running' THEN jobs.due_at ELSE excluded.run_at END,
    state = CASE WHEN jobs.state NOT IN ('ready', 'scheduled') THEN jobs.state
      WHEN excluded.run_at <= ${now} THEN 'ready' ELSE 'scheduled' END,
    attempts = CASE WHEN jobs.state = 'running' THEN jobs.attempts ELSE 0 END,
    payload = excluded.payload`

export const insertJobs = async (
  db: Db,
  now: Date,
  jobs: readonly NewJob[],
  { duplicates = "keep" }: EnqueueOptions = {},
): Promise<void> => {
  if (jobs.length > ENQUEUE_MAX) throw new RangeError(`${jobs.length} jobs at once`)
  for (const job of jobs) {
    checkName(job.queue)
    checkKeys(job)
  }
  const rows = jobs.some(({ dedupeKey }) => dedupeKey !== undefined) ? distinct(jobs, duplicates) : jobs
  const runAts = rows.map(({ runAt }) => runAt ?? now)
  await sql`
    INSERT INTO kernel.jobs AS jobs (queue, tenant_id, target_key, ordering_key, dedupe_key, priority, run_at, due_at,
      state, enqueued_at, payload)
    SELECT queue, tenant_id, target_key, ordering_key, dedupe_key, priority, run_at, run_at,
      CASE WHEN ordering_key IS NOT NULL THEN 'arriving' WHEN run_at <= ${now} THEN 'ready' ELSE 'scheduled' END,
      ${now}, payload
    FROM unnest(
      ${rows.map(({ queue }) => queue)}::text[],
      ${rows.map(({ tenantId }) => tenantColumn(tenantId))}::uuid[],
      ${rows.map(({ targetKey }) => (targetKey === undefined ? NO_TARGET : `=${targetKey}`))}::text[],
      ${rows.map(({ orderingKey }) => orderingKey ?? null)}::text[],
      ${rows.map(({ dedupeKey }) => dedupeKey ?? null)}::text[],
      ${rows.map(({ priority = 0 }) => priority)}::smallint[],
      ${runAts.map(runAt => runAt.toISOString())}::timestamptz[],
      ${rows.map(payloadText)}::json[]
    ) WITH ORDINALITY AS o (queue, tenant_id, target_key, ordering_key, dedupe_key, priority, run_at, payload, place)
    ORDER BY place
    ON CONFLICT (queue, tenant_id, dedupe_key) WHERE dedupe_key IS NOT NULL
    ${duplicates === "replace" ? REPLACE(now) : sql`DO NOTHING`}`.execute(db)
}

/** Statements on kernel.jobs and kernel.job_workers; the migration has the functions and says what they promise. */
export const jobStore = (db: Db) => ({
  async claim(
    queue: Queue,
    claim: { limit: number; worker: string; token: string; nowMs: number; cursor: Cursor },
  ): Promise<Claimed[]> {
    const { cursor, nowMs, token } = claim
    const { rows } = await sql<JobRow>`
      SELECT id, tenant_id, target_key, ordering_key, due_at, attempts, last_error, enqueued_at, payload
      FROM kernel.claim_jobs(${queue.name}, ${new Date(nowMs)}, ${claim.limit}, ${claim.worker}, ${token},
        ${new Date(nowMs + queue.leaseMs)}, ${queue.perTenantConcurrency ?? null},
        ${queue.perTargetConcurrency ?? null}, ${cursor.tenant},
        ${[...cursor.targets.keys()]}::uuid[], ${[...cursor.targets.values()]}::text[])`.execute(db)
    return rows.map(row => ({ job: toJob(row), token, tenant: row.tenant_id, target: row.target_key }))
  },

  /** Those that were still ours, by their ids, with the time at which they are to run again. */
  async settle(
    queue: string,
    nowMs: number,
    isOrdered: boolean,
    settled: readonly Settled[],
  ): Promise<ReadonlyMap<number, Date | null>> {
    const { rows } = await sql<{ job_id: number; next_at: Date | null }>`
      SELECT job_id, next_at FROM kernel.settle_jobs(${queue}, ${new Date(nowMs)}, ${isOrdered},
        ${settled.map(({ id }) => id)}::bigint[], ${settled.map(({ token }) => token)}::uuid[],
        ${settled.map(({ kind }) => kind)}::text[],
        ${settled.map(({ at }) => toIso(at))}::timestamptz[],
        ${settled.map(({ error }) => error ?? null)}::text[])`.execute(db)
    return new Map(rows.map(({ job_id, next_at }) => [job_id, next_at]))
  },

  /** Extends the leases of a process; gives the queues whose lease it still had. */
  async heartbeat(
    worker: string,
    leases: readonly { queue: string; untilMs: number }[],
  ): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ queue: string }>`
      UPDATE kernel.job_workers w SET leased_until = l.until
      FROM unnest(${leases.map(({ queue }) => queue)}::text[],
        ${leases.map(({ untilMs }) => new Date(untilMs).toISOString())}::timestamptz[]) AS l (queue, until)
      WHERE w.id = ${worker} AND w.queue = l.queue
      RETURNING w.queue`.execute(db)
    return new Set(rows.map(({ queue }) => queue))
  },

  async freeClaims(queue: string, claims: readonly { token: string; hasRun: boolean }[]): Promise<void> {
    await sql`
      SELECT kernel.free_claims(${queue}, ${claims.map(({ token }) => token)}::uuid[],
        ${claims.map(({ hasRun }) => hasRun)}::boolean[])`.execute(db)
  },

  /** Frees the jobs of processes that are gone; gives their queues. */
  async reclaim(nowMs: number): Promise<string[]> {
    const { rows } = await sql<{ queue: string }>`
      SELECT queue FROM kernel.reclaim_jobs(${new Date(nowMs)}) AS r (queue)`.execute(db)
    return rows.map(({ queue }) => queue)
  },

  async look(queues: readonly string[], nowMs: number): Promise<QueueScan[]> {
    const { rows } = await sql<{
      queue: string
      is_ready: boolean
      next_at: Date | null
      has_expired: boolean
    }>`
      SELECT * FROM kernel.look_for_jobs(${queues}::text[], ${new Date(nowMs)})`.execute(db)
    return rows.map(row => ({
      queue: row.queue,
      isReady: row.is_ready,
      nextAt: row.next_at,
      hasExpired: row.has_expired,
    }))
  },

  /** Whatever the process still has goes to others at their next look. */
  async endLeases(worker: string, nowMs: number): Promise<void> {
    await sql`
      UPDATE kernel.job_workers SET leased_until = ${new Date(nowMs)} WHERE id = ${worker}`.execute(db)
  },

  /** A schedule whose ticks have become denser does not wait for the old one's next. */
  async bringForward(queue: string, at: Date): Promise<void> {
    await sql`
      UPDATE kernel.jobs SET run_at = ${at}, due_at = ${at}
      WHERE queue = ${queue} AND state = 'scheduled' AND attempts = 0 AND run_at > ${at}`.execute(db)
  },
})

export type JobStore = ReturnType<typeof jobStore>
