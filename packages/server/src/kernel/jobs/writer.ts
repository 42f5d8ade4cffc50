import type { Clock } from "../clock.ts"
import type { Logger } from "../log.ts"
import type { Queue, Settlement } from "./rules.ts"
import type { Claimed, JobStore, Settled } from "./store.ts"

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

/** Writes what became of a queue's jobs: those that end while a statement is under way share the next one. */
export const createWriter = (queue: Queue, { store, clock, log, written, settled }: WriterNeeds) => {
  let waiting: { claimed: Claimed; settlement: Settlement }[] = []
  let inFlight: typeof waiting = []
  let flushing: Promise<void> | undefined
  let isPlanned = false

  const write = async () => {
    inFlight = waiting.splice(0, STATEMENT_MAX)
    const rows: Settled[] = inFlight.map(({ claimed, settlement }) => ({
      ...settlement,
      id: claimed.job.id,
      token: claimed.token,
    }))
    const isOrdered = inFlight.some(({ claimed }) => claimed.job.orderingKey !== undefined)
    const held = await store.settle(queue.name, clock.now(), isOrdered, rows)
    const ended = inFlight
    inFlight = []
    for (const { claimed, settlement } of ended) {
      const nextAt = held.get(claimed.job.id)
      if (nextAt !== undefined) written(claimed, settlement, nextAt)
      else log.warn({ queue: queue.name, job: claimed.job.id }, "the outcome of a job came too late")
    }
    settled()
  }

  const flush = async () => {
    try {
      while (waiting.length > 0) await write()
    } catch (error) {
      // Written or not: what was will be found to have no claim any more.
      waiting = [...inFlight, ...waiting]
      inFlight = []
      log.warn({ queue: queue.name, error: String(error) }, "outcomes of jobs wait to be written")
    } finally {
      flushing = undefined
      settled()
    }
  }

  const begin = async (): Promise<void> => {
    if (waiting.length > 0) flushing ??= flush()
    await flushing
  }

  return {
    add(claimed: Claimed, settlement: Settlement) {
      waiting.push({ claimed, settlement })
      if (flushing || isPlanned) return
      isPlanned = true
      setImmediate(() => {
        isPlanned = false
        void begin()
      })
    },
    /** Writes what waits. Called again after a failure. */
    flush: begin,
    size: () => waiting.length + inFlight.length,
    /** Gives what was not written, and writes it no more. */
    forget(): readonly Claimed[] {
      const unwritten = [...inFlight, ...waiting].map(({ claimed }) => claimed)
      waiting = []
      inFlight = []
      return unwritten
    },
  }
}
