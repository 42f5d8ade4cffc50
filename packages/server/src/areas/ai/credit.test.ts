import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { everyScope } from "../../testing/platform.ts"
import { type AiWorld, aiWorld, CHAT_MODEL, MESSAGES } from "./testing/world.ts"

/** Ten tokens of input for a micro each, nine of the output for ten. */
const COST_MICROS = 100

const creditWorld = async (...[t]: Parameters<typeof aiWorld>) => {
  const world = await aiWorld(t, { env: { SVC_BILLING: "credit", SVC_OUTBOUND_ALLOW: "127.0.0.0/8" } })
  const { p, tenantId: tenant_id, secret } = world
  const ofOperator = { organization_id: p.firstRun?.organization_id ?? "", project_id: null }
  const operator = p.as((await p.key("acme", everyScope, ofOperator)).secret)
  return {
    ...world,
    grant: (amount_micros: number) =>
      operator.billing.grantCredit({ organization_id: tenant_id, amount_micros }),
    credit: () => p.as(secret).billing.credits({ tenant_id }),
  }
}

const refusal = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
]

const settled = (world: Awaited<ReturnType<typeof creditWorld>>) =>
  eventually("nothing is held", async () => (await world.credit()).reserved_micros === 0)

test("without credit a request is refused with 402 before any upstream is asked, and with it its cost is charged once", async t => {
  const world = await creditWorld(t)
  assert.deepEqual(await refusal(await world.chat()), [402, "credits_exhausted"])
  assert.equal(world.first.asked.length, 0)
  await world.grant(20_000)
  assert.equal((await world.chat()).status, 200)
  await settled(world)
  assert.equal((await world.credit()).available_micros, 20_000 - COST_MICROS)
  assert.equal((await world.budget()).spent_micros, COST_MICROS)
})

test("what is held for a request under way nobody else can spend, and a failed request costs nothing", async t => {
  const world = await creditWorld(t)
  await world.grant(10_000)
  const rest = Promise.withResolvers<void>()
  world.first.next({ before: rest.promise })
  const long = world.chat({ max_tokens: 990 })
  await eventually("the upstream is asked", () => world.first.asked.length === 1)
  assert.ok((await world.credit()).available_micros < 150)
  const other = await world.chat({ messages: [{ role: "user", content: "word ".repeat(100) }] })
  assert.deepEqual(await refusal(other), [402, "credits_exhausted"])
  rest.resolve()
  assert.equal((await long).status, 200)
  await settled(world)
  world.first.always({ status: 500 })
  world.second.always({ status: 500 })
  assert.equal((await world.chat()).status, 503)
  await settled(world)
  assert.equal((await world.credit()).available_micros, 10_000 - COST_MICROS)
})

test("the cap of a month refuses with its own code, and what the organization's own upstream serves is not charged", async t => {
  const world = await creditWorld(t)
  const svc = world.p.as(world.secret)
  await world.grant(20_000)
  await svc.billing.setSpendingCap({ tenant_id: world.tenantId, cap_micros: 5 })
  assert.deepEqual(await refusal(await world.chat()), [402, "spending_cap_reached"])
  await svc.ai.createUpstream({
    name: "own",
    base_url: world.second.url,
    models: [{ ...CHAT_MODEL, id: "own-model" }],
  } as never)
  const own = await world.post("/v1/ai/chat/completions", { model: "own-model", messages: MESSAGES })
  assert.equal(own.status, 200, await own.text())
  await settled(world)
  assert.equal((await world.credit()).available_micros, 20_000)
})

test("a hold of a process that died ends by itself, charged by the input alone", async t => {
  const world: Awaited<ReturnType<typeof creditWorld>> & AiWorld = await creditWorld(t)
  await world.grant(20_000)
  await world.p.database.pool.query(
    "SELECT * FROM ledger.hold(ARRAY[$1::uuid], ARRAY['ai:dead'], ARRAY[10::bigint], ARRAY[9000::bigint], ARRAY[7::bigint], ARRAY['AI'], $2, $3)",
    [world.tenantId, new Date(world.p.clock.now()), new Date(world.p.clock.now() + 60_000)],
  )
  assert.equal((await world.credit()).reserved_micros, 9_000)
  await world.p.clock.advance(180_000)
  await settled(world)
  assert.equal((await world.credit()).available_micros, 20_000 - 7)
})
