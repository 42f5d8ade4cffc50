/** What holds for every kind of inference: the budget, the requests of a day, and models that nobody has. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { type AiWorld, aiWorld, MESSAGES } from "./testing/world.ts"

const JSON_ROUTES = {
  "/v1/ai/chat/completions": { messages: MESSAGES },
  "/v1/ai/chat/completions/stream": { messages: MESSAGES },
  "/v1/ai/embeddings": { input: "a text of some words" },
  "/v1/ai/images/generations": { prompt: "an apple" },
  "/v1/ai/audio/speech": { input: "Hello there", voice: "alloy" },
}
const TRANSCRIPTIONS = "/v1/ai/audio/transcriptions"

const transcribe = ({ p, secret }: AiWorld, bytes: number, model?: string) => {
  const form = new FormData()
  form.set("file", new Blob([new Uint8Array(bytes)]), "speech.wav")
  if (model !== undefined) form.set("model", model)
  return p.request(TRANSCRIPTIONS, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
    body: form,
  })
}

/** The code of the error with which each route answers. */
const refusals = async (world: AiWorld, status: number, model?: string): Promise<Set<string>> => {
  const named = model === undefined ? {} : { model }
  const calls = Object.entries(JSON_ROUTES).map(
    async ([path, body]) => [path, await world.post(path, { ...body, ...named })] as const,
  )
  const replies = [
    ...(await Promise.all(calls)),
    [TRANSCRIPTIONS, await transcribe(world, 240_000, model)] as const,
  ]
  const codes = new Set<string>()
  for (const [path, reply] of replies) {
    assert.equal(reply.status, status, path)
    codes.add(((await reply.json()) as { code: string }).code)
  }
  return codes
}

test("past the month's limit no kind of inference reaches an upstream", async t => {
  const world = await aiWorld(t)
  await world.p.as(world.secret).ai.setBudget({ monthly_limit_micros: 0 })
  assert.deepEqual(await refusals(world, 402), new Set(["ai_budget_exhausted"]))
  assert.equal(world.first.asked.length, 0)
})

test("past the requests of a day no kind of inference reaches an upstream", async t => {
  const world = await aiWorld(t, { plan: "free" })
  await world.chat()
  await world.p.database.db.updateTable("ai.accounts").set({ day_requests: 500 }).execute()
  assert.deepEqual(await refusals(world, 429), new Set(["ai_daily_limit_exceeded"]))
  assert.equal(world.first.asked.length, 1)
})

test("a model that nobody has is 404, whatever is asked of it", async t => {
  const world = await aiWorld(t)
  assert.deepEqual(await refusals(world, 404, "first/nothing"), new Set(["model_not_found"]))
  assert.equal(world.first.asked.length, 0)
})

test("a recording that is too long is refused before an upstream is asked", async t => {
  const world = await aiWorld(t)
  const reply = await transcribe(world, 26 * 1024 * 1024)
  assert.equal(reply.status, 413)
  assert.equal(world.first.asked.length, 0)
})
