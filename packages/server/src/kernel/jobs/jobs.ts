import type { Db } from "../db/database.ts"

/**
 * Work that outlives a request: a durable queue on PostgreSQL. A job runs at least once after the transaction that
 * enqueued it has committed, and exactly once while no process dies; one that fails is repeated by its queue's
 * schedule, and is kept as a dead letter when that is over.
 *
 * An area defines its queues in `start`, and enqueues wherever it holds a transaction:
 *
 *     jobs.define<{ bucketId: string }>({
 *       name: "storage.collect",
 *       concurrency: 4,
 *       run: async ({ payload }, { signal }) => collect(payload.bucketId, signal),
 *     })
 *     await jobs.enqueue(call.db, { queue: "storage.collect", tenantId, payload: { bucketId } })
 */
export interface Jobs {
  /**
   * Adds jobs in one statement. On a transaction they exist exactly if it commits, and then start within
   * milliseconds. The queue need not be defined in this process. Throws a RangeError for what exceeds the limits below.
   */
  enqueue(db: Db, jobs: NewJob | readonly NewJob[], options?: EnqueueOptions): Promise<void>
  /** Makes this process run the jobs of a queue. Before the platform has started everything, none is run. */
  define<Payload = unknown>(queue: QueueDefinition<Payload>): void
  /** Makes something happen again and again, once a tick across all processes. */
  schedule(schedule: ScheduleDefinition): void
  readonly dead: DeadLetters
}

/** UTF-8 bytes of a payload's JSON. Larger things belong in a table of the area, and their id in the payload. */
export const PAYLOAD_BYTES_MAX = 65_536
/** Characters of a name or key. */
export const KEY_LENGTH_MAX = 512
/** Jobs in one call of `enqueue`. */
export const ENQUEUE_MAX = 10_000

export interface NewJob {
  /** `area.purpose`, lower case: `storage.collect`. */
  readonly queue: string
  /** The organization whose work it is; null or left out for the platform's own. Tenants take turns. */
  readonly tenantId?: string | null
  /** Anything that JSON can say. */
  readonly payload: unknown
  /** Not before this time; now when left out. */
  readonly runAt?: Date
  /** Among jobs of one tenant and target, the smaller goes first. −100 to 100, 0 when left out. */
  readonly priority?: number
  /** At most one unfinished job of the queue and tenant has this key; see `EnqueueOptions.duplicates`. */
  readonly dedupeKey?: string
  /**
   * Jobs of the queue and tenant that share this key run one at a time in the order in which they were enqueued. The
   * first holds up the others until it is done or dead, also while it waits for its time or its next attempt.
   */
  readonly orderingKey?: string
  /** What the job talks to, such as an endpoint: none of the tenant's has more than `perTargetConcurrency` running. */
  readonly targetKey?: string
}

export interface EnqueueOptions {
  /**
   * What happens to a job whose `dedupeKey` an unfinished one already has.
   *
   * `keep` (the default): nothing, whether the first waits or runs. It may then have started before this transaction
   * commits, and not see what the transaction wrote.
   *
   * `replace`: the first takes this `runAt` and payload and starts its attempts anew; when it is running, it runs
   * once more afterwards. A run that starts after this commit is certain. Other transactions that replace the same job
   * wait for this one's end, so call it last.
   */
  readonly duplicates?: "keep" | "replace"
}

/** A job as its handler sees it. */
export interface Job<Payload = unknown> {
  /** The same at each attempt; not used twice. */
  readonly id: number
  readonly tenantId: string | null
  readonly payload: Payload
  /** 1 for the first. An attempt whose process died counts. */
  readonly attempt: number
  /** True when a failure of this attempt makes it a dead letter. */
  readonly isLastAttempt: boolean
  /** When it first fell due; attempts do not change it. */
  readonly dueAt: Date
  readonly enqueuedAt: Date
  readonly targetKey: string | undefined
  readonly orderingKey: string | undefined
  /** Why the attempt before this one failed. */
  readonly lastError: string | undefined
}

export interface JobContext {
  /**
   * Aborted when the attempt no longer counts: it took longer than `timeoutMs`, its lease was lost, or the platform
   * stops and has waited long enough. Whatever the handler gives or throws afterwards is ignored, and the job runs
   * again, so stop at it.
   */
  readonly signal: AbortSignal
}

/**
 * What became of a job, when it is neither done (nothing is returned) nor failed by the queue's schedule (it throws).
 * - `retry`: failed, but wanted again at that time, such as an endpoint's Retry-After. Counts as an attempt; when it
 *   was the last, the job is dead.
 * - `dead`: failed for good, now.
 * - `again`: done, and wanted again at that time, with its attempts anew.
 */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "retry"; readonly at: Date; readonly reason: string }
  | { readonly kind: "dead"; readonly reason: string }
  | { readonly kind: "again"; readonly at: Date }

interface QueueSettings<Payload> {
  /** `area.purpose`, lower case. */
  readonly name: string
  /** Jobs that this process runs at the same time; 10 when left out. */
  readonly concurrency?: number
  /** Jobs of one tenant that run at the same time, over all processes; without a bound when left out. */
  readonly perTenantConcurrency?: number
  /** Jobs of one tenant's target that run at the same time, over all processes; without a bound when left out. */
  readonly perTargetConcurrency?: number
  /**
   * How long after a process's last sign of life its jobs go to others; 30 when left out. Leases are extended by
   * themselves for as long as the process lives, so this need not be as long as a run.
   */
  readonly leaseSeconds?: number
  /** An attempt that takes longer has failed, within a second; 60,000 when left out. */
  readonly timeoutMs?: number
  /**
   * The delays in milliseconds before the second, third, … attempt, each taken ±20 % at random; or a function that
   * gives the delay after the attempt of that number, undefined when it was the last. Left out: 5 s, 5 min, 30 min, 2 h.
   */
  readonly retries?: RetrySchedule
  /** How long dead letters are kept; 30 days when left out. */
  readonly deadRetentionMs?: number
  /**
   * Told once a job is dead, after that is written. For notices; what must not be lost belongs in the handler, which
   * knows its last attempt. What it throws is logged.
   */
  readonly onDead?: (job: Job<Payload>, error: string) => void | Promise<void>
}

export type RetrySchedule = readonly number[] | ((attempt: number) => number | undefined)

interface SingleQueue<Payload> extends QueueSettings<Payload> {
  readonly run: (job: Job<Payload>, context: JobContext) => Promise<void> | Promise<Outcome | undefined>
}

/**
 * The handler gets what is due, at most `batchMax` jobs; `concurrency` counts jobs. It never waits for a batch to fill.
 * Gives an outcome for each job in their order, or nothing when all are done; a throw fails them all. No two jobs of
 * a batch share an ordering key.
 */
interface BatchQueue<Payload> extends QueueSettings<Payload> {
  readonly batchMax: number
  readonly runBatch: (
    jobs: readonly Job<Payload>[],
    context: JobContext,
  ) => Promise<void> | Promise<readonly Outcome[] | undefined>
}

export type QueueDefinition<Payload = unknown> = SingleQueue<Payload> | BatchQueue<Payload>

/** One time that a schedule names. */
export interface Tick {
  /** When it was due. */
  readonly scheduledFor: Date
}

export interface ScheduleDefinition {
  /** `area.purpose`, lower case; survives restarts, so that a restart neither repeats nor postpones a tick. */
  readonly name: string
  /**
   * Milliseconds from tick to tick, or a function that gives the first tick after a time, undefined for no more.
   * Ticks never overlap: one that falls due while the one before still runs is missed.
   */
  readonly every: number | ((after: Date) => Date | undefined)
  /** Ticks that were missed while no process ran: one run for all of them (`once`, the default), or none. */
  readonly missed?: "once" | "skip"
  readonly timeoutMs?: number
  /** None when left out. A tick whose last attempt failed is logged and given up; the next one comes all the same. */
  readonly retries?: RetrySchedule
  readonly run: (tick: Tick, context: JobContext) => Promise<void>
}

/** A job that failed for good. */
export interface DeadJob {
  readonly id: number
  readonly queue: string
  readonly tenantId: string | null
  readonly payload: unknown
  readonly attempts: number
  /** At most 2,000 characters. */
  readonly error: string
  readonly enqueuedAt: Date
  readonly diedAt: Date
  readonly targetKey: string | undefined
  readonly orderingKey: string | undefined
}

/** Which dead letters: those of one queue and one tenant (null: the platform's own), all of them or those of the ids. */
export interface DeadSelection {
  readonly queue: string
  readonly tenantId: string | null
  readonly ids?: readonly number[]
}

/** Dead letters, for areas to show and repeat. */
export interface DeadLetters {
  /** Newest first. `before` is the id that the page before ended with. At most 200. */
  list(
    db: Db,
    selection: DeadSelection & { readonly limit: number; readonly before?: number },
  ): Promise<readonly DeadJob[]>
  /** Enqueues them anew, under new ids and with all attempts, 1,000 at most; gives how many there were. */
  requeue(db: Db, selection: DeadSelection): Promise<number>
  /** Forgets them, 1,000 at most; gives how many there were. */
  drop(db: Db, selection: DeadSelection): Promise<number>
}
