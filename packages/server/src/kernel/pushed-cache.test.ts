import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import pino from "pino"
import { cloneDatabase } from "../testing/database.ts"
import { type Changes, listenForChanges } from "./db/changes.ts"
import { type Database, openDatabase } from "./db/database.ts"
import { createPushedCache } from "./pushed-cache.ts"

interface Thing {
  readonly id: string
  readonly version: number
}

/** A cache of things in a table that the test changes, over real notifications. */
const world = async (t: TestContext) => {
  const clone = await cloneDatabase()
  const log = pino({ level: "silent" })
  const database: Database = openDatabase({
    connectionString: clone.url,
    connectionsMax: 4,
    onError: () => undefined,
  })
  const changes: Changes = await listenForChanges(clone.url, log)
  const elsewhere: Changes = await listenForChanges(clone.url, log)
  t.after(async () => {
    await changes[Symbol.asyncDispose]()
    await elsewhere[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    await clone[Symbol.asyncDispose]()
  })
  const versions = new Map<string, number>()
  const reads: string[] = []
  let elapsedMs = 0
  let whileReading: () => Promise<void> | void = () => undefined
  const cache = createPushedCache<Thing | undefined>({
    changes,
    topics: { thing: "one", owner: "all" },
    read: async key => {
      reads.push(key)
      const version = versions.get(key)
      await whileReading()
      return version === undefined ? undefined : { id: `id-of-${key}`, version }
    },
    idOf: thing => thing?.id,
    entriesMax: 3,
    elapsedMs: () => elapsedMs,
  })
  return {
    ...{ cache, changes, elsewhere, database, versions, reads },
    pass: (ms: number) => {
      elapsedMs += ms
    },
    during: (act: () => Promise<void> | void) => {
      whileReading = act
    },
    version: async (key: string) => (await cache.find(key))?.version,
    heard: (topic: string) => new Promise<void>(resolve => changes.subscribe(topic, () => resolve())),
  }
}

test("what is known is answered at once, without a read", async t => {
  const { cache, versions, reads, version } = await world(t)
  versions.set("a", 1)
  await version("a")

  assert.deepEqual(cache.find("a"), { id: "id-of-a", version: 1 })
  assert.deepEqual(reads, ["a"])
})

test("a change in another process makes the one entry stale, and news of an owner all of them", async t => {
  const { elsewhere, database, versions, reads, version, heard } = await world(t)
  versions.set("a", 1).set("b", 1)
  await Promise.all([version("a"), version("b")])

  versions.set("a", 2).set("b", 2)
  const one = heard("thing")
  await elsewhere.announce(database.db, "thing", "id-of-a")
  await one
  assert.deepEqual([await version("a"), await version("b")], [2, 1])

  const all = heard("owner")
  await elsewhere.announce(database.db, "owner", "any")
  await all
  assert.deepEqual([await version("a"), await version("b")], [2, 2])
  assert.equal(reads.length, 5)
})

test("a row read before its change is not kept after it, and nobody who asks after the change gets it", async t => {
  const { changes, versions, version, during } = await world(t)
  versions.set("a", 1)
  let late: Promise<number | undefined> | undefined
  during(() => {
    during(() => undefined)
    versions.set("a", 2)
    changes.applied("thing", "id-of-a")
    late = version("a")
  })

  assert.equal(await version("a"), 1)
  assert.equal(await late, 2)
  assert.equal(await version("a"), 2)
})

test("those who ask for the same thing at once share one read", async t => {
  const { versions, reads, version } = await world(t)
  versions.set("a", 1)
  await Promise.all(Array.from({ length: 20 }, () => version("a")))

  assert.deepEqual(reads, ["a"])
})

test("a lost message costs ten seconds at most", async t => {
  const { versions, version, pass } = await world(t)
  versions.set("a", 1)
  await version("a")
  versions.set("a", 2)

  pass(9_999)
  assert.equal(await version("a"), 1)
  pass(1)
  assert.equal(await version("a"), 2)
})

test("while changes cannot be heard nothing is kept", async t => {
  const { changes, versions, reads, version } = await world(t)
  versions.set("a", 1)
  await version("a")
  const deaf = new Promise<void>(resolve => changes.subscribe("owner", () => resolve()))
  await changes[Symbol.asyncDispose]()
  await deaf

  await version("a")
  await version("a")
  assert.deepEqual(reads, ["a", "a", "a"])
})

test("what does not exist is asked for anew each time", async t => {
  const { versions, version } = await world(t)
  assert.equal(await version("a"), undefined)
  versions.set("a", 1)

  assert.equal(await version("a"), 1)
})
