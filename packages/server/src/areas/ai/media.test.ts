import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { everyScope, platform } from "../../testing/platform.ts"
import { hashEmbedding } from "./engines/hash-embedding.ts"
import { type AiWorld, aiWorld } from "./testing/world.ts"

interface Embedded {
  readonly data: readonly { readonly embedding: number[] | string }[]
  readonly model: string
  readonly method?: string
}

const spent = async (world: AiWorld) => {
  await eventually("nothing is reserved", async () => (await world.budget()).reserved_micros === 0)
  return (await world.budget()).spent_micros
}

test("embeddings of an upstream go on as they came, floats and base64", async t => {
  const world = await aiWorld(t)
  const ask = async (fields: object) =>
    (await (await world.post("/v1/ai/embeddings", { input: ["a", "b"], ...fields })).json()) as Embedded
  const floats = await ask({})
  assert.equal(floats.model, "embed-test")
  assert.deepEqual(floats.data[1]?.embedding, [1, 0.5, -1])
  const { data } = await ask({ model: "embed-test", encoding_format: "base64" })
  const bytes = Buffer.from(String(data[1]?.embedding), "base64")
  assert.deepEqual(
    [...new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 12))],
    [1, 0.5, -1],
  )
  assert.equal(await spent(world), 20)
  assert.deepEqual(world.first.asked[0]?.body, { input: ["a", "b"], model: "embed-test" })
})

test("without an upstream the embedded engine answers, says so, and tells near texts from far ones", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const texts = ["red apples in a basket", "a basket of red apples", "the stock market fell"]
  const { data, model, method } = (await svc.ai.embed({ input: texts })) as Embedded
  assert.deepEqual([model, method], ["svc-embed-hash-384", "embedded"])
  const [a, b, c] = data.map(({ embedding }) => embedding as number[])
  const dot = (x: number[] = [], y: number[] = []) =>
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  assert.equal(a?.length, 384)
  assert.ok(Math.abs(dot(a, a) - 1) < 1e-5)
  assert.ok(dot(a, b) > 0.5 && dot(a, c) < 0.2, `${dot(a, b)} ${dot(a, c)}`)

  const short = (await svc.ai.embed({
    input: "apple",
    model: "svc-embed-hash-64",
    encoding_format: "base64",
  })) as Embedded
  assert.equal(Buffer.from(String(short.data[0]?.embedding), "base64").length, 64 * 4)
  await assert.rejects(svc.ai.embed({ input: "x", model: "text-embedding-3-small" }), {
    code: "all_providers_exhausted",
  })
  await assert.rejects(svc.ai.embed({ input: [[1, 2]] }), { code: "invalid_parameter" })
})

test("the embedded engine finds what shares its words and its endings", () => {
  const cosine = (a: string, b: string) => {
    const [x, y] = [a, b].map(text => hashEmbedding(text, 384).vector)
    return x?.reduce((sum, value, at) => sum + value * (y?.[at] ?? 0), 0) ?? 0
  }
  assert.ok(cosine("invoice", "invoices") > cosine("invoice", "voice"))
  assert.ok(cosine("Größe", "GRÖSSE") > 0.2)
  assert.ok(
    cosine("how do I reset my password", "password reset") >
      cosine("how do I reset my password", "delete account"),
  )
  assert.equal(
    hashEmbedding("", 32).vector.every(value => value === 0),
    true,
  )
})

test("images, speech and transcriptions are an upstream's, and cost what its prices say", async t => {
  const world = await aiWorld(t)
  const image = await world.post("/v1/ai/images/generations", { prompt: "an apple", n: 1 })
  assert.equal(((await image.json()) as { data: { b64_json: string }[] }).data.length, 1)
  assert.equal(await spent(world), 40_000)

  const speech = await world.post("/v1/ai/audio/speech", { input: "Hello there", voice: "alloy" })
  assert.equal(speech.headers.get("content-type"), "audio/mpeg")
  assert.equal((await speech.arrayBuffer()).byteLength, 2_000)
  assert.equal(await spent(world), 40_000 + 165)

  const form = new FormData()
  form.set("file", new Blob([new Uint8Array(240_000)]), "speech.wav")
  form.set("model", "first/whisper-test")
  const headers = { authorization: `Bearer ${world.secret}` }
  const path = "/v1/ai/audio/transcriptions"
  const heard = await world.p.request(path, { method: "POST", headers, body: form })
  assert.deepEqual(await heard.json(), { text: "hello" })
  assert.equal(await spent(world), 40_000 + 165 + 6_000)
  const sent = world.first.asked.at(-1)?.bytes.toString("latin1") ?? ""
  assert.match(sent, /name="model"\r\n\r\nwhisper-test\r\n/)
  assert.ok(sent.length > 240_000)

  const empty = new FormData()
  empty.set("model", "whisper-test")
  assert.equal((await world.p.request(path, { method: "POST", headers, body: empty })).status, 400)
})

test("what no upstream does is 503, after what is wrong with the request itself", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const headers = { authorization: `Bearer ${secret}` }
  const post = (path: string, body: object) =>
    p.request(path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
  assert.equal((await post("/v1/ai/images/generations", { prompt: "x" })).status, 503)
  assert.equal((await post("/v1/ai/audio/speech", { input: "x", model: "tts-1" })).status, 503)
  assert.equal((await post("/v1/ai/audio/speech", { input: "x", response_format: "ogg" })).status, 400)
  const form = new FormData()
  form.set("file", new Blob(["x"]), "a.wav")
  const send = (body: FormData | string, type = {}) =>
    p.request("/v1/ai/audio/transcriptions", { method: "POST", headers: { ...headers, ...type }, body })
  assert.equal((await send(form)).status, 503)
  assert.equal((await send("broken", { "content-type": "multipart/form-data; boundary=x" })).status, 400)
})
