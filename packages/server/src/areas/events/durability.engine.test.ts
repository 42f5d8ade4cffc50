/** Deliveries outlive the kill of every process that owes them. */

import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { createSvc, type Svc } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { killPostgres, readFirstRun, type SvcProcess, spawnSvc } from "../../testing/process.ts"
import { startReceiver } from "../../testing/receiver.ts"

const EVENTS = 10_000
const AT_ONCE = 100
/** To one endpoint under way, and ended without being written yet. */
const IN_FLIGHT_MAX = 32 + 512
/** Well below the time of an attempt: one that is given up counts against the endpoint, and comes again. */
const HELD_MS_MAX = 5_000
const ENV = { SVC_OUTBOUND_ALLOW: "127.0.0.0/8", SVC_RETRY_DELAY_FACTOR: "0.001" }

const connect = async (svc: SvcProcess): Promise<Svc> => {
  const baseUrl = await svc.ready
  return createSvc({ baseUrl, apiKey: readFirstRun(svc.dataDir).api_key, retries: 0 })
}

/** An endpoint that counts how often each event came, and can hold its answers back. */
const startCounter = async (t: TestContext) => {
  const { url, script } = await startReceiver(t)
  const counts = new Map<string, number>()
  const held = new Set<() => void>()
  let isHolding = false
  script((reply, { headers }) => {
    const id = String(headers["webhook-id"])
    counts.set(id, (counts.get(id) ?? 0) + 1)
    if (!isHolding) return void reply.end()
    const answer = () => {
      held.delete(answer)
      reply.end()
    }
    held.add(answer)
    setTimeout(answer, HELD_MS_MAX).unref()
  })
  return {
    ...{ url, counts },
    hold() {
      isHolding = true
    },
    release() {
      isHolding = false
      for (const answer of held) answer()
    },
    /** For as long as more come: how fast they do is the machine's affair. */
    async untilCame(count: number) {
      while (counts.size < count) {
        const before = counts.size
        await eventually(`more than ${before} of ${count} came`, () => counts.size > before)
      }
    },
  }
}

type Counter = Awaited<ReturnType<typeof startCounter>>

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

/** Answers little until all are published, and kills once a quarter has come. */
const inTheMiddle = async (counter: Counter, publish: () => Promise<string[]>, kill: () => void) => {
  counter.hold()
  const ids = await publish()
  counter.release()
  await counter.untilCame(EVENTS / 4)
  kill()
  const before = counter.counts.size
  assert.ok(before < EVENTS, "all had been sent before the kill")
  return { ids, before }
}

/** Each event came at least once, and of those more than once no more than could be under way at the kill. */
const checkAll = ({ counts }: Counter, ids: readonly string[]) => {
  assert.deepEqual([...counts.keys()].sort(), [...ids].sort())
  assert.ok(Math.max(...counts.values()) <= 2, "an event came more than twice")
  const twice = [...counts.values()].filter(count => count > 1).length
  assert.ok(twice <= IN_FLIGHT_MAX, `${twice} events came twice`)
  return twice
}

test("a platform that is killed in the middle of 10,000 deliveries sends the rest when it is back", async t => {
  const counter = await startCounter(t)
  const first = spawnSvc(t, { env: ENV })
  const client = await connect(first)
  const { topic_id } = await subscribe(client, counter.url)
  const { ids, before } = await inTheMiddle(
    counter,
    () => publishAll(client, topic_id),
    () => first.signal("SIGKILL"),
  )
  await first.exited
  const second = spawnSvc(t, { dataDir: first.dataDir, env: ENV })
  await second.ready
  await counter.untilCame(EVENTS)
  t.diagnostic(`killed after ${before} deliveries; ${checkAll(counter, ids)} came twice`)
})

test("PostgreSQL killed in the middle of 10,000 deliveries loses none of them", async t => {
  const counter = await startCounter(t)
  const svc = spawnSvc(t, { env: ENV })
  const client = await connect(svc)
  const { topic_id, id: sub_id } = await subscribe(client, counter.url)
  const { ids, before } = await inTheMiddle(
    counter,
    () => publishAll(client, topic_id),
    () => killPostgres(svc.dataDir),
  )
  await counter.untilCame(EVENTS)
  const twice = checkAll(counter, ids)
  await eventually("all is written", async () => {
    const { total } = await client.events
      .deliveries({ sub_id, status: "delivered", limit: 1 })
      .catch(() => ({ total: 0 }))
    return total === EVENTS
  })
  t.diagnostic(`killed after ${before} deliveries; ${twice} came twice`)
})

test("events that were answered with success are delivered though the platform was killed right then", async t => {
  const { url, counts } = await startCounter(t)
  const first = spawnSvc(t, { env: ENV })
  const client = await connect(first)
  const { topic_id } = await subscribe(client, url)
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
  await eventually("all came", () => told.every(id => counts.has(id)))
})
