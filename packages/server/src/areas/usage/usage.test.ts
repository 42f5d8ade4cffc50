import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { meterNames } from "@svc/contract"
import { refused } from "../../core/accounts/testing/people.ts"
import { everyScope, platform, type TestPlatform } from "../../testing/platform.ts"

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

const bytesOf = async (p: TestPlatform, secret: string, path: string) => {
  const response = await p.request(path, { headers: { authorization: `Bearer ${secret}` } })
  assert.equal(response.status, 200)
  return { type: response.headers.get("content-type"), text: await response.text() }
}

/** In the middle of a month, so that a day more is the same month. */
const START = Date.UTC(2026, 10, 10, 12)

test("requests of a key are told by day, area and status, refused ones included", async t => {
  const p = await platform(t, { startMs: START })
  const { id, secret } = await p.key("acme", ["kv:read", "kv:write", "metering:read"])
  const svc = p.as(secret)
  await svc.kv.set({ key: "a", value: 1 })
  await svc.kv.get({ key: "a" })
  await svc.kv.get({ key: "b" })
  await refused(svc.search.suggest({ prefix: "x" }), "missing_scope")
  await p.clock.advance(DAY_MS)
  await svc.kv.set({ key: "a", value: 2 })
  await p.clock.advance(SECOND_MS)

  const usage = await svc.usage.key({ key_id: id })

  assert.equal(usage.requests, 5)
  assert.equal(usage.by_status["403"], 1)
  assert.deepEqual(
    usage.by_day.map(({ day, requests }) => [day, requests]),
    [
      ["2026-11-10", 4],
      ["2026-11-11", 1],
    ],
  )
  assert.deepEqual(
    usage.by_service.map(({ service, requests }) => [service, requests]),
    [
      ["kv", 4],
      ["search", 1],
    ],
  )
  assert.equal(
    Object.values(usage.by_status).reduce((sum, count) => sum + count),
    5,
  )
  assert.equal(usage.metrics.find(({ metric }) => metric === "kv_writes")?.used, 2)
  assert.deepEqual(usage.period, { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" })
  assert.equal((await svc.usage.key({ key_id: id, month: "2026-10" })).requests, 0)
})

test("a key tells what it cost, and the organization what it pays beyond what is included", async t => {
  const p = await platform(t, { startMs: START })
  const { id, secret } = await p.key("acme", ["kv:write", "metering:read"])
  const svc = p.as(secret)
  await svc.kv.set({ key: "a", value: 1 })
  await p.clock.advance(SECOND_MS)
  // A million of them at one dollar.
  await p.database.pool.query("UPDATE core.usage SET quantity = 1000000 WHERE metric = 'kv_writes'")

  const { metrics } = await svc.usage.key({ key_id: id, costs: true })
  assert.equal(metrics.find(({ metric }) => metric === "kv_writes")?.cost_micros, 1_000_000)
  const plain = await svc.usage.key({ key_id: id })
  assert.ok(plain.metrics.every(metric => !("cost_micros" in metric)))

  const { services } = await svc.usage.summary({})
  const costOf = (name: string) => services.find(({ metric }) => metric === name)?.cost_micros
  assert.equal(costOf("kv_writes"), 1_000_000)
  assert.equal(costOf("kv_reads"), 0)
  assert.equal(costOf("kv_bytes"), null)
})

test("a key cannot tell what it cost where the operator's list takes every price away", async t => {
  const folder = await mkdtemp(join(tmpdir(), "svc-prices-"))
  const path = join(folder, "none.json")
  await writeFile(path, JSON.stringify({ meters: Object.fromEntries(meterNames.map(name => [name, null])) }))
  const p = await platform(t, { env: { SVC_BILLING_PRICES: path } })
  await rm(folder, { recursive: true })
  const { id, secret } = await p.key("acme", ["metering:read"])
  await refused(p.as(secret).usage.key({ key_id: id, costs: true }), "billing_not_configured")
})

test("the organization's keys are listed with their requests; a key of a project sees that project's alone", async t => {
  const p = await platform(t)
  const bound = await p.key("acme", ["metering:read", "kv:write"])
  const wide = await p.key("acme", ["metering:read"], { project_id: null })
  const other = await p.key("other", ["metering:read"])
  await p.as(bound.secret).kv.set({ key: "a", value: 1 })
  await p.clock.advance(SECOND_MS)

  const all = await p.as(wide.secret).usage.keys({})
  const own = await p.as(bound.secret).usage.keys({})

  assert.ok(all.keys.some(({ key_id }) => key_id === wide.id))
  assert.equal(all.keys.find(({ key_id }) => key_id === bound.id)?.requests, 1)
  assert.ok(own.keys.every(({ project_id }) => project_id !== null))
  assert.ok(![...all.keys, ...own.keys].some(({ key_id }) => key_id === other.id))
  await refused(p.as(bound.secret).usage.key({ key_id: wide.id }), "key_not_found")
  await refused(p.as(other.secret).usage.key({ key_id: bound.id }), "key_not_found")
})

test("the summary compares a month with what the plan includes, and a level is its average", async t => {
  const p = await platform(t, { startMs: START })
  const { organizationId } = await p.tenant("acme", "free")
  const svc = await p.client("acme", ...everyScope)
  const row = { organization_id: organizationId, project_id: organizationId, key_id: organizationId }
  await p.database.db
    .insertInto("core.usage")
    .values([
      { ...row, metric: "email_sends", day: "2026-11-02", quantity: 130 },
      // 19 GB on one of the nine and a half days so far: 2 GB on average.
      { ...row, metric: "storage_gb", day: "2026-11-03", quantity: 19 },
      { ...row, metric: "email_sends", day: "2026-10-31", quantity: 7 },
    ])
    .execute()

  const { services, plan } = await svc.usage.summary({})
  const of = (name: string) => services.find(({ metric }) => metric === name)

  assert.equal(plan, "free")
  assert.deepEqual(of("email_sends"), {
    ...{ service: "email", metric: "email_sends", unit: "recipient", used: 130 },
    ...{ included: 100, remaining: 0, overage: 30, cost_micros: 30_000 },
  })
  assert.equal(of("storage_gb")?.used, 2)
  assert.equal(of("storage_gb")?.overage, 1)
  assert.deepEqual([of("kv_reads")?.included, of("kv_reads")?.overage], [null, 0])
  const october = await svc.usage.summary({ month: "2026-10" })
  assert.equal(october.services.find(({ metric }) => metric === "email_sends")?.used, 7)

  const budget = await svc.usage.budget()
  assert.deepEqual(budget.storage_gb, { used: 2, allowance: 1, remaining: 0 })
  assert.deepEqual(budget.ai_requests_today, { used: 0, allowance: 500, remaining: 500 })
  assert.equal((await svc.usage.stats()).storage.average_gb, 2)
})

test("an export has every stored row, as CSV and as JSON lines", async t => {
  const p = await platform(t, { startMs: START })
  const { organizationId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["metering:read"])
  const NONE = "00000000-0000-0000-0000-000000000000"
  await p.database.db
    .insertInto("core.usage")
    .values(
      Array.from({ length: 2_500 }, (_, index) => ({
        organization_id: organizationId,
        project_id: NONE,
        key_id: `00000000-0000-7000-8000-${String(index).padStart(12, "0")}`,
        ...{ metric: "kv_reads", day: "2026-11-05", quantity: index },
      })),
    )
    .execute()

  const csv = await bytesOf(p, secret, "/v1/usage/export?to=2026-11-05")
  const lines = await bytesOf(p, secret, "/v1/usage/export?to=2026-11-05&format=jsonl")

  assert.equal(csv.type, "text/csv; charset=utf-8")
  const rows = csv.text.trimEnd().split("\r\n")
  assert.equal(rows[0], "day,metric,unit,quantity,key_id,project_id")
  assert.equal(rows.length, 2_501)
  assert.equal(rows[4], "2026-11-05,kv_reads,entry,3,00000000-0000-7000-8000-000000000003,")
  const parsed = lines.text
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line) as { quantity: number; project_id: string | null })
  assert.equal(
    parsed.reduce((sum, { quantity }) => sum + quantity, 0),
    (2_499 * 2_500) / 2,
  )
  assert.equal(parsed[0]?.project_id, null)
  const svc = p.as(secret)
  await refused(svc.usage.export({ from: "2026-11-02", to: "2026-11-01" }), "invalid_parameter")
  await refused(svc.usage.export({ from: "2020-01-01" }), "invalid_parameter")
})

test("counts of requests that could not be stored are stored once, later", async t => {
  const p = await platform(t)
  const { id, secret } = await p.key("acme", ["kv:write", "metering:read"])
  const rename = (from: string, to: string) =>
    p.database.pool.query(`ALTER TABLE core.${from} RENAME TO ${to}`)
  await rename("key_requests", "away")
  await p.as(secret).kv.set({ key: "a", value: 1 })
  await p.clock.advance(HOUR_MS / 1200)
  await rename("away", "key_requests")
  await p.clock.advance(SECOND_MS)
  await p.clock.advance(SECOND_MS)

  const { requests, metrics } = await p.as(secret).usage.key({ key_id: id })

  assert.equal(requests, 1)
  assert.equal(metrics.find(({ metric }) => metric === "kv_writes")?.used, 1)
})
