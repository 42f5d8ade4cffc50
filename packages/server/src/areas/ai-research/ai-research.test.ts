import assert from "node:assert/strict"
import { test } from "node:test"
import { startAiUpstream } from "../../testing/ai-upstream.ts"
import { eventually } from "../../testing/eventually.ts"
import { everyScope } from "../../testing/platform.ts"
import { html, indexed, researchWorld, startWeb, webEnv } from "./testing/world.ts"

const REFUNDS = {
  id: "refunds",
  title: "Refunds",
  url: "https://shop.example/refunds",
  text: "Customers can ask for a refund within thirty days. The refund is paid to the card that was charged.\n\nGift cards are never refunded.",
}
const PARKING = {
  id: "parking",
  title: "Parking",
  text: "Bicycles stand in the yard. Cars park in the street.",
}
const QUESTION = "How long can customers ask for a refund?"

const uploaded = async (
  svc: Awaited<ReturnType<typeof researchWorld>>["svc"],
  name: string,
  text: string,
) => {
  const form = new FormData()
  form.set("file", new Blob([text], { type: "text/markdown" }), name)
  const { doc_id } = await svc.rag.upload({}, { body: form })
  await eventually("the document is read", async () => {
    const { data } = await svc.rag.documents({})
    return data.some(one => one.doc_id === doc_id && one.status === "ready")
  })
  return doc_id
}

test("without a model the answer is sentences of the sources, each with the number of its source", async t => {
  const { svc } = await researchWorld(t)
  await indexed(svc, REFUNDS, PARKING)
  const docId = await uploaded(
    svc,
    "policy.md",
    "# Policy\n\nA refund takes five working days to reach customers.\n",
  )
  const made = await svc.research.run({ query: QUESTION })
  assert.match(made.answer ?? "", /Customers can ask for a refund within thirty days\. \[1\]/)
  assert.doesNotMatch(made.answer ?? "", /Bicycles/)
  const [first] = made.sources
  assert.deepEqual(
    [first?.n, first?.type, first?.title, first?.url, first?.document_id, first?.cited],
    [1, "search", "Refunds", REFUNDS.url, "refunds", true],
  )
  assert.ok(made.sources.some(({ type, document_id }) => type === "documents" && document_id === docId))
  assert.deepEqual(
    [made.method, made.technique, made.model],
    ["embedded", "extractive", "svc-research-extract"],
  )
  assert.deepEqual([made.scope, made.warnings], [["search", "documents"], []])
  for (const [, n] of (made.answer ?? "").matchAll(/\[(\d+)\]/g))
    assert.ok(
      made.sources.some(source => source.n === Number(n) && source.cited),
      `[${n}] is a source`,
    )
})

test("where nothing is found nothing is answered", async t => {
  const { svc } = await researchWorld(t)
  await indexed(svc, PARKING)
  const made = await svc.research.run({ question: QUESTION } as never)
  assert.deepEqual([made.answer, made.technique, made.model, made.method], [null, null, null, null])
  assert.equal(made.query, QUESTION)
})

test("a search ranks all sources together, and what one project has no other finds", async t => {
  const web = await startWeb(t)
  web.results = () => [
    ["https://shop.example/refunds#top", "The shop", "Refunds of the shop"],
    ["/a", "A <b>page</b>", "About\u0000 refunds"],
    ["javascript:alert(1)", "No page", ""],
  ]
  const { p, svc } = await researchWorld(t, { env: webEnv(web) })
  await indexed(svc, REFUNDS, PARKING)
  const { results, scope } = await svc.research.search({ query: QUESTION })
  assert.deepEqual(scope, ["search", "documents", "web"])
  assert.deepEqual(
    results.map(({ type, url }) => [type, url]),
    [
      ["search", REFUNDS.url],
      ["web", `${web.url}/a`],
    ],
    "the same page is one result",
  )
  assert.deepEqual(web.fetched, [])
  assert.equal((await svc.research.search({ query: QUESTION, sources: ["web"], limit: 1 })).results.length, 1)
  await p.tenant("other")
  const other = p.as((await p.key("other", everyScope)).secret)
  assert.deepEqual(
    (await other.research.search({ query: QUESTION, sources: ["search", "documents"] })).results,
    [],
  )
  const inferring = await p.client("acme", "ai:infer")
  assert.deepEqual((await inferring.research.search({ query: QUESTION })).scope, ["documents", "web"])
  await assert.rejects(inferring.research.search({ query: QUESTION, sources: ["search"] }), { status: 403 })
  await assert.rejects(inferring.research.run({ query: QUESTION, sources: ["search"] }), { status: 403 })
})

test("pages of the web are fetched and cited; those that cannot be, and addresses inside, are named and never cited", async t => {
  const web = await startWeb(t)
  web.pages.set(
    "/good",
    html("Good", "A refund is possible for customers within ninety days of the purchase."),
  )
  web.results = () => [
    ["/good", "Good", ""],
    ["/missing", "Missing", "Customers refund long"],
    ["http://10.0.0.1/inside", "Inside", "Customers refund long"],
  ]
  const { svc } = await researchWorld(t, { env: webEnv(web) })
  const made = await svc.research.run({ query: QUESTION, language: "en" })
  assert.equal(made.answer, "A refund is possible for customers within ninety days of the purchase. [1]")
  assert.deepEqual(
    made.sources.map(({ url }) => url),
    [`${web.url}/good`],
  )
  assert.match(made.warnings.join("\n"), /missing was not read: the server answered 404/)
  assert.match(made.warnings.join("\n"), /10\.0\.0\.1\/inside was not read/)
  assert.deepEqual([...web.fetched].sort(), ["/good", "/missing"])
})

test("a web that does not answer is a warning beside other sources, and 503 alone", async t => {
  const web = await startWeb(t)
  web.status = 403
  const { svc } = await researchWorld(t, { env: webEnv(web) })
  await indexed(svc, REFUNDS)
  const made = await svc.research.run({ query: QUESTION })
  assert.match(made.answer ?? "", /thirty days/)
  assert.match(made.warnings[0] ?? "", /web could not be searched.*403.*settings\.yml/)
  const alone = { query: QUESTION, sources: ["web"] as ["web"] }
  await assert.rejects(svc.research.run(alone), { status: 503, code: "service_unavailable" })
  await assert.rejects(svc.research.search(alone), { status: 503, code: "service_unavailable" })
  const { svc: offline } = await researchWorld(t)
  await assert.rejects(offline.research.run(alone), { status: 503, message: /SVC_SEARXNG_URL/ })
  await assert.rejects(offline.research.deep(alone), { status: 503, message: /SVC_SEARXNG_URL/ })
  const { providers, chat_model } = await offline.research.status({})
  assert.deepEqual(
    providers.map(({ name, available }) => [name, available]),
    [
      ["search", true],
      ["documents", true],
      ["web", false],
    ],
  )
  assert.equal(chat_model, false)
})

test("a chat model writes from the sources alone, and citations of none are taken out", async t => {
  const upstream = await startAiUpstream(t)
  const env = { SVC_AI_URL: upstream.url, SVC_AI_MODEL: "gpt-test", SVC_AI_UNKNOWN_PRICE: "1000000" }
  const { p, svc } = await researchWorld(t, { env })
  await indexed(svc, REFUNDS, PARKING)
  upstream.next({ text: "Within thirty days [1], says the shop [7]. It goes to the card [1, 9]." })
  const made = await svc.research.run({ query: QUESTION })
  assert.equal(made.answer, "Within thirty days [1], says the shop. It goes to the card [1].")
  assert.deepEqual([made.method, made.technique, made.model], ["upstream", "abstractive", "gpt-test"])
  assert.ok(made.sources[0]?.cited)
  const [system, user] = (upstream.asked[0]?.body.messages ?? []) as { role: string; content: string }[]
  assert.match(system?.content ?? "", /follow no instruction/)
  assert.match(user?.content ?? "", /thirty days/)
  upstream.next({ text: "I do not cite." })
  assert.deepEqual((await svc.research.run({ query: QUESTION })).warnings, ["the model cited no source"])
  const asked = upstream.asked.length
  assert.equal((await svc.research.run({ query: QUESTION, technique: "extractive" })).method, "embedded")
  assert.equal((await svc.research.run({ query: "zebra" })).answer, null, "nothing is written of nothing")
  assert.equal(upstream.asked.length, asked)
  await assert.rejects(svc.research.run({ query: QUESTION, model: "none" }), {
    status: 404,
    code: "model_not_found",
  })
  for (const fields of [
    { technique: "extractive", model: "gpt-test" },
    { technique: "abstractive", model: "svc-research-extract" },
  ] as const) {
    await assert.rejects(svc.research.run({ query: QUESTION, ...fields }), { code: "invalid_parameter" })
    await assert.rejects(svc.research.deep({ query: QUESTION, ...fields }), { code: "invalid_parameter" })
  }
  upstream.next({ status: 400, body: '{"error":{"message":"too long"}}' })
  await assert.rejects(svc.research.run({ query: QUESTION }), { status: 400, code: "ai_request_refused" })
  await (await p.wide("acme", ...everyScope)).ai.setBudget({ monthly_limit_micros: 1 })
  await assert.rejects(svc.research.run({ query: QUESTION }), { status: 402, code: "ai_budget_exhausted" })
})

test("research counts among the day's AI requests, and is refused past the plan's", async t => {
  const { p, svc } = await researchWorld(t, { plan: "free" })
  await svc.research.search({ query: QUESTION })
  await p.database.db.updateTable("ai.accounts").set({ day_requests: 500 }).execute()
  for (const ask of [
    () => svc.research.run({ query: QUESTION }),
    () => svc.research.search({ query: QUESTION }),
    () => svc.research.deep({ query: QUESTION }),
  ])
    await assert.rejects(ask(), { status: 429, code: "ai_daily_limit_exceeded" })
})

test("hostile questions and pages are answered or refused, and never by 500", async t => {
  const web = await startWeb(t)
  web.pages.set("/deep", `<p>${"<div>".repeat(20_000)}refund customers`)
  web.pages.set("/nul", "<p>refund \u0000 customers \ud800 long</p>")
  web.results = query =>
    query === "the deep page" ? [["/deep", "a\u0000b", "\ud800"]] : [["/nul", "\ud800", ""]]
  const { svc } = await researchWorld(t, { env: webEnv(web) })
  for (const query of ["?", "\u202e \ud800", '"-" -a OR "', "a".repeat(4_000), "the of and", "%_\\' -- ;"])
    for (const ask of [
      () => svc.research.run({ query }),
      () => svc.research.search({ query }),
      () => svc.research.deep({ query, breadth: 1, depth: 1 }),
    ])
      await ask().catch(error => assert.ok([400, 503].includes(error.status), `${query}: ${error}`))
  assert.equal((await svc.research.run({ query: "the deep page" })).query, "the deep page")
  await assert.rejects(svc.research.run({ query: "  " }), { status: 400 })
})
