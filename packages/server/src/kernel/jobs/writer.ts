import { type BatchWriter, createBatchWriter } from "../batch-writer.ts"
import type { Clock } from "../clock.ts"
import type { Logger } from "../log.ts"
import type { Queue, Settlement } from "./rules.ts"
import type { Claimed, JobStore } from "./store.ts"

const STATEMENT_MAX = 1_000

interface WriterNeeds {
  readonly store: JobStore
  readonly clock: Clock
  readonly log: Logger
  /** This outcome holds, and the job runs again at that time, if at all. */
  written(claimed: Claimed, settlement: Settlement, nextAt: Date | null): void
  /** Fewer wait, or writing has failed. */
  settled(): void
}

interface CompletedJob {
  readonly claimed: Claimed
  readonly settlement: Settlement
}

/** Writes what became of a queue's jobs. What failed was written or not: what was is found to have no claim any more. */
export const createWriter = (
  queue: Queue,
  { store, clock, log, written, settled }: WriterNeeds,
): BatchWriter<CompletedJob> =>
  createBatchWriter({
    batchMax: STATEMENT_MAX,
    async write(ended) {
      const rows = ended.map(({ claimed, settlement }) => ({
        ...settlement,
        id: claimed.job.id,
        token: claimed.token,
      }))
      const isOrdered = ended.some(({ claimed }) => claimed.job.orderingKey !== undefined)
      const held = await store.settle(queue.name, clock.now(), isOrdered, rows)
      return () => {
        for (const { claimed, settlement } of ended) {
          const nextAt = held.get(claimed.job.id)
          if (nextAt !== undefined) written(claimed, settlement, nextAt)
          else
            log.warn(
              { queue: queue.name, job: claimed.job.id },
              "job finished after its claim expired; result discarded",
            )
        }
      }
    },
    failed: error =>
      log.warn({ queue: queue.name, error: String(error) }, "writing job results failed; will retry"),
    settled,
  })
