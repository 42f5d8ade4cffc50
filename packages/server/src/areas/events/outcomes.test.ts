import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import {
  answer,
  closeAtOnce,
  closeEarly,
  drip,
  endlessHeaders,
  flood,
  hang,
  raw,
  type Script,
} from "../../testing/receiver.ts"
import { type DeliveryRecord, deliveryWhen, type EventWorld, eventWorld, subscribe } from "./testing/world.ts"

/** One attempt on an endpoint that behaves so. */
const attempt = async (
  world: EventWorld,
  config: { url?: string; timeout_seconds?: number },
  script?: Script,
) => {
  if (script) world.receiver.script(script)
  const { id } = await subscribe(world, {
    config,
    filter: { event_types: [`only.t${Math.random().toString(36).slice(2)}`] },
    max_retries: 0,
  })
  const { filter } = await world.key.events.getSubscription({ sub_id: id })
  await world.key.events.publish({ topic_id: world.topicId, event_type: filter.event_types[0] ?? "" })
  return eventually("the attempt ends", async () => {
    const [first] = (await world.key.events.deliveries({ sub_id: id })).data
    return first && first.completed_at !== null && first
  })
}

const failure = ({ status, attempts: [only], status_code }: DeliveryRecord) => ({
  status,
  status_code,
  error: only?.error?.code,
})

test("whatever an endpoint does, the attempt ends in time and its record says what that was", async t => {
  const world = await eventWorld(t)
  const cases: [string, Script, number | null, string][] = [
    ["hangs", hang, null, "timeout"],
    ["drips for ever", drip, null, "timeout"],
    ["redirects", answer(302, { location: "http://127.0.0.1/" }), 302, "redirect_refused"],
    ["answers 500", answer(500, {}, "broken\0"), 500, "http_status"],
    ["answers 429", answer(429, { "retry-after": "30" }), 429, "http_status"],
    ["closes at once", closeAtOnce, null, "connect_error"],
    ["closes in the middle", closeEarly, null, "connect_error"],
    ["sends 1 GB", flood(2 ** 30), null, "response_too_large"],
    ["sends headers for ever", endlessHeaders, null, "response_too_large"],
    ["is no HTTP", raw("hello\r\n\r\n"), null, "connect_error"],
  ]
  for (const [what, script, status_code, error] of cases) {
    const expected = { status: "dead_lettered", status_code, error }
    const config = error === "timeout" ? { timeout_seconds: 1 } : {}
    assert.deepEqual(failure(await attempt(world, config, script)), expected, what)
  }
  // Nobody read it to its end.
  assert.ok(world.receiver.bytesSent < 100 * 2 ** 20)
})

test("no connection is an outcome, tried twice within the attempt", async t => {
  const world = await eventWorld(t)
  const record = await attempt(world, { url: "http://127.0.0.1:1099/" })
  assert.deepEqual(failure(record), { status: "dead_lettered", status_code: null, error: "connect_error" })
})

test("a name that leads nowhere is an outcome", async t => {
  const world = await eventWorld(t, { env: { SVC_DNS_SERVERS: "127.0.0.1:9" } })
  const record = await attempt(world, { url: "http://nowhere.example/" })
  assert.equal(failure(record).error, "dns_error")
})

test("an address that is refused when it is resolved is an outcome, and nothing is sent", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world, { max_retries: 0 })
  // As if its name had pointed to a public address when it was saved.
  await world.platform.database.db
    .updateTable("events.subscriptions")
    .set({ target: "http://169.254.169.254/latest/meta-data" })
    .execute()
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  const record = await deliveryWhen(world, id, "dead_lettered")
  assert.deepEqual(failure(record), { status: "dead_lettered", status_code: null, error: "blocked_address" })
})

test("what leads to where nobody may go is refused when it is saved", async t => {
  const world = await eventWorld(t, { env: { SVC_OUTBOUND_ALLOW: "" } })
  for (const url of [
    "http://10.0.0.1/",
    "http://[::1]/",
    "http://169.254.169.254/",
    "http://localhost:5432/",
    "file:///etc/passwd",
    "http://user:password@example.com/",
  ]) {
    await assert.rejects(subscribe(world, { config: { url } }), { code: "invalid_webhook_url" }, url)
  }
})

test("a body over 4 KiB is kept in part, and null characters do not break the record", async t => {
  const world = await eventWorld(t)
  const record = await attempt(world, {}, answer(500, {}, `\0${"é".repeat(4_000)}`))
  const body = record.attempts[0]?.response_body ?? ""
  assert.ok(Buffer.byteLength(body) <= 4_100 && Buffer.byteLength(body) > 4_000)
  assert.ok(body.startsWith("�é"))
})
