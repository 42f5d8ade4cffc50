import assert from "node:assert/strict"
import { test } from "node:test"
import { startReceiver } from "../../testing/receiver.ts"
import { advanceUntil, eventWorld, subscribe } from "./testing/world.ts"

const DAY_MS = 86_400_000

test("an event published again under its publisher's id is the first one, for a day", async t => {
  const world = await eventWorld(t)
  const { key, topicId: topic_id } = world
  await subscribe(world)
  const event = { topic_id, event_type: "a", id: "order-1", source: "billing" }
  const first = await key.events.publish(event)
  const again = await key.events.publish({ ...event, source: "else" })
  assert.deepEqual(again, { ...first, duplicate: true })
  const other = await key.events.createTopic({ name: "other" })
  const elsewhere = await key.events.publish({ ...event, topic_id: other.id })
  assert.ok("duplicate" in elsewhere && !elsewhere.duplicate)
  await world.platform.clock.advance(DAY_MS + 1)
  const later = await key.events.publish(event)
  assert.ok("duplicate" in later && !later.duplicate)
  await world.receiver.received(2)
  assert.equal((await key.events.getTopic({ topic_id })).event_count, 2)
})

test("of many that publish one id at the same time, one does", async t => {
  const { key, topicId: topic_id, ...world } = await eventWorld(t)
  await subscribe({ key, topicId: topic_id, ...world })
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => key.events.publish({ topic_id, event_type: "a", id: "same" })),
  )
  const ids = new Set(answers.map(one => ("event_id" in one ? one.event_id : "")))
  assert.equal(ids.size, 1)
  assert.equal(answers.filter(one => "duplicate" in one && !one.duplicate).length, 1)
  const inOne = await key.events.publish({
    topic_id,
    events: [
      { event_type: "b", id: "twice" },
      { event_type: "b", id: "twice" },
    ],
  })
  assert.deepEqual("events" in inOne && inOne.events.map(({ duplicate }) => duplicate), [false, true])
  await world.receiver.received(2)
})

test("several events are answered in their order and published all or none", async t => {
  const world = await eventWorld(t)
  const { key, topicId: topic_id } = world
  await subscribe(world)
  const events = Array.from({ length: 100 }, (_, n) => ({ event_type: `n${n}`, data: { n } }))
  const answer = await key.events.publish({ topic_id, events })
  assert.deepEqual(
    "events" in answer && answer.events.map(({ event_type }) => event_type),
    events.map(({ event_type }) => event_type),
  )
  await world.receiver.received(100)
  const large = { event_type: "large", data: { text: "x".repeat(262_144) } }
  await assert.rejects(key.events.publish({ topic_id, events: [{ event_type: "b" }, large] }), {
    code: "event_too_large",
  })
  assert.equal((await key.events.getTopic({ topic_id })).event_count, 100)
})

test("an event of 256 KiB is delivered whole, a larger one refused", async t => {
  const world = await eventWorld(t)
  const { key, topicId: topic_id, receiver } = world
  await subscribe(world)
  const text = "é".repeat((262_144 - '{"text":""}'.length) >> 1)
  await key.events.publish({ topic_id, event_type: "large", data: { text } })
  const [request] = await receiver.received(1)
  assert.equal(JSON.parse(request?.body.toString() ?? "").data.text, text)
  await assert.rejects(key.events.publish({ topic_id, event_type: "large", data: { text: `${text}é` } }), {
    code: "event_too_large",
    status: 400,
  })
})

test("what is no event is refused", async t => {
  const { key, topicId: topic_id } = await eventWorld(t)
  const refused = async (body: object, code: string) =>
    assert.rejects(key.events.publish({ topic_id, ...body }), { code, status: 400 }, JSON.stringify(body))
  await refused({}, "missing_parameter")
  await refused({ event_type: "a", events: [{ event_type: "b" }] }, "invalid_parameter")
  for (const event_type of ["", "a b", "a..b", ".a", "a.", "x".repeat(257), "ä"]) {
    await refused({ event_type }, "validation_failed")
  }
  await refused({ events: [] }, "validation_failed")
  await refused({ events: Array.from({ length: 101 }, () => ({ event_type: "a" })) }, "validation_failed")
})

test("many publishers share commits, and each event reaches each subscription once", async t => {
  const world = await eventWorld(t)
  const { key, topicId: topic_id, receiver } = world
  const second = await startReceiver(t)
  await subscribe(world)
  await subscribe(world, { config: { url: second.url } })
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, n) => key.events.publish({ topic_id, event_type: "a", data: { n } })),
  )
  const ids = answers.map(one => ("event_id" in one ? one.event_id : "")).sort()
  await Promise.all([receiver.received(300), second.received(300)])
  for (const { requests } of [receiver, second]) {
    assert.deepEqual(requests.map(({ headers }) => headers["webhook-id"]).sort(), ids)
  }
})

test("counts and what was published for too long are kept up by the clock", async t => {
  const { key, platform } = await eventWorld(t)
  const { id: topic_id } = await key.events.createTopic({ name: "short", retention_days: 1 })
  await key.events.publish({ topic_id, events: [{ event_type: "a" }, { event_type: "b" }] })
  const kept = async () => {
    const { rows } = await platform.database.pool.query(
      "SELECT count(*) FROM deliveries.messages WHERE stream_id = $1",
      [topic_id],
    )
    return Number(rows[0]?.count)
  }
  assert.equal(await kept(), 2)
  await platform.clock.advance(2 * DAY_MS)
  await advanceUntil({ platform }, async () => (await kept()) === 0)
  assert.equal((await key.events.getTopic({ topic_id })).event_count, 2)
})

test("messages and finished deliveries go with their day when it is over for thirty days", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await world.receiver.received(1)
  await advanceUntil(
    world,
    async () => (await world.key.events.deliveries({ sub_id: id, status: "delivered" })).total,
  )
  await world.platform.clock.advance(32 * DAY_MS)
  await advanceUntil(world, async () => {
    await world.platform.clock.advance(3_600_000)
    return (await world.key.events.deliveries({ sub_id: id })).total === 0
  })
  // And what comes afterwards finds its day.
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await world.receiver.received(2)
})

test("a topic shows its events to who looks on, as they are published", async t => {
  const { key, topicId: topic_id } = await eventWorld(t)
  await key.events.publish({ topic_id, event_type: "order.before" })
  const stream = await key.events.tail({ topic_id, event_type: "order.*" })
  const published = key.events.publish({
    topic_id,
    events: [{ event_type: "other" }, { event_type: "order.paid", data: { n: 1 } }],
  })
  for await (const { id, event, data } of stream) {
    if (event === "order.before") continue
    const answer = await published
    assert.equal(event, "order.paid")
    assert.equal(id, "events" in answer && answer.events[1]?.event_id)
    assert.deepEqual(JSON.parse(data).data, { n: 1 })
    break
  }
})
