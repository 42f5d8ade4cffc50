/** The promises of `port.ts` as tests. Every driver passes all of them. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { describe, test } from "node:test"
import { conditionTests, timeTests, valueTests } from "./conformance/entries.ts"
import { NOW, type OpenKv, rejectsAs, text } from "./conformance/fixture.ts"
import { batchTests, boundTests, listTests, ownerTests, raceTests } from "./conformance/many.ts"

const lifeTests = (open: OpenKv): void => {
  test("a store that is open is healthy and says how durable it is", async t => {
    const kv = await open(t)
    const health = await kv.health()
    assert.ok(health.ok && health.detail.length > 0)
  })

  test("closing lets the writes under way finish and makes every later call unavailable", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const writes = Array.from({ length: 50 }, (_, n) => kv.set(owner, `k${n}`, text("1"), NOW))
    await kv[Symbol.asyncDispose]()
    assert.ok((await Promise.all(writes)).every(({ stored }) => stored))
    await rejectsAs("unavailable", () => kv.get(owner, "k1", NOW))
    await rejectsAs("unavailable", () => kv.set(owner, "k1", text("1"), NOW))
    await rejectsAs("unavailable", () => kv.list(owner, { pattern: "*", limit: 1, cursor: null }, NOW))
    await rejectsAs("unavailable", () => kv.sweep(NOW, 1))
    assert.equal((await kv.health()).ok, false)
    await kv[Symbol.asyncDispose]()
  })
}

const promises = [
  valueTests,
  conditionTests,
  timeTests,
  ownerTests,
  listTests,
  boundTests,
  batchTests,
  raceTests,
  lifeTests,
]

/** `open` gives each test an empty store. */
export const kvConformance = (driver: string, open: OpenKv): void => {
  describe(`${driver} keeps the promises of the key-value port`, () => {
    for (const register of promises) register(open)
  })
}
