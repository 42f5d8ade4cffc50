/** Processes that share a queue: each with its own pool, listener and leases, over one cloned database. */
import type { TestContext } from "node:test"
import { createTestClock, type TestClock } from "../../../testing/clock.ts"
import { cloneDatabase } from "../../../testing/database.ts"
import type { Clock } from "../../clock.ts"
import { listenForChanges } from "../../db/changes.ts"
import { type Database, openDatabase } from "../../db/database.ts"
import { createDatabaseFanout } from "../../db/fanout.ts"
import { createLog } from "../../log.ts"
import { createMetrics, type Metrics } from "../../metrics.ts"
import type { Jobs, QueueDefinition, ScheduleDefinition } from "../jobs.ts"
import { openJobs, type RunningJobs } from "../open.ts"

export interface Worker {
  readonly jobs: Jobs
  readonly running: RunningJobs
  readonly database: Database
  readonly metrics: Metrics
}

/** One process's share: opened, not started. */
export const openWorker = async (
  connectionString: string,
  clock: Clock,
  connectionsMax = 4,
): Promise<Worker & { close(): Promise<void> }> => {
  const log = createLog("silent")
  const database = openDatabase({ connectionString, connectionsMax, onError: () => undefined })
  const changes = await listenForChanges(connectionString, log)
  const metrics = createMetrics()
  const running = openJobs({
    database,
    fanout: createDatabaseFanout(database.db, changes),
    clock,
    log,
    metrics,
  })
  return {
    ...{ jobs: running.jobs, running, database, metrics },
    async close() {
      await running.drain(0)
      await running[Symbol.asyncDispose]()
      metrics[Symbol.dispose]()
      await changes[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

export interface World {
  readonly clock: TestClock
  readonly url: string
  /** A further process that runs these queues, and has started. */
  worker(...queues: QueueDefinition[]): Promise<Worker>
  /** A further process that has the schedule. */
  startSchedule(schedule: ScheduleDefinition): Promise<Worker>
}

export const world = async (t: TestContext): Promise<World> => {
  const { url, ...database } = await cloneDatabase()
  const clock = createTestClock()
  const stack = new AsyncDisposableStack()
  stack.use(database)
  t.after(() => stack.disposeAsync())
  const start = async (define: (jobs: Jobs) => void): Promise<Worker> => {
    const worker = await openWorker(url, clock)
    stack.defer(worker.close)
    define(worker.jobs)
    await worker.running.start()
    return worker
  }
  return {
    clock,
    url,
    worker: (...queues) => start(jobs => queues.forEach(queue => void jobs.define(queue))),
    startSchedule: schedule => start(jobs => jobs.schedule(schedule)),
  }
}

export const tenantOf = (n: number): string => `00000000-0000-7000-8000-${`${n}`.padStart(12, "0")}`

/** Jobs of areas that are not finished yet. */
export const unfinished = async ({ pool }: Database): Promise<number> => {
  const { rows } = await pool.query("SELECT count(*) FROM kernel.jobs WHERE queue LIKE 'test.%'")
  return Number(rows[0]?.count)
}
