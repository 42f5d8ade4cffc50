import assert from "node:assert/strict"
import { test } from "node:test"
import { startAiUpstream } from "../../testing/ai-upstream.ts"
import { everyScope, platform } from "../../testing/platform.ts"
import { aiWorld, CHAT_MODEL, MESSAGES } from "./testing/world.ts"

const OPEN = { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" }

test("an organization's own upstream is tried before the installation's, with its own key, by it alone", async t => {
  const world = await aiWorld(t, { env: OPEN })
  const own = await startAiUpstream(t)
  const svc = world.p.as(world.secret)
  const { id, api_key_hint } = await svc.ai.createUpstream({
    name: "mine",
    base_url: own.url,
    api_key: "sk-mine-1234",
    models: ["gpt-test"],
    priority: 7,
  })
  assert.equal(api_key_hint, "1234")
  assert.equal((await world.chat()).headers.get("x-svc-provider"), "mine")
  assert.equal(own.asked[0]?.headers.authorization, "Bearer sk-mine-1234")
  assert.equal((await world.budget()).spent_micros, 0, "it pays its vendor itself")

  own.next({ status: 500 })
  assert.equal((await world.chat()).headers.get("x-svc-provider"), "first")

  const globex = await world.p.key("globex", everyScope)
  const response = await world.post(
    "/v1/ai/chat/completions",
    { model: "mine/gpt-test", messages: MESSAGES },
    { headers: { authorization: `Bearer ${globex.secret}`, "content-type": "application/json" } },
  )
  assert.equal(response.status, 404)

  await svc.ai.updateUpstream({ id, enabled: false })
  assert.equal((await world.chat()).headers.get("x-svc-provider"), "first")
  await svc.ai.deleteUpstream({ id })
  assert.equal((await svc.ai.upstreams({})).total, 0)
})

test("its key is never shown, is sealed at rest, and does not follow to another address", async t => {
  const p = await platform(t, { env: OPEN })
  const svc = await p.wide("acme", ...everyScope)
  const upstream = {
    name: "mine",
    base_url: "https://api.example.com/v1",
    api_key: "sk-secret-9876",
    models: ["m"],
  }
  const made = await svc.ai.createUpstream(upstream)
  assert.ok(!JSON.stringify([made, await svc.ai.getUpstream({ id: made.id })]).includes("secret"))
  const rows = await p.database.db.selectFrom("ai.upstreams").selectAll().execute()
  assert.ok(!JSON.stringify(rows).includes("sk-secret"))
  await assert.rejects(svc.ai.updateUpstream({ id: made.id, base_url: "https://thief.example.com/v1" }), {
    code: "invalid_parameter",
  })
  const moved = await svc.ai.updateUpstream({
    id: made.id,
    base_url: "https://other.example.com/v1",
    api_key: "sk-5555",
  })
  assert.equal(moved.api_key_hint, "5555")
  await assert.rejects(svc.ai.createUpstream(upstream), { code: "name_taken" })
  const other = await svc.ai.createUpstream({ ...upstream, name: "another" })
  await assert.rejects(svc.ai.updateUpstream({ id: other.id, name: upstream.name }), { code: "name_taken" })
})

test("an organization cannot reach into the operator's network", async t => {
  const p = await platform(t)
  const local = await startAiUpstream(t)
  const svc = await p.wide("acme", ...everyScope)
  await assert.rejects(svc.ai.createUpstream({ name: "mine", base_url: local.url, models: ["m"] }), {
    code: "invalid_parameter",
  })
  await assert.rejects(
    svc.ai.createUpstream({ name: "mine", base_url: "file:///etc/passwd", models: ["m"] }),
    {
      code: "invalid_parameter",
    },
  )
  assert.equal(local.asked.length, 0)
})

test("a test tells the models that the upstream lists, or why it does not answer", async t => {
  const p = await platform(t, { env: OPEN })
  const own = await startAiUpstream(t)
  const svc = await p.wide("acme", ...everyScope)
  const { id } = await svc.ai.createUpstream({
    name: "mine",
    base_url: own.url,
    api_key: "sk",
    models: ["m"],
  })
  const good = await svc.ai.testUpstream({ id })
  assert.deepEqual([good.success, good.models, good.error], [true, ["gpt-test"], null])
  own.next({ status: 401 })
  const bad = await svc.ai.testUpstream({ id })
  assert.deepEqual([bad.success, bad.status_code, bad.error], [false, 401, "failed with 401"])
})

test("the list of models has what the plan may call, with prices, and what is built in", async t => {
  const models = [CHAT_MODEL, { id: "big", kinds: ["chat"], min_plan: "pro" }]
  const world = await aiWorld(t, { plan: "free", second: { models } })
  const { data } = await world.p.as(world.secret).ai.models({})
  assert.deepEqual(
    data.map(({ id }) => id),
    ["gpt-test", "embed-test", "image-test", "tts-test", "whisper-test", "svc-embed-hash-384", "svc-espeak"],
  )
  const [chat] = data
  assert.deepEqual(chat?.upstreams, ["first", "second"])
  assert.deepEqual(chat?.pricing, { prompt: "0.000001", completion: "0.00001" })
  assert.equal(chat?.context_length, 100_000)
  const refused = await world.chat({ model: "big" })
  assert.equal(refused.status, 404)
  const wide = await world.p.tenant("rich", "pro").then(() => world.p.client("rich", ...everyScope))
  assert.ok((await wide.ai.models({})).data.some(({ id }) => id === "big"))
})

test("anybody can see which models each plan has, and what they cost", async t => {
  const models = [CHAT_MODEL, { id: "big", kinds: ["chat"], min_plan: "pro" }]
  const { p } = await aiWorld(t, { second: { models } })
  const response = await p.request("/v1/billing/model-tiers")
  assert.equal(response.status, 200)
  const { data } = (await response.json()) as {
    data: { tiers: { tier: string; models: { id: string; input_micros_per_mtok: number | null }[] }[] }
  }
  const modelsOf = (tier: string) => data.tiers.find(found => found.tier === tier)?.models
  assert.deepEqual(
    modelsOf("free")?.map(({ id }) => id),
    ["gpt-test", "embed-test", "image-test", "tts-test", "whisper-test"],
  )
  assert.equal(modelsOf("free")?.[0]?.input_micros_per_mtok, 1_000_000)
  assert.deepEqual(
    modelsOf("pro")?.map(model => [model.id, model.input_micros_per_mtok]),
    [["big", null]],
  )
})
