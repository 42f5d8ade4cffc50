import assert from "node:assert/strict"
import { test } from "node:test"
import { newId } from "../../kernel/id.ts"
import { eventually } from "../../testing/eventually.ts"
import { deliveryWorld, messageTo } from "./testing/world.ts"

test("a process that has drained keeps no endpoint, however long its end takes", async t => {
  const world = await deliveryWorld(t)
  const engine = await world.process()
  const { deliveries, database, clock } = engine
  let calls = 0
  const endpointId = world.endpoint(async () => {
    calls++
    return { status: 200, body: "" }
  })
  const send = () => deliveries.enqueue(database.db, [messageTo(newId(), endpointId, { maxRetries: 1 })])
  const workers = () => database.db.selectFrom("deliveries.workers").select("id").execute()

  await send()
  await eventually("it is sent", () => calls > 0)
  assert.equal((await workers()).length, 1)
  await engine.drain(10_000)
  assert.deepEqual(await workers(), [])
  await send()
  await clock.advance(10_000)
  assert.deepEqual([calls, await workers()], [1, []])
})
