/** Which job goes next: fairness between tenants and targets, and order within a key. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import type { NewJob, QueueDefinition } from "./jobs.ts"
import { tenantOf, unfinished, world } from "./testing/world.ts"

const QUEUE = "test.work"

/** A handler that notes what it was given, and how many ran at once by some key. */
const watched = () => {
  const seen: unknown[] = []
  const running = new Map<unknown, number>()
  const most = new Map<unknown, number>()
  return {
    seen,
    most,
    async around(key: unknown, payload: unknown, work: () => Promise<void>) {
      running.set(key, (running.get(key) ?? 0) + 1)
      most.set(key, Math.max(most.get(key) ?? 0, running.get(key) ?? 0))
      seen.push(payload)
      try {
        await work()
      } finally {
        running.set(key, (running.get(key) ?? 0) - 1)
      }
    },
  }
}

const many = (count: number, job: (n: number) => Omit<NewJob, "queue">): NewJob[] =>
  Array.from({ length: count }, (_, n) => ({ queue: QUEUE, ...job(n) }))

const soon = () => new Promise<void>(resolve => setImmediate(resolve))

test("a tenant with thousands of jobs does not keep another's single job waiting", async t => {
  const { worker } = await world(t)
  const seen: unknown[] = []
  const idle = await worker()
  await idle.jobs.enqueue(
    idle.database.db,
    many(5_000, () => ({ tenantId: tenantOf(1), payload: "noise" })),
  )
  await idle.jobs.enqueue(idle.database.db, [
    { queue: QUEUE, tenantId: tenantOf(2), payload: "single" },
    { queue: QUEUE, tenantId: null, payload: "platform" },
  ])
  await worker({ name: QUEUE, concurrency: 10, run: async ({ payload }) => void seen.push(payload) })

  await eventually("all have run", async () => (await unfinished(idle.database)) === 0)
  assert.ok(seen.indexOf("single") < 10)
  assert.ok(seen.indexOf("platform") < 10)
})

test("with one place, tenants take turns", async t => {
  const { worker } = await world(t)
  const seen: unknown[] = []
  const idle = await worker()
  for (const n of [1, 2, 3]) {
    await idle.jobs.enqueue(
      idle.database.db,
      many(4, () => ({ tenantId: tenantOf(n), payload: n })),
    )
  }
  await worker({ name: QUEUE, concurrency: 1, run: async ({ payload }) => void seen.push(payload) })

  await eventually("all have run", async () => (await unfinished(idle.database)) === 0)
  assert.deepEqual(seen, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3])
})

test("neither a tenant nor a target has more running than it may, over all processes", async t => {
  const { worker } = await world(t)
  const tenants = watched()
  const targets = watched()
  const queue: QueueDefinition = {
    name: QUEUE,
    concurrency: 20,
    perTenantConcurrency: 5,
    perTargetConcurrency: 2,
    run: ({ tenantId, targetKey, payload }) =>
      tenants.around(tenantId, payload, () => targets.around(`${tenantId} ${targetKey}`, payload, soon)),
  }
  const [first] = await Promise.all([worker(queue), worker(queue), worker(queue)])
  await first.jobs.enqueue(
    first.database.db,
    many(600, n => ({ tenantId: tenantOf(n % 2), targetKey: `endpoint ${n % 6}`, payload: n })),
  )
  await eventually("all have run", async () => (await unfinished(first.database)) === 0)
  assert.equal(new Set(tenants.seen).size, 600)
  assert.equal(tenants.seen.length, 600)
  assert.ok(Math.max(...tenants.most.values().map(Number)) <= 5)
  assert.ok(Math.max(...targets.most.values().map(Number)) <= 2)
})

test("a target that hangs holds up none of its tenant's others", async t => {
  const { worker } = await world(t)
  const seen: unknown[] = []
  const hanging = Promise.withResolvers<void>()
  const { jobs, database } = await worker({
    name: QUEUE,
    concurrency: 10,
    perTargetConcurrency: 3,
    async run({ targetKey }) {
      seen.push(targetKey)
      if (targetKey === "dead") await hanging.promise
    },
  })
  await jobs.enqueue(
    database.db,
    many(500, () => ({ tenantId: tenantOf(1), targetKey: "dead", payload: 0 })),
  )
  await eventually("it hangs", () => seen.length === 3)
  await jobs.enqueue(
    database.db,
    many(100, n => ({ tenantId: tenantOf(1), targetKey: `live ${n % 4}`, payload: n })),
  )
  await eventually("the live ones are done", async () => (await unfinished(database)) === 500)
  assert.equal(seen.filter(target => target === "dead").length, 3)
  hanging.resolve()
  await eventually("all are done", async () => (await unfinished(database)) === 0)
})

test("targets of one tenant take turns", async t => {
  const { worker } = await world(t)
  const seen: unknown[] = []
  const idle = await worker()
  await idle.jobs.enqueue(
    idle.database.db,
    many(12, n => ({
      tenantId: tenantOf(1),
      targetKey: `target ${Math.floor(n / 4)}`,
      payload: Math.floor(n / 4),
    })),
  )
  await worker({ name: QUEUE, concurrency: 1, run: async ({ payload }) => void seen.push(payload) })
  await eventually("all have run", async () => (await unfinished(idle.database)) === 0)
  assert.deepEqual(seen, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
})

test("jobs of one ordering key run one at a time in their order, also when some fail at first", async t => {
  const { worker, clock } = await world(t)
  const keys = watched()
  const runs = new Map<string, number[]>()
  const queue: QueueDefinition = {
    name: QUEUE,
    concurrency: 20,
    retries: [1_000, 1_000],
    run: ({ orderingKey = "", payload, attempt }) =>
      keys.around(orderingKey, payload, async () => {
        await soon()
        if (Number(payload) % 17 === 3 && attempt < 3) throw new Error("not yet")
        runs.set(orderingKey, [...(runs.get(orderingKey) ?? []), Number(payload)])
      }),
  }
  const workers = await Promise.all([worker(queue), worker(queue), worker(queue)])
  for (let from = 0; from < 300; from += 50) {
    await Promise.all(
      workers.map(({ jobs, database }, key) =>
        jobs.enqueue(
          database.db,
          many(50, n => ({ orderingKey: `key ${key}`, payload: from + n })),
        ),
      ),
    )
  }
  const { database } = workers[0]
  await eventually("all have run", async () => {
    await clock.advance(1_000)
    return (await unfinished(database)) === 0
  })
  const expected = Array.from({ length: 300 }, (_, n) => n)
  for (const key of [0, 1, 2]) assert.deepEqual(runs.get(`key ${key}`), expected)
  assert.deepEqual([...keys.most.values()], [1, 1, 1])
})

test("the first of an ordering key holds up the others until it is dead, and nobody else", async t => {
  const { worker, clock } = await world(t)
  const seen: unknown[] = []
  const { jobs, database } = await worker({
    name: QUEUE,
    retries: [60_000],
    async run({ payload, attempt }) {
      seen.push(`${payload} ${attempt}`)
      if (payload === "bad") throw new Error("never")
    },
  })
  const enqueue = (payload: string, orderingKey: string) =>
    jobs.enqueue(database.db, { queue: QUEUE, payload, orderingKey })
  await enqueue("bad", "a")
  await enqueue("behind", "a")
  await enqueue("beside", "b")
  await eventually(
    "the other key's has run",
    async () => (await unfinished(database)) === 2 && seen.length === 2,
  )
  await eventually("the first waits", async () => {
    await clock.advance(10_000)
    return seen.includes("bad 2")
  })
  await eventually("the second has run", async () => (await unfinished(database)) === 0)
  assert.deepEqual(seen.slice().sort(), ["bad 1", "bad 2", "behind 1", "beside 1"])
  assert.equal(seen.at(-1), "behind 1")
})
