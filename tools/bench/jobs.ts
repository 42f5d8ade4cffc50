/** What the queue can do: jobs that do nothing, on a PostgreSQL that keeps what it commits. */
import { rmSync } from "node:fs"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { Logger, run as runPeer } from "graphile-worker"
import pg from "pg"
import { systemClock } from "../../packages/server/src/kernel/clock.ts"
import { startEmbeddedPostgres } from "../../packages/server/src/kernel/db/embedded/start.ts"
import { migrate } from "../../packages/server/src/kernel/db/migrate.ts"
import { openWorker, type Worker } from "../../packages/server/src/kernel/jobs/testing/world.ts"
import { migrationSources } from "../../packages/server/src/migration-sources.ts"
import { type Figures, type Part, printFigures } from "./figures.ts"
import { makeDataDir } from "./platform.ts"

const JOBS = 20_000
const BATCH = 500
const ENQUEUERS = 4
const CONCURRENCY = 200
const LIGHT_JOBS = 200
const LIGHT_EVERY_MS = 20
const BACKLOG = 1_000_000
const FAIR_JOBS = 50

const QUEUE = "bench.noop"

const enqueue = ({ jobs, database }: Worker, numbers: readonly number[]) =>
  jobs.enqueue(
    database.db,
    numbers.map(payload => ({ queue: QUEUE, payload })),
  )

/** From now on jobs run, and are told of. */
const run = ({ jobs, running }: Worker, ran: (number: number) => void) => {
  jobs.define<number>({
    name: QUEUE,
    concurrency: CONCURRENCY,
    run: async ({ payload }) => ran(payload),
  })
  return running.start()
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)
const perSecond = (count: number, fromMs: number) => Math.round((count * 1000) / (performance.now() - fromMs))

/** Enqueued by several at once, then run to the end. */
const throughput = async (url: string) => {
  const worker = await openWorker(url, systemClock, 10)
  const enqueueFrom = performance.now()
  await Promise.all(
    range(0, ENQUEUERS).map(async n => {
      for (let at = n * BATCH; at < JOBS; at += ENQUEUERS * BATCH) {
        await enqueue(worker, range(at, at + BATCH))
      }
    }),
  )
  const enqueued_per_s = perSecond(JOBS, enqueueFrom)
  const all = Promise.withResolvers<void>()
  let runs = 0
  const runFrom = performance.now()
  await run(worker, () => {
    runs++
    if (runs === JOBS) all.resolve()
  })
  await all.promise
  const run_per_s = perSecond(JOBS, runFrom)
  await worker.close()
  return { enqueued_per_s, run_per_s }
}

/**
 * The peer on the same server: graphile-worker's no-ops, with the batches that its documentation advises for speed
 * and as many at once as ours.
 */
const peerThroughput = async (url: string, pool: pg.Pool) => {
  const all = Promise.withResolvers<void>()
  let runs = 0
  const noop = () => {
    runs++
    if (runs === JOBS) all.resolve()
  }
  const settings = { connectionString: url, concurrentJobs: CONCURRENCY, maxPoolSize: 10 }
  const batches = { localQueue: { size: BATCH }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
  const logger = new Logger(() => () => undefined)
  const start = () =>
    runPeer({
      preset: { worker: { ...settings, ...batches, logger } },
      noHandleSignals: true,
      taskList: { noop },
    })
  await (await start()).stop() // makes its tables
  await pool.query("SELECT graphile_worker.add_job('noop', '{}') FROM generate_series(1, $1)", [JOBS])
  const runFrom = performance.now()
  const runner = await start()
  await all.promise
  const peer_run_per_s = perSecond(JOBS, runFrom)
  await runner.stop()
  return { peer_run_per_s }
}

/** From the commit to the first line of the handler, one job at a time. */
const latency = async (url: string) => {
  const worker = await openWorker(url, systemClock, 10)
  const committed = new Map<number, number>()
  const started = new Map<number, number>()
  await run(worker, number => void started.set(number, performance.now()))
  for (const number of range(0, LIGHT_JOBS)) {
    await enqueue(worker, [number])
    committed.set(number, performance.now())
    await delay(LIGHT_EVERY_MS)
  }
  while (started.size < LIGHT_JOBS) await delay(10)
  await worker.close()
  const waits = range(0, LIGHT_JOBS)
    .map(number => (started.get(number) ?? 0) - (committed.get(number) ?? 0))
    .sort((a, b) => a - b)
  const at = (part: number) => Number((waits[Math.floor(part * LIGHT_JOBS)] ?? 0).toFixed(2))
  return { latency_p50_ms: at(0.5), latency_p99_ms: at(0.99) }
}

const FILL = `
  INSERT INTO kernel.jobs (queue, tenant_id, target_key, state, priority, run_at, due_at, enqueued_at, payload)
  SELECT 'bench.noop', '00000000-0000-7000-8000-000000000001', '-', 'ready', 0, now(), now(), now(), '0'
  FROM generate_series(1, $1)`

/** One tenant has a million jobs waiting: how fast they go, and how long another tenant's single jobs wait. */
const backlog = async (url: string, pool: pg.Pool) => {
  const worker = await openWorker(url, systemClock, 10)
  await pool.query(FILL, [BACKLOG])
  const waits: number[] = []
  let runs = 0
  await run(worker, payload => {
    runs++
    if (payload > 0) waits.push(performance.now() - payload)
  })
  const from = performance.now()
  for (const _ of range(0, FAIR_JOBS)) {
    const tenantId = "00000000-0000-7000-8000-000000000002"
    const payload = performance.now()
    await worker.jobs.enqueue(worker.database.db, { queue: QUEUE, tenantId, payload })
    await delay(50)
  }
  const backlog_run_per_s = perSecond(runs, from)
  await worker.close()
  waits.sort((a, b) => a - b)
  return {
    backlog_run_per_s,
    backlog_other_tenant_p50_ms: Number((waits[waits.length >> 1] ?? 0).toFixed(1)),
    backlog_other_tenant_max_ms: Number((waits.at(-1) ?? 0).toFixed(1)),
  }
}

export const jobFigures: Part = async tell => {
  const dataDir = makeDataDir()
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined })
  try {
    const url = postgres.connectionString
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    await migrate(pool, migrationSources())
    const named = (measured: Figures) =>
      tell(Object.fromEntries(Object.entries(measured).map(([what, value]) => [`svc_jobs_${what}`, value])))
    named(await throughput(url))
    named(await peerThroughput(url, pool))
    named(await latency(url))
    named(await backlog(url, pool))
    await pool.end()
  } finally {
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

if (import.meta.main) await jobFigures(printFigures, "", 0)
