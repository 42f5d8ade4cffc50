import assert from "node:assert/strict"
import { test } from "node:test"
import { CHAT_MODEL, embeddedWorld, upstreamWorld } from "./testing/world.ts"

const textsOf = ({ suggestions }: { suggestions: readonly { text: string }[] }) =>
  suggestions.map(({ text }) => text)

test("an unfinished word and an unfinished sentence go on with no model server, and the answer says so", async t => {
  const { svc } = await embeddedWorld(t)
  const word = await svc.aiText.autocomplete({ text: "He talked about the weath" })
  assert.equal(textsOf(word)[0], "er")
  assert.deepEqual([word.model, word.method], ["svc-autocomplete-ngram", "embedded"])
  const sentence = await svc.aiText.autocomplete({
    text: "She gave me a lot",
    max_suggestions: 2,
    max_tokens: 1,
  })
  assert.equal(textsOf(sentence)[0], " of")
  assert.ok(sentence.suggestions.length <= 2)
  for (const { text, score } of sentence.suggestions)
    assert.ok(text.trim().split(" ").length === 1 && score > 0 && score <= 1)
  const scores = sentence.suggestions.map(({ score }) => score)
  assert.deepEqual(
    scores,
    [...scores].sort((a, b) => b - a),
  )
  assert.deepEqual(textsOf(await svc.aiText.autocomplete({ text: "born in the United S" }))[0], "tates")
})

test("the caller's own texts come before English, and are the only guide in other languages", async t => {
  const { svc } = await embeddedWorld(t)
  const corpus = ["Restart the payment gateway before the release. The payment gateway is down."]
  const text = "Please restart the payment "
  assert.match(textsOf(await svc.aiText.autocomplete({ text, corpus }))[0] ?? "", /^gateway/)
  assert.ok(
    !textsOf(await svc.aiText.autocomplete({ text })).some(one => one.startsWith("gateway")),
    "nothing is kept",
  )
  const german = await svc.aiText.autocomplete({
    text: "Der Hund ist im Ha",
    corpus: ["Die Katze ist im Haus und schläft."],
    language: "de",
  })
  assert.deepEqual(textsOf(german), ["us und schläft."])
  assert.deepEqual(textsOf(await svc.aiText.autocomplete({ text: "Der Hund ist im Ha", language: "de" })), [])
})

test("a chat model completes where there is one, and what it repeats of the text is taken away", async t => {
  const { svc, upstream } = await upstreamWorld(t)
  const text = "Dear team, the release "
  upstream.next({ text: JSON.stringify({ suggestions: [`${text}is ready`, " is late", "is late", " "] }) })
  const made = await svc.aiText.autocomplete({ text, corpus: ["We ship on Fridays."], max_suggestions: 4 })
  assert.deepEqual(made.suggestions, [
    { text: "is ready", score: 1 },
    { text: "is late", score: 0.5 },
  ])
  assert.deepEqual([made.model, made.method], [CHAT_MODEL, "upstream"])
  assert.match(JSON.stringify(upstream.asked[0]?.body.messages), /4 different ways.*We ship on Fridays/)
  const own = await svc.aiText.autocomplete({ text: "the weath", model: "svc-autocomplete-ngram" })
  assert.deepEqual([own.method, upstream.asked.length], ["embedded", 1])
  upstream.next({ text: "I cannot help with that." })
  await assert.rejects(svc.aiText.autocomplete({ text }), { status: 503, message: /not the JSON/ })
})
