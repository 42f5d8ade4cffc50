import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { type Finding, toGrammar } from "./engines/grammar.ts"
import { CHAT_MODEL, embeddedWorld, upstreamWorld } from "./testing/world.ts"

const GERMAN = "Der Kundendienst war wirklich schrecklich, und ich werde dort nie wieder etwas bestellen."

test("mistakes in English are found with no model server, at UTF-16 offsets also behind emoji", async t => {
  const { svc } = await embeddedWorld(t)
  const text = "😀 This are a test of teh grammer checker. 👩‍👩‍👧 She have a apple."
  const { matches, corrected, language, model, method } = await svc.aiText.grammar({
    text,
    language: "en-US",
  })
  const found = matches.map(({ offset, length }) => text.slice(offset, offset + length))
  for (const word of ["teh", "grammer", "have"]) assert.ok(found.includes(word), `${word} in ${found}`)
  assert.match(corrected, /the grammar checker\. 👩‍👩‍👧 She has an apple\.$/)
  const teh = matches.find(({ offset }) => offset === text.indexOf("teh"))
  assert.deepEqual(teh?.replacements[0], { value: "the" })
  assert.equal(teh?.rule.issueType, "misspelling")
  assert.equal(teh?.context.text.slice(teh.context.offset, teh.context.offset + teh.context.length), "teh")
  assert.match(teh?.sentence ?? "", /grammer checker\.$/)
  assert.deepEqual([language.code, model, method], ["en-US", "svc-grammar-harper", "embedded"])
})

test("another language is corrected by a chat model, and refused without one", async t => {
  const { svc } = await embeddedWorld(t)
  await assert.rejects(svc.aiText.grammar({ text: GERMAN }), { status: 503, message: /language is de/ })
  const { svc: rich, upstream } = await upstreamWorld(t)
  upstream.next({ text: GERMAN })
  const corrected = await rich.aiText.grammar({ text: GERMAN })
  assert.deepEqual(
    [corrected.corrected, corrected.matches, corrected.model, corrected.method],
    [GERMAN, [], CHAT_MODEL, "upstream"],
  )
})

test("a text in the target language comes back as it is, and any other is a chat model's", async t => {
  const { svc, upstream } = await upstreamWorld(t)
  const same = await svc.aiText.translate({ text: GERMAN, target: "de" })
  assert.deepEqual([same.translation, same.translatedText, same.method], [GERMAN, GERMAN, "embedded"])
  assert.equal(same.detectedLanguage.language, "de")
  assert.equal(upstream.asked.length, 0)
  upstream.next({ text: "The service was terrible." })
  const made = await svc.aiText.translate({ text: GERMAN, source: "auto", target: "en" })
  assert.deepEqual(
    [made.translation, made.model, made.method],
    ["The service was terrible.", CHAT_MODEL, "upstream"],
  )
  assert.match(JSON.stringify(upstream.asked[0]?.body.messages), /from the language de into the language en/)
})

test("LibreTranslate's names are taken", async t => {
  const { p, secret } = await embeddedWorld(t)
  const response = await p.request("/v1/ai/text/translate", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ q: "Good morning.", source: "en", target: "en" }),
  })
  const { data } = (await response.json()) as { data: { translatedText: string } }
  assert.equal(data.translatedText, "Good morning.")
})

test("passages are found by words and parts of words, with their ids, and those that share nothing are left out", async t => {
  const { svc } = await embeddedWorld(t)
  const documents = [
    "The sea is blue.",
    { id: "fruit", text: "Apples and pears grow on trees." },
    "Invoices are due in thirty days.",
  ]
  const { results, model, method } = await svc.aiText.vectorSearch({ query: "apples", documents, top_k: 1 })
  assert.deepEqual(
    results.map(({ index, id, text }) => [index, id, text]),
    [[1, "fruit", "Apples and pears grow on trees."]],
  )
  assert.deepEqual([model, method], ["svc-embed-hash-384", "embedded"])
  const none = await svc.aiText.vectorSearch({ query: "zzz", documents: ["!!!"] })
  assert.deepEqual(none.results, [])
})

const findings = (length: number): fc.Arbitrary<Finding[]> =>
  fc
    .array(
      fc.record({
        rule: fc.constant("Rule"),
        kind: fc.constant("Spelling"),
        kindName: fc.constant("Spelling"),
        message: fc.constant("wrong"),
        start: fc.nat(length),
        end: fc.nat(length),
        suggestions: fc.array(
          fc.record({
            kind: fc.constantFrom("replace", "remove", "insert_after"),
            text: fc.string({ unit: "grapheme", maxLength: 3 }),
          }),
          { maxLength: 2 },
        ),
      }),
      { maxLength: 8 },
    )
    .map(all => all.filter(({ start, end }) => start < end))

test("matches never overlap, lie within the text, and their first replacements make the corrected text", () => {
  fc.assert(
    fc.property(
      fc
        .string({ unit: "binary", maxLength: 60 })
        .chain(text => fc.tuple(fc.constant(text), findings(text.length))),
      ([text, found]) => {
        const { matches, corrected } = toGrammar(text, found)
        let end = 0
        let expected = ""
        for (const { offset, length, replacements, context } of matches) {
          assert.ok(offset >= end && offset + length <= text.length)
          const own = text.slice(offset, offset + length)
          assert.equal(context.text.slice(context.offset, context.offset + context.length), own)
          expected += text.slice(end, offset) + (replacements[0]?.value ?? own)
          end = offset + length
        }
        assert.equal(corrected, expected + text.slice(end))
      },
    ),
  )
})
