import type { BackgroundMeters } from "../../core/meters/meters.ts"
import { type BatchWriter, createBatchWriter } from "../../kernel/batch-writer.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Mutex } from "../../kernel/concurrency/semaphore.ts"
import type { Logger } from "../../kernel/log.ts"
import type { DispatchStore, PendingDelivery, Settlement } from "./dispatch-store.ts"
import { type EndpointQueue, stateOf } from "./endpoint-queue.ts"

const STATEMENT_MAX = 500

/** What became of a delivery, and is to be written. */
export interface CompletedDelivery {
  readonly queue: EndpointQueue
  readonly delivery: PendingDelivery
  readonly settlement: Settlement
  /** Once it is written. */
  readonly afterwards: (() => void) | undefined
}

export type Writer = BatchWriter<CompletedDelivery>

interface WriterNeeds {
  readonly store: DispatchStore
  readonly clock: Clock
  readonly log: Logger
  readonly meters: BackgroundMeters
  /** Ordered deliveries are not loaded while others of them are settled. */
  readonly orderMutex: Mutex
  readonly written: (ended: readonly CompletedDelivery[]) => void
}

/** Writes outcomes. What failed was written or not: what was is not pending as it was, and then nothing is written twice. */
export const createWriter = ({ store, clock, log, meters, orderMutex, written }: WriterNeeds): Writer => {
  const count = (ended: readonly CompletedDelivery[], at: Date) => {
    for (const { queue, delivery, settlement } of ended) {
      const projectId = delivery.message?.projectId ?? null
      if (settlement.attempt)
        meters.count({
          ...{ organizationId: queue.of.tenantId, projectId, at },
          ...{ metric: "deliveries", quantity: 1 },
        })
    }
  }

  const settle = async (ended: readonly CompletedDelivery[]) => {
    const now = new Date(clock.now())
    const queues = [...new Set(ended.map(({ queue }) => queue))]
    const settled = await store.settle(
      now,
      ended.map(({ settlement }) => settlement),
      queues.map(stateOf),
    )
    for (const { settlement } of ended) {
      if (!settled.has(settlement.id) && settlement.attempt) await store.settleLate(now, settlement)
    }
    count(ended, now)
  }

  return createBatchWriter({
    batchMax: STATEMENT_MAX,
    async write(ended) {
      const isOrdered = ended.some(({ delivery }) => delivery.orderingKey !== null)
      await (isOrdered ? orderMutex.run(() => settle(ended)) : settle(ended))
      return () => {
        written(ended)
        for (const { afterwards } of ended) afterwards?.()
      }
    },
    failed: error => log.warn({ error: String(error) }, "writing delivery results failed; will retry"),
  })
}
