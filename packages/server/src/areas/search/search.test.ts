import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { platform } from "../../testing/platform.ts"
import { foundIds, inline, READ_AND_WRITE, refusedAs } from "./testing/world.ts"

const NOBODY = "00000000-0000-7000-8000-000000000000"

test("documents are found as soon as they are written, with typing errors, beginnings, phrases and stems", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const id = await inline(acme)
  const outcome = await acme.search.putDocuments({
    id,
    documents: [
      {
        id: "1",
        title: "Getting started",
        text: "Install the server and run it",
        url: "https://example.com/start",
      },
      { id: "2", title: "Backups", text: "Running servers are backed up nightly" },
      { id: "3", title: "Sicherung", text: "Die Server werden gesichert", language: "german" },
    ],
  })
  assert.deepEqual(outcome, { written: 3, unchanged: 0, errors: [] })
  assert.deepEqual(await foundIds(acme, "run "), ["1", "2"])
  assert.deepEqual(await foundIds(acme, "gett"), ["1"])
  assert.deepEqual(await foundIds(acme, '"install the server"'), ["1"])
  assert.deepEqual(await foundIds(acme, "nigthly "), ["2"])
  assert.deepEqual(await foundIds(acme, "server -install"), ["2", "3"])
  const found = await acme.search.query({ q: "install" })
  assert.deepEqual(
    found.hits.map(({ title, snippet, url, source_id }) => ({ title, snippet, url, source_id })),
    [
      {
        title: "Getting started",
        snippet: "<mark>Install</mark> the server and run it",
        url: "https://example.com/start",
        source_id: id,
      },
    ],
  )
  assert.deepEqual((await acme.search.suggest({ prefix: "ser" })).suggestions, ["server", "servers"])
  assert.equal((await acme.search.query({})).total, 3)
})

test("searching shows nothing of another tenant, and another's source is none", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const globex = await p.client("globex", ...READ_AND_WRITE)
  const id = await inline(acme)
  await inline(globex)
  await acme.search.putDocuments({ id, documents: [{ id: "1", text: "confidential roadmap" }] })
  for (const q of ["confidential", "confidental ", "roadm", "", "-x"]) {
    const { hits, total } = await globex.search.query({ q, facets: "a" })
    assert.deepEqual([hits, total], [[], 0], q)
  }
  assert.deepEqual((await globex.search.suggest({ prefix: "conf" })).suggestions, [])
  for (const source of [id, NOBODY, "no id"]) {
    assert.equal((await globex.search.query({ q: "confidential", source })).total, 0)
  }
  const documents = [{ id: "1", text: "mine now" }]
  for (const foreign of [id, NOBODY]) {
    for (const act of [
      () => globex.search.getSource({ id: foreign }),
      () => globex.search.deleteSource({ id: foreign }),
      () => globex.search.runSource({ id: foreign }),
      () => globex.search.listRuns({ id: foreign }),
      () => globex.search.getRun({ id: foreign }),
      () => globex.search.putDocuments({ id: foreign, documents }),
      () => globex.search.deleteDocuments({ id: foreign, ids: ["1"] }),
      () => globex.search.upsertSource({ id: foreign, name: "taken over", type: "inline" }),
    ]) {
      await assert.rejects(act, refusedAs("resource_not_found"))
    }
  }
  const { secret } = await p.key("acme", READ_AND_WRITE, { project_id: null })
  await assert.rejects(p.as(secret).search.query({ q: "confidential" }), refusedAs("project_required"))
  assert.deepEqual(await foundIds(acme, "confidential"), ["1"])
})

test("unchanged documents are not written again, and changed, deleted and wrong ones are told", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const id = await inline(acme)
  const one = { id: "1", text: "first words" }
  await acme.search.putDocuments({ id, documents: [one, { id: "2", text: "second words" }] })
  const again = await acme.search.putDocuments({
    id,
    documents: [
      one,
      { id: "2", text: "other words" },
      { id: "evil", text: "x", url: "javascript:alert(1)" },
      { id: "big", text: "x", metadata: { a: "y".repeat(17_000) } },
      { id: "long", text: "z".repeat(1_100_000) },
    ],
  })
  assert.deepEqual([again.written, again.unchanged], [1, 1])
  assert.deepEqual(
    again.errors.map(({ document_id }) => document_id),
    ["evil", "big", "long"],
  )
  assert.equal((await acme.search.getSource({ id })).document_count, 2)
  assert.deepEqual(await foundIds(acme, "second "), [])
  assert.deepEqual(await acme.search.deleteDocuments({ id, ids: ["2", "2", "absent"] }), { deleted: 1 })
  assert.deepEqual(await foundIds(acme, "words"), ["1"])
  const stats = await acme.search.stats()
  assert.deepEqual([stats.documents, stats.sources, stats.pending], [1, 1, 0])
  assert.ok(Number(stats.index_bytes) > 0 && stats.last_ingest_at !== null && stats.tts_p95_ms !== null)
})

test("no markup of a document, its title or the query becomes a part of a page", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const id = await inline(acme)
  const attack = `<script>alert("needle")</script><img src=x onerror=alert(1)>&lt;b&gt;needle`
  await acme.search.putDocuments({ id, documents: [{ id: "1", title: attack, text: attack }] })
  for (const q of ["needle", "<script>", "script", "img", "lt", ""]) {
    const [hit] = (await acme.search.query({ q })).hits
    const rest = (hit?.snippet ?? "").replaceAll(/<\/?mark>/g, "")
    assert.doesNotMatch(rest, /[<>"']/, q)
  }
})

test("filters and facets look into metadata, and wrong ones are refused", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const id = await inline(acme)
  await acme.search.putDocuments({
    id,
    documents: [
      { id: "1", text: "chair", metadata: { color: "red", year: 2020 } },
      { id: "2", text: "chair", metadata: { color: "blue", year: 2024 } },
      { id: "3", text: "chair", metadata: { color: "red", year: 2024 } },
    ],
  })
  const filter = (value: unknown) => ({ filter: JSON.stringify(value) })
  assert.deepEqual(await foundIds(acme, "chair", filter({ color: "red" })), ["1", "3"])
  assert.deepEqual(await foundIds(acme, "chair", filter({ color: ["red", "blue"], year: { gt: 2020 } })), [
    "2",
    "3",
  ])
  const { facets } = await acme.search.query({ q: "chair", facets: "color, year" })
  assert.deepEqual(facets.color, [
    { value: "red", count: 2 },
    { value: "blue", count: 1 },
  ])
  for (const wrong of [
    "{",
    "[]",
    '"x"',
    '{"a":{}}',
    '{"a":{"like":1}}',
    '{"a":[]}',
    '{"a..b":1}',
    '{"a":[{}]}',
  ]) {
    await assert.rejects(
      acme.search.query({ q: "chair", filter: wrong }),
      refusedAs("invalid_parameter"),
      wrong,
    )
  }
  await assert.rejects(acme.search.query({ facets: "a,b,c,d,e,f,g,h,i" }), refusedAs("invalid_parameter"))
})

test("any text is a query", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const id = await inline(acme)
  await acme.search.putDocuments({ id, documents: [{ id: "1", text: "something ordinary" }] })
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 80 }),
    fc.string({ unit: fc.constantFrom(..."'\"\\()&|!:*<->%$ something".split("")), maxLength: 60 }),
  )
  const property = fc.asyncProperty(
    text.map(one => one.replaceAll("\0", "")),
    async q => {
      const { query, total } = await acme.search.query({ q })
      assert.ok(query === q && total <= 1)
    },
  )
  await fc.assert(property, { numRuns: 80 })
})

test("a source is made once a name, changed by id or name, and never of another type", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const { upsertSource } = acme.search
  const made = await upsertSource({ name: "docs", type: "inline", fields: [{ path: "text", weight: 2 }] })
  assert.deepEqual(
    [made.status, made.fields, made.language, made.schedule],
    ["idle", [{ path: "text", weight: 2 }], "english", null],
  )
  const changed = await upsertSource({ name: "docs", type: "inline", language: "german" })
  assert.deepEqual([changed.id, changed.language, changed.fields], [made.id, "german", made.fields])
  const renamed = await upsertSource({ id: made.id, name: "papers", type: "inline", enabled: false })
  assert.deepEqual([renamed.id, renamed.name, renamed.enabled], [made.id, "papers", false])
  await upsertSource({ name: "docs", type: "inline" })
  await assert.rejects(upsertSource({ id: made.id, name: "docs", type: "inline" }), refusedAs("name_taken"))
  const urls = ["https://example.com/"]
  await assert.rejects(
    upsertSource({ name: "docs", type: "url", config: { urls } }),
    refusedAs("invalid_parameter"),
  )
  for (const [type, config] of [
    ["url", {}],
    ["url", { urls: ["http://127.0.0.1/"] }],
    ["url", { urls: ["file:///etc/passwd"] }],
    ["database", { table: "t" }],
    ["storage", { bucket: "b", more: 1 }],
    ["inline", { a: 1 }],
  ] as const) {
    await assert.rejects(upsertSource({ name: "wrong", type, config }), refusedAs("invalid_parameter"))
  }
  assert.deepEqual(
    (await acme.search.listSources()).data.map(({ name }) => name),
    ["docs", "papers"],
  )
  await assert.rejects(acme.search.runSource({ id: made.id }), refusedAs("invalid_parameter"))
})

test("a deleted source is not found any more from that moment on, and its name is free", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const id = await inline(acme)
  const documents = Array.from({ length: 600 }, (_, n) => ({ id: `${n}`, text: "maple leaf" }))
  await acme.search.putDocuments({ id, documents })
  const other = await inline(acme, "other")
  await acme.search.putDocuments({ id: other, documents: [{ id: "1", text: "maple syrup" }] })
  assert.equal((await acme.search.query({ q: "maple" })).total, 601)
  await acme.search.deleteSource({ id })
  assert.equal((await acme.search.query({ q: "maple" })).total, 1)
  await assert.rejects(acme.search.getSource({ id }), refusedAs("resource_not_found"))
  const renewed = await inline(acme)
  assert.notEqual(renewed, id)
  assert.equal((await acme.search.stats()).documents, 1)
})

test("a search is metered, and the area says what it can do", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  await acme.search.query({ q: "nothing" })
  await p.clock.advance(1_000)
  const counted = await p.database.db
    .selectFrom("core.usage")
    .select("quantity")
    .where("metric", "=", "searches")
    .execute()
  assert.deepEqual(counted, [{ quantity: 1 }])
  const state = (await acme.identity.services()).services.find(({ name }) => name === "search")
  assert.equal(state?.status, "available")
  assert.equal(state?.capabilities?.typo, true)
})
