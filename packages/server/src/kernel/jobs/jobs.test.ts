import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { type Job, PAYLOAD_BYTES_MAX } from "./jobs.ts"
import { tenantOf, unfinished, world } from "./testing/world.ts"

test("a job runs after its transaction has committed, and never when that is rolled back", async t => {
  const { worker } = await world(t)
  const seen: unknown[] = []
  const { jobs, database } = await worker({
    name: "test.work",
    run: async job => void seen.push(job.payload),
  })

  await assert.rejects(
    database.transaction(async tx => {
      await jobs.enqueue(tx, { queue: "test.work", payload: "undone" })
      throw new Error("rolled back")
    }),
  )
  await database.transaction(async tx => {
    await jobs.enqueue(tx, { queue: "test.work", payload: { text: 'a\u0000b"\\{},' } })
    assert.equal(await unfinished(database), 0)
    assert.deepEqual(seen, [])
  })
  await eventually("it has run", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen, [{ text: 'a\u0000b"\\{},' }])
})

test("a job wakes its worker at the commit, whoever began the transaction and however", async t => {
  const { worker } = await world(t)
  const runs = new Map<string, () => void>()
  const ran = (name: string) => new Promise<void>(resolve => void runs.set(name, resolve))
  const { jobs, database } = await worker({
    name: "test.work",
    run: async ({ payload }) => runs.get(payload as string)?.(),
  })
  const { db } = database
  const begun = {
    "by the database": () => database.transaction(tx => enqueue(tx, "by the database")),
    "by a handler": () => db.transaction().execute(tx => enqueue(tx, "by a handler")),
    "with settings": () =>
      db
        .transaction()
        .setAccessMode("read write")
        .setIsolationLevel("serializable")
        .execute(tx => enqueue(tx, "with settings")),
  }
  const enqueue = (tx: typeof db, payload: string) => jobs.enqueue(tx, { queue: "test.work", payload })

  // The clock stands still, so that no look finds what nobody was told of.
  for (const [name, begin] of Object.entries(begun)) {
    const done = ran(name)
    await begin()
    await done
  }
})

test("a transaction whose commit would wake nobody takes no jobs", async t => {
  const { worker } = await world(t)
  const { jobs, database } = await worker({ name: "test.work", run: async () => undefined })
  const tx = await database.db.startTransaction().execute()
  await assert.rejects(jobs.enqueue(tx, { queue: "test.work", payload: 1 }), /was not begun by/)
  await tx.rollback().execute()
})

test("eight processes run ten thousand jobs once each", async t => {
  const { worker } = await world(t)
  const runs = new Map<number, number>()
  const run = async ({ payload }: Job) =>
    void runs.set(payload as number, (runs.get(payload as number) ?? 0) + 1)
  const workers = await Promise.all(
    Array.from({ length: 8 }, () => worker({ name: "test.work", concurrency: 50, run })),
  )
  await Promise.all(
    workers.map(({ jobs, database }, n) =>
      jobs.enqueue(
        database.db,
        Array.from({ length: 1_250 }, (_, m) => ({
          queue: "test.work",
          payload: n * 1_250 + m,
          tenantId: tenantOf(m % 7),
        })),
      ),
    ),
  )
  const first = workers[0]
  assert.ok(first)
  await eventually("all have run", async () => (await unfinished(first.database)) === 0)
  assert.equal(runs.size, 10_000)
  assert.deepEqual([...new Set(runs.values())], [1])
})

test("a second job of a dedupe key is left out while the first is unfinished, and taken in after it", async t => {
  const { worker } = await world(t)
  const seen: unknown[] = []
  const first = Promise.withResolvers<void>()
  const { jobs, database } = await worker({
    name: "test.work",
    async run({ payload }) {
      seen.push(payload)
      if (payload === 1) await first.promise
    },
  })
  const enqueue = (payload: number, tenantId: string) =>
    jobs.enqueue(database.db, { queue: "test.work", payload, tenantId, dedupeKey: "same" })

  await enqueue(1, tenantOf(1))
  await eventually("the first runs", () => seen.length === 1)
  await enqueue(2, tenantOf(1))
  await enqueue(3, tenantOf(2))
  await eventually("the other tenant's has run", () => seen.length === 2)
  first.resolve()
  await eventually("both are done", async () => (await unfinished(database)) === 0)
  await enqueue(4, tenantOf(1))
  await eventually("the next has run", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen, [1, 3, 4])
})

test("replacing moves a waiting job, and makes a running one run once more with what came last", async t => {
  const { worker, clock } = await world(t)
  const seen: unknown[] = []
  const first = Promise.withResolvers<void>()
  const { jobs, database } = await worker({
    name: "test.work",
    async run({ payload }) {
      seen.push(payload)
      if (payload === "moved") await first.promise
    },
  })
  const replace = (payload: string, inMs: number) =>
    jobs.enqueue(
      database.db,
      { queue: "test.work", payload, dedupeKey: "same", runAt: new Date(clock.now() + inMs) },
      { duplicates: "replace" },
    )

  await replace("late", 3_600_000)
  await replace("moved", 0)
  await eventually("it runs", () => seen.length === 1)
  await replace("second", 0)
  await replace("third", 0)
  assert.equal(await unfinished(database), 1)
  first.resolve()
  await eventually("all is done", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen, ["moved", "third"])
})

test("of jobs enqueued together with one dedupe key, the first is kept and the last replaces", async t => {
  const { worker } = await world(t)
  const seen: unknown[] = []
  const { jobs, database } = await worker({
    name: "test.work",
    run: async ({ payload }) => void seen.push(payload),
  })
  const both = ["a", "b"].map(payload => ({ queue: "test.work", payload, dedupeKey: "same" }))

  await jobs.enqueue(database.db, both)
  await eventually("the first is done", async () => (await unfinished(database)) === 0)
  await jobs.enqueue(database.db, both, { duplicates: "replace" })
  await eventually("the last is done", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen, ["a", "b"])
})

test("a job waits for its time, and the smaller priority goes first", async t => {
  const { worker, clock } = await world(t)
  const seen: unknown[] = []
  const { jobs, database } = await worker({
    name: "test.work",
    concurrency: 1,
    run: async ({ payload, dueAt }) => void seen.push([payload, dueAt.getTime()]),
  })
  const at = clock.now() + 60_000
  await jobs.enqueue(
    database.db,
    [5, 0, -5].map(priority => ({ queue: "test.work", payload: priority, priority, runAt: new Date(at) })),
  )
  await clock.advance(59_999)
  assert.deepEqual(seen, [])
  await clock.advance(1)
  await eventually("all have run", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen, [
    [-5, at],
    [0, at],
    [5, at],
  ])
})

test("a batch gets what is due and gives an outcome for each", async t => {
  const { worker, clock } = await world(t)
  const sizes: number[] = []
  const { jobs, database } = await worker({
    name: "test.work",
    concurrency: 20,
    batchMax: 8,
    async runBatch(batch) {
      sizes.push(batch.length)
      return batch.map(({ payload, attempt }) =>
        payload === 3 && attempt === 1
          ? { kind: "retry", at: new Date(clock.now() + 1_000), reason: "not yet" }
          : { kind: "done" },
      )
    },
  })
  await jobs.enqueue(
    database.db,
    Array.from({ length: 20 }, (_, payload) => ({ queue: "test.work", payload })),
  )
  await eventually("one is left", async () => (await unfinished(database)) === 1)
  assert.deepEqual(sizes, [8, 8, 4])
  await clock.advance(1_000)
  await eventually("none is left", async () => (await unfinished(database)) === 0)
  assert.deepEqual(sizes, [8, 8, 4, 1])
})

test("what is too large or has no proper name is refused before it reaches the database", async t => {
  const { worker } = await world(t)
  const { jobs, database } = await worker()
  const work = { queue: "test.work", payload: null }
  for (const job of [
    { ...work, payload: "x".repeat(PAYLOAD_BYTES_MAX) },
    { ...work, queue: "test:work" },
    { ...work, dedupeKey: "x".repeat(513) },
    { ...work, runAt: new Date(Number.NaN) },
  ]) {
    await assert.rejects(jobs.enqueue(database.db, job), RangeError)
  }
  await assert.rejects(jobs.enqueue(database.db, Array(10_001).fill(work)), RangeError)
  assert.equal(await unfinished(database), 0)
})

test("a job that another process enqueues is found by its news, and without news by a look", async t => {
  const { worker, clock } = await world(t)
  const seen: unknown[] = []
  const { database } = await worker({
    name: "test.work",
    run: async ({ payload }) => void seen.push(payload),
  })
  const elsewhere = await worker()

  await elsewhere.jobs.enqueue(elsewhere.database.db, { queue: "test.work", payload: "news" })
  await eventually("it has run", async () => (await unfinished(database)) === 0)
  // A transaction of which the queue does not hear when it ends.
  await elsewhere.database.db
    .transaction()
    .execute(tx => elsewhere.jobs.enqueue(tx, { queue: "test.work", payload: "look" }))
  assert.equal(await unfinished(database), 1)
  await clock.advance(2_000)
  await eventually("it has run as well", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen, ["news", "look"])
})

test("the metrics say what waits, runs and is dead, and how old the oldest is", async t => {
  const { worker, clock } = await world(t)
  const held = Promise.withResolvers<void>()
  const { jobs, database, metrics } = await worker({
    name: "test.work",
    concurrency: 1,
    timeoutMs: 3_600_000,
    async run({ payload }) {
      if (payload === "dead") return { kind: "dead", reason: "over" }
      await held.promise
      return { kind: "done" }
    },
  })
  for (const payload of ["dead", "long", "waiting"])
    await jobs.enqueue(database.db, { queue: "test.work", payload })
  await jobs.enqueue(database.db, {
    queue: "test.work",
    payload: "later",
    runAt: new Date(clock.now() + 3_600_000),
  })
  const figure = async (name: string, labels = "") => {
    const line = (await metrics.text())
      .split("\n")
      .find(text => text.startsWith(`${name}{queue="test.work"${labels}}`))
    return Number(line?.split(" ")[1])
  }
  await eventually("one is dead", async () => (await figure("svc_jobs_dead_lettered")) === 1)
  await eventually("one runs", async () => (await figure("svc_jobs_running")) === 1)
  await clock.advance(5_000)
  assert.equal(await figure("svc_jobs_pending"), 2)
  assert.equal(await figure("svc_jobs_oldest_seconds"), 5)
  held.resolve()
  await eventually(
    "two are done",
    async () => (await figure("svc_jobs_finished_total", ',outcome="done"')) === 2,
  )
  assert.equal(await figure("svc_jobs_run_seconds_total"), 5)
  assert.equal(await figure("svc_jobs_oldest_seconds"), 0)
})

test("dead letters are kept for as long as their queue says", async t => {
  const { worker, clock } = await world(t)
  const { jobs, database } = await worker({
    name: "test.work",
    deadRetentionMs: 86_400_000,
    run: async () => ({ kind: "dead", reason: "over" }),
  })
  await jobs.enqueue(database.db, { queue: "test.work", payload: null })
  const dead = async () =>
    (await jobs.dead.list(database.db, { queue: "test.work", tenantId: null, limit: 10 })).length
  await eventually("it is dead", async () => (await dead()) === 1)
  await clock.advance(82_800_000)
  assert.equal(await dead(), 1)
  await eventually("it is forgotten", async () => {
    await clock.advance(3_600_000)
    return (await dead()) === 0
  })
})
