import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { createSvc } from "@svc/sdk"
import { Webhook } from "standardwebhooks"
import { eventually } from "../../testing/eventually.ts"
import { dataFolder, readFirstRun, spawnSvc } from "../../testing/process.ts"
import { answer, hang, startReceiver } from "../../testing/receiver.ts"
import { eventOf, makeKey, OPEN, passing, typesOf, worldOf } from "./testing/world.ts"

const HOUR = 3_600_000

test("a test tells how the endpoint did, and is 200 whatever it did", async t => {
  const { receiver, svc, tenant_id, register } = await worldOf(t)
  const { id, secret } = await register(["billing.*"])
  receiver.script(answer(204), answer(500, {}, "broken"), answer(302, { location: "/" }), answer(410))

  const good = await svc.webhooks.test({ tenant_id, id })
  assert.deepEqual([good.success, good.status_code, good.error], [true, 204, null])
  assert.equal(good.delivery.webhook_id, id)
  const event = await eventOf(receiver.requests[0] ?? assert.fail(), secret)
  assert.deepEqual([event.type, event.data.webhook_id], ["webhook.test", id])

  const bad = await svc.webhooks.test({ tenant_id, id })
  assert.deepEqual([bad.success, bad.status_code, bad.error?.code], [false, 500, "http_status"])
  assert.equal(bad.delivery.attempts[0]?.response_body, "broken")
  const redirected = await svc.webhooks.test({ tenant_id, id })
  assert.equal(redirected.error?.code, "redirect_refused")
  const gone = await svc.webhooks.test({ tenant_id, id })
  assert.deepEqual([gone.success, gone.status_code], [false, 410])

  // A test is no sign of health, and not repeated.
  const record = await svc.webhooks.get({ tenant_id, id })
  assert.deepEqual([record.active, record.consecutive_failures], [true, 0])
  const { data, total } = await svc.webhooks.deliveries({ tenant_id, id })
  assert.equal(total, 4)
  assert.deepEqual(
    data.map(({ status }) => status),
    ["failed", "failed", "failed", "delivered"],
  )
  assert.deepEqual(new Set(data.map(({ attempts }) => attempts[0]?.trigger)), new Set(["test"]))
})

test("a test also tells of an endpoint that nothing answers for, and of a webhook that is off", async t => {
  const { receiver, svc, tenant_id, register } = await worldOf(t)
  const unreachable = await register(["billing.*"], "http://127.0.0.1:1025/")
  const failed = await svc.webhooks.test({ tenant_id, id: unreachable.id })
  assert.deepEqual([failed.success, failed.status_code, failed.error?.code], [false, null, "connect_error"])

  const { id } = await register(["billing.*"])
  const off = { tenant_id, id, url: receiver.url, event_types: ["billing.*"], active: false }
  await svc.webhooks.update(off)
  assert.equal((await svc.webhooks.test({ tenant_id, id })).success, true)
})

test("switched off, a webhook is told of nothing, and what waited for it is not sent later", async t => {
  const { p, receiver, svc, person, tenant_id, register } = await worldOf(t)
  const { id } = await register(["key.created"])
  receiver.script(answer(500), answer(200))
  await makeKey(person)
  await receiver.received(1)
  await eventually("the first attempt is on record", async () => {
    const { data } = await svc.webhooks.deliveries({ tenant_id, id, status: "retrying" })
    return data.length === 1
  })
  const webhook = { tenant_id, id, url: receiver.url, event_types: ["key.created"] }
  const off = await svc.webhooks.update({ ...webhook, active: false })
  assert.deepEqual([off.active, off.disabled_at], [false, null])
  await makeKey(person)
  await p.clock.advance(HOUR)
  const { data, total } = await svc.webhooks.deliveries({ tenant_id, id })
  assert.deepEqual([total, data[0]?.status], [1, "cancelled"])
  const one = { tenant_id, id, delivery_id: data[0]?.id ?? "" }
  await assert.rejects(svc.webhooks.retryDelivery(one), { status: 409, code: "invalid_state_transition" })
  await assert.rejects(svc.webhooks.replay({ tenant_id, id }), { code: "invalid_state_transition" })

  await svc.webhooks.update(webhook)
  await makeKey(person)
  await receiver.received(2)
  assert.deepEqual(typesOf(receiver), ["key.created", "key.created"])
})

test("what waits for a webhook that is removed is never sent", async t => {
  const { p, receiver, svc, person, tenant_id, register } = await worldOf(t)
  const { id } = await register(["key.created"])
  receiver.script(answer(500))
  await makeKey(person)
  await receiver.received(1)
  await eventually("the first attempt is on record", async () => {
    const { data } = await svc.webhooks.deliveries({ tenant_id, id, status: "retrying" })
    return data.length === 1
  })
  await svc.webhooks.unregister({ tenant_id, id })
  await makeKey(person)
  await p.clock.advance(HOUR)
  const { rows } = await p.database.pool.query("SELECT count(*)::int AS count FROM deliveries.pending")
  assert.deepEqual(rows, [{ count: 0 }])
  assert.equal(receiver.requests.length, 1)
})

test("while a secret is replaced both sign, and the one before stops after its grace time", async t => {
  const { p, receiver, svc, tenant_id, register } = await worldOf(t)
  const { id, secret: first } = await register(["key.created"])
  const deliver = async () => {
    const { length } = receiver.requests
    // Sessions do not last as long as the grace time.
    await makeKey(await p.person("acme"))
    return (await receiver.received(length + 1))[length] ?? assert.fail()
  }
  const signatures = ({ headers }: { headers: Record<string, unknown> }) =>
    String(headers["webhook-signature"]).split(" ").length

  const second = `whsec_${Buffer.alloc(32, "second").toString("base64")}`
  const webhook = { tenant_id, id, url: receiver.url, event_types: ["key.created"] }
  const changed = await svc.webhooks.update({ ...webhook, secret: second })
  assert.deepEqual([changed.secret, changed.secret_hint], [second, second.slice(-4)])
  assert.equal((await svc.webhooks.update({ ...webhook, secret: second })).secret, undefined)
  const both = await deliver()
  assert.equal(signatures(both), 2)
  // An independent receiver, which knows nothing of the rotation, has the old secret or the new one.
  for (const secret of [first, second]) {
    new Webhook(secret).verify(both.body, both.headers as Record<string, string>)
    await eventOf(both, secret)
  }

  await p.clock.advance(24 * HOUR + 1)
  const alone = await deliver()
  assert.equal(signatures(alone), 1)
  await eventOf(alone, second)
  await assert.rejects(eventOf(alone, first))

  const { secret: third = "" } = await svc.webhooks.rotateSecret({ tenant_id, id, grace_period_seconds: 0 })
  const now = await deliver()
  assert.equal(signatures(now), 1)
  await eventOf(now, third)
  const wrong = svc.webhooks.rotateSecret({ tenant_id, id, secret: "hush" })
  await assert.rejects(wrong, { status: 400, code: "invalid_parameter" })
})

test("at most ten earlier secrets sign, and all of them can be ended at once", async t => {
  const { svc, tenant_id, register } = await worldOf(t)
  const { id } = await register(["key.created"])
  for (let count = 0; count < 10; count++) await svc.webhooks.rotateSecret({ tenant_id, id })
  await assert.rejects(svc.webhooks.rotateSecret({ tenant_id, id }), { code: "invalid_parameter" })
  await svc.webhooks.rotateSecret({ tenant_id, id, grace_period_seconds: 0 })
  await svc.webhooks.rotateSecret({ tenant_id, id })
})

test("an endpoint that says it is gone is switched off at once, and others are told", async t => {
  const { receiver, svc, person, tenant_id, register } = await worldOf(t)
  const watcher = await startReceiver(t)
  const { id } = await register(["key.created", "webhook.*"])
  const { secret } = await register(["webhook.*"], watcher.url)
  receiver.script(answer(410))
  await makeKey(person)
  const [told] = await watcher.received(1)
  const event = await eventOf(told ?? assert.fail(), secret)
  assert.equal(event.type, "webhook.disabled")
  assert.deepEqual(event.data, { webhook_id: id, url: receiver.url, reason: "gone" })
  const off = await svc.webhooks.get({ tenant_id, id })
  assert.deepEqual([off.active, off.disabled_reason], [false, "gone"])
  assert.ok(off.disabled_at)
  await makeKey(person)

  receiver.script(answer(200))
  const again = { tenant_id, id, url: receiver.url, event_types: ["key.created"] }
  const on = await svc.webhooks.update(again)
  assert.deepEqual(
    [on.active, on.disabled_at, on.disabled_reason, on.consecutive_failures],
    [true, null, null, 0],
  )
  await makeKey(person)
  await receiver.received(2)
  assert.deepEqual(typesOf(receiver), ["key.created", "key.created"])
})

/** A webhook whose endpoint fails four times, and another one that hears of it. */
const failingWorld = async (t: TestContext) => {
  const world = await worldOf(t)
  const { p, receiver, svc, person, tenant_id, register } = world
  const watcher = await startReceiver(t)
  const { id } = await register(["key.created", "webhook.*"])
  await register(["webhook.*"], watcher.url)
  receiver.script(answer(500))
  await makeKey(person)
  const attempts = (count: number) =>
    passing(p, `attempt ${count} is on record`, async () => {
      const { data } = await svc.webhooks.deliveries({ tenant_id, id })
      return (data[0]?.attempt_count ?? 0) >= count
    })
  for (let count = 1; count < 4; count++) {
    await attempts(count)
    await p.clock.advance(HOUR)
  }
  await attempts(4)
  await passing(p, "others are told that it fails", () => watcher.requests.length === 1)
  return { ...world, watcher, id }
}

test("an owner is told that a webhook fails, once, and that it is well again", async t => {
  const { p, receiver, svc, tenant_id, watcher, id } = await failingWorld(t)
  const { data } = await svc.webhooks.deliveries({ tenant_id, id })
  const { data: told } = JSON.parse(watcher.requests[0]?.body.toString() ?? "")
  assert.deepEqual(told, {
    ...{ webhook_id: id, url: receiver.url, delivery_id: data[0]?.id, event_type: "key.created" },
  })
  receiver.script(answer(200))
  await p.clock.advance(6 * HOUR)
  await passing(p, "others are told that it is well", () => watcher.requests.length === 2)
  assert.deepEqual(typesOf(watcher), ["webhook.failing", "webhook.recovered"])
  // Of itself it is not told: only the key is sent, again and again.
  assert.deepEqual(new Set(typesOf(receiver)), new Set(["key.created"]))
})

test("a webhook that fails for five days is switched off, and others are told", async t => {
  const { p, receiver, svc, tenant_id, watcher, id } = await failingWorld(t)
  await p.clock.advance(120 * HOUR)
  await passing(p, "others are told that it is off", () => watcher.requests.length === 2)
  assert.deepEqual(typesOf(watcher), ["webhook.failing", "webhook.disabled"])
  const off = await svc.webhooks.get({ tenant_id, id })
  assert.deepEqual([off.active, off.disabled_reason], [false, "failing"])
  const { data } = await svc.webhooks.deliveries({ tenant_id, id })
  assert.equal(data[0]?.status, "dead_lettered")
  const { length } = receiver.requests
  await makeKey(await p.person("acme"))
  await p.clock.advance(24 * HOUR)
  assert.equal(receiver.requests.length, length)
})

test("one delivery is sent again, and all that failed are replayed", async t => {
  const { receiver, svc, person, tenant_id, register } = await worldOf(t)
  const { id } = await register(["key.created"])
  receiver.script(answer(500), answer(500), answer(200))
  const { delivery } = await svc.webhooks.test({ tenant_id, id })
  await makeKey(person)
  await receiver.received(2)
  const listed = async (status: "failed" | "retrying" | "delivered") =>
    (await svc.webhooks.deliveries({ tenant_id, id, status })).data
  await eventually("it waits for its next attempt", async () => (await listed("retrying")).length === 1)
  const [waiting] = await listed("retrying")
  const retried = await svc.webhooks.retryDelivery({ tenant_id, id, delivery_id: waiting?.id ?? "" })
  assert.equal(retried.id, waiting?.id)
  await receiver.received(3)
  await eventually("it is delivered", async () => (await listed("delivered")).length === 1)
  const [done] = await listed("delivered")
  assert.deepEqual(
    done?.attempts.map(({ trigger, status_code }) => [trigger, status_code]),
    [
      ["scheduled", 500],
      ["manual", 200],
    ],
  )

  assert.deepEqual(await svc.webhooks.replay({ tenant_id, id, status: "failed" }), { replayed: 1 })
  await receiver.received(4)
  await eventually("it is delivered too", async () => (await listed("delivered")).length === 2)
  assert.deepEqual(await svc.webhooks.replay({ tenant_id, id }), { replayed: 0 })
  const since = new Date(Date.now() + HOUR).toISOString()
  assert.deepEqual(await svc.webhooks.replay({ tenant_id, id, status: "delivered", since }), { replayed: 0 })
  assert.equal(receiver.requests[3]?.headers["webhook-id"], delivery.event_id)
  const never = { tenant_id, id, delivery_id: tenant_id }
  await assert.rejects(svc.webhooks.retryDelivery(never), { status: 404, code: "delivery_not_found" })
})

test("what was told when the platform was killed is delivered after it is back", {
  timeout: 120_000,
}, async t => {
  const receiver = await startReceiver(t)
  const dataDir = dataFolder(t)
  const first = spawnSvc(t, { dataDir, env: OPEN })
  const baseUrl = await first.ready
  const { api_key: apiKey, organization_id: tenant_id, email, password } = readFirstRun(dataDir)
  const signIn = async (baseUrl: string) => {
    const response = await fetch(`${baseUrl}/v1/account/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password }),
    })
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? ""
    return createSvc({ baseUrl, headers: { cookie, origin: baseUrl } })
  }
  const svc = createSvc({ apiKey, baseUrl })
  const webhook = await svc.webhooks.register({ tenant_id, url: receiver.url, event_types: ["key.created"] })
  const person = await signIn(baseUrl)
  receiver.script(hang)
  const key = await makeKey(person)
  first.signal("SIGKILL")
  await first.exited

  receiver.script(answer(200))
  const second = spawnSvc(t, { dataDir, env: OPEN })
  const after = createSvc({ apiKey, baseUrl: await second.ready })
  await eventually("it is delivered", async () => {
    const { data } = await after.webhooks.deliveries({ tenant_id, id: webhook.id, status: "delivered" })
    return data.length === 1
  })
  const told = receiver.requests.map(({ body }) => JSON.parse(body.toString()).data.key_id)
  assert.deepEqual(new Set(told), new Set([key.id]))
  assert.ok(told.length <= 2, "more than one extra")
})
