/** Clients that people use already, unmodified. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { embed, generateText, jsonSchema, Output, streamText, tool } from "ai"
import OpenAI, { APIError, APIUserAbortError } from "openai"
import { aiWorld } from "./testing/world.ts"

const TEXT = "The quick brown fox jumps over the lazy dog."
const messages = [{ role: "user" as const, content: "Say something." }]
const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const
const weather = {
  type: "function" as const,
  function: { name: "weather", description: "Weather of a city", parameters: CITY },
}

const clientsOf = async (t: Parameters<typeof aiWorld>[0]) => {
  const world = await aiWorld(t)
  const baseURL = `${world.p.url}/v1/ai`
  const openai = new OpenAI({ baseURL, apiKey: world.secret })
  const provider = createOpenAICompatible({
    name: "svc",
    baseURL,
    apiKey: world.secret,
    supportsStructuredOutputs: true,
  })
  return { world, openai, provider }
}

test("the openai package: chat, tools and JSON schema", async t => {
  const { openai } = await clientsOf(t)
  const plain = await openai.chat.completions.create({ model: "gpt-test", messages })
  assert.equal(plain.choices[0]?.message.content, TEXT)
  assert.equal(plain.usage?.completion_tokens, 9)
  const called = await openai.chat.completions.create({ model: "gpt-test", messages, tools: [weather] })
  const [call] = called.choices[0]?.message.tool_calls ?? []
  assert.ok(call?.type === "function")
  assert.deepEqual(JSON.parse(call.function.arguments), { city: "Paris" })
  const typed = await openai.chat.completions.create({
    model: "gpt-test",
    messages,
    response_format: { type: "json_schema", json_schema: { name: "city", schema: CITY, strict: true } },
  })
  assert.deepEqual(JSON.parse(typed.choices[0]?.message.content ?? ""), { city: "Paris" })
})

test("the openai package: streams, with tools and with usage", async t => {
  const { openai } = await clientsOf(t)
  let text = ""
  const stream = await openai.chat.completions.create({ model: "gpt-test", messages, stream: true })
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ""
  assert.equal(text, TEXT)
  const helper = openai.chat.completions.stream({
    model: "gpt-test",
    messages,
    tools: [weather],
    stream_options: { include_usage: true },
  })
  const final = await helper.finalChatCompletion()
  assert.equal(final.choices[0]?.finish_reason, "tool_calls")
  assert.ok((final.usage?.completion_tokens ?? 0) > 0)
})

test("the openai package: an error inside a stream is thrown, and so is one before it", async t => {
  const { world, openai } = await clientsOf(t)
  world.first.next({ errorAfter: { chunks: 2, code: 500, message: "out of memory" } })
  const stream = await openai.chat.completions.create({ model: "gpt-test", messages, stream: true })
  let text = ""
  await assert.rejects(async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ""
  }, APIError)
  assert.equal(text, "The quick ")
  await assert.rejects(
    openai.chat.completions.create({ model: "nothing", messages, stream: true }),
    (error: unknown) => error instanceof APIError && error.status === 404 && error.requestID !== undefined,
  )
})

test("the openai package repeats what may succeed later, and only that", async t => {
  const { world, openai } = await clientsOf(t)
  world.first.always({ status: 429, headers: { "retry-after": "30" } })
  world.second.next({ status: 429, headers: { "retry-after": "30" } })
  const patient = new OpenAI({ baseURL: openai.baseURL, apiKey: world.secret, maxRetries: 0 })
  await assert.rejects(patient.chat.completions.create({ model: "gpt-test", messages }), { status: 503 })
  const asked = world.first.asked.length
  await assert.rejects(openai.images.generate({ model: "dall-e-9", prompt: "x" }), { status: 404 })
  assert.equal(world.first.asked.length, asked)
})

test("the openai package: abort ends the stream and the upstream's work", async t => {
  const { world, openai } = await clientsOf(t)
  world.first.next({ holdAfter: { chunks: 2, until: new Promise(() => undefined) } })
  const abort = new AbortController()
  const stream = await openai.chat.completions.create(
    { model: "gpt-test", messages, stream: true },
    { signal: abort.signal },
  )
  let text = ""
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ""
    if (text.includes("quick")) abort.abort()
  }
  assert.equal(text, "The quick ")
  await world.first.asked[0]?.closed
  const ended = new AbortController()
  ended.abort()
  const never = openai.chat.completions.create({ model: "gpt-test", messages }, { signal: ended.signal })
  await assert.rejects(never, APIUserAbortError)
})

test("the openai package: embeddings, images, speech, transcriptions and models", async t => {
  const { openai } = await clientsOf(t)
  // It asks for base64 by itself, and decodes it.
  const vectors = await openai.embeddings.create({ model: "embed-test", input: ["a", "b"] })
  assert.deepEqual(vectors.data[1]?.embedding, [1, 0.5, -1])
  const lexical = await openai.embeddings.create({ model: "svc-embed-hash-384", input: "apple" })
  assert.equal(lexical.data[0]?.embedding.length, 384)
  const image = await openai.images.generate({ model: "image-test", prompt: "an apple" })
  assert.ok(image.data?.[0]?.b64_json)
  const speech = await openai.audio.speech.create({ model: "tts-test", voice: "alloy", input: "Hello" })
  assert.equal((await speech.arrayBuffer()).byteLength, 2_000)
  const file = new File([new Uint8Array(1_000)], "speech.wav")
  const heard = await openai.audio.transcriptions.create({ model: "whisper-test", file })
  assert.equal(heard.text, "hello")
  const ids: string[] = []
  for await (const model of openai.models.list()) ids.push(model.id)
  assert.ok(ids.includes("gpt-test") && ids.includes("svc-embed-hash-384"))
})

test("the Vercel ai package: text, streams, tools, objects and embeddings", async t => {
  const { world, provider } = await clientsOf(t)
  const model = provider("gpt-test")
  const { text, usage } = await generateText({ model, prompt: "Say something." })
  assert.equal(text, TEXT)
  assert.equal(usage.outputTokens, 9)
  let streamed = ""
  const result = streamText({ model, prompt: "Say something." })
  for await (const part of result.textStream) streamed += part
  assert.equal(streamed, TEXT)
  const { toolCalls } = await generateText({
    model,
    prompt: "What is the weather?",
    tools: { weather: tool({ description: "Weather of a city", inputSchema: jsonSchema(CITY) }) },
  })
  assert.deepEqual(toolCalls[0]?.input, { city: "Paris" })
  const { output } = await generateText({
    model,
    prompt: "A city",
    output: Output.object({ schema: jsonSchema<{ city: string }>(CITY) }),
  })
  assert.deepEqual(output, { city: "Paris" })
  const { embedding } = await embed({ model: provider.embeddingModel("embed-test"), value: "a" })
  assert.deepEqual(embedding, [0, 0.5, -1])

  world.first.next({ dropAfter: 3 })
  let failure: unknown
  const broken = streamText({
    model,
    prompt: "x",
    maxRetries: 0,
    onError({ error }) {
      failure = error
    },
  })
  for await (const _ of broken.textStream);
  assert.ok(failure)
})
