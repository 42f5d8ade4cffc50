import assert from "node:assert/strict"
import { test } from "node:test"
import { Webhook } from "standardwebhooks"
import { advanceUntil, clientOf, deliveryWhen, eventWorld, subscribe } from "./testing/world.ts"

test("what is published is sent signed to whom it matches, and the record tells of it", async t => {
  const world = await eventWorld(t)
  const { key, topicId, receiver } = world
  const { id, signing_secret } = await subscribe(world, { filter: { event_types: ["order.*"] } })
  assert.match(signing_secret ?? "", /^whsec_/)
  await key.events.publish({ topic_id: topicId, event_type: "invoice.sent" })
  const published = await key.events.publish({
    topic_id: topicId,
    event_type: "order.paid",
    data: { order_id: 42, note: "ünï" },
    source: "billing",
  })
  assert.ok(!("events" in published))
  assert.equal(published.matched_subscriptions, 1)
  const [request] = await receiver.received(1)
  assert.ok(request)
  const headers = request.headers as Record<string, string>
  const body = new Webhook(signing_secret ?? "").verify(request.body, headers) as Record<string, unknown>
  assert.equal(headers["webhook-id"], published.event_id)
  assert.equal(headers["user-agent"], "svc-webhooks/1")
  assert.equal(headers["content-type"], "application/json")
  assert.equal(headers["x-svc-attempt"], "1")
  const { organizationId } = await world.platform.tenant("acme")
  assert.deepEqual(body, {
    id: published.event_id,
    type: "order.paid",
    event_type: "order.paid",
    timestamp: published.published_at,
    source: "billing",
    topic: "orders",
    tenant_id: organizationId,
    data: { order_id: 42, note: "ünï" },
  })
  const delivery = await deliveryWhen(world, id, "delivered")
  assert.equal(delivery.id, headers["x-svc-delivery"])
  assert.equal(delivery.event_id, published.event_id)
  assert.equal(delivery.attempts[0]?.remote_ip, "127.0.0.1")
  assert.equal(delivery.status_code, 200)
  assert.equal(receiver.requests.length, 1)
  const shown = await key.events.getSubscription({ sub_id: id })
  assert.ok(!("signing_secret" in shown))
  await advanceUntil(world, async () => (await key.events.getSubscription({ sub_id: id })).last_success_at)
  assert.equal((await key.events.getTopic({ topic_id: topicId })).event_count, 2)
})

test("another tenant's topics and subscriptions are like none", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world)
  const other = await clientOf(world.platform, "other")
  const refused = { code: "topic_not_found" }
  await assert.rejects(other.events.getTopic({ topic_id: world.topicId }), refused)
  await assert.rejects(other.events.publish({ topic_id: world.topicId, event_type: "a" }), refused)
  await assert.rejects(other.events.deliveries({ sub_id: id }), { code: "subscription_not_found" })
  await assert.rejects(other.events.deleteSubscription({ sub_id: id }), { code: "subscription_not_found" })
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await world.receiver.received(1)
})
