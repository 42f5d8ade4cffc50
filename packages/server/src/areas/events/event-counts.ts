import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import { addToCounts } from "./publishing-store.ts"

const FLUSH_EVERY_MS = 1_000

/**
 * How many events topics had. Gathers in memory and is written once a second, because a row that every publish changes
 * would make publishers wait for each other: a crash loses a second of counts, and never an event.
 */
export const createEventCounts = (db: Db, clock: Clock, log: Logger) => {
  let gathered = new Map<string, number>()
  let flushing: ReadonlyMap<string, number> = new Map()

  const add = (topicId: string, count: number) => gathered.set(topicId, (gathered.get(topicId) ?? 0) + count)

  const flush = async () => {
    if (gathered.size === 0) return
    flushing = gathered
    gathered = new Map()
    try {
      await addToCounts(db, flushing)
    } catch (error) {
      for (const [topicId, count] of flushing) add(topicId, count)
      throw error
    } finally {
      flushing = new Map()
    }
  }
  const timer = every(clock, FLUSH_EVERY_MS, flush, {
    log,
    failure: "writing event counts failed; will retry",
  })

  return {
    add,
    /** What is not written yet of a topic. */
    unwritten: (topicId: string): number => (gathered.get(topicId) ?? 0) + (flushing.get(topicId) ?? 0),
    async [Symbol.asyncDispose]() {
      await timer[Symbol.asyncDispose]()
      await flush().catch(error => log.warn({ err: error }, "writing the last event counts failed"))
    },
  }
}

export type EventCounts = ReturnType<typeof createEventCounts>
