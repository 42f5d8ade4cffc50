import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "kysely"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refused } from "../accounts/testing/people.ts"
import { NONE } from "./meters.ts"
import { usageStore } from "./store.ts"

const DAY_MS = 86_400_000
const SECOND_MS = 1000

/** What is stored of a key, by metric. */
const usageOf = async ({ database: { db } }: TestPlatform, keyId: string) => {
  const rows = await db
    .selectFrom("core.usage")
    .select(["metric", eb => eb.fn.sum<number>("quantity").as("quantity")])
    .where("key_id", "=", keyId)
    .groupBy("metric")
    .execute()
  return Object.fromEntries(rows.map(({ metric, quantity }) => [metric, quantity]))
}

const writes = (p: TestPlatform, secret: string, count: number) => {
  const svc = p.as(secret)
  return Promise.all(
    Array.from({ length: count }, (_, index) => svc.kv.set({ key: `${index}`, value: index })),
  )
}

test("what keys do at the same time is counted by key and metric, refusals included", async t => {
  const p = await platform(t)
  const [one, other] = [await p.key("acme", ["kv:read", "kv:write"]), await p.key("acme", ["kv:write"])]
  const svc = p.as(one.secret)

  await Promise.all([
    writes(p, one.secret, 150),
    writes(p, other.secret, 50),
    ...Array.from({ length: 20 }, () => refused(svc.keys.list(), "session_required")),
  ])
  await svc.kv.del({ keys: ["0", "1", "2"] })
  await svc.kv.get({ key: "4" })
  assert.deepEqual(await usageOf(p, one.id), {})
  await p.clock.advance(SECOND_MS)

  assert.deepEqual(await usageOf(p, one.id), {
    kv_reads: 1,
    kv_writes: 153,
    request_errors: 20,
    requests: 172,
  })
  assert.deepEqual(await usageOf(p, other.id), { kv_writes: 50, requests: 50 })
})

test("counts name the project, and a signed-in person's name no key", async t => {
  const p = await platform(t)
  const { organizationId, projectId } = await p.tenant("acme")
  const bound = await p.key("acme", ["kv:write"])
  const wide = await p.key("acme", ["kv:write"], { project_id: null })
  await writes(p, bound.secret, 2)
  await writes(p, wide.secret, 3)
  await (await p.person("acme")).projects.list()
  await p.clock.advance(SECOND_MS)

  const rows = await p.database.db
    .selectFrom("core.usage")
    .select(["organization_id", "project_id", "key_id", "quantity"])
    .where("metric", "=", "requests")
    .orderBy("quantity")
    .execute()

  assert.deepEqual(rows, [
    { organization_id: organizationId, project_id: NONE, key_id: NONE, quantity: 1 },
    { organization_id: organizationId, project_id: projectId, key_id: bound.id, quantity: 2 },
    { organization_id: organizationId, project_id: NONE, key_id: wide.id, quantity: 3 },
  ])
})

test("a request counts for the day on which it came", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["kv:write"])
  await p.clock.advance(DAY_MS - (p.clock.now() % DAY_MS) - 1)
  const before = new Date(p.clock.now())
  await writes(p, secret, 2)
  await p.clock.advance(1)
  await writes(p, secret, 3)
  await p.clock.advance(SECOND_MS)

  const ofDay = (now: Date) => usageStore(p.database.db).ofDay(organizationId, "kv_writes", now)
  assert.deepEqual([await ofDay(before), await ofDay(new Date(p.clock.now()))], [2, 3])
  assert.equal(await ofDay(new Date(0)), 0)
})

test("two processes add to one row without losing each other's counts", async t => {
  const p = await platform(t)
  await using second = await platform(t, { databaseUrl: p.config.databaseUrl ?? "" })
  const keys = await Promise.all(Array.from({ length: 10 }, () => p.key("acme", ["kv:write"])))

  for (let round = 0; round < 5; round++) {
    for (const process of [p, second]) {
      await Promise.all(keys.map(({ secret }) => writes(process, secret, 2)))
    }
    await Promise.all([p.clock.advance(SECOND_MS), second.clock.advance(SECOND_MS)])
  }

  for (const { id } of keys) assert.deepEqual(await usageOf(p, id), { kv_writes: 20, requests: 20 })
})

test("counts that could not be stored are stored later, together with those that came since", async t => {
  const p = await platform(t)
  const { id, secret } = await p.key("acme", ["kv:write"])
  const rename = (from: string, to: string) =>
    sql.raw(`ALTER TABLE core.${from} RENAME TO ${to}`).execute(p.database.db)

  await rename("usage", "usage_away")
  await writes(p, secret, 5)
  await p.clock.advance(SECOND_MS)
  await writes(p, secret, 7)
  await p.clock.advance(3 * SECOND_MS)
  await rename("usage_away", "usage")
  assert.deepEqual(await usageOf(p, id), {})
  await p.clock.advance(SECOND_MS)
  assert.deepEqual(await usageOf(p, id), { kv_writes: 12, requests: 12 })
  await p.clock.advance(10 * SECOND_MS)
  assert.deepEqual(await usageOf(p, id), { kv_writes: 12, requests: 12 })
})

test("a platform that stops stores what it has counted", async t => {
  const p = await platform(t)
  await using second = await platform(t, { databaseUrl: p.config.databaseUrl ?? "" })
  const { id, secret } = await p.key("acme", ["kv:write"])
  await writes(second, secret, 4)

  await second[Symbol.asyncDispose]()

  assert.deepEqual(await usageOf(p, id), { kv_writes: 4, requests: 4 })
})
