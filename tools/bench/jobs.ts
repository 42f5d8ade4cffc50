/** What the queue can do: jobs that do nothing, on a PostgreSQL that keeps what it commits. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { pathToFileURL } from "node:url"
import pg from "pg"
import { migrationSources } from "../../packages/server/src/areas.ts"
import { systemClock } from "../../packages/server/src/kernel/clock.ts"
import { startEmbeddedPostgres } from "../../packages/server/src/kernel/db/embedded/start.ts"
import { migrate } from "../../packages/server/src/kernel/db/migrate.ts"
import { openWorker } from "../../packages/server/src/kernel/jobs/testing/world.ts"

const JOBS = 20_000
const BATCH = 500
const ENQUEUERS = 4
const CONCURRENCY = 200
const LIGHT_JOBS = 200
const LIGHT_EVERY_MS = 20
const BACKLOG = 1_000_000
const FAIR_JOBS = 50

/** A queue under test. Another product's is a second one of these, on the same database in the same run. */
interface Subject extends AsyncDisposable {
  /** Commits that many jobs in one transaction; each carries a number. */
  enqueue(numbers: readonly number[]): Promise<void>
  /** From now on jobs run, and are told of. */
  start(ran: (number: number) => void): Promise<void>
}

type Peer = (url: string) => Promise<Subject>

const svc: Peer = async url => {
  const worker = await openWorker(url, systemClock, 10)
  return {
    enqueue: numbers =>
      worker.jobs.enqueue(
        worker.database.db,
        numbers.map(payload => ({ queue: "bench.noop", payload })),
      ),
    start(ran) {
      const run = async ({ payload }: { payload: number }) => ran(payload)
      worker.jobs.define<number>({ name: "bench.noop", concurrency: CONCURRENCY, run })
      return worker.running.start()
    },
    [Symbol.asyncDispose]: worker.close,
  }
}

const peers: Readonly<Record<string, Peer>> = { svc }

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)
const perSecond = (count: number, fromMs: number) => Math.round((count * 1000) / (performance.now() - fromMs))
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Enqueued by several at once, then run to the end. */
const throughput = async (peer: Peer, url: string) => {
  await using subject = await peer(url)
  const enqueueFrom = performance.now()
  await Promise.all(
    range(0, ENQUEUERS).map(async n => {
      for (let at = n * BATCH; at < JOBS; at += ENQUEUERS * BATCH) {
        await subject.enqueue(range(at, at + BATCH))
      }
    }),
  )
  const enqueued_per_s = perSecond(JOBS, enqueueFrom)
  const all = Promise.withResolvers<void>()
  let runs = 0
  const runFrom = performance.now()
  await subject.start(() => {
    runs++
    if (runs === JOBS) all.resolve()
  })
  await all.promise
  return { enqueued_per_s, run_per_s: perSecond(JOBS, runFrom) }
}

/** From the commit to the first line of the handler, one job at a time. */
const latency = async (peer: Peer, url: string) => {
  await using subject = await peer(url)
  const committed = new Map<number, number>()
  const started = new Map<number, number>()
  await subject.start(number => void started.set(number, performance.now()))
  for (const number of range(0, LIGHT_JOBS)) {
    await subject.enqueue([number])
    committed.set(number, performance.now())
    await pause(LIGHT_EVERY_MS)
  }
  while (started.size < LIGHT_JOBS) await pause(10)
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
const backlog = async (url: string) => {
  const worker = await openWorker(url, systemClock, 10)
  await worker.database.pool.query({ text: FILL, values: [BACKLOG] })
  const waits: number[] = []
  let runs = 0
  worker.jobs.define<number>({
    name: "bench.noop",
    concurrency: CONCURRENCY,
    run: async ({ payload }) => {
      runs++
      if (payload > 0) waits.push(performance.now() - payload)
    },
  })
  await worker.running.start()
  const from = performance.now()
  for (const _ of range(0, FAIR_JOBS)) {
    const tenantId = "00000000-0000-7000-8000-000000000002"
    await worker.jobs.enqueue(worker.database.db, {
      queue: "bench.noop",
      tenantId,
      payload: performance.now(),
    })
    await pause(50)
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

/** All figures by name. */
export const jobFigures = async (): Promise<Record<string, number>> => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-bench-jobs-"))
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined })
  try {
    const url = postgres.connectionString
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    await migrate(pool, migrationSources())
    await pool.end()
    const figures: Record<string, number> = {}
    for (const [name, peer] of Object.entries(peers)) {
      const measured = { ...(await throughput(peer, url)), ...(await latency(peer, url)) }
      for (const [what, value] of Object.entries(measured)) figures[`${name}_jobs_${what}`] = value
    }
    for (const [what, value] of Object.entries(await backlog(url))) figures[`svc_jobs_${what}`] = value
    return figures
  } finally {
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const [what, value] of Object.entries(await jobFigures())) process.stdout.write(`${what}  ${value}\n`)
}
