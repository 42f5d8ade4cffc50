/** Several processes on one database: each endpoint is sent to by one of them, whoever publishes. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { startReceiver } from "../../testing/receiver.ts"
import { advanceUntil, eventWorld, LOCAL, subscribe } from "./testing/world.ts"

/** Sets both clocks to one time: a lease is not over in the one process while it still holds in the other. */
const align = async (...platforms: readonly TestPlatform[]) => {
  const ahead = Math.max(...platforms.map(({ clock }) => clock.now()))
  await Promise.all(platforms.map(({ clock }) => clock.advance(ahead - clock.now())))
}

test("what two processes publish arrives once each, also at endpoints that the other one sends to", async t => {
  const first = await eventWorld(t)
  const { databaseUrl } = first.platform.config
  assert.ok(databaseUrl !== undefined)
  const second = await platform(t, { databaseUrl, env: LOCAL })
  const { secret } = await first.platform.key("acme", ["events:publish", "events:read"])
  const clients = [first.platform.as(secret), second.as(secret)]
  const other = await startReceiver(t)
  await subscribe(first)
  await subscribe(first, { config: { url: other.url } })
  await align(first.platform, second)
  const publishing = Array.from({ length: 200 }, (_, n) =>
    clients[n % 2]?.events.publish({ topic_id: first.topicId, event_type: "a", data: { n } }),
  )
  const published = await Promise.all(publishing)
  const ids = published.map(one => (one && "event_id" in one ? one.event_id : "")).sort()
  for (const receiver of [first.receiver, other]) {
    await eventually("all are there", async () => {
      await Promise.all([first.platform, second].map(({ clock }) => clock.advance(1_000)))
      return receiver.requests.length >= 200
    })
    assert.deepEqual(receiver.requests.map(({ headers }) => headers["webhook-id"]).sort(), ids)
  }
})

test("when the process that sends to an endpoint ends, another one goes on", async t => {
  const world = await eventWorld(t)
  const { databaseUrl } = world.platform.config
  assert.ok(databaseUrl !== undefined)
  const { secret } = await world.platform.key("acme", ["events:publish", "events:read"])
  await subscribe(world)
  const successor = await platform(t, { databaseUrl, env: LOCAL })
  await align(world.platform, successor)
  await world.key.events.publish({ topic_id: world.topicId, event_type: "a" })
  await world.receiver.received(1)
  await world.platform[Symbol.asyncDispose]()
  await successor.as(secret).events.publish({ topic_id: world.topicId, event_type: "b" })
  await advanceUntil({ platform: successor }, async () => world.receiver.requests.length === 2)
})
