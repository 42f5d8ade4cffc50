/** Writes down what rules and limits met, in batches: a flood of events never becomes one of statements. */
import { createBatchWriter } from "../../kernel/batch-writer.ts"
import { createBuckets } from "../../kernel/buckets.ts"
import type { Clock } from "../../kernel/clock.ts"
import { every } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import type { CounterName, CounterRow, EventRow, wafRecords } from "./store.ts"

export interface Recorder extends AsyncDisposable {
  count(projectId: string, name: CounterName, subject?: string): void
  event(row: EventRow): void
  /** Writes what waits. */
  flush(): Promise<void>
}

const FLUSH_EVERY_MS = 1_000
const BATCH_MAX = 500
const WAITING_MAX = 5_000
const COUNTERS_MAX = 20_000
const SLOT_MS = 600_000
/** Events of one project. */
const EVENT_RATE = { burst: 500, perSecond: 20 }

export const createRecorder = (needs: {
  readonly records: ReturnType<typeof wafRecords>
  readonly clock: Clock
  readonly log: Logger
}): Recorder => {
  const { records, clock, log } = needs
  const failure = "writing firewall records failed; will retry"
  const rates = createBuckets()
  let counts = new Map<string, CounterRow>()
  const events = createBatchWriter<EventRow>({
    batchMax: BATCH_MAX,
    write: async rows => {
      await records.insertEvents(rows)
      return () => undefined
    },
    failed: error => log.warn({ err: error }, failure),
  })

  const add = (row: CounterRow) => {
    const key = `${row.project_id} ${row.slot.getTime()} ${row.name} ${row.subject}`
    const known = counts.get(key)
    if (known) known.count += row.count
    else if (counts.size < COUNTERS_MAX) counts.set(key, row)
  }
  const count: Recorder["count"] = (projectId, name, subject = "") => {
    const slot = new Date(Math.floor(clock.now() / SLOT_MS) * SLOT_MS)
    add({ project_id: projectId, slot, name, subject, count: 1 })
  }

  const writeCounts = async () => {
    const rows = [...counts.values()]
    counts = new Map()
    if (rows.length === 0) return
    try {
      await records.addCounts(rows)
    } catch (error) {
      for (const row of rows) add(row)
      throw error
    }
  }
  let writing: Promise<void> = Promise.resolve()
  const flush = async () => {
    // One after the other: what an earlier one is still writing counts too.
    writing = writing.catch(() => undefined).then(writeCounts)
    await Promise.all([events.flush(), writing])
  }
  const flushing = every(clock, FLUSH_EVERY_MS, flush, { log, failure })

  return {
    count,
    event(row) {
      const { allowed } = rates.take(row.project_id, EVENT_RATE, clock.now())
      if (allowed && events.size() < WAITING_MAX) return events.add(row)
      count(row.project_id, "dropped")
    },
    flush,
    async [Symbol.asyncDispose]() {
      await flushing[Symbol.asyncDispose]()
      await flush().catch(error => log.warn({ err: error }, failure))
    },
  }
}
