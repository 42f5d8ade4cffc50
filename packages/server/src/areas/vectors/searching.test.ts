/** What a search answers: scores, fields, filters, pages; and what it costs. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { idsOf, type Open, onEveryDriver, refusedAs, withCollection } from "./testing/drivers.ts"

const SECOND = 1_000

const red = { id: "red", values: [1, 0], metadata: { color: "red", sizes: [1, 2], made: { year: 2020 } } }
const blue = { id: "blue", values: [0.6, 0.8], metadata: { color: "blue", made: { year: 2024 } } }
const grey = { id: "grey", values: [-1, 0] }

const searches = (open: Open): void => {
  test("a match has what was asked for, and the score of the metric", async t => {
    const p = await open(t)
    const { svc, at, tenant_id } = await withCollection(p, "acme")
    await svc.vectors.upsert({ ...at, vectors: [red, blue, grey] })
    const found = await svc.vectors.search({ ...at, vector: [2, 0] })
    assert.deepEqual(
      found.matches.map(({ score, ...rest }) => ({ ...rest, score: Number(score.toFixed(5)) })),
      [
        { id: "red", metadata: red.metadata, score: 1 },
        { id: "blue", metadata: blue.metadata, score: 0.6 },
        { id: "grey", metadata: {}, score: -1 },
      ],
    )
    assert.ok(found.took_ms >= 0)
    const bare = await svc.vectors.search({ ...at, vector: [2, 0], top_k: 1, include_metadata: false })
    assert.deepEqual(Object.keys(bare.matches[0] ?? {}).sort(), ["id", "score"])
    const full = await svc.vectors.search({
      ...at,
      vector: [2, 0],
      top_k: 1,
      include_values: true,
      params: { exact: true },
    })
    assert.deepEqual([full.matches[0]?.values, full.exact], [[1, 0], true])
    const near = await svc.vectors.search({
      ...at,
      vector: [2, 0],
      score_threshold: 0.5,
      params: { ef: 200 },
    })
    assert.deepEqual(idsOf(near), ["red", "blue"])

    const straight = { tenant_id, collection: "straight" }
    await svc.vectors.createCollection({ tenant_id, name: "straight", dimension: 2, metric: "euclidean" })
    await svc.vectors.upsert({ ...straight, vectors: [red, grey] })
    const { matches } = await svc.vectors.search({ ...straight, vector: [1, 0] })
    assert.deepEqual(
      matches.map(({ id, score }) => [id, Number(score.toFixed(5))]),
      [
        ["red", 1],
        ["grey", 0.33333],
      ],
    )
  })

  test("limit and values mean top_k and vector", async t => {
    const p = await open(t)
    const { svc, at, tenant_id } = await withCollection(p, "acme")
    await svc.vectors.upsert({ ...at, vectors: [red, blue, grey] })
    const { secret } = await p.key("acme", ["vectors:read"])
    const response = await p.request(`/api/v1/tenants/${tenant_id}/vectors/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ collection: "c", values: [1, 0], limit: 2 }),
    })
    const { data } = (await response.json()) as { data: { matches: { id: string }[] } }
    assert.deepEqual(idsOf(data), ["red", "blue"])
  })

  test("filters narrow a search in either grammar, and a wrong one is told its place", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme")
    await svc.vectors.upsert({ ...at, vectors: [red, blue, grey] })
    const matching = async (filter: Record<string, unknown>) =>
      idsOf(await svc.vectors.search({ ...at, vector: [1, 0], filter }))
    assert.deepEqual(await matching({ must: [{ key: "made.year", range: { gte: 2022 } }] }), ["blue"])
    assert.deepEqual(await matching({ must_not: [{ key: "color", match: { any: ["red"] } }] }), [
      "blue",
      "grey",
    ])
    assert.deepEqual(await matching({ should: [{ is_empty: { key: "color" } }, { has_id: ["red"] }] }), [
      "red",
      "grey",
    ])
    assert.deepEqual(await matching({ sizes: 2 }), ["red"])
    assert.deepEqual(await matching({ color: ["red", "blue"], "made.year": 2024 }), ["blue"])
    assert.deepEqual(await matching({}), ["red", "blue", "grey"])
    await assert.rejects(matching({ must: [{ key: "a", range: { gte: "soon" } }] }), (error: Error) => {
      const { errors } = error as unknown as { errors: { location: string }[] }
      assert.equal(errors[0]?.location, "body.filter.must[0].range.gte")
      return refusedAs("validation_failed")(error)
    })
  })

  test("a question that cannot be one is refused", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme")
    await assert.rejects(svc.vectors.search({ ...at, vector: [1] }), refusedAs("dimension_mismatch"))
    await assert.rejects(svc.vectors.search({ ...at, vector: [0, 0] }), refusedAs("invalid_parameter"))
    await assert.rejects(
      svc.vectors.search({ ...at, vector: [1, 0], top_k: 1001 }),
      refusedAs("validation_failed"),
    )
    const nowhere = { ...at, collection: "nowhere" }
    await assert.rejects(
      svc.vectors.search({ ...nowhere, vector: [1, 0] }),
      refusedAs("collection_not_found", 404),
    )
    await assert.rejects(svc.vectors.count(nowhere), refusedAs("collection_not_found", 404))
    await assert.rejects(svc.vectors.get({ ...nowhere, ids: ["a"] }), refusedAs("collection_not_found", 404))
    await assert.rejects(
      svc.vectors.delete({ ...nowhere, ids: ["a"] }),
      refusedAs("collection_not_found", 404),
    )
  })

  test("vectors are read by id in the order asked for, and listed page by page", async t => {
    const p = await open(t)
    const { svc, at, tenant_id } = await withCollection(p, "acme")
    await svc.vectors.upsert({ ...at, vectors: [red, blue, grey] })
    const { vectors } = await svc.vectors.get({ ...at, ids: ["grey", "nobody", "red", "grey"] })
    assert.deepEqual(vectors, [{ ...grey, metadata: {} }, red])
    const ids = Array.from({ length: 25 }, (_, n) => `id-${n}`)
    await svc.vectors.upsert({ ...at, vectors: ids.map(id => ({ id, values: [1, 1] })) })
    const listed: string[] = []
    let cursor: string | null = null
    do {
      const page: { data: { id: string }[]; cursor: string | null } = await svc.vectors.list({
        ...{ tenant_id, name: "c", limit: 10 },
        ...(cursor !== null && { cursor }),
      })
      listed.push(...page.data.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== null)
    assert.deepEqual(listed, [...ids, "red", "blue", "grey"].sort())
    const forged = svc.vectors.list({ tenant_id, name: "c", cursor: "not a cursor" })
    await assert.rejects(forged, refusedAs("invalid_parameter"))
  })

  test("every vector written and every search is counted", async t => {
    const p = await open(t)
    const { svc, at } = await withCollection(p, "acme")
    await svc.vectors.upsert({ ...at, vectors: [red, blue, grey] })
    await svc.vectors.batchUpsert({ ...at, vectors: [red] })
    await svc.vectors.search({ ...at, vector: [1, 0] })
    await assert.rejects(svc.vectors.search({ ...at, vector: [1] }), refusedAs("dimension_mismatch"))
    await p.clock.advance(SECOND)
    const { organizationId } = await p.tenant("acme")
    const counts = await p.database.db
      .selectFrom("core.usage")
      .select(["quantity"])
      .where("organization_id", "=", organizationId)
      .where("metric", "=", "vector_ops")
      .execute()
    assert.deepEqual(counts, [{ quantity: 5 }])
  })
}

onEveryDriver(searches)
