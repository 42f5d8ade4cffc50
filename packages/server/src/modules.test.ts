/** Areas are loaded when something needs them, and their order means nothing. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { masterKey } from "./kernel/tokens.ts"
import { modules } from "./modules.ts"
import { eventually } from "./testing/eventually.ts"
import { platform } from "./testing/platform.ts"

const MINUTE_MS = 60_000

const everyMinute = {
  name: "tick",
  cron: "* * * * *",
  target: { type: "http", url: "https://example.com/" },
} as const

test("a start loads no area, and a call loads the one that it is for", async t => {
  const p = await platform(t)
  assert.deepEqual(p.loadedAreas(), [])

  const acme = await p.client("acme", "kv:read", "kv:write")
  await acme.kv.set({ key: "a", value: 1 })

  assert.deepEqual(p.loadedAreas(), ["kv"])
})

test("what areas share is opened with the first of them that needs it", async t => {
  const p = await platform(t)
  const measured = async () =>
    /^svc_deliveries_under_way/m.test(await (await fetch(`${p.url}/metrics`)).text())
  const acme = await p.wide("acme", "kv:read", "kv:write", "webhooks:read")
  assert.equal(await measured(), false)

  await acme.webhooks.list({ tenant_id: (await p.tenant("acme")).organizationId })

  assert.equal(await measured(), true)
})

test("an area that is not loaded tells its state", async t => {
  const p = await platform(t)
  const { services } = await (await p.client("acme", "kv:read")).identity.services({})
  const states = new Map(services.map(({ name, status }) => [name, status]))

  for (const { name } of modules) assert.equal(states.get(name), "available", name)
  assert.deepEqual(p.loadedAreas(), [])
})

test("work that goes on by itself loads its area at the next start, and within a minute in a process beside", async t => {
  const first = await platform(t)
  const beside = await platform(t, { databaseUrl: first.config.databaseUrl ?? "" })
  const acme = await first.client("acme", "cron:read", "cron:write")
  await acme.cron.create(everyMinute)
  assert.ok(!beside.loadedAreas().includes("cron"))

  await beside.clock.advance(MINUTE_MS)
  await eventually("the area is loaded", async () => beside.loadedAreas().includes("cron"))

  const next = await platform(t, { databaseUrl: first.config.databaseUrl ?? "" })
  assert.ok(next.loadedAreas().includes("cron"))
})

for (const [how, order] of [
  ["in reverse", modules.toReversed()],
  ["in a random order", modules.toSorted(() => Math.random() - 0.5)],
] as const) {
  test(`areas that are listed ${how} serve one another`, async t => {
    const p = await platform(t, { ownAreas: order })
    const acme = await p.client("acme", "storage:write", "storage:read", "search:write", "search:read")
    await acme.storage.createBucket({ name: "pages" })
    // Search reads what storage keeps, which it asks for by what storage provides.
    const config = { bucket: "pages" }
    const { id } = await acme.search.upsertSource({ name: "pages", type: "storage", config })
    const { run_id } = await acme.search.runSource({ id })
    const isRead = async () => (await acme.search.getRun({ id: run_id })).status === "succeeded"
    await eventually("the source is read", isRead)
    const { services } = await acme.identity.services({})
    assert.ok(services.every(({ status }) => status === "available"))
  })
}

test("no area is given the master key", () => {
  for (const { name, needs } of modules) assert.ok(!Object.values<unknown>(needs).includes(masterKey), name)
})

test("each area can be loaded, and names all of its queues and schedules", async t => {
  const p = await platform(t, {
    ownAreas: modules.map(module => ({
      ...module,
      wakes: { ...module.wakes, rowsIn: ["kernel.migrations"] },
    })),
  })
  // One that defines a queue which its module does not name is not loaded, and the start says so.
  assert.deepEqual(p.loadedAreas().toSorted(), modules.map(({ name }) => name).toSorted())
})
