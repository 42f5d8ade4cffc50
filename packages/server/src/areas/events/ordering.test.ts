import assert from "node:assert/strict"
import { test } from "node:test"
import type { Received, Script } from "../../testing/receiver.ts"
import { advanceUntil, eventWorld, subscribe } from "./testing/world.ts"

const bodyOf = ({ body }: Received): { type: string; data: { key: string; n: number } } =>
  JSON.parse(body.toString())

/** Answers a third of the requests with 500, never the same delivery three times. */
const sometimesFails = (): Script => {
  let count = 0
  return reply => void reply.writeHead(count++ % 3 === 1 ? 500 : 200).end()
}

test("an ordered subscription gets the events of a key one after the other, also when some fail", async t => {
  const world = await eventWorld(t, { env: { SVC_RETRY_DELAY_FACTOR: "0.0001" } })
  const { id } = await subscribe(world, { ordered: true, max_retries: 20 })
  const answered: { key: string; n: number; status: number }[] = []
  const flying = new Set<string>()
  const script = sometimesFails()
  world.receiver.script((reply, request) => {
    const { key, n } = bodyOf(request).data
    assert.ok(!flying.has(key), `two of ${key} at a time`)
    flying.add(key)
    setTimeout(() => {
      flying.delete(key)
      script(reply, request)
      answered.push({ key, n, status: reply.statusCode })
    }, 2)
  })
  const keys = ["a", "b", "c"]
  for (let from = 0; from < 40; from += 10) {
    const events = Array.from({ length: 30 }, (_, at) => {
      const [key = "", n] = [keys[at % 3], from + Math.floor(at / 3)]
      return { event_type: "step", ordering_key: key, data: { key, n } }
    })
    await world.key.events.publish({ topic_id: world.topicId, events })
  }
  await advanceUntil(world, async () => {
    const { total } = await world.key.events.deliveries({ sub_id: id, status: "delivered", limit: 1 })
    return total === 120
  })
  for (const key of keys) {
    const order = answered.filter(one => one.key === key && one.status === 200).map(({ n }) => n)
    assert.deepEqual(
      order,
      Array.from({ length: 40 }, (_, n) => n),
    )
    const all = answered.filter(one => one.key === key).map(({ n }) => n)
    assert.deepEqual(
      all,
      [...all].sort((a, b) => a - b),
    )
  }
})

test("a key whose first event is dead goes on with the next", async t => {
  const world = await eventWorld(t)
  const { id } = await subscribe(world, { ordered: true, max_retries: 0 })
  world.receiver.script((reply, request) => {
    reply.writeHead(bodyOf(request).data.n === 0 ? 500 : 200).end()
  })
  const events = [0, 1, 2].map(n => ({ event_type: "step", ordering_key: "k", data: { key: "k", n } }))
  await world.key.events.publish({ topic_id: world.topicId, events })
  await world.receiver.received(3)
  assert.deepEqual(
    world.receiver.requests.map(request => bodyOf(request).data.n),
    [0, 1, 2],
  )
  await advanceUntil(world, async () => {
    const { data } = await world.key.events.deliveries({ sub_id: id })
    return data.map(({ status }) => status).join() === "delivered,delivered,dead_lettered"
  })
})

test("one key's failures hold up no other key", async t => {
  const world = await eventWorld(t)
  await subscribe(world, { ordered: true })
  world.receiver.script((reply, request) => {
    reply.writeHead(bodyOf(request).data.key === "bad" ? 500 : 200).end()
  })
  const events = Array.from({ length: 20 }, (_, n) => {
    const key = n === 0 ? "bad" : `good${n % 4}`
    return { event_type: "step", ordering_key: key, data: { key, n } }
  })
  await world.key.events.publish({ topic_id: world.topicId, events })
  await world.receiver.received(20)
})
