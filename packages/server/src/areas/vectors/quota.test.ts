import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"

const FULL = { status: 402, code: "plan_limit_reached" }

test("the operations of a Free plan end with the month's quota, also after a restart, and begin again with the next month", async t => {
  const p = await platform(t, { startMs: Date.parse("2026-11-10T12:00:00Z") })
  const { organizationId: tenant_id } = await p.tenant("small", "free")
  const svc = await p.client("small", "vectors:read", "vectors:write")
  const place = { tenant_id, collection: "c" }
  await svc.vectors.createCollection({ tenant_id, name: "c", dimension: 2 })
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `v${at}`, values: [1, at] }))
  await svc.vectors.upsert({ ...place, vectors: many(998) })
  await svc.vectors.search({ ...place, vector: [1, 1] })
  await assert.rejects(svc.vectors.upsert({ ...place, vectors: many(2) }), FULL)
  // What fails is not counted.
  const missing = svc.vectors.search({ tenant_id, collection: "missing", vector: [1, 1] })
  await assert.rejects(missing, { code: "collection_not_found" })
  await svc.vectors.search({ ...place, vector: [1, 1] })
  await assert.rejects(svc.vectors.search({ ...place, vector: [1, 1] }), FULL)
  await assert.rejects(svc.vectors.batchUpsert({ ...place, vectors: many(1) }), FULL)
  // What only reads or takes away goes on.
  assert.equal((await svc.vectors.count({ ...place })).count, 998)
  await svc.vectors.delete({ ...place, ids: ["v0"] })

  // Counts are stored every second, and another process reads them.
  await p.clock.advance(2_000)
  const second = await platform(t, { databaseUrl: p.config.databaseUrl ?? "", startMs: p.clock.now() })
  const { secret } = await p.key("small", ["vectors:read"])
  await assert.rejects(second.as(secret).vectors.search({ ...place, vector: [1, 1] }), FULL)
  await p.clock.advance(30 * 24 * 3_600_000)
  await svc.vectors.search({ ...place, vector: [1, 1] })
})

test("a plan with a price past its quota goes on", async t => {
  const p = await platform(t)
  const { organizationId: tenant_id } = await p.tenant("starter", "starter")
  const svc = await p.client("starter", "vectors:read", "vectors:write")
  await svc.vectors.createCollection({ tenant_id, name: "c", dimension: 2 })
  await p.database.db
    .insertInto("core.usage")
    .values({
      ...{ organization_id: tenant_id, project_id: tenant_id, key_id: tenant_id, metric: "vector_ops" },
      ...{ day: new Date(p.clock.now()).toISOString().slice(0, 10), quantity: 50_000 },
    })
    .execute()
  assert.deepEqual((await svc.vectors.search({ tenant_id, collection: "c", vector: [1, 1] })).matches, [])
})
