import assert from "node:assert/strict"
import { test } from "node:test"
import { Webhook } from "standardwebhooks"
import { answer, type Received } from "../../testing/receiver.ts"
import { advanceUntil, clientOf, deliveryWhen, eventWorld, subscribe } from "./testing/world.ts"

const signedWith = (secret: string | undefined, { body, headers }: Received): boolean => {
  try {
    new Webhook(secret ?? "").verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

test("a subscription has the defaults that its fields say, and is listed under its topic", async t => {
  const world = await eventWorld(t)
  const { signing_secret, ...made } = await subscribe(world)
  assert.equal(made.secret_hint, signing_secret?.slice(-4))
  assert.equal(made.max_retries, 3)
  assert.deepEqual(made.config, {
    ...{ url: world.receiver.url, header_names: [], timeout_seconds: 15, format: "standard" },
  })
  assert.deepEqual([made.status, made.ordered, made.filter], ["active", false, { event_types: [] }])
  const listed = await world.key.events.listSubscriptions({ topic_id: world.topicId })
  assert.deepEqual(listed.data, [made])
  assert.deepEqual(await world.key.events.getSubscription({ sub_id: made.id }), made)
  assert.equal((await world.key.events.getTopic({ topic_id: world.topicId })).subscription_count, 1)
})

test("own headers are sent, never shown, and stay when a change leaves them out; the platform's cannot be set", async t => {
  const world = await eventWorld(t)
  const made = await subscribe(world, { config: { headers: { authorization: "Bearer abc", "x-team": "a" } } })
  assert.deepEqual(made.config.header_names, ["authorization", "x-team"])
  assert.ok(!JSON.stringify(made).includes("Bearer abc"))
  const { rows } = await world.platform.database.pool.query("SELECT * FROM events.subscriptions")
  assert.ok(!JSON.stringify(rows).includes("Bearer abc"))
  const changed = await world.key.events.updateSubscription({
    sub_id: made.id,
    config: { url: world.receiver.url },
  })
  assert.deepEqual(changed.config.header_names, ["authorization", "x-team"])
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  const [request] = await world.receiver.received(1)
  assert.equal(request?.headers.authorization, "Bearer abc")
  for (const headers of [
    { "webhook-id": "x" },
    { Host: "x" },
    { "X-Svc-Attempt": "9" },
    { "bad name": "x" },
  ]) {
    await assert.rejects(subscribe(world, { config: { headers } }), { code: "invalid_parameter" })
  }
})

test("after a rotation both secrets sign until the grace period is over", async t => {
  const world = await eventWorld(t)
  const { id, signing_secret: old } = await subscribe(world)
  const { signing_secret: fresh } = await world.key.events.rotateSecret({
    sub_id: id,
    grace_period_seconds: 60,
  })
  assert.notEqual(fresh, old)
  const test = async () => {
    await world.key.events.testSubscription({ sub_id: id })
    return world.receiver.requests.at(-1) as Received
  }
  const during = await test()
  assert.deepEqual([signedWith(old, during), signedWith(fresh, during)], [true, true])
  await world.platform.clock.advance(61_000)
  const after = await test()
  assert.deepEqual([signedWith(old, after), signedWith(fresh, after)], [false, true])
  const { signing_secret: last } = await world.key.events.rotateSecret({
    sub_id: id,
    grace_period_seconds: 0,
  })
  const atOnce = await test()
  assert.deepEqual([signedWith(fresh, atOnce), signedWith(last, atOnce)], [false, true])
})

test("a test is one attempt whose outcome is the answer, and does not count against the endpoint", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  world.receiver.script(answer(410))
  const failed = await world.key.events.testSubscription({ sub_id: id })
  assert.deepEqual([failed.success, failed.status_code, failed.error?.code], [false, 410, "http_status"])
  assert.equal(failed.delivery.attempts[0]?.trigger, "test")
  world.receiver.script(answer(204))
  assert.equal((await world.key.events.testSubscription({ sub_id: id })).success, true)
  const { data } = await world.key.events.deliveries({ sub_id: id })
  assert.deepEqual(
    data.map(({ status, event_type }) => [status, event_type]),
    [
      ["delivered", "subscription.test"],
      ["failed", "subscription.test"],
    ],
  )
  const shown = await world.key.events.getSubscription({ sub_id: id })
  assert.deepEqual([shown.status, shown.consecutive_failures], ["active", 0])
  assert.equal(world.receiver.requests.length, 2)
})

test("CloudEvents have their own body and content type", async t => {
  const world = await eventWorld(t)
  await subscribe(world, { config: { format: "cloudevents" } })
  await world.key.events.publish({
    topic_id: world.topicId,
    ...{ event_type: "order.paid", data: { n: 1 }, source: "/billing" },
    occurred_at: "2026-11-20T18:00:00.123Z",
  })
  const [request] = await world.receiver.received(1)
  assert.equal(request?.headers["content-type"], "application/cloudevents+json")
  assert.deepEqual(JSON.parse(request?.body.toString() ?? ""), {
    specversion: "1.0",
    id: request?.headers["webhook-id"],
    source: "/billing",
    type: "order.paid",
    time: "2026-11-20T18:00:00.123Z",
    datacontenttype: "application/json",
    data: { n: 1 },
  })
})

test("deleting or disabling a subscription cancels what waits for it", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  world.receiver.script(answer(500))
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await deliveryWhen(world, id, "retrying")
  const config = { url: world.receiver.url }
  const off = await world.key.events.updateSubscription({ sub_id: id, config, status: "disabled" })
  assert.deepEqual([off.status, off.disabled_reason], ["disabled", "owner"])
  await deliveryWhen(world, id, "cancelled")
  const [cancelled] = (await world.key.events.deliveries({ sub_id: id })).data
  await assert.rejects(world.key.events.retryDelivery({ sub_id: id, delivery_id: cancelled?.id ?? "" }), {
    code: "invalid_state_transition",
  })
  const sent = world.receiver.requests.length
  await world.platform.clock.advance(3_600_000)
  assert.equal(world.receiver.requests.length, sent)
  await world.key.events.deleteSubscription({ sub_id: id })
  await assert.rejects(world.key.events.getSubscription({ sub_id: id }), { code: "subscription_not_found" })
})

test("a deleted topic takes its subscriptions and events with it", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  world.receiver.script(answer(500))
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await deliveryWhen(world, id, "retrying")
  await world.key.events.deleteTopic({ topic_id: world.topicId })
  await assert.rejects(world.key.events.publish({ topic_id: world.topicId, event_type: "a" }), {
    code: "topic_not_found",
  })
  await assert.rejects(world.key.events.getSubscription({ sub_id: id }), { code: "subscription_not_found" })
  const { pool } = world.platform.database
  await advanceUntil(world, async () => {
    const { rows } = await pool.query(
      "SELECT (SELECT count(*) FROM deliveries.messages) + (SELECT count(*) FROM deliveries.pending) AS left",
    )
    return Number(rows[0]?.left) === 0
  })
  const again = await world.key.events.createTopic({ name: "orders" })
  assert.notEqual(again.id, world.topicId)
})

test("a name is taken in its project, and free in another tenant's", async t => {
  const world = await eventWorld(t)
  await assert.rejects(world.key.events.createTopic({ name: "orders" }), { code: "name_taken", status: 409 })
  const other = await clientOf(world.platform, "other")
  await other.events.createTopic({ name: "orders" })
  assert.equal((await world.key.events.listTopics()).total, 1)
})

test("a subscription that does not say where it leads is refused and says what is missing", async t => {
  const world = await eventWorld(t)
  await assert.rejects(
    world.key.events.createSubscription({ topic_id: world.topicId, sub_type: "function", config: {} }),
    { code: "missing_parameter", message: /config\.function_name/ },
  )
  await assert.rejects(
    world.key.events.createSubscription({ topic_id: world.topicId, sub_type: "webhook", config: {} }),
    { code: "missing_parameter", message: /config\.url/ },
  )
})

test("deliveries are found by status, type and time, newest first", async t => {
  const world = await eventWorld(t)
  const { id: sub_id } = await subscribe(world, { max_retries: 0 })
  world.receiver.script((reply, { body }) => {
    reply.writeHead(JSON.parse(body.toString()).type === "bad" ? 500 : 200).end()
  })
  const since = new Date(world.platform.clock.now()).toISOString()
  for (const event_type of ["good", "bad", "good"]) {
    await world.key.events.publish({ topic_id: world.topicId, event_type })
    await world.platform.clock.advance(1_000)
  }
  const find = async (filter: object) => {
    const { data } = await world.key.events.deliveries({ sub_id, ...filter })
    return data.map(({ event_type }) => event_type)
  }
  await advanceUntil(world, async () => (await find({ status: "pending" })).length === 0)
  await advanceUntil(world, async () => (await find({ status: "dead_lettered" })).length === 1)
  assert.deepEqual(await find({}), ["good", "bad", "good"])
  assert.deepEqual(await find({ status: "dead_lettered" }), ["bad"])
  assert.deepEqual(await find({ event_type: "good" }), ["good", "good"])
  assert.deepEqual(await find({ since }), ["good", "bad", "good"])
  assert.deepEqual(await find({ until: since }), [])
  assert.deepEqual(await find({ limit: 1, offset: 1 }), ["bad"])
})
