import assert from "node:assert/strict"
import { createPublicKey, verify } from "node:crypto"
import { type TestContext, test } from "node:test"
import { createBrowser } from "../../ports/push/testing/browser.ts"
import { platform } from "../../testing/platform.ts"
import { answer, closeAtOnce, type Received, type Script, startReceiver } from "../../testing/receiver.ts"
import { BOTH, settled, untilAsked } from "./testing/settled.ts"

const world = async (t: TestContext) => {
  const p = await platform(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.1/32" } })
  const service = await startReceiver(t)
  const svc = await p.client("acme", ...BOTH)
  const subscribe = async (path = "/push/1") => {
    const browser = createBrowser(`${service.url}${path}`)
    const device = await svc.notifications.registerDevice({
      provider: "webpush",
      subscription: browser.subscription,
    })
    return { browser, device }
  }
  return { p, service, svc, subscribe }
}

const checkVapid = ({ headers }: Received, origin: string, publicKey: string) => {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(headers.authorization ?? "") ?? []
  assert.equal(key, publicKey)
  const [header = "", claims = "", signature = ""] = token.split(".")
  const point = Buffer.from(key, "base64url")
  const jwk = {
    ...{ kty: "EC", crv: "P-256" },
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  }
  const signed = verify(
    "sha256",
    Buffer.from(`${header}.${claims}`),
    { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  )
  assert.ok(signed, "the VAPID token's signature is wrong")
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, "base64url").toString("utf8"))
  assert.equal(aud, origin)
  assert.match(sub, /^(mailto|https):/)
  return Number(exp)
}

test("a browser gets what was sent, encrypted for it alone, from a sender it can check", async t => {
  const { p, service, svc, subscribe } = await world(t)
  service.script(answer(201))
  const { browser, device } = await subscribe()
  const sent = await svc.notifications.send({
    ...{ title: "Deployed", body: "web", type: "deploy.done", data: { a: [1] }, action_url: "/deploys/1" },
    ...{ priority: "high", ttl_seconds: 600, collapse_key: "web" },
  })
  assert.deepEqual(sent.channels, { in_app: "stored", push: "queued" })
  const [request] = await service.received(1)
  assert.ok(request)
  assert.deepEqual(browser.read(request.body), {
    ...{ id: sent.id, title: "Deployed", body: "web", type: "deploy.done", category: null },
    ...{ action_url: "/deploys/1", data: { a: [1] } },
  })
  assert.deepEqual(
    [request.headers["content-encoding"], request.headers.ttl, request.headers.urgency],
    ["aes128gcm", "600", "high"],
  )
  assert.match(String(request.headers.topic), /^[\w-]{32}$/)
  const exp = checkVapid(request, service.url, device.vapid_public_key ?? "")
  assert.ok(exp * 1_000 <= p.clock.now() + 24 * 3_600_000)
  assert.deepEqual((await svc.notifications.webPushKey()).public_key, device.vapid_public_key)
  const { status, provider_status, device_id } = await settled(svc, sent.id)
  assert.deepEqual([status, provider_status, device_id], ["sent", 201, device.id])
  assert.ok((await svc.notifications.listDevices()).data[0]?.last_success_at)
})

for (const status of [404, 410]) {
  test(`a subscription that is gone (${status}) is pushed to no more`, async t => {
    const { service, svc, subscribe } = await world(t)
    service.script(answer(status, {}, "whatever text"))
    const { browser } = await subscribe()
    const { id } = await svc.notifications.send({ title: "x" })
    assert.equal((await settled(svc, id)).status, "failed")
    const [device] = (await svc.notifications.listDevices()).data
    assert.equal(device?.active, false)
    assert.ok(device?.invalidated_at)
    assert.equal((await svc.notifications.send({ title: "y" })).channels.push, "no_devices")
    // Subscribed anew, it is alive again, and the same device.
    await svc.notifications.registerDevice({ provider: "webpush", subscription: browser.subscription })
    const devices = await svc.notifications.listDevices()
    assert.deepEqual([devices.total, devices.data[0]?.active, devices.data[0]?.id], [1, true, device?.id])
  })
}

for (const [name, status] of [
  ["too large", 413],
  ["refused", 403],
] as const) {
  test(`a message that is ${name} (${status}) fails for good, and the device stays`, async t => {
    const { service, svc, subscribe } = await world(t)
    service.script(answer(status))
    await subscribe()
    const { id } = await svc.notifications.send({ title: "x" })
    const { status: outcome, provider_status } = await settled(svc, id)
    assert.deepEqual([outcome, provider_status], ["failed", status])
    assert.equal((await svc.notifications.listDevices()).data[0]?.active, true)
  })
}

const failures: readonly (readonly [string, Script])[] = [
  ["answers 500", answer(500)],
  ["closes the connection", closeAtOnce],
]
for (const [name, script] of failures) {
  test(`a push service that ${name} is tried again`, async t => {
    const { p, service, svc, subscribe } = await world(t)
    service.script(script, answer(201))
    await subscribe()
    const { id } = await svc.notifications.send({ title: "x" })
    await untilAsked(p, service.requests, 2, 1_000)
    assert.equal((await settled(svc, id)).status, "sent")
  })
}

test("a push service that answers 429 is left alone for as long as it asks", async t => {
  const { p, service, svc, subscribe } = await world(t)
  service.script(answer(429, { "retry-after": "600" }), answer(201))
  await subscribe()
  const { id } = await svc.notifications.send({ title: "x" })
  await service.received(1)
  const start = p.clock.now()
  await untilAsked(p, service.requests, 2, 30_000)
  assert.ok(p.clock.now() - start >= 590_000, "it was asked too early")
  assert.equal((await settled(svc, id)).status, "sent")
})

test("a device registered twice gets a message once", async t => {
  const { service, svc, subscribe } = await world(t)
  service.script(answer(201))
  const { browser, device } = await subscribe()
  const again = await svc.notifications.registerDevice({
    provider: "webpush",
    subscription: { ...browser.subscription, expirationTime: 1 },
    name: "Firefox",
  })
  assert.deepEqual([again.id, again.name], [device.id, "Firefox"])
  const { id } = await svc.notifications.send({ title: "x" })
  await settled(svc, id)
  assert.equal((await svc.notifications.get({ id })).deliveries.length, 1)
  assert.equal(service.requests.length, 1)
})

test("a device follows the person who registered it last, and one that was unregistered gets nothing", async t => {
  const { p, svc, subscribe } = await world(t)
  const { browser, device } = await subscribe()
  const ada = await p.person("acme", "member")
  const moved = await ada.notifications.registerDevice({
    provider: "webpush",
    subscription: browser.subscription,
  })
  assert.equal(moved.id, device.id)
  assert.equal((await svc.notifications.listDevices()).total, 0)
  assert.equal((await svc.notifications.send({ title: "x" })).channels.push, "no_devices")
  assert.equal((await ada.notifications.unregisterDevice({ device_id: device.id })).active, false)
  assert.equal((await ada.notifications.listDevices()).total, 0)
  const { status } = await ada.notifications.unregisterDevice({ device_id: device.id }).then(
    () => assert.fail("it was there still"),
    (reason: { status: number }) => reason,
  )
  assert.equal(status, 404)
})

test("preferences and quiet hours hold a push back, and say so", async t => {
  const { p, service, svc, subscribe } = await world(t)
  service.script(answer(201))
  await subscribe()
  const hour = (change: number) => new Date(p.clock.now() + change * 3_600_000).toISOString().slice(11, 16)
  const quiet_hours = { start: hour(-1), end: hour(1), timezone: "UTC" }
  await svc.notifications.updatePreferences({
    categories: { ads: { push: false }, spam: false },
    quiet_hours,
  })
  const statusOf = async (input: object) => {
    const { id } = await svc.notifications.send({ title: "x", ...input })
    return (await settled(svc, id)).status
  }
  assert.equal(await statusOf({ category: "ads", priority: "urgent" }), "skipped_preference")
  assert.equal(await statusOf({}), "skipped_quiet_hours")
  assert.equal(await statusOf({ priority: "urgent" }), "sent")
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 3 })
  const { channels } = await svc.notifications.send({ title: "x", category: "spam" })
  assert.deepEqual(channels, { in_app: "skipped", push: "skipped" })
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 3 })
  const kept = await svc.notifications.getPreferences()
  assert.deepEqual(kept.quiet_hours, { ...quiet_hours, min_priority: "urgent" })
  assert.deepEqual(kept.channel_types, { in_app: true, push: true, email: true })
  // A put replaces everything.
  await svc.notifications.updatePreferences({})
  assert.equal(await statusOf({ category: "spam" }), "sent")
})

test("subscriptions that lead into private networks, and keys that are none, are refused", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const { subscription } = createBrowser("https://push.example.com/1")
  const status = (given: object, provider = "webpush") =>
    svc.notifications.registerDevice({ provider, ...given } as never).then(
      () => 200,
      (reason: { status: number }) => reason.status,
    )
  assert.equal(await status({ subscription }), 200)
  for (const endpoint of [
    "https://127.0.0.1/x",
    "https://[::1]/x",
    "https://169.254.169.254/",
    "ftp://a.example/",
  ])
    assert.equal(await status({ subscription: { ...subscription, endpoint } }), 400, endpoint)
  const keys = { ...subscription.keys, p256dh: "AAAA" }
  assert.equal(await status({ subscription: { ...subscription, keys } }), 400)
  assert.equal(await status({}), 400)
  assert.equal(await status({}, "fcm"), 400)
  assert.equal(await status({ token: "not hexadecimal/.." }, "apns"), 400)
})
