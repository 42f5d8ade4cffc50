/** Attempts that fail, and what dies in the middle: handlers, leases, connections, processes. */

import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import pg from "pg"
import { eventually } from "../../testing/eventually.ts"
import { tenantOf, unfinished, world } from "./testing/world.ts"

const QUEUE = "test.work"
const PROCESS = fileURLToPath(new URL("testing/process.ts", import.meta.url))

test("an attempt that fails is repeated by the schedule, then dead, and lives again when it is asked to", async t => {
  const { worker, clock } = await world(t)
  const seen: unknown[] = []
  const dead: string[] = []
  let isMended = false
  const { jobs, database } = await worker({
    name: QUEUE,
    retries: attempt => (attempt < 3 ? attempt * 10_000 : undefined),
    async run({ attempt, lastError, isLastAttempt }) {
      seen.push([attempt, lastError, isLastAttempt])
      if (!isMended) throw new Error(`failure ${attempt}`)
    },
    onDead: (job, error) => void dead.push(`${job.payload}: ${error}`),
  })
  const tenantId = tenantOf(1)
  await jobs.enqueue(database.db, { queue: QUEUE, tenantId, payload: "work", targetKey: "target" })
  for (const [attempts, waitMs] of [
    [1, 10_000],
    [2, 20_000],
  ] as const) {
    await eventually("the attempt is written", async () => {
      const { rows } = await database.pool.query("SELECT FROM kernel.jobs WHERE last_error = $1", [
        `failure ${attempts}`,
      ])
      return rows.length === 1
    })
    await clock.advance(waitMs - 1)
    assert.equal(seen.length, attempts)
    await clock.advance(1)
  }
  await eventually("it is dead", () => dead.length === 1)
  assert.deepEqual(seen, [
    [1, undefined, false],
    [2, "failure 1", false],
    [3, "failure 2", true],
  ])
  assert.deepEqual(dead, ["work: failure 3"])

  const selection = { queue: QUEUE, tenantId }
  const [letter] = await jobs.dead.list(database.db, { ...selection, limit: 10 })
  assert.ok(letter)
  assert.deepEqual(
    [letter.payload, letter.attempts, letter.error, letter.targetKey, letter.tenantId],
    ["work", 3, "failure 3", "target", tenantId],
  )
  for (const other of [
    { queue: QUEUE, tenantId: tenantOf(2) },
    { queue: "test.other", tenantId },
    { queue: QUEUE, tenantId: null },
  ]) {
    assert.deepEqual(await jobs.dead.list(database.db, { ...other, limit: 10 }), [])
    assert.equal(await jobs.dead.requeue(database.db, other), 0)
    assert.equal(await jobs.dead.drop(database.db, { ...other, ids: [letter.id] }), 0)
  }
  isMended = true
  assert.equal(await jobs.dead.requeue(database.db, { ...selection, ids: [letter.id] }), 1)
  await eventually("it has run", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen.at(-1), [1, undefined, false])
  assert.deepEqual(await jobs.dead.list(database.db, { ...selection, limit: 10 }), [])
})

test("a handler may ask for a time, for the end, or for another run", async t => {
  const { worker, clock } = await world(t)
  const seen: unknown[][] = []
  const { jobs, database } = await worker({
    name: QUEUE,
    async run({ payload, attempt, dueAt }) {
      seen.push([payload, attempt, dueAt.getTime()])
      const at = new Date(clock.now() + 3_000)
      if (seen.filter(([name]) => name === payload).length > 1) return undefined
      if (payload === "later") return { kind: "retry", at, reason: "429" }
      if (payload === "over") return { kind: "dead", reason: "410\u0000" }
      return { kind: "again", at }
    },
  })
  const startMs = clock.now()
  await jobs.enqueue(
    database.db,
    ["later", "over", "again"].map(payload => ({ queue: QUEUE, payload })),
  )
  await eventually("the first round is written", async () => {
    const { rows } = await database.pool.query(
      "SELECT FROM kernel.jobs WHERE queue = $1 AND state = 'scheduled'",
      [QUEUE],
    )
    return rows.length === 2
  })
  await clock.advance(2_999)
  assert.equal(seen.length, 3)
  await clock.advance(1)
  await eventually("both have run again", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen.slice(3).sort(), [
    ["again", 1, startMs + 3_000],
    ["later", 2, startMs],
  ])
  const [letter] = await jobs.dead.list(database.db, { queue: QUEUE, tenantId: null, limit: 1 })
  assert.equal(letter?.error, "410")
  assert.equal(await jobs.dead.drop(database.db, { queue: QUEUE, tenantId: null }), 1)
})

test("an attempt that takes too long is aborted and repeated, and what it says afterwards is ignored", async t => {
  const { worker, clock } = await world(t)
  const late = Promise.withResolvers<void>()
  const attempts: number[] = []
  let wasAborted = false
  const { jobs, database } = await worker({
    name: QUEUE,
    timeoutMs: 5_000,
    retries: [1_000],
    async run({ attempt }, { signal }) {
      attempts.push(attempt)
      if (attempt > 1) return
      signal.addEventListener("abort", () => {
        wasAborted = true
      })
      await late.promise
      throw new Error("too late to count")
    },
  })
  await jobs.enqueue(database.db, { queue: QUEUE, payload: null })
  await eventually("it runs", () => attempts.length === 1)
  await eventually("it runs again", async () => {
    await clock.advance(1_000)
    return attempts.length === 2
  })
  assert.ok(wasAborted)
  late.resolve()
  await eventually("it is done", async () => (await unfinished(database)) === 0)
  assert.deepEqual(await jobs.dead.list(database.db, { queue: QUEUE, tenantId: null, limit: 1 }), [])
})

for (const isNoticed of [true, false]) {
  test(`a process that falls silent loses its jobs, and its late outcome is ignored, ${isNoticed ? "also when" : "before"} it finds out`, async t => {
    const { worker, clock } = await world(t)
    const silent = Promise.withResolvers<void>()
    const runs: string[] = []
    const signals: AbortSignal[] = []
    const first = await worker({
      name: QUEUE,
      leaseSeconds: 30,
      async run(_, { signal }) {
        runs.push("first")
        signals.push(signal)
        await silent.promise
        return { kind: "dead", reason: "an outcome that must not count" }
      },
    })
    const { jobs, database } = first
    await jobs.enqueue(database.db, { queue: QUEUE, payload: null })
    await eventually("it runs", () => runs.length === 1)
    // As if its heartbeats had not reached the database.
    await database.pool.query("UPDATE kernel.job_workers SET leased_until = 'epoch'")
    const held = Promise.withResolvers<void>()
    await worker({
      name: QUEUE,
      async run({ attempt, lastError }) {
        runs.push(`second ${attempt} ${lastError}`)
        await held.promise
      },
    })
    await eventually("the other has it", () => runs.length === 2)
    assert.equal(runs[1], "second 2 the process that ran it ended")

    if (isNoticed) for (let second = 0; second < 12; second++) await clock.advance(1_000)
    assert.equal(signals[0]?.aborted, isNoticed)
    silent.resolve()
    await first.running.drain(10_000)
    assert.equal(await unfinished(database), 1)
    held.resolve()
    await eventually("it is done", async () => (await unfinished(database)) === 0)
    assert.deepEqual(await jobs.dead.list(database.db, { queue: QUEUE, tenantId: null, limit: 1 }), [])
  })
}

test("the lease of a process that lives is extended for as long as a job takes", async t => {
  const { worker, clock } = await world(t)
  const long = Promise.withResolvers<void>()
  let runs = 0
  const queue = {
    name: QUEUE,
    leaseSeconds: 10,
    timeoutMs: 3_600_000,
    async run() {
      runs++
      await long.promise
    },
  }
  const [{ jobs, database }] = await Promise.all([worker(queue), worker(queue)])
  await jobs.enqueue(database.db, { queue: QUEUE, payload: null })
  await eventually("it runs", () => runs === 1)
  for (let seconds = 0; seconds < 120; seconds += 2) await clock.advance(2_000)
  assert.equal(runs, 1)
  long.resolve()
  await eventually("it is done", async () => (await unfinished(database)) === 0)
  assert.equal(runs, 1)
})

test("a job whose process dies at each attempt is dead in the end", async t => {
  const { worker } = await world(t)
  const { jobs, database } = await worker()
  await jobs.enqueue(database.db, { queue: QUEUE, payload: "poison" })
  await database.pool.query(
    "UPDATE kernel.jobs SET attempts = 2, last_error = 'its process ended' WHERE queue = $1",
    [QUEUE],
  )
  let runs = 0
  await worker({ name: QUEUE, retries: [1_000], run: async () => void runs++ })

  await eventually("it is dead", async () => (await unfinished(database)) === 0)
  const [letter] = await jobs.dead.list(database.db, { queue: QUEUE, tenantId: null, limit: 1 })
  assert.deepEqual([runs, letter?.error], [0, "its process ended"])
})

test("draining waits for what runs, gives back what does not end, and others take it over at once", async t => {
  const { worker } = await world(t)
  const never = new Promise<void>(() => undefined)
  const seen: unknown[] = []
  const stopping = await worker({
    name: QUEUE,
    async run({ payload }, { signal }) {
      seen.push(`first ${payload}`)
      if (payload === "endless") await never
      assert.ok(!signal.aborted)
    },
  })
  const { jobs, database } = stopping
  await jobs.enqueue(database.db, [
    { queue: QUEUE, payload: "short" },
    { queue: QUEUE, payload: "endless" },
  ])
  await eventually("both have begun", () => seen.length === 2)
  await stopping.running.drain(50)
  await jobs.enqueue(database.db, { queue: QUEUE, payload: "late" })

  const { rows } = await database.pool.query(
    "SELECT payload, state, attempts FROM kernel.jobs WHERE queue = $1 ORDER BY id",
    [QUEUE],
  )
  assert.deepEqual(rows, [
    { payload: "endless", state: "ready", attempts: 0 },
    { payload: "late", state: "ready", attempts: 0 },
  ])
  await worker({ name: QUEUE, run: async ({ payload }) => void seen.push(`second ${payload}`) })
  await eventually("the rest is done", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen.slice(2).sort(), ["second endless", "second late"])
})

test("connections that are killed all the while lose no job, and repeat none that had ended", async t => {
  const { worker, clock, url } = await world(t)
  const runs = new Map<unknown, number>()
  const rest = Promise.withResolvers<void>()
  const { jobs, database } = await worker({
    name: QUEUE,
    concurrency: 20,
    timeoutMs: 3_600_000,
    async run({ payload }) {
      runs.set(payload, (runs.get(payload) ?? 0) + 1)
      // For this one's sake the process keeps its lease all the while.
      if (payload === 0) await rest.promise
    },
  })
  await jobs.enqueue(
    database.db,
    Array.from({ length: 3_000 }, (_, payload) => ({ queue: QUEUE, payload })),
  )
  const killer = new pg.Client({ connectionString: url })
  await killer.connect()
  const countLeft = async (): Promise<number> => {
    const sql = "SELECT count(*)::int AS left FROM kernel.jobs WHERE queue = $1"
    return (await killer.query(sql, [QUEUE])).rows[0].left
  }
  let killAt = 2_700
  await eventually("all others are done", async () => {
    const left = await countLeft()
    if (left <= killAt) {
      killAt = left - 300
      await killer.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'svc'",
      )
    }
    // Outcomes that could not be written go out with the next beat, and claims whose answer was lost are freed.
    await clock.advance(1_000)
    return left === 1
  })
  rest.resolve()
  // Its outcome may meet a connection that was killed last, and then goes out with a beat as well.
  await eventually("the first is done", async () => {
    await clock.advance(1_000)
    return (await countLeft()) === 0
  })
  await killer.end()
  assert.ok(killAt < 1_000)
  assert.equal(runs.size, 3_000)
  assert.deepEqual([...new Set(runs.values())], [1])
})

const spawnWorker = async (t: TestContext, url: string, concurrency: number): Promise<ChildProcess> => {
  const child = spawn(process.execPath, [PROCESS, url, String(concurrency)], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill("SIGKILL")
    await once(child, "exit")
  })
  await once(child.stdout as NonNullable<typeof child.stdout>, "data")
  return child
}

test("a killed process costs no job, and one more run at most of each that it had", async t => {
  const { worker, url } = await world(t)
  const { jobs, database } = await worker()
  await database.pool.query("CREATE TABLE public.runs (payload int, pid int)")
  await database.pool.query("CREATE TABLE public.ticks (scheduled_for timestamptz, pid int)")
  const concurrency = 20
  const count = 3_000
  const children = await Promise.all([spawnWorker(t, url, concurrency), spawnWorker(t, url, concurrency)])
  for (let from = 0; from < count; from += 500) {
    await jobs.enqueue(
      database.db,
      Array.from({ length: 500 }, (_, n) => ({ queue: QUEUE, payload: from + n })),
    )
  }
  await eventually("a part is done", async () => (await unfinished(database)) < count / 2)
  children[0]?.kill("SIGKILL")
  await eventually("all are done", async () => {
    const { rows } = await database.pool.query("SELECT FROM kernel.jobs WHERE queue = $1 LIMIT 1", [QUEUE])
    return rows.length === 0
  })
  const { rows } = await database.pool.query(
    "SELECT count(*)::int AS runs, count(DISTINCT payload)::int AS jobs FROM public.runs",
  )
  assert.equal(rows[0].jobs, count)
  // Beside those that ran, those whose outcome was on its way.
  assert.ok(rows[0].runs - count <= 3 * concurrency, `${rows[0].runs - count} ran again`)
  const ticks = await database.pool.query(
    "SELECT scheduled_for FROM public.ticks GROUP BY 1 HAVING count(*) > 1",
  )
  assert.deepEqual(ticks.rows, [])
})
