import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import {
  idsOf,
  type Open,
  onEveryDriver,
  READ_AND_WRITE,
  refusedAs,
  withCollection,
} from "./testing/drivers.ts"

const collections = (open: Open): void => {
  test("a collection keeps its dimension, metric and index, and counts its vectors", async t => {
    const p = await open(t)
    const svc = await p.client("acme", ...READ_AND_WRITE)
    const { organizationId: tenant_id } = await p.tenant("acme")
    const made = await svc.vectors.createCollection({
      ...{ tenant_id, name: "articles", dimension: 3, metric: "dot" },
      index: { type: "hnsw", m: 8 },
    })
    assert.deepEqual(made.index, { type: "hnsw", m: 8, ef_construction: 128 })
    assert.equal(made.count, 0)
    const vectors = ["a", "b"].map(id => ({ id, values: [1, 2, 3] }))
    await svc.vectors.upsert({ tenant_id, collection: "articles", vectors })
    await svc.vectors.upsert({ tenant_id, collection: "articles", vectors })
    await svc.vectors.delete({ tenant_id, collection: "articles", ids: ["a", "nobody"] })
    const found = await svc.vectors.getCollection({ tenant_id, name: "articles" })
    assert.deepEqual(
      { ...found, index_state: "", updated_at: "" },
      { ...made, count: 1, index_state: "", updated_at: "" },
    )
    await svc.vectors.createCollection({ tenant_id, name: "other", dimension: 1 })
    const list = await svc.vectors.listCollections({ tenant_id })
    assert.deepEqual([list.total, list.data.map(({ name }) => name).sort()], [2, ["articles", "other"]])
  })

  test("a name is taken once, and free again after the collection is deleted, without its vectors", async t => {
    const p = await open(t)
    const { svc, tenant_id, at } = await withCollection(p, "acme")
    const again = () => svc.vectors.createCollection({ tenant_id, name: "c", dimension: 2 })
    await assert.rejects(again(), refusedAs("name_taken", 409))
    await svc.vectors.upsert({ ...at, vectors: [{ id: "a", values: [1, 0] }] })
    assert.deepEqual(idsOf(await svc.vectors.search({ ...at, vector: [1, 0] })), ["a"])

    await svc.vectors.deleteCollection({ tenant_id, name: "c" })
    await assert.rejects(
      svc.vectors.search({ ...at, vector: [1, 0] }),
      refusedAs("collection_not_found", 404),
    )
    await again()
    assert.deepEqual(idsOf(await svc.vectors.search({ ...at, vector: [1, 0] })), [])
    assert.deepEqual((await svc.vectors.get({ ...at, ids: ["a"] })).vectors, [])

    await eventually("nothing is left of the rows", async () => {
      await p.clock.advance(60_000)
      return (await p.database.pool.query("SELECT FROM vectors.vectors")).rowCount === 0
    })
  })

  test("another tenant's path is refused, and another owner's collection is as if it never was", async t => {
    const p = await open(t)
    const { tenant_id, at, svc } = await withCollection(p, "acme")
    await svc.vectors.upsert({ ...at, vectors: [{ id: "secret", values: [1, 0] }] })
    const other = await withCollection(p, "umbrella")
    await other.svc.vectors.upsert({ ...other.at, vectors: [{ id: "own", values: [1, 0] }] })
    assert.deepEqual(idsOf(await other.svc.vectors.search({ ...other.at, vector: [1, 0] })), ["own"])

    const wholeOrganization = p.as((await p.key("acme", READ_AND_WRITE, { project_id: null })).secret)
    const attempts = (svc: typeof other.svc, tenant_id: string) => {
      const at = { tenant_id, collection: "c" }
      return [
        () => svc.vectors.search({ ...at, vector: [1, 0] }),
        () => svc.vectors.get({ ...at, ids: ["secret"] }),
        () => svc.vectors.delete({ ...at, ids: ["secret"] }),
        () => svc.vectors.delete({ ...at, filter: { must_not: [{ has_id: ["x"] }] } }),
        () => svc.vectors.upsert({ ...at, vectors: [{ id: "secret", values: [0, 1] }] }),
        () => svc.vectors.batchUpsert({ ...at, vectors: [{ id: "secret", values: [0, 1] }] }),
        () => svc.vectors.count(at),
        () => svc.vectors.list({ tenant_id, name: "c" }),
        () => svc.vectors.getCollection({ tenant_id, name: "c" }),
        () => svc.vectors.deleteCollection({ tenant_id, name: "c" }),
      ]
    }
    for (const attempt of attempts(other.svc, tenant_id))
      await assert.rejects(attempt, refusedAs("tenant_mismatch", 403))
    for (const attempt of attempts(wholeOrganization, tenant_id))
      await assert.rejects(attempt, refusedAs("collection_not_found", 404))
    assert.deepEqual(idsOf(await svc.vectors.search({ ...at, vector: [1, 0] })), ["secret"])
  })
}

const writes = (open: Open): void => {
  test("a search sees every write that was answered before it", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme")
    const search = async () => idsOf(await svc.vectors.search({ ...at, vector: [1, 0], top_k: 3 }))
    assert.deepEqual(await search(), [])
    assert.deepEqual(
      await svc.vectors.batchUpsert({
        ...at,
        vectors: [
          { id: "a", values: [1, 1] },
          { id: 7, values: [0, 1] },
        ],
      }),
      { count: 2 },
    )
    assert.deepEqual(await search(), ["a", "7"])
    await svc.vectors.upsert({ ...at, vectors: [{ id: "7", values: [1, 0] }] })
    assert.deepEqual(await search(), ["7", "a"])
    assert.deepEqual(await svc.vectors.delete({ ...at, ids: [7] }), { deleted_count: 1 })
    assert.deepEqual(await search(), ["a"])
    for (let n = 0; n < 20; n++) {
      await svc.vectors.upsert({ ...at, vectors: [{ id: `v${n}`, values: [1, 1 / (n + 2)] }] })
      assert.equal((await search())[0], `v${n}`)
    }
  })

  test("a batch is written whole or not at all, and says which vector is wrong", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme", { dimension: 3 })
    const good = { id: "good", values: [1, 2, 3] }
    for (const values of [[1, 2], [1, 2, 3, 4], Array(5000).fill(1)]) {
      const batch = svc.vectors.batchUpsert({ ...at, vectors: [good, { id: "bad", values }] })
      await assert.rejects(batch, (error: Error) => {
        assert.equal(
          error.message,
          `a vector has the wrong dimension: vector 1 has ${values.length} values, the collection has 3`,
        )
        return refusedAs("dimension_mismatch")(error)
      })
    }
    const thousand = Array.from({ length: 1001 }, (_, n) => ({ id: `${n}`, values: [1, 2, 3] }))
    await assert.rejects(svc.vectors.batchUpsert({ ...at, vectors: thousand }), refusedAs("batch_too_large"))
    const wrong: [object, string][] = [
      [{ id: "x", values: [0, 0, 0] }, "invalid_parameter"],
      [{ id: "x", values: [1, 2, 1e16] }, "validation_failed"],
      [{ id: "x", values: [1, 2, null] }, "validation_failed"],
      [{ id: "x", values: [1, 2, "3"] }, "validation_failed"],
      [{ id: "é".repeat(65), values: [1, 2, 3] }, "invalid_parameter"],
      [{ id: "\ud800", values: [1, 2, 3] }, "validation_failed"],
      [{ id: "", values: [1, 2, 3] }, "validation_failed"],
      [{ id: "x", values: [1, 2, 3], metadata: { text: "x".repeat(41_000) } }, "invalid_parameter"],
      [{ id: "x", values: [1, 2, 3], metadata: { "a\udc00": 1 } }, "validation_failed"],
      [{ id: "x", values: [1, 2, 3], metadata: [1] }, "validation_failed"],
    ]
    for (const [vector, code] of wrong)
      await assert.rejects(svc.vectors.upsert({ ...at, vectors: [good, vector as never] }), refusedAs(code))
    assert.deepEqual(await svc.vectors.count(at), { count: 0 })
    assert.deepEqual(await svc.vectors.batchUpsert({ ...at, vectors: thousand.slice(1) }), { count: 1000 })
    assert.deepEqual(await svc.vectors.count(at), { count: 1000 })
  })

  test("of the same id in one batch the later stays, and writers of one id at once leave one of theirs", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme")
    const twice = [
      { id: "a", values: [1, 0], metadata: { n: 1 } },
      { id: "a", values: [0, 1], metadata: { n: 2 } },
    ]
    assert.deepEqual(await svc.vectors.upsert({ ...at, vectors: twice }), { upserted_count: 1 })
    assert.deepEqual((await svc.vectors.get({ ...at, ids: ["a"] })).vectors, [
      { id: "a", values: [0, 1], metadata: { n: 2 } },
    ])
    const ids = ["a", "b", "c", "d", "e"]
    const write = (writer: number) =>
      svc.vectors.upsert({
        ...at,
        // Each in another order, which would be a deadlock if they did not take turns.
        vectors: ids
          .map((_, n) => ids[(n * (writer % 4) + writer) % 5] ?? "")
          .map(id => ({ id, values: [writer + 1, 1], metadata: { writer } })),
      })
    await Promise.all(Array.from({ length: 20 }, (_, writer) => write(writer)))
    const stored = (await svc.vectors.get({ ...at, ids })).vectors
    const { matches } = await svc.vectors.search({ ...at, vector: [1, 0], include_values: true })
    for (const { id, values, metadata } of stored) {
      assert.equal(values?.[0], Number(metadata?.writer) + 1)
      assert.deepEqual(matches.find(match => match.id === id)?.values, values)
    }
    assert.equal((await svc.vectors.count(at)).count, stored.length)
    assert.equal(matches.length, stored.length)
  })

  test("vectors are deleted by filter, all that fit and no others", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme")
    const vectors = Array.from({ length: 900 }, (_, n) => ({
      id: `${n}`,
      values: [1, n],
      metadata: { third: n % 3 },
    }))
    await svc.vectors.upsert({ ...at, vectors })
    assert.deepEqual(await svc.vectors.delete({ ...at, filter: { third: 1 } }), { deleted_count: 300 })
    assert.deepEqual(await svc.vectors.delete({ ...at, filter: { third: 1 } }), { deleted_count: 0 })
    assert.deepEqual(await svc.vectors.count(at), { count: 600 })
    assert.deepEqual(await svc.vectors.count({ ...at, filter: { third: [0, 1] } }), { count: 300 })
    await assert.rejects(svc.vectors.delete({ ...at, filter: {} }), refusedAs("missing_parameter"))
    await assert.rejects(svc.vectors.delete(at), refusedAs("missing_parameter"))
    const both = svc.vectors.delete({ ...at, ids: ["1"], filter: { third: 0 } })
    await assert.rejects(both, refusedAs("invalid_parameter"))
  })

  test("searches go on while vectors are written and deleted, and never show half of a write", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme")
    const batch = (round: number) =>
      Array.from({ length: 40 }, (_, n) => ({ id: `${n}`, values: [n + 1, round + 1], metadata: { round } }))
    await svc.vectors.upsert({ ...at, vectors: batch(0) })
    let writing = true
    const write = async () => {
      for (let round = 1; round <= 15; round++) {
        await svc.vectors.upsert({ ...at, vectors: batch(round) })
        await svc.vectors.delete({ ...at, filter: { must: [{ has_id: [`${round}`] }] } })
      }
      writing = false
    }
    const search = async () => {
      while (writing) {
        const { matches } = await svc.vectors.search({
          ...at,
          vector: [1, 1],
          top_k: 39,
          include_values: true,
        })
        assert.equal(matches.length, 39)
        for (const { values, metadata } of matches) assert.equal(values?.[1], Number(metadata?.round) + 1)
      }
    }
    await Promise.all([write(), search(), search()])
  })
}

onEveryDriver(open => {
  collections(open)
  writes(open)
})
