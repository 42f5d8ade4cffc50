import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import pg from "pg"
import { cloneDatabase } from "../testing/database.ts"
import { listenForChanges } from "./db/changes.ts"
import { openDatabase } from "./db/database.ts"
import { createLog } from "./log.ts"
import { createPushedCache } from "./pushed-cache.ts"

interface Thing {
  readonly id: string
  readonly version: number
}

/** A cache of things that are read through `read`, with news from a real database. */
const world = async (t: TestContext) => {
  const database = await cloneDatabase()
  const changes = await listenForChanges(database.url, createLog("silent"))
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const control = openDatabase({
    connectionString: database.url,
    connectionsMax: 1,
    onError: () => undefined,
  })
  t.after(async () => {
    await client.end()
    await control[Symbol.asyncDispose]()
    await changes[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })
  let elapsedMs = 0
  let version = 0
  let gate: Promise<void> | undefined
  let reads = 0
  const cache = createPushedCache<Thing>({
    changes,
    topics: { thing: "one", world: "all" },
    async read(key) {
      reads++
      const found = { id: `id of ${key}`, version }
      const held = gate
      gate = undefined
      await held
      return found
    },
    idOf: ({ id }) => id,
    entriesMax: 100,
    elapsedMs: () => elapsedMs,
  })
  return {
    changes,
    client,
    invalidate: (topic: string, id: string) => changes.invalidate(control.db, topic, id),
    versionOf: async (key: string) => (await cache.find(key)).version,
    isKept: (key: string) => !(cache.find(key) instanceof Promise),
    reads: () => reads,
    change: () => ++version,
    pass(ms: number) {
      elapsedMs += ms
    },
    /** Holds up what the next read has found, until the returned function is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
  }
}

test("what is known is not read again, and callers at once share one read", async t => {
  const { versionOf, reads, isKept, pass } = await world(t)

  await Promise.all([versionOf("a"), versionOf("a"), versionOf("a")])
  await versionOf("a")
  assert.equal(reads(), 1)

  pass(10_000)
  assert.ok(!isKept("a"), "ten seconds bound what lost news could cost")
})

test("news of a thing make it forgotten at once, and nothing else", async t => {
  const { invalidate, versionOf, isKept, change } = await world(t)
  await Promise.all([versionOf("a"), versionOf("b")])

  change()
  await invalidate("thing", "id of a")

  assert.deepEqual([isKept("b"), await versionOf("a"), await versionOf("b")], [true, 1, 0])
  await invalidate("world", "whatever")
  assert.deepEqual([isKept("a"), isKept("b")], [false, false])
})

test("what was read before the news and arrives after them is not kept, nor told to whoever asks after", async t => {
  const { invalidate, versionOf, change, hold } = await world(t)
  const letGo = hold()
  const early = versionOf("a")

  change()
  await invalidate("thing", "id of a")
  assert.equal(await versionOf("a"), 1)
  letGo()

  assert.deepEqual([await early, await versionOf("a")], [0, 1])
})

test("while news cannot be heard nothing is kept, and what was known is forgotten", async t => {
  const { changes, client, versionOf, isKept, reads } = await world(t)
  await versionOf("a")
  assert.ok(isKept("a"))

  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc-changes' AND datname = current_database()",
  )
  const deadline = performance.now() + 60_000
  while (changes.listening && performance.now() < deadline) await client.query("SELECT 1")

  assert.ok(!changes.listening)
  const before = reads()
  for (let count = 0; count < 3; count++) await versionOf("a")
  assert.equal(reads(), before + 3)
  while (!changes.listening && performance.now() < deadline) await client.query("SELECT 1")
  assert.ok(changes.listening)
  await versionOf("a")
  assert.ok(isKept("a"))
})

test("news told in a transaction arrive when it commits, and never when it is rolled back", async t => {
  const { client, versionOf, isKept } = await world(t)
  await versionOf("a")

  await client.query("BEGIN")
  await client.query("SELECT pg_notify('svc_changes', 'thing:id of a')")
  await client.query("ROLLBACK")
  await client.query("SELECT 1")
  assert.ok(isKept("a"))

  await client.query("SELECT pg_notify('svc_changes', 'thing:id of a')")
  const deadline = performance.now() + 60_000
  while (isKept("a")) {
    assert.ok(performance.now() < deadline, "the news did not arrive")
    await client.query("SELECT 1")
  }
})
