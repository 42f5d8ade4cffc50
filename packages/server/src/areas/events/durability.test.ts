/** Deliveries outlive the kill of every process that owes them. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc, type Svc } from "@svc/sdk"
import { killPostgres, readFirstRun, type SvcProcess, spawnSvc, until } from "../../testing/process.ts"
import { type Receiver, startReceiver } from "../../testing/receiver.ts"

const EVENTS = 10_000
const AT_ONCE = 100
/** To one endpoint under way, and ended without being written yet. */
const IN_FLIGHT_MAX = 32 + 512
const ENV = { SVC_OUTBOUND_ALLOW: "127.0.0.0/8", SVC_RETRY_DELAY_FACTOR: "0.001" }

const connect = async (svc: SvcProcess): Promise<Svc> => {
  const baseUrl = await svc.ready
  return createSvc({ baseUrl, apiKey: readFirstRun(svc.dataDir).api_key, retries: 0 })
}

/** Each id, and how often it came. */
const countsOf = ({ requests }: Receiver): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { headers } of requests) {
    const id = String(headers["webhook-id"])
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

/** Publishes them all; gives their event ids. */
const publishAll = async (svc: Svc, topic_id: string) => {
  const ids: string[] = []
  for (let from = 0; from < EVENTS; from += AT_ONCE) {
    const events = Array.from({ length: AT_ONCE }, (_, at) => ({
      ...{ event_type: "step", id: `event ${from + at}` },
      data: { n: from + at },
    }))
    const published = await svc.events.publish({ topic_id, events })
    if ("events" in published) ids.push(...published.events.map(({ event_id }) => event_id))
  }
  return ids
}

const subscribe = async (svc: Svc, url: string) => {
  const { id: topic_id } = await svc.events.createTopic({ name: "orders" })
  const { id } = await svc.events.createSubscription({
    topic_id,
    sub_type: "webhook",
    config: { url },
    max_retries: 20,
  })
  return { topic_id, id }
}

/** Holds every answer back until it is opened, and kills once a quarter has come. */
const inTheMiddle = async (receiver: Receiver, publish: () => Promise<string[]>, kill: () => void) => {
  const held: (() => void)[] = []
  let isOpen = false
  receiver.script(reply => {
    if (isOpen) reply.end()
    else held.push(() => reply.end())
  })
  const ids = await publish()
  isOpen = true
  for (const answer of held) answer()
  await receiver.received(EVENTS / 4)
  kill()
  const before = receiver.requests.length
  assert.ok(before < EVENTS, "all had been sent before the kill")
  return { ids, before }
}

/** Each event came at least once, and of those more than once no more than could be under way at the kill. */
const checkAll = (receiver: Receiver, ids: readonly string[]) => {
  const counts = countsOf(receiver)
  assert.deepEqual([...counts.keys()].sort(), [...ids].sort())
  assert.ok(Math.max(...counts.values()) <= 2, "an event came more than twice")
  const twice = [...counts.values()].filter(count => count > 1).length
  assert.ok(twice <= IN_FLIGHT_MAX, `${twice} events came twice`)
  return twice
}

test("a platform that is killed in the middle of 10,000 deliveries sends the rest when it is back", async t => {
  const receiver = await startReceiver(t)
  const first = spawnSvc(t, { env: ENV })
  const client = await connect(first)
  const { topic_id } = await subscribe(client, receiver.url)
  const { ids, before } = await inTheMiddle(
    receiver,
    () => publishAll(client, topic_id),
    () => first.signal("SIGKILL"),
  )
  await first.exited
  const second = spawnSvc(t, { dataDir: first.dataDir, env: ENV })
  await second.ready
  await until("all came", () => countsOf(receiver).size === EVENTS)
  t.diagnostic(`killed after ${before} deliveries; ${checkAll(receiver, ids)} came twice`)
})

test("PostgreSQL killed in the middle of 10,000 deliveries loses none of them", async t => {
  const receiver = await startReceiver(t)
  const svc = spawnSvc(t, { env: ENV })
  const client = await connect(svc)
  const { topic_id, id: sub_id } = await subscribe(client, receiver.url)
  const { ids, before } = await inTheMiddle(
    receiver,
    () => publishAll(client, topic_id),
    () => killPostgres(svc.dataDir),
  )
  await until("all came", () => countsOf(receiver).size === EVENTS)
  const twice = checkAll(receiver, ids)
  await until("all is written", async () => {
    const { total } = await client.events
      .deliveries({ sub_id, status: "delivered", limit: 1 })
      .catch(() => ({ total: 0 }))
    return total === EVENTS
  })
  t.diagnostic(`killed after ${before} deliveries; ${twice} came twice`)
})

test("events that were answered with success are delivered though the platform was killed right then", async t => {
  const receiver = await startReceiver(t)
  const first = spawnSvc(t, { env: ENV })
  const client = await connect(first)
  const { topic_id } = await subscribe(client, receiver.url)
  const told: string[] = []
  const publish = async (publisher: number) => {
    for (let n = 0; ; n++) {
      const published = await client.events.publish({ topic_id, event_type: "step", data: { publisher, n } })
      if ("event_id" in published) told.push(published.event_id)
      if (told.length === 300) first.signal("SIGKILL")
    }
  }
  await Promise.allSettled(Array.from({ length: 8 }, (_, publisher) => publish(publisher)))
  await first.exited
  const second = spawnSvc(t, { dataDir: first.dataDir, env: ENV })
  await second.ready
  await until("all came", () => {
    const counts = countsOf(receiver)
    return told.every(id => counts.has(id))
  })
})
