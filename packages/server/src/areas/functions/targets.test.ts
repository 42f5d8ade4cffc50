/** Functions as events and schedules call them. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { advanceUntil, deploy, functionWorld } from "./testing/world.ts"

test("an event invokes the function that its subscription names, with the event", async t => {
  const world = await functionWorld(t)
  const { id, name } = await deploy(world, "export const handler = e => console.log(JSON.stringify(e))")
  const { id: topic_id } = await world.svc.events.createTopic({ name: "orders" })
  const config = { function_name: name }
  await world.svc.events.createSubscription({ topic_id, sub_type: "function", config })
  await world.svc.events.publish({ topic_id, event_type: "order.paid", data: { order: 17 } })
  const found = await advanceUntil(world, async () => (await world.svc.functions.invocations({ id })).data[0])
  assert.deepEqual([found.trigger, found.status], ["event", "success"])
  const { data } = await world.svc.functions.logs({ id })
  assert.match(data[0]?.message ?? "", /"event_type":"order.paid".*"order":17/)
})

test("a subscribed function runs as long as its own limit, and sees that limit", async t => {
  const world = await functionWorld(t)
  const code = "export const handler = (_, c) => console.log('left', c.getRemainingTimeInMillis())"
  const { id, name } = await deploy(world, code, { timeout_seconds: 120 })
  const { id: topic_id } = await world.svc.events.createTopic({ name: "orders" })
  const config = { function_name: name }
  const subscription = await world.svc.events.createSubscription({ topic_id, sub_type: "function", config })
  assert.equal(subscription.config.timeout_seconds, 300)
  await world.svc.events.publish({ topic_id, event_type: "order.paid", data: {} })
  const line = await advanceUntil(world, async () => (await world.svc.functions.logs({ id })).data[0])
  const leftMs = Number(/left (\d+)/.exec(line.message)?.[1])
  assert.ok(leftMs > 30_000 && leftMs <= 120_000, line.message)
})

test("a time that a subscription gives its function ends the function", async t => {
  const world = await functionWorld(t)
  const { id, name } = await deploy(world, "export const handler = () => new Promise(() => {})")
  const { id: topic_id } = await world.svc.events.createTopic({ name: "orders" })
  const config = { function_name: name, timeout_seconds: 1 }
  const { id: sub_id } = await world.svc.events.createSubscription({
    ...{ topic_id, sub_type: "function", config, max_retries: 0 },
  })
  await world.svc.events.publish({ topic_id, event_type: "order.paid", data: {} })
  const delivery = await advanceUntil(world, async () => {
    const [found] = (await world.svc.events.deliveries({ sub_id })).data
    return found?.status === "dead_lettered" && found
  })
  assert.deepEqual([delivery.status_code, delivery.attempts[0]?.error?.code], [504, "timeout"])
  assert.equal((await world.svc.functions.invocations({ id })).data[0]?.status, "timeout")
})

test("settings that change nothing for a subscription of that type are refused by name", async t => {
  const world = await functionWorld(t)
  const { name } = await deploy(world, "export const handler = () => {}")
  const { id: topic_id } = await world.svc.events.createTopic({ name: "orders" })
  const url = "https://example.com/hooks"
  const cases = [
    ["function", { function_name: name, headers: { "x-a": "1" } }, /config\.headers/],
    ["function", { function_name: name, url }, /config\.url/],
    ["webhook", { url, function_name: name }, /config\.function_name/],
    ["webhook", { url, timeout_seconds: 31 }, /at most 30/],
  ] as const
  for (const [sub_type, config, message] of cases) {
    await assert.rejects(world.svc.events.createSubscription({ topic_id, sub_type, config }), {
      ...{ code: "invalid_parameter", status: 400, message },
    })
  }
})

test("a subscription to a function that is not there is refused", async t => {
  const world = await functionWorld(t)
  const { id: topic_id } = await world.svc.events.createTopic({ name: "orders" })
  const config = { function_name: "none" }
  await assert.rejects(world.svc.events.createSubscription({ topic_id, sub_type: "function", config }), {
    ...{ code: "function_not_found", status: 404 },
  })
})

test("a delivery to a function that fails is a failed delivery", async t => {
  const world = await functionWorld(t)
  const { name } = await deploy(world, "export const handler = () => { throw new Error('no') }")
  const { id: topic_id } = await world.svc.events.createTopic({ name: "orders" })
  const config = { function_name: name }
  const { id: sub_id } = await world.svc.events.createSubscription({
    ...{ topic_id, sub_type: "function", config, max_retries: 0 },
  })
  await world.svc.events.publish({ topic_id, event_type: "order.paid", data: {} })
  const delivery = await advanceUntil(world, async () => {
    const [found] = (await world.svc.events.deliveries({ sub_id })).data
    return found?.status === "dead_lettered" && found
  })
  assert.equal(delivery.status_code, 500)
})

test("a schedule invokes a function with its payload, and tells what it answered", async t => {
  const world = await functionWorld(t)
  const { id, name } = await deploy(world, "export const handler = e => ({ got: e })")
  const target = { type: "function", function_name: name, payload: { n: 1 } } as const
  const schedule = await world.svc.cron.create({ name: "tick", interval_seconds: 3600, target })
  assert.equal(schedule.timeout_seconds, 300)
  await world.svc.cron.trigger({ id: schedule.id })
  const done = await advanceUntil(world, async () => {
    const [found] = (await world.svc.cron.executions({ id: schedule.id })).data
    return found?.status === "succeeded" && found
  })
  assert.deepEqual([done.status_code, done.response_body], [200, '{"got":{"n":1}}'])
  assert.equal((await world.svc.functions.invocations({ id })).data[0]?.trigger, "cron")
  const absent = { type: "function", function_name: "none" } as const
  await assert.rejects(world.svc.cron.create({ name: "f", interval_seconds: 60, target: absent }), {
    ...{ code: "function_not_found", status: 404 },
  })
})

test("a schedule's function that takes longer than the schedule allows has timed out", async t => {
  const world = await functionWorld(t)
  const { name } = await deploy(world, "export const handler = () => new Promise(() => {})")
  const target = { type: "function", function_name: name } as const
  const input = { name: "slow", interval_seconds: 3600, timeout_seconds: 1, max_retries: 0, target }
  const { id } = await world.svc.cron.create(input)
  await world.svc.cron.trigger({ id })
  await advanceUntil(
    world,
    async () => (await world.svc.cron.executions({ id })).data[0]?.status === "timed_out",
  )
})
