import type { Clock } from "../../kernel/clock.ts"
import type { Mutex } from "../../kernel/concurrency/semaphore.ts"
import type { Logger } from "../../kernel/log.ts"
import type { DispatchStore, PendingDelivery } from "./dispatch-store.ts"
import { type EndpointQueue, isCutOff, readyMaxOf } from "./endpoint-queue.ts"

/** Deliveries of one endpoint that are read at once, and about how many bytes. */
const LOADED_MAX = 200
const LOADED_BYTES_MAX = 1_048_576
const QUEUES_AT_ONCE = 32
/** Data that waits in memory, over all endpoints. */
const READY_BYTES_MAX = 64 * 1_048_576

interface LoaderNeeds {
  readonly store: DispatchStore
  readonly clock: Clock
  readonly log: Logger
  readonly orderMutex: Mutex
  readonly loaded: (queue: EndpointQueue) => void
}

/** Reads what is due from the database into queues that have nothing left in memory. */
export const createLoader = ({ store, clock, log, orderMutex, loaded }: LoaderNeeds) => {
  const wanted = new Set<EndpointQueue>()
  let isLoading = false
  let readyBytes = 0

  const put = (queue: EndpointQueue, delivery: PendingDelivery) => {
    queue.ready.push(delivery)
    queue.known.add(delivery.id)
    readyBytes += delivery.bytes
  }

  const load = async (queues: readonly EndpointQueue[]) => {
    for (const queue of queues) {
      queue.hasMore = false
      queue.isLoading = true
    }
    const ids = queues.map(({ of }) => of.endpointId)
    // What is known already is due as well, until it is written.
    const limit = LOADED_MAX + Math.max(...queues.map(({ known }) => known.size))
    try {
      const due = await orderMutex.run(() => store.load(new Date(clock.now()), ids, limit, LOADED_BYTES_MAX))
      const byQueue = Map.groupBy(due, ({ endpointId }) => endpointId)
      for (const queue of queues) {
        const found = byQueue.get(queue.of.endpointId) ?? []
        const bytes = found.reduce((sum, { bytes }) => sum + bytes, 0)
        if (found.length >= limit || bytes > LOADED_BYTES_MAX) queue.hasMore = true
        const fresh = found.filter(({ id }) => !queue.known.has(id) && !queue.stale.has(id))
        const readyMax = readyMaxOf(queue)
        if (fresh.length > readyMax) queue.hasMore = true
        for (const one of fresh.slice(0, readyMax)) put(queue, one)
      }
    } catch (error) {
      for (const queue of queues) queue.hasMore = true
      throw error
    } finally {
      for (const queue of queues) {
        queue.isLoading = false
        queue.stale.clear()
      }
    }
    for (const queue of queues) loaded(queue)
  }

  const run = async () => {
    if (isLoading) return
    isLoading = true
    try {
      while (wanted.size > 0 && readyBytes < READY_BYTES_MAX) {
        const queues = [...wanted].slice(0, QUEUES_AT_ONCE)
        for (const queue of queues) wanted.delete(queue)
        await load(queues)
      }
    } catch (error) {
      wanted.clear()
      log.warn({ error: String(error) }, "loading due deliveries failed; will retry")
    } finally {
      isLoading = false
    }
  }

  return {
    want(queue: EndpointQueue): void {
      if (queue.isLoading) return
      wanted.add(queue)
      void run()
    },
    /** Takes what was just committed, without reading it back, where nothing older waits. */
    offer(queue: EndpointQueue, delivery: PendingDelivery): boolean {
      if (queue.known.has(delivery.id)) return true
      const isNext = !queue.hasMore && !isCutOff(queue) && delivery.orderingKey === null
      if (!isNext || queue.ready.length >= LOADED_MAX || readyBytes >= READY_BYTES_MAX) return false
      put(queue, delivery)
      return true
    },
    take(queue: EndpointQueue): PendingDelivery | undefined {
      const delivery = queue.ready.shift()
      if (delivery) readyBytes -= delivery.bytes
      if (wanted.size > 0) void run()
      return delivery
    },
    /** Forgets what was read and not sent. */
    drop(queue: EndpointQueue): void {
      wanted.delete(queue)
      for (const { id, bytes } of queue.ready.splice(0)) {
        queue.known.delete(id)
        readyBytes -= bytes
      }
    },
  }
}

export type Loader = ReturnType<typeof createLoader>
