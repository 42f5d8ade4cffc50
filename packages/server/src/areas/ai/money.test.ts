import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { RESERVATION_MS } from "./ledger.ts"
import { type AiWorld, aiWorld, eventsOf } from "./testing/world.ts"

/** Ten tokens of input for a micro each, nine of the output for ten. */
const COST_MICROS = 100

const limit = ({ p, secret }: AiWorld, monthly_limit_micros: number | null) =>
  p.as(secret).ai.setBudget({ monthly_limit_micros })

const settled = (world: AiWorld) =>
  eventually("nothing is reserved", async () => (await world.budget()).reserved_micros === 0)

test("what a request cost is spent once, and nothing stays reserved", async t => {
  const world = await aiWorld(t)
  await world.chat()
  await eventsOf(await world.chat({ stream: true }))
  await settled(world)
  assert.equal((await world.budget()).spent_micros, 2 * COST_MICROS)
})

test("the worst case is reserved while a request is under way", async t => {
  const world = await aiWorld(t)
  const rest = Promise.withResolvers<void>()
  world.first.next({ holdAfter: { chunks: 2, until: rest.promise } })
  const response = await world.chat({ stream: true, max_tokens: 50 })
  const { reserved_micros } = await world.budget()
  assert.ok(reserved_micros >= 500 && reserved_micros < 600, `${reserved_micros}`)
  rest.resolve()
  await eventsOf(response)
  await settled(world)
})

test("past the month's limit a request is refused with 402 before any upstream is asked", async t => {
  const world = await aiWorld(t)
  await limit(world, 150)
  assert.equal((await world.chat()).status, 200)
  await settled(world)
  for (const stream of [false, true]) {
    const refused = await world.chat({ stream, messages: [{ role: "user", content: "word ".repeat(60) }] })
    assert.equal(refused.status, 402)
    assert.equal(((await refused.json()) as { code: string }).code, "ai_budget_exhausted")
  }
  assert.equal(world.first.asked.length, 1)
  await limit(world, null)
  assert.equal((await world.chat()).status, 200)
})

test("the output is bounded by what is left of the budget, and the bound goes to the upstream", async t => {
  const world = await aiWorld(t)
  await limit(world, 1_000)
  await world.chat()
  const { max_tokens } = world.first.asked[0]?.body ?? {}
  assert.ok(Number(max_tokens) > 50 && Number(max_tokens) < 100, `${max_tokens}`)
  await settled(world)
  await world.chat({ max_completion_tokens: 20 })
  assert.equal(world.first.asked[1]?.body.max_completion_tokens, 20)
  assert.equal(world.first.asked[1]?.body.max_tokens, undefined)
})

test("of many requests at once no more pass than the budget has room for", async t => {
  const world = await aiWorld(t)
  await limit(world, 1_000)
  const rest = Promise.withResolvers<void>()
  world.first.always({ before: rest.promise })
  let refused = 0
  const answers = Array.from({ length: 40 }, async () => {
    const answer = await world.chat({ max_tokens: 9 })
    if (answer.status === 402) refused += 1
    return answer
  })
  // All of them before any is answered, for what is answered makes room.
  await eventually("those without room are refused", async () => {
    assert.ok((await world.budget()).reserved_micros <= 1_000)
    return refused >= 30
  })
  rest.resolve()
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  const passed = statuses.filter(status => status === 200).length
  assert.ok(passed >= 5 && passed <= 10, `${passed} passed`)
  assert.equal(statuses.filter(status => status === 402).length, 40 - passed)
  await settled(world)
  assert.equal((await world.budget()).spent_micros, passed * COST_MICROS)
})

test("a request that failed costs nothing, and one that the caller left costs its input and what was delivered", async t => {
  const world = await aiWorld(t)
  world.first.always({ status: 500 })
  world.second.always({ status: 500 })
  assert.equal((await world.chat()).status, 503)
  await settled(world)
  assert.equal((await world.budget()).spent_micros, 0)

  const never = new Promise(() => undefined)
  world.first.always({ before: never })
  const abort = new AbortController()
  const before = world.first.asked.length
  const left = world.chat({}, { signal: abort.signal } as RequestInit).catch(() => undefined)
  await eventually("the upstream is asked", () => world.first.asked.length > before)
  abort.abort()
  await left
  await settled(world)
  const { spent_micros } = await world.budget()
  assert.ok(spent_micros > 0 && spent_micros < 50, `${spent_micros}`)
})

test("a stream that broke off is paid as far as it was delivered", async t => {
  const world = await aiWorld(t)
  world.first.next({ dropAfter: 4 })
  await eventsOf(await world.chat({ stream: true }))
  await settled(world)
  const { spent_micros } = await world.budget()
  assert.ok(spent_micros > 40 && spent_micros < COST_MICROS, `${spent_micros}`)
})

test("reservations of a process that died end at their expiry, paid by their input", async t => {
  const world = await aiWorld(t)
  await world.chat()
  await settled(world)
  const { db } = world.p.database
  await db
    .insertInto("ai.reservations")
    .values({
      organization_id: world.tenantId,
      id: crypto.randomUUID(),
      input_nanos: 7_000,
      reserved_nanos: 90_000,
      expires_at: new Date(world.p.clock.now() + RESERVATION_MS),
    })
    .execute()
  await db.updateTable("ai.accounts").set({ reserved_nanos: 90_000 }).execute()
  assert.equal((await world.budget()).reserved_micros, 90)
  await world.p.clock.advance(RESERVATION_MS + 120_000)
  await settled(world)
  assert.equal((await world.budget()).spent_micros, COST_MICROS + 7)
})

test("a plan's requests of a day end with 429, and begin again at midnight", async t => {
  const world = await aiWorld(t, { plan: "free" })
  await world.chat()
  await world.p.database.db.updateTable("ai.accounts").set({ day_requests: 499 }).execute()
  assert.equal((await world.chat()).status, 200)
  const refused = await world.chat()
  assert.equal(refused.status, 429)
  assert.equal(((await refused.json()) as { code: string }).code, "ai_daily_limit_exceeded")
  assert.ok(Number(refused.headers.get("retry-after")) > 0)
  // Embedded engines count too, and failures do not.
  const embedding = await world.post("/v1/ai/embeddings", { model: "svc-embed-hash-384", input: "text" })
  assert.equal(embedding.status, 429)
  await world.p.clock.advance(86_400_000)
  assert.equal((await world.chat()).status, 200)
})

test("a month begins with nothing spent", async t => {
  const world = await aiWorld(t)
  await world.chat()
  await settled(world)
  await world.p.clock.advance(32 * 86_400_000)
  assert.equal((await world.budget()).spent_micros, 0)
  await world.chat()
  await settled(world)
  assert.equal((await world.budget()).spent_micros, COST_MICROS)
})

test("nothing is sent where the counters cannot be asked", async t => {
  const world = await aiWorld(t)
  await world.chat()
  await world.p.database.pool.query("ALTER FUNCTION ai.reserve RENAME TO gone")
  const refused = await world.chat()
  assert.equal(refused.status, 503)
  assert.equal(world.first.asked.length, 1)
})
