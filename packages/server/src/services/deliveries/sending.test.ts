/** What the engine promises whatever is sent by it, and to whichever kind of endpoint. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { newId } from "../../kernel/id.ts"
import { eventually } from "../../testing/eventually.ts"
import type { InvocationAnswer } from "./deliveries.ts"
import { deliveryWorld, type Engine, eventOf, messageTo, succeed } from "./testing/world.ts"

const listOf = async ({ deliveries, database }: Engine, tenantId: string, endpointId: string) =>
  (await deliveries.list(database.db, { tenantId, endpointId }, { limit: 100, offset: 0 })).rows

/** A function that answers no call before it is told how. */
const hanging = () => {
  const answers: ((answer: InvocationAnswer) => void)[] = []
  return {
    calls: () => answers.length,
    invoke: () => new Promise<InvocationAnswer>(resolve => answers.push(resolve)),
    answer(status: number): void {
      for (const answer of answers) answer({ status, body: "" })
    },
  }
}

test("what is enqueued on a transaction is sent if that commits, and never if it does not", async t => {
  const world = await deliveryWorld(t)
  const engine = await world.process()
  const told: string[] = []
  const endpointId = world.endpoint(async call => {
    told.push(eventOf(call))
    return { status: 200, body: "" }
  })
  const tenantId = newId()
  const [undone, done] = [messageTo(tenantId, endpointId), messageTo(tenantId, endpointId)]
  const failing = engine.database.transaction(async tx => {
    await engine.deliveries.enqueue(tx, [undone])
    throw new Error("undone")
  })
  await assert.rejects(failing, /undone/)
  await engine.database.transaction(tx => engine.deliveries.enqueue(tx, [done]))
  await eventually("it is told", () => told.length > 0)
  await engine.clock.advance(10_000)
  assert.deepEqual(told, [done.id])
  assert.equal((await listOf(engine, tenantId, endpointId)).length, 1)
})

test("a tenant whose endpoints all hang delays no other tenant, whose endpoints are new or known", async t => {
  const world = await deliveryWorld(t)
  const engine = await world.process()
  const { deliveries, database } = engine
  const slow = hanging()
  const [noisy, quiet] = [newId(), newId()]
  let told = 0
  const tell = async () => {
    told++
    return { status: 200, body: "" }
  }
  const known = world.endpoint(tell)
  await deliveries.enqueue(database.db, [messageTo(quiet, known)])
  await eventually("the known one was told", () => told === 1)

  const hung = Array.from({ length: 200 }, () => world.endpoint(slow.invoke))
  const many = hung.flatMap(id => Array.from({ length: 8 }, () => messageTo(noisy, id)))
  await deliveries.enqueue(database.db, many)
  await eventually("many hang", () => slow.calls() >= 64)
  await deliveries.enqueue(database.db, [messageTo(quiet, known), messageTo(quiet, world.endpoint(tell))])
  await eventually("both were told", () => told === 3)
  assert.ok(slow.calls() < many.length / 2, `${slow.calls()} of ${many.length} hang at the same time`)
  slow.answer(200)
})

test("what shares an ordering key is sent one at a time and in order, though one of it fails; the rest goes past it", async t => {
  const world = await deliveryWorld(t)
  const engine = await world.process()
  const tenantId = newId()
  const delivered: string[] = []
  let running = 0
  let failures = 0
  const ordered: string[] = []
  const endpointId = world.endpoint(async call => {
    const id = eventOf(call)
    if (!ordered.includes(id)) {
      delivered.push(id)
      return { status: 200, body: "" }
    }
    assert.equal(++running, 1)
    await new Promise(setImmediate)
    running--
    if (id === ordered[2] && failures++ === 0) return { status: 500, body: "" }
    delivered.push(id)
    return { status: 200, body: "" }
  })
  const messages = Array.from({ length: 8 }, () => messageTo(tenantId, endpointId, { orderingKey: "k" }))
  const beside = messageTo(tenantId, endpointId)
  ordered.push(...messages.map(({ id }) => id))
  await engine.deliveries.enqueue(engine.database.db, [...messages, beside])
  await eventually(
    "the third has failed, and the one without a key has not waited",
    () => delivered.length === 3,
  )
  assert.deepEqual(new Set(delivered), new Set([...ordered.slice(0, 2), beside.id]))
  await eventually("all are delivered", async () => {
    await engine.clock.advance(1_000)
    return delivered.length === 9
  })
  assert.deepEqual(
    delivered.filter(id => id !== beside.id),
    ordered,
  )
  // The last outcome is written after its endpoint has answered.
  const attempts = await eventually("all outcomes are written", async () => {
    const counts = (await listOf(engine, tenantId, endpointId)).map(({ attemptCount }) => attemptCount)
    return counts.every(count => count > 0) && counts
  })
  assert.deepEqual(attempts.sort(), [1, 1, 1, 1, 1, 1, 1, 1, 2])
})

test("what fails is tried again after 5 seconds, 5 minutes and 30 minutes, each give or take a fifth, and then kept", async t => {
  const world = await deliveryWorld(t)
  const engine = await world.process()
  const tenantId = newId()
  const endpointId = world.endpoint(async () => ({ status: 500, body: "no" }))
  const waitsMs = [5_000, 300_000, 1_800_000]
  await engine.deliveries.enqueue(engine.database.db, [
    messageTo(tenantId, endpointId, { maxRetries: waitsMs.length }),
  ])
  const attempted = (count: number) =>
    eventually(`${count} attempts`, async () => {
      const [delivery] = await listOf(engine, tenantId, endpointId)
      return delivery && delivery.attempts.length >= count && delivery
    })
  await attempted(1)
  for (const [at, waitMs] of waitsMs.entries()) {
    // Whatever is sent this early would be seen in the times below.
    await engine.clock.advance(0.79 * waitMs)
    await engine.clock.advance(0.42 * waitMs + 500)
    await attempted(at + 2)
  }
  const { status, attempts } = await attempted(waitsMs.length + 1)
  assert.equal(status, "dead_lettered")
  const times = attempts.map(({ started_at }) => Date.parse(started_at))
  for (const [at, waitMs] of waitsMs.entries()) {
    const waited = (times[at + 1] ?? 0) - (times[at] ?? 0)
    assert.ok(waited >= 0.8 * waitMs, `${waited} ms before retry ${at + 1}`)
  }
})

test("what a dead process was to send another sends once its lease is over, and not before", async t => {
  const world = await deliveryWorld(t)
  const [first, second] = [await world.process(), await world.process()]
  const tenantId = newId()
  const slow = hanging()
  const endpointId = world.endpoint(slow.invoke)
  await first.deliveries.enqueue(first.database.db, [messageTo(tenantId, endpointId)])
  await eventually("the first one sends", () => slow.calls() === 1)
  await first[Symbol.asyncDispose]()
  await second.clock.advance(6_000)
  assert.equal(slow.calls(), 1)
  await eventually("the other one sends", async () => {
    await second.clock.advance(1_000)
    return slow.calls() === 2
  })
  slow.answer(200)
  await eventually("it is delivered", async () => {
    const [delivery] = await listOf(second, tenantId, endpointId)
    return delivery?.status === "delivered"
  })
})

test("what a process that hung ends late changes nothing of what another has done in its place", async t => {
  const world = await deliveryWorld(t)
  const [hung, other] = [await world.process(), await world.process()]
  const tenantId = newId()
  const slow = hanging()
  let calls = 0
  const endpointId = world.endpoint(call => (calls++ === 0 ? slow.invoke() : succeed(call)))
  await hung.deliveries.enqueue(hung.database.db, [messageTo(tenantId, endpointId)])
  await eventually("it hangs", () => slow.calls() === 1)
  // Its own clock stands still: it gives no sign of life, and does not know.
  const delivered = await eventually("the other one delivers", async () => {
    await other.clock.advance(1_000)
    const [delivery] = await listOf(other, tenantId, endpointId)
    return delivery?.status === "delivered" && delivery
  })
  slow.answer(500)
  await hung.drain(10_000)
  assert.deepEqual(await listOf(other, tenantId, endpointId), [delivered])
  assert.equal(calls, 2)
})
