import assert from "node:assert/strict"
import { test } from "node:test"
import { SvcError } from "@svc/sdk"
import { platform } from "../../testing/platform.ts"
import { ingested, settled, uploadBytes } from "./testing/world.ts"

const HANDBOOK = `# Handbook

## Holidays

Everybody has thirty days of holiday a year. Unused days expire at the end of March.

## Parking

Bicycles are welcome in the yard. Cars need a permit from the office on the ground floor.

## Security

Report a lost badge to the front desk at once. The desk is open day and night.
`

const refusedAs = (code: string) => (error: unknown) => error instanceof SvcError && error.code === code

test("a document is uploaded, read, found with the place where it says so, and deleted", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")

  const uploaded = await uploadBytes(acme, "handbook.md", HANDBOOK, { metadata: { team: "people" } })
  assert.equal(uploaded.status, "queued")
  assert.deepEqual(
    [uploaded.name, uploaded.content_type, uploaded.size],
    ["handbook.md", "text/markdown", HANDBOOK.length],
  )
  const ready = await settled(acme, uploaded.doc_id)
  assert.deepEqual([ready.status, ready.status_reason], ["ready", null])
  assert.ok(ready.chunks >= 1 && ready.tokens > 0)
  assert.deepEqual([ready.embedding_model, ready.embedding_dimensions], ["svc-embed-hash-384", 384])

  for (const mode of ["hybrid", "bm25", "vector"] as const) {
    const { matches, method } = await acme.rag.query({ query: "Where do I report a lost badge?", mode })
    const [best] = matches
    assert.ok(best, mode)
    assert.equal(method, "embedded")
    assert.equal(best.doc_id, uploaded.doc_id)
    assert.match(best.text, /lost badge/)
    assert.deepEqual(best.metadata.document, { team: "people" })
    assert.equal(HANDBOOK.slice(best.metadata.start, best.metadata.end), best.text)
  }

  const { answer } = await acme.rag.query({
    query: "How many days of holiday are there?",
    include_answer: true,
  })
  assert.equal(answer?.technique, "extractive")
  assert.match(answer?.text ?? "", /thirty days of holiday a year\. \[1\]/)
  const [citation] = answer?.citations ?? []
  assert.equal(HANDBOOK.slice(citation?.start, citation?.end), citation?.quote)

  const status = await acme.rag.status()
  assert.deepEqual(status.documents, { queued: 0, processing: 0, ready: 1, failed: 0 })
  assert.equal(status.chunks, ready.chunks)

  assert.deepEqual(await acme.rag.deleteDocument({ doc_id: uploaded.doc_id }), {
    doc_id: uploaded.doc_id,
    deleted: true,
  })
  assert.deepEqual((await acme.rag.query({ query: "lost badge" })).matches, [])
  await assert.rejects(acme.rag.deleteDocument({ doc_id: uploaded.doc_id }), refusedAs("resource_not_found"))
})

test("documents of one project are not found, listed or deleted from another", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const other = await p.client("globex", "ai:infer")
  const { doc_id } = await ingested(acme, "secret.txt", "The vault opens with the violet key.")
  // The same bytes elsewhere are a document of their own.
  const copy = await ingested(other, "copy.txt", "The vault opens with the violet key.")
  assert.notEqual(copy.doc_id, doc_id)
  await other.rag.deleteDocument({ doc_id: copy.doc_id })

  assert.deepEqual((await other.rag.query({ query: "violet key" })).matches, [])
  assert.deepEqual((await other.rag.query({ query: "violet key", doc_ids: [doc_id] })).matches, [])
  assert.equal((await other.rag.documents()).total, 0)
  await assert.rejects(other.rag.deleteDocument({ doc_id }), refusedAs("resource_not_found"))
  assert.equal((await acme.rag.query({ query: "violet key" })).matches.length, 1)
})

test("the same bytes are one document, whose name and metadata are those of the last upload", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const first = await ingested(acme, "a.txt", "Walnut trees grow slowly.", { metadata: { edition: 1 } })
  const second = await uploadBytes(acme, "b.txt", "Walnut trees grow slowly.", { metadata: { edition: 2 } })
  assert.deepEqual([second.doc_id, second.status, second.name], [first.doc_id, "ready", "b.txt"])
  assert.deepEqual(second.metadata, { edition: 2 })
  assert.equal((await acme.rag.documents()).total, 1)
})

test("each text format is read by what it is, whatever its name says", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const html = `<!doctype html><html><head><title>Tea</title><script>evil()</script></head>
    <body><nav>Home</nav><h1>Green tea</h1><p>Steep it for <b>two minutes</b> at eighty degrees.</p></body></html>`
  const files = {
    "page.bin": {
      bytes: html,
      type: "text/html",
      query: "how long to steep green tea",
      finds: "two minutes",
    },
    "people.csv": {
      bytes: 'name,role\nAda,engineer\nGrace,"admiral, navy"\n',
      type: "text/csv",
      query: "admiral",
      finds: "name: Grace; role: admiral, navy",
    },
    "data.txt": {
      bytes: JSON.stringify([{ city: "Lima", country: "Peru" }]),
      type: "application/json",
      query: "country of Lima",
      finds: "country: Peru",
    },
    "notes.txt": { bytes: "Caf\xe9 closes at noon.", type: "text/plain", query: "closes noon", finds: "Caf" },
  }
  for (const [name, { bytes, type, query, finds }] of Object.entries(files)) {
    const document = await ingested(acme, name, bytes)
    assert.deepEqual([document.status, document.content_type], ["ready", type], name)
    const { matches } = await acme.rag.query({ query, doc_ids: [document.doc_id] })
    assert.ok(matches[0]?.text.includes(finds), `${name}: ${matches[0]?.text}`)
    assert.ok(!matches.some(({ text }) => text.includes("evil")))
  }
})

test("queries are limited to documents, to values of metadata, and to a smallest score", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const english = await ingested(acme, "en.txt", "The lighthouse warns ships of the rocks.", {
    metadata: { language: "en", year: 2020 },
  })
  const other = await ingested(acme, "en2.txt", "A lighthouse stands on the northern rocks.", {
    metadata: { language: "en", year: 2024 },
  })
  const found = async (rest: Record<string, unknown>) =>
    (await acme.rag.query({ query: "lighthouse rocks ships", ...rest })).matches.map(({ doc_id }) => doc_id)

  assert.deepEqual(await found({}), [english.doc_id, other.doc_id])
  assert.deepEqual(await found({ doc_ids: [other.doc_id] }), [other.doc_id])
  assert.deepEqual(await found({ filter: { year: 2024 } }), [other.doc_id])
  assert.deepEqual(await found({ filter: { year: 2024, language: "de" } }), [])
  assert.deepEqual(await found({ top_k: 1 }), [english.doc_id])
  assert.deepEqual(await found({ mode: "bm25", min_score: 1 }), [english.doc_id])
})

test("an upload that cannot be a document is refused with the reason", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const refused = (code: string) => refusedAs(code)
  await assert.rejects(uploadBytes(acme, "a.txt", ""), refused("invalid_parameter"))
  await assert.rejects(uploadBytes(acme, "a.zip", "PK\u0003\u0004 nothing"), refused("invalid_parameter"))
  await assert.rejects(uploadBytes(acme, "a.bin", new Uint8Array([1, 0, 2, 0])), refused("invalid_parameter"))
  const form = new FormData()
  form.set("name", "no file")
  await assert.rejects(acme.rag.upload({}, { body: form }), refused("missing_parameter"))
  await assert.rejects(acme.rag.upload({}, { body: "no form" }), refused("unsupported_media_type"))
  const meta = new FormData()
  meta.set("file", new Blob(["x"]), "x.txt")
  meta.set("metadata", "[1]")
  await assert.rejects(acme.rag.upload({}, { body: meta }), refused("invalid_parameter"))
  assert.equal((await acme.rag.documents()).total, 0)
})
