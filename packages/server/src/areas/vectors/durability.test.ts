/** Vectors outlive the process and the index: what was told to be written is found again, whatever ended meanwhile. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc, type Svc } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { readFirstRun, type SvcProcess, spawnSvc } from "../../testing/process.ts"
import { idsOf, onQdrant, READ_AND_WRITE, refusedAs, withCollection } from "./testing/drivers.ts"

const WRITERS = 3
const BATCHES_PER_ROUND = 20
const BATCH = 5

const connect = async (process: SvcProcess) => {
  const baseUrl = await process.ready
  const { api_key, organization_id } = readFirstRun(process.dataDir)
  const svc = createSvc({ baseUrl, retries: 0, apiKey: api_key })
  return { svc, at: { tenant_id: organization_id, collection: "c" } }
}

/** Writes on several sides until the kill; gives the ids that were told to be there. */
const writeUntil = async (
  { svc, at }: { svc: Svc; at: { tenant_id: string; collection: string } },
  round: number,
  kill: () => void,
): Promise<string[]> => {
  const told: string[] = []
  let batches = 0
  const write = async (writer: number) => {
    for (let n = 0; ; n++) {
      const ids = Array.from({ length: BATCH }, (_, place) => `${round}-${writer}-${n}-${place}`)
      try {
        await svc.vectors.batchUpsert({ ...at, vectors: ids.map(id => ({ id, values: [1, n + 1] })) })
      } catch {
        return
      }
      told.push(...ids)
      batches += 1
      if (batches === BATCHES_PER_ROUND) kill()
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  return told
}

test("every vector that was told to be written is found after the platform was killed", async t => {
  let process = spawnSvc(t)
  let client = await connect(process)
  await client.svc.vectors.createCollection({ tenant_id: client.at.tenant_id, name: "c", dimension: 2 })
  const told: string[] = []
  for (const round of [1, 2]) {
    const killed = process
    await client.svc.vectors.search({ ...client.at, vector: [1, 1] })
    told.push(...(await writeUntil(client, round, () => killed.signal("SIGKILL"))))
    await killed.exited
    process = spawnSvc(t, { dataDir: killed.dataDir })
    client = await connect(process)
    const { count } = await client.svc.vectors.count(client.at)
    const found = await client.svc.vectors.search({ ...client.at, vector: [1, 1], top_k: 1000 })
    assert.equal(found.matches.length, Math.min(1000, count))
    // No batch is there in part.
    assert.equal(count % BATCH, 0)
    const there = new Set(idsOf(found))
    assert.deepEqual(
      told.filter(id => !there.has(id)),
      [],
    )
  }
  assert.ok(told.length >= 2 * BATCHES_PER_ROUND * BATCH)
})

/** Until no deletion is remembered. */
const untilForgotten = (p: TestPlatform) =>
  eventually("deletions are forgotten", async () => {
    await p.clock.advance(60_000)
    const { rowCount } = await p.database.pool.query(
      "SELECT FROM vectors.vectors WHERE deleted_at IS NOT NULL",
    )
    return rowCount === 0
  })

test("processes that share a database see each other's writes and deletes", async t => {
  const first = await platform(t)
  const { svc, at, tenant_id } = await withCollection(first, "acme")
  const { secret } = await first.key("acme", READ_AND_WRITE)
  const second = await platform(t, { databaseUrl: first.config.databaseUrl ?? "" })
  const elsewhere = second.as(secret)
  const everywhere = async () => {
    const [here, there] = await Promise.all(
      [svc, elsewhere].map(svc => svc.vectors.search({ ...at, vector: [1, 0] })),
    )
    assert.ok(here && there)
    assert.deepEqual(idsOf(here), idsOf(there))
    return idsOf(here)
  }
  await svc.vectors.upsert({ ...at, vectors: [{ id: "a", values: [1, 0] }] })
  assert.deepEqual(await everywhere(), ["a"])
  await elsewhere.vectors.upsert({ ...at, vectors: [{ id: "b", values: [1, 1] }] })
  assert.deepEqual(await everywhere(), ["a", "b"])
  await svc.vectors.delete({ ...at, ids: ["a"] })
  assert.deepEqual(await everywhere(), ["b"])

  // Long enough for the deletion to be forgotten, but the indexes know of it.
  await first.clock.advance(25 * 3_600_000)
  await untilForgotten(first)
  await elsewhere.vectors.upsert({ ...at, vectors: [{ id: "c", values: [0, 1] }] })
  assert.deepEqual(await everywhere(), ["b", "c"])
  await elsewhere.vectors.deleteCollection({ tenant_id, name: "c" })
  await assert.rejects(svc.vectors.search({ ...at, vector: [1, 0] }), refusedAs("collection_not_found", 404))
})

test("an index that slept while a deletion was forgotten starts anew, and does not find what is gone", async t => {
  const p = await platform(t)
  const { svc, at } = await withCollection(p, "acme")
  const { secret } = await p.key("acme", READ_AND_WRITE)
  const other = await platform(t, { databaseUrl: p.config.databaseUrl ?? "" })
  const vectors = ["a", "b"].map(id => ({ id, values: [1, 0] }))
  await svc.vectors.upsert({ ...at, vectors })
  const search = async () => idsOf(await other.as(secret).vectors.search({ ...at, vector: [1, 0] }))
  assert.deepEqual(await search(), ["a", "b"])
  await svc.vectors.delete({ ...at, ids: ["a"] })
  await p.clock.advance(25 * 3_600_000)
  await untilForgotten(p)
  const { rows } = await p.database.pool.query("SELECT id FROM vectors.vectors")
  assert.deepEqual(rows, [{ id: "b" }])
  assert.deepEqual(await search(), ["b"])
})

test("without its engine nothing is written and 503 says so, and it works again once that is back", async t => {
  const server = await onQdrant()
  t.after(() => server[Symbol.asyncDispose]())
  const p = await platform(t, { env: server.env })
  const { svc, at } = await withCollection(p, "acme")
  const state = async () => (await svc.identity.services()).services.find(({ name }) => name === "vectors")
  await svc.vectors.upsert({ ...at, vectors: [{ id: "a", values: [1, 0] }] })
  assert.equal((await state())?.status, "available")

  server.fail(true)
  const unavailable = refusedAs("vector_store_unavailable", 503)
  const b = { ...at, vectors: [{ id: "b", values: [1, 1] }] }
  await assert.rejects(svc.vectors.upsert(b), unavailable)
  await assert.rejects(svc.vectors.batchUpsert(b), unavailable)
  await assert.rejects(svc.vectors.search({ ...at, vector: [1, 0] }), unavailable)
  await assert.rejects(svc.vectors.count({ ...at, filter: { a: 1 } }), unavailable)
  await assert.rejects(svc.vectors.delete({ ...at, filter: { a: 1 } }), unavailable)
  const degraded = await state()
  assert.deepEqual([degraded?.status, degraded?.setting], ["degraded", "SVC_QDRANT_URL"])
  // Rows need no engine.
  assert.equal((await svc.vectors.get({ ...at, ids: ["a", "b"] })).vectors.length, 1)

  server.fail(false)
  await svc.vectors.upsert(b)
  assert.deepEqual(idsOf(await svc.vectors.search({ ...at, vector: [1, 0] })), ["a", "b"])

  // It comes back empty: the rows are told again.
  server.wipe()
  assert.deepEqual(idsOf(await svc.vectors.search({ ...at, vector: [1, 0] })), ["a", "b"])
})

test("a collection that needs more memory than there is says which setting gives more", async t => {
  const p = await platform(t, { env: { SVC_VECTORS_MEMORY_MB: "16" } })
  const { svc, at } = await withCollection(p, "acme", { dimension: 4096 })
  const values = Array<number>(4096).fill(1)
  for (let from = 0; from < 1_200; from += 400) {
    const vectors = Array.from({ length: 400 }, (_, n) => ({ id: `${from + n}`, values }))
    await svc.vectors.upsert({ ...at, vectors })
  }
  await assert.rejects(svc.vectors.search({ ...at, vector: values }), (error: Error) => {
    assert.match(error.message, /SVC_VECTORS_MEMORY_MB/)
    return refusedAs("service_unavailable", 503)(error)
  })
})
