import assert from "node:assert/strict"
import { test } from "node:test"
import { areas } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { CHAT_MODEL, embeddedWorld, upstreamWorld } from "./testing/world.ts"

const ARTICLE =
  "The city council approved a new tram line on Monday. The tram line will connect the harbour with the university. " +
  "Critics say that the tram is too expensive. The mayor likes pancakes. Construction of the tram line starts in spring. " +
  "The council expects that the tram line carries 20,000 passengers a day."

const GERMAN = "Der Kundendienst war wirklich schrecklich, und ich werde dort nie wieder etwas bestellen."

/** A request of each row that a chat model answers. */
const written: Readonly<Record<string, (svc: Svc, fields?: { model?: string }) => Promise<unknown>>> = {
  autocomplete: (svc, fields) => svc.aiText.autocomplete({ text: GERMAN, ...fields }),
  grammar: (svc, fields) => svc.aiText.grammar({ text: GERMAN, ...fields }),
  translate: (svc, fields) => svc.aiText.translate({ text: GERMAN, target: "en", ...fields }),
  sentiment: (svc, fields) => svc.aiText.sentiment({ text: GERMAN, ...fields }),
  summarize: (svc, fields) => svc.aiText.summarize({ text: ARTICLE, technique: "abstractive", ...fields }),
}

/** A request of each row that an embedded engine answers. */
const embedded: Readonly<Record<string, (svc: Svc) => Promise<{ model: string; method: string }>>> = {
  autocomplete: svc => svc.aiText.autocomplete({ text: "We look forward to your rep" }),
  grammar: svc => svc.aiText.grammar({ text: "She have a apple.", language: "en" }),
  translate: svc => svc.aiText.translate({ text: "Good morning.", source: "en", target: "en" }),
  vectorSearch: svc => svc.aiText.vectorSearch({ query: "apple", documents: ["an apple"] }),
  sentiment: svc => svc.aiText.sentiment({ text: "It is great." }),
  summarize: svc => svc.aiText.summarize({ text: ARTICLE, technique: "extractive" }),
}

test("the sentiment of English text is told with no model server, sentence by sentence", async t => {
  const { svc } = await embeddedWorld(t)
  const text = "The support team was fantastic! I hate the new layout. The office is in Oslo."
  const told = await svc.aiText.sentiment({ text })
  assert.deepEqual(
    told.sentences.map(({ text, sentiment }) => [text, sentiment]),
    [
      ["The support team was fantastic!", "positive"],
      ["I hate the new layout.", "negative"],
      ["The office is in Oslo.", "neutral"],
    ],
  )
  assert.deepEqual([told.model, told.method, told.language], ["svc-sentiment-vader", "embedded", "en"])
  const { positive, neutral, negative } = told.scores
  assert.ok(Math.abs(positive + neutral + negative - 1) < 0.001)
  assert.equal((await svc.aiText.sentiment({ text: "It's not good." })).sentiment, "negative")
})

test("without a chat model another language is refused with its name and the setting, never judged as English", async t => {
  const { svc } = await embeddedWorld(t)
  await assert.rejects(svc.aiText.sentiment({ text: GERMAN }), {
    ...{ status: 503, code: "all_providers_exhausted" },
    message: /language is de.*SVC_AI_URL/,
  })
  await assert.rejects(svc.aiText.sentiment({ text: "ok", language: "pt-BR" }), { message: /language is pt/ })
  const said = await svc.aiText.sentiment({ text: "Das ist great", language: "en-GB" })
  assert.equal(said.sentiment, "positive")
})

test("a chat model judges other languages, and an answer that is not the JSON asked for is 503", async t => {
  const { svc, upstream } = await upstreamWorld(t)
  const judged = { score: -0.8, positive: 0, neutral: 0.2, negative: 0.8 }
  upstream.next({ text: `\`\`\`json\n${JSON.stringify(judged)}\n\`\`\`` })
  const told = await svc.aiText.sentiment({ text: GERMAN })
  assert.deepEqual(
    [told.sentiment, told.score, told.language, told.model, told.method],
    ["negative", -0.8, "de", CHAT_MODEL, "upstream"],
  )
  assert.equal(upstream.asked.length, 1)
  upstream.next({ text: "It is rather negative." }, { text: '{"score": 7}' })
  for (let time = 0; time < 2; time++)
    await assert.rejects(svc.aiText.sentiment({ text: GERMAN }), { status: 503, message: /not the JSON/ })
  assert.equal((await svc.aiText.sentiment({ text: "It is great." })).method, "embedded")
})

test("an extractive summary is whole sentences of the text in their order, and passes over what is beside the point", async t => {
  const { svc } = await embeddedWorld(t)
  const made = await svc.aiText.summarize({ text: ARTICLE })
  assert.equal(made.sentences.length, 3)
  assert.equal(made.summary, made.sentences.map(({ text }) => text).join(" "))
  assert.deepEqual(
    made.sentences.map(({ index }) => index),
    made.sentences.map(({ index }) => index).sort((a, b) => a - b),
  )
  for (const { text } of made.sentences) assert.ok(ARTICLE.includes(text))
  assert.doesNotMatch(made.summary, /pancakes/)
  assert.deepEqual(
    [made.model, made.method, made.technique],
    ["svc-summary-lexrank", "embedded", "extractive"],
  )
  const short = await svc.aiText.summarize({ text: ARTICLE, max_length: 120 })
  assert.ok(short.summary.length <= 120)
  const share = await svc.aiText.summarize({ text: ARTICLE, ratio: 0.34 })
  assert.equal(share.sentences.length, 2)
})

test("a summary is written by the chat model where there is one, and by it alone when that is asked", async t => {
  const { svc, upstream } = await upstreamWorld(t)
  upstream.next({ text: "A tram line was approved." })
  const made = await svc.aiText.summarize({ text: ARTICLE, max_sentences: 1 })
  assert.deepEqual(
    [made.summary, made.technique, made.model, made.method],
    ["A tram line was approved.", "abstractive", CHAT_MODEL, "upstream"],
  )
  assert.match(JSON.stringify(upstream.asked[0]?.body.messages), /at most 1 sentences/)
  assert.equal((await svc.aiText.summarize({ text: ARTICLE, technique: "extractive" })).method, "embedded")
  assert.equal(
    (await svc.aiText.summarize({ text: ARTICLE, model: "svc-summary-lexrank" })).method,
    "embedded",
  )
  for (const fields of [
    { technique: "extractive", model: CHAT_MODEL },
    { technique: "abstractive", model: "svc-summary-lexrank" },
  ] as const)
    await assert.rejects(svc.aiText.summarize({ text: ARTICLE, ...fields }), { code: "invalid_parameter" })
})

test("what a chat model writes is paid, refused and counted as a chat is", async t => {
  const { svc, upstream } = await upstreamWorld(t)
  for (const [row, ask] of Object.entries(written)) {
    await assert.rejects(ask(svc, { model: "no-such-model" }), { status: 404, code: "model_not_found" }, row)
    upstream.next({ status: 400, body: '{"error":{"message":"too long"}}' })
    await assert.rejects(ask(svc), { status: 400, code: "ai_request_refused" }, row)
  }
  assert.ok(upstream.asked.length > 0)
  await svc.ai.setBudget({ monthly_limit_micros: 1 })
  const asked = upstream.asked.length
  for (const [row, ask] of Object.entries(written))
    await assert.rejects(ask(svc), { status: 402, code: "ai_budget_exhausted" }, row)
  assert.equal(upstream.asked.length, asked, "nothing is sent that cannot be paid")
})

test("what only a chat model can do is 503 without one", async t => {
  const { svc } = await embeddedWorld(t)
  const { autocomplete: _, ...onlyWritten } = written
  for (const [row, ask] of Object.entries(onlyWritten))
    await assert.rejects(
      ask(svc),
      { status: 503, code: "all_providers_exhausted", message: /SVC_AI_URL/ },
      row,
    )
})

test("answers of embedded engines count among the day's requests, and are refused past the plan's", async t => {
  const { p, svc } = await embeddedWorld(t, { plan: "free" })
  await embedded.sentiment?.(svc)
  await p.database.db.updateTable("ai.accounts").set({ day_requests: 500 }).execute()
  for (const [row, ask] of Object.entries(embedded))
    await assert.rejects(ask(svc), { status: 429, code: "ai_daily_limit_exceeded" }, row)
  await p.database.db
    .updateTable("ai.accounts")
    .set({ day_requests: 500 - Object.keys(embedded).length })
    .execute()
  for (const ask of Object.values(embedded)) assert.equal((await ask(svc)).method, "embedded")
})

test("every row of texts is among these tests", () => {
  const rows = Object.keys(areas.aiText.specs).sort()
  assert.deepEqual(Object.keys(embedded).sort(), rows)
})

const HOSTILE: Readonly<Record<string, string>> = {
  spaces: "   \n\t ",
  one: "a",
  emoji: "👩‍👩‍👧‍👦🏳️‍🌈 great 😀!",
  "right to left": "\u202eevil\u202c مرحبا بالعالم. שלום עולם.",
  "lone surrogates": "a\ud800 b. \udc00 c.",
  "one long word": "a".repeat(100_000),
  "one long sentence": "word ".repeat(20_000),
  "many sentences": "Go on. ".repeat(14_285),
  "many marks": "e\u0301".repeat(50_000),
  "no words": "!?…—".repeat(25_000),
  prototype: "constructor __proto__ hasOwnProperty toString valueOf.",
}

test("hostile texts are answered or refused, and never by 500", async t => {
  const { svc } = await embeddedWorld(t)
  for (const [name, text] of Object.entries(HOSTILE))
    for (const ask of [
      () => svc.aiText.sentiment({ text, language: "en" }),
      () => svc.aiText.sentiment({ text }),
      () => svc.aiText.summarize({ text }),
      () => svc.aiText.autocomplete({ text, corpus: [text] }),
      () => svc.aiText.autocomplete({ text, language: "de" }),
      () => svc.aiText.grammar({ text: text.slice(0, 2_000), language: "en" }),
      () => svc.aiText.vectorSearch({ query: text.slice(0, 4_000), documents: [text, { id: "x", text }] }),
    ])
      await ask().catch(error => assert.ok([400, 503].includes(error.status), `${name}: ${error}`))
  await assert.rejects(svc.aiText.summarize({ text: "a".repeat(100_001) }), { status: 400 })
  await assert.rejects(svc.aiText.summarize({ text: "" }), { status: 400 })
})
