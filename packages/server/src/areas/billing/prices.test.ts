import assert from "node:assert/strict"
import { writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import fc from "fast-check"
import { costOf, priceListFile, priceUse } from "./price-list.ts"
import { after, monthOf, project } from "./rules.ts"
import { billingWorld } from "./testing/world.ts"

test("a cost is the exact product, rounded half up to the millionth", () => {
  const price = fc.record({ micros: fc.nat(1_000_000), per: fc.integer({ min: 1, max: 1_000_000_000 }) })
  fc.assert(
    fc.property(fc.nat(1_000_000_000), price, (units, { micros, per }) => {
      const product = BigInt(units) * BigInt(micros)
      const whole = product / BigInt(per)
      const isUp = (product % BigInt(per)) * 2n >= BigInt(per)
      assert.equal(BigInt(costOf(units, { micros, per })), whole + (isUp ? 1n : 0n))
    }),
  )
  assert.equal(costOf(0.5, { micros: 3, per: 1 }), 2)
  assert.equal(costOf(1_234_567, { micros: 200_000, per: 1_000_000 }), 246_913)
})

test("what a plan includes is free, and the rest is charged", () => {
  const price = { service: "email", micros: 1_000, per: 1, included: "email_sends" } as const
  assert.deepEqual(priceUse(price, "free", 130), {
    ...{ quantity: 130, included: 100, overage: 30, costMicros: 30_000 },
  })
  assert.equal(priceUse(price, "free", 99).costMicros, 0)
  assert.equal(priceUse(price, "enterprise", 1e9).costMicros, 0)
})

test("a month after the 31st is the last day of the next, and a year after a leap day the 28th", () => {
  const next = (from: string, interval: "month" | "year") => after(new Date(from), interval).toISOString()
  assert.equal(next("2027-01-31T12:00:00Z", "month"), "2027-02-28T12:00:00.000Z")
  assert.equal(next("2028-01-31T12:00:00Z", "month"), "2028-02-29T12:00:00.000Z")
  assert.equal(next("2028-02-29T00:00:00Z", "year"), "2029-02-28T00:00:00.000Z")
  assert.equal(next("2027-12-15T00:00:00Z", "month"), "2028-01-15T00:00:00.000Z")
  const { start, end } = monthOf(new Date("2028-12-31T23:59:59.999Z"))
  assert.deepEqual(
    [start.toISOString().slice(0, 10), end.toISOString().slice(0, 10)],
    ["2028-12-01", "2029-01-01"],
  )
  assert.equal(project(100, new Date("2027-04-16T00:00:00Z")), 200)
})

test("the operator's price list replaces built-in prices, takes prices away, and is refused with a mistake in it", async t => {
  const path = join(tmpdir(), `svc-prices-${process.pid}.json`)
  await writeFile(
    path,
    JSON.stringify({
      meters: { kv_writes: { micros: 7, per: 1 }, kv_reads: null },
      plans: { pro: { month_micros: 5_000_000, year_micros: null } },
    }),
  )
  const { p, svc, tenant_id } = await billingWorld(t, { env: { SVC_BILLING_PRICES: path } })
  await p.database.pool.query(
    "INSERT INTO core.usage (organization_id, project_id, key_id, metric, day, quantity) VALUES ($1, $1, $1, 'kv_writes', $2, 3)",
    [tenant_id, new Date(p.clock.now()).toISOString().slice(0, 10)],
  )
  const { metrics, total_micros } = await svc.billing.usageMetrics({ tenant_id })
  assert.equal(metrics.find(({ metric }) => metric === "kv_writes")?.cost_micros, 21)
  assert.equal(
    metrics.find(({ metric }) => metric === "kv_reads"),
    undefined,
  )
  assert.equal(total_micros, 21)
  const catalog = await svc.billing.catalog({ tenant_id })
  assert.equal(catalog.services.find(({ metric }) => metric === "email_sends")?.included, 100)
  const { prices } = await svc.billing.pricing({})
  assert.equal(prices.find(({ metric }) => metric === "kv_writes")?.unit_price_micros, 7)
  const { plans } = await svc.billing.plans({})
  assert.deepEqual(plans.find(({ plan }) => plan === "pro")?.month_micros, 5_000_000)
  const { consumed_micros, projected_end_micros } = await svc.billing.creditUsage({ tenant_id })
  assert.deepEqual([consumed_micros, projected_end_micros], [0, 0])

  await writeFile(path, JSON.stringify({ meters: { kv_writes: { micros: 0.5, per: 1 } } }))
  assert.throws(() => priceListFile(path), RangeError)
  await writeFile(path, JSON.stringify({ meters: { no_such_meter: null } }))
  assert.throws(() => priceListFile(path), RangeError)
})
