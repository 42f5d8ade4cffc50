import assert from "node:assert/strict"
import { test } from "node:test"
import { Webhook } from "standardwebhooks"
import { eventually } from "../../testing/eventually.ts"
import { answer, type Received, startReceiver } from "../../testing/receiver.ts"
import { advanceUntil, deliveryWhen, eventWorld, subscribe } from "./testing/world.ts"

const DAY_MS = 86_400_000
const fails = answer(500)
const succeeds = answer(200)

test("a failed delivery is sent again, the same bytes under the same id, until it succeeds", async t => {
  const world = await eventWorld(t)
  const { id, signing_secret } = await subscribe(world)
  world.receiver.script(fails, fails, succeeds)
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a", data: { n: 1 } })
  const delivery = await deliveryWhen(world, id, "delivered")
  assert.equal(delivery.attempt_count, 3)
  assert.deepEqual(
    delivery.attempts.map(({ attempt, status_code }) => [attempt, status_code]),
    [
      [1, 500],
      [2, 500],
      [3, 200],
    ],
  )
  const [first, ...others] = world.receiver.requests as readonly [Received, ...Received[]]
  for (const other of others) {
    assert.deepEqual(other.body, first.body)
    assert.equal(other.headers["webhook-id"], first.headers["webhook-id"])
  }
  assert.deepEqual(
    world.receiver.requests.map(({ headers }) => headers["x-svc-attempt"]),
    ["1", "2", "3"],
  )
  // Signed anew each time: the first signature is too old by now for the clock of the last.
  const signatures = world.receiver.requests.map(({ headers }) => headers["webhook-signature"])
  assert.equal(new Set(signatures).size, 3)
  new Webhook(signing_secret ?? "").verify(first.body, first.headers as Record<string, string>)
})

test("retries that are used up leave a dead letter, which a replay sends again with all its retries", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world, { max_retries: 1 })
  world.receiver.script(fails)
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  assert.equal((await deliveryWhen(world, id, "dead_lettered")).attempt_count, 2)
  assert.deepEqual(await world.key.events.replay({ sub_id: id }), { replayed: 1 })
  assert.equal((await deliveryWhen(world, id, "dead_lettered")).attempt_count, 4)
  world.receiver.script(succeeds)
  await world.key.events.replay({ sub_id: id })
  const delivered = await deliveryWhen(world, id, "delivered")
  assert.deepEqual(
    delivered.attempts.map(({ trigger }) => trigger),
    ["scheduled", "scheduled", "replay", "scheduled", "replay"],
  )
  assert.deepEqual(await world.key.events.replay({ sub_id: id }), { replayed: 0 })
})

test("one delivery is sent again by hand: once when it was over, now when it waits", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  world.receiver.script(fails, succeeds)
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await world.receiver.received(1)
  // The clock stands still: once turned on it might be the schedule that sends it again.
  const waiting = await eventually("the failure is on record", async () => {
    const { data } = await world.key.events.deliveries({ sub_id: id })
    return data.find(({ status }) => status === "retrying")
  })
  await world.key.events.retryDelivery({ sub_id: id, delivery_id: waiting.id })
  await world.receiver.received(2)
  assert.equal((await deliveryWhen(world, id, "delivered")).attempts[1]?.trigger, "manual")
  world.receiver.script(fails)
  await world.key.events.retryDelivery({ sub_id: id, delivery_id: waiting.id })
  await world.receiver.received(3)
  assert.equal((await deliveryWhen(world, id, "dead_lettered")).attempt_count, 3)
})

test("410 switches the subscription off at once, and what waits for it is a dead letter", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  world.receiver.script(fails)
  for (let n = 0; n < 3; n++) await world.key.events.publish({ topic_id: world.topicId, event_type: "waits" })
  await world.receiver.received(3)
  world.receiver.script(answer(410))
  await world.key.events.publish({ topic_id: world.topicId, event_type: "ends" })
  await world.receiver.received(4)
  const off = await advanceUntil(world, async () => {
    const shown = await world.key.events.getSubscription({ sub_id: id })
    return shown.status === "disabled" && shown
  })
  assert.equal(off.disabled_reason, "gone")
  const { data } = await world.key.events.deliveries({ sub_id: id })
  assert.deepEqual(
    data.map(({ status }) => status),
    ["failed", "dead_lettered", "dead_lettered", "dead_lettered"],
  )
  const published = await world.key.events.publish({ topic_id: world.topicId, event_type: "b" })
  assert.equal("matched_subscriptions" in published && published.matched_subscriptions, 0)
})

test("five days of failure switch a subscription off; switched on again it is as new", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world, { max_retries: 20 })
  world.receiver.script(fails)
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await world.receiver.received(1)
  await deliveryWhen(world, id, "retrying")
  const startedMs = world.platform.clock.now()
  await advanceUntil(world, async () => {
    await world.platform.clock.advance(DAY_MS / 2)
    return (await world.key.events.getSubscription({ sub_id: id })).status === "disabled"
  })
  assert.ok(world.platform.clock.now() - startedMs >= 5 * DAY_MS)
  const off = await world.key.events.getSubscription({ sub_id: id })
  assert.equal(off.disabled_reason, "failing")
  await assert.rejects(world.key.events.replay({ sub_id: id }), { code: "invalid_state_transition" })
  world.receiver.script(succeeds)
  const on = await world.key.events.updateSubscription({
    sub_id: id,
    config: { url: world.receiver.url },
    status: "active",
  })
  assert.deepEqual([on.status, on.consecutive_failures], ["active", 0])
  await world.key.events.replay({ sub_id: id })
  await deliveryWhen(world, id, "delivered")
})

test("a success now and then keeps a subscription on for as long as it fails", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world, { max_retries: 0 })
  for (let day = 0; day < 8; day++) {
    world.receiver.script(day % 3 === 2 ? succeeds : fails)
    await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
    await deliveryWhen(world, id, day % 3 === 2 ? "delivered" : "dead_lettered")
    await world.platform.clock.advance(DAY_MS)
  }
  assert.equal((await world.key.events.getSubscription({ sub_id: id })).status, "active")
})

test("after five failures an endpoint gets one probe at a time, and all that waited once it is well", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  world.receiver.script(fails)
  for (let n = 0; n < 40; n++)
    await world.key.events.publish({ topic_id: world.topicId, event_type: `n${n}` })
  await advanceUntil(world, async () => {
    const { consecutive_failures } = await world.key.events.getSubscription({ sub_id: id })
    return consecutive_failures >= 5
  })
  const before = world.receiver.requests.length
  assert.ok(before < 20, `${before} requests went to an endpoint that fails`)
  await world.platform.clock.advance(3_600_000)
  const probes = world.receiver.requests.length - before
  assert.ok(probes <= 15, `${probes} probes in an hour`)
  world.receiver.script(succeeds)
  await advanceUntil(world, async () => {
    const { total } = await world.key.events.deliveries({ sub_id: id, status: "delivered" })
    return total === 40
  })
})

test("a dead endpoint holds up nobody else's", async t => {
  const world = await eventWorld(t)
  const dead = await startReceiver(t)
  dead.script(() => undefined)
  // Whatever hangs there hangs for as long as the others take.
  await subscribe(world, { config: { url: dead.url, timeout_seconds: 30 } })
  await subscribe(world)
  const events = Array.from({ length: 100 }, (_, n) => ({ event_type: `n${n}` }))
  for (let n = 0; n < 5; n++) await world.key.events.publish({ topic_id: world.topicId, events })
  await world.receiver.received(500)
  assert.ok(dead.requests.length <= 8, `${dead.requests.length} requests hang`)
})

test("as many as max_per_second go out in a second, and no more", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world, { max_per_second: 10 })
  await world.key.events.publish({ topic_id: world.topicId, event_type: "first" })
  await world.receiver.received(1)
  const events = Array.from({ length: 60 }, (_, n) => ({ event_type: `n${n}` }))
  await world.key.events.publish({ topic_id: world.topicId, events })
  for (let second = 1; second <= 6; second++) {
    await world.platform.clock.advance(1_000)
    const sent = 1 + 10 * second
    // With each that is written the engine looks for the next, at a clock that stands still.
    await eventually(`${sent} are delivered`, async () => {
      const { total } = await world.key.events.deliveries({ sub_id: id, status: "delivered" })
      return total >= sent
    })
    assert.equal(world.receiver.requests.length, sent)
  }
})
