import assert from "node:assert/strict"
import { generateKeyPairSync, type KeyObject, verify } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http2"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { answer, startReceiver } from "../../testing/receiver.ts"
import { BOTH, settled, untilAsked } from "./testing/settled.ts"

const APNS_TOKEN = "ab".repeat(32)

const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString()
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 })
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" })

/** The claims of a token, whose signature is checked. */
const claimsOf = (
  token: string,
  key: KeyObject,
): { header: Record<string, unknown>; claims: Record<string, unknown> } => {
  const [header = "", claims = "", signature = ""] = token.split(".")
  const checked = key.asymmetricKeyType === "ec" ? { key, dsaEncoding: "ieee-p1363" as const } : key
  assert.ok(
    verify("sha256", Buffer.from(`${header}.${claims}`), checked, Buffer.from(signature, "base64url")),
  )
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
  return { header: read(header), claims: read(claims) }
}

const fcmWorld = async (t: TestContext) => {
  const p = await platform(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.1/32" } })
  const svc = await p.wide("acme", ...BOTH)
  const google = await startReceiver(t)
  await svc.notifications.updateProviders({
    fcm: {
      ...{ project_id: "demo", client_email: "push@demo.example", private_key: pem(rsa.privateKey) },
      ...{ url: google.url, token_url: `${google.url}/token` },
    },
  })
  await svc.notifications.registerDevice({ provider: "fcm", token: "device-token", platform: "android" })
  return { p, svc, google }
}

const granted = answer(
  200,
  { "content-type": "application/json" },
  '{"access_token":"t0k3n","expires_in":3600}',
)

test("an Android device is reached through FCM, in the name of the service account", async t => {
  const { svc, google } = await fcmWorld(t)
  google.script(granted, answer(200, {}, '{"name":"projects/demo/messages/1"}'))
  const input = { title: "Hi", body: "there", data: { a: 1 }, collapse_key: "k", priority: "high" as const }
  const { id } = await svc.notifications.send({ ...input, ttl_seconds: 60 })
  assert.equal((await settled(svc, id)).status, "sent")
  const [grant, push] = google.requests
  const form = new URLSearchParams(grant?.body.toString())
  const { claims } = claimsOf(form.get("assertion") ?? "", rsa.publicKey)
  assert.equal(claims.iss, "push@demo.example")
  assert.equal(claims.aud, `${google.url}/token`)
  assert.equal(push?.path, "/v1/projects/demo/messages:send")
  assert.equal(push?.headers.authorization, "Bearer t0k3n")
  assert.deepEqual(JSON.parse(push?.body.toString() ?? ""), {
    message: {
      token: "device-token",
      notification: { title: "Hi", body: "there" },
      data: { notification_id: id, data: '{"a":1}' },
      android: { priority: "HIGH", ttl: "60s", collapse_key: "k" },
    },
  })
  // The token serves for the next one too.
  await settled(svc, (await svc.notifications.send({ title: "again" })).id)
  assert.equal(google.requests.length, 3)
})

const fcmError = (status: number, code: string) =>
  answer(status, {}, JSON.stringify({ error: { status: "X", details: [{ "@type": "t", errorCode: code }] } }))

test("FCM's code says that a device is gone, and its status alone does not", async t => {
  const { svc, google } = await fcmWorld(t)
  google.script(granted, fcmError(404, "SOMETHING_ELSE"), fcmError(404, "UNREGISTERED"))
  await settled(svc, (await svc.notifications.send({ title: "1" })).id)
  assert.equal((await svc.notifications.listDevices()).data[0]?.active, true)
  const failed = await settled(svc, (await svc.notifications.send({ title: "2" })).id)
  assert.deepEqual([failed.status, failed.provider_status], ["failed", 404])
  const [device] = (await svc.notifications.listDevices()).data
  assert.deepEqual([device?.active, device?.invalid_reason], [false, "FCM answered 404 UNREGISTERED"])
})

test("a device of a service without credentials is told as failed", async t => {
  const p = await platform(t)
  const svc = await p.wide("acme", ...BOTH)
  await svc.notifications.registerDevice({ provider: "fcm", token: "device-token" })
  const { reason } = await settled(svc, (await svc.notifications.send({ title: "x" })).id)
  assert.match(reason ?? "", /no credentials for fcm/)
})

interface AppleRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A fake of Apple's, in HTTP/2 without TLS. */
const startApple = async (t: TestContext, ...answers: readonly (readonly [number, object?])[]) => {
  const requests: AppleRequest[] = []
  let sessions = 0
  const server = createServer()
  server.on("session", () => sessions++)
  server.on("stream", async (stream, headers) => {
    let body = ""
    for await (const chunk of stream) body += chunk
    const [status, content] = answers[Math.min(requests.length, answers.length - 1)] ?? [200]
    requests.push({ headers, body })
    stream.respond({ ":status": status })
    stream.end(content === undefined ? "" : JSON.stringify(content))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    sessions: () => sessions,
  }
}

const appleWorld = async (t: TestContext, ...answers: readonly (readonly [number, object?])[]) => {
  const p = await platform(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.1/32" } })
  const svc = await p.wide("acme", ...BOTH)
  const apple = await startApple(t, ...answers)
  await svc.notifications.updateProviders({
    apns: {
      ...{ team_id: "TEAM", key_id: "KEY", topic: "com.example.app", url: apple.url },
      private_key: pem(ec.privateKey),
    },
  })
  await svc.notifications.registerDevice({ provider: "apns", token: APNS_TOKEN })
  return { p, svc, apple }
}

test("an iPhone is reached through APNs over one HTTP/2 session, with a token of the provider's key", async t => {
  const { svc, apple } = await appleWorld(t, [200])
  const { id } = await svc.notifications.send({
    title: "Hi",
    body: "there",
    category: "news",
    priority: "low",
  })
  const sent = await settled(svc, id)
  assert.deepEqual([sent.status, sent.provider_status], ["sent", 200])
  const [request] = apple.requests
  assert.equal(request?.headers[":path"], `/3/device/${APNS_TOKEN}`)
  assert.equal(request?.headers["apns-topic"], "com.example.app")
  assert.equal(request?.headers["apns-priority"], "5")
  assert.equal(request?.headers["apns-id"], id)
  const token = String(request?.headers.authorization).replace(/^bearer /, "")
  const { header, claims } = claimsOf(token, ec.publicKey)
  assert.deepEqual([header.kid, header.alg, claims.iss], ["KEY", "ES256", "TEAM"])
  const { aps } = JSON.parse(request?.body ?? "")
  assert.deepEqual(aps.alert, { title: "Hi", body: "there" })
  await settled(svc, (await svc.notifications.send({ title: "again" })).id)
  assert.equal(apple.sessions(), 1)
  assert.equal(String(apple.requests[1]?.headers.authorization), `bearer ${token}`)
})

for (const [status, reason] of [
  [410, "Unregistered"],
  [400, "BadDeviceToken"],
] as const) {
  test(`APNs' ${status} ${reason} says that a device is gone`, async t => {
    const { svc } = await appleWorld(t, [status, { reason }])
    const failed = await settled(svc, (await svc.notifications.send({ title: "x" })).id)
    assert.equal(failed.reason, `APNs answered ${status} ${reason}`)
    assert.equal((await svc.notifications.listDevices()).data[0]?.active, false)
  })
}

test("APNs' refusal of a message leaves the device alone, and its 503 is tried again", async t => {
  const { p, svc, apple } = await appleWorld(t, [400, { reason: "BadTopic" }], [503], [200])
  assert.equal((await settled(svc, (await svc.notifications.send({ title: "1" })).id)).status, "failed")
  assert.equal((await svc.notifications.listDevices()).data[0]?.active, true)
  const { id } = await svc.notifications.send({ title: "2" })
  await untilAsked(p, apple.requests, 3, 1_000)
  assert.equal((await settled(svc, id)).status, "sent")
})

test("hosts in private networks are no push services, keys are checked, and none is ever shown", async t => {
  const p = await platform(t)
  const svc = await p.wide("acme", ...BOTH)
  const fcm = { project_id: "demo", client_email: "a@b.example", private_key: pem(rsa.privateKey) }
  const apns = { team_id: "T", key_id: "K", topic: "t", private_key: pem(ec.privateKey) }
  const status = (given: object) =>
    svc.notifications.updateProviders(given as never).then(
      () => 200,
      (reason: { status: number }) => reason.status,
    )
  assert.equal(await status({ fcm: { ...fcm, url: "https://10.0.0.1" } }), 400)
  assert.equal(await status({ fcm: { ...fcm, token_url: "http://169.254.169.254/token" } }), 400)
  assert.equal(await status({ apns: { ...apns, url: "https://localhost:2197" } }), 400)
  assert.equal(await status({ fcm: { ...fcm, private_key: pem(ec.privateKey) } }), 400)
  assert.equal(await status({ apns: { ...apns, private_key: "not a key" } }), 400)
  assert.equal(await status({ fcm, apns }), 200)
  const shown = await svc.notifications.getProviders()
  assert.deepEqual([shown.fcm.configured, shown.apns.configured], [true, true])
  assert.doesNotMatch(JSON.stringify(shown), /PRIVATE KEY/)
  const { rows } = await p.database.pool.query(
    "SELECT row_to_json(p)::text AS text FROM notifications.providers p",
  )
  assert.doesNotMatch(rows[0].text, /PRIVATE KEY/)
  assert.equal(await status({ fcm: null }), 200)
  const left = await svc.notifications.getProviders()
  assert.deepEqual([left.fcm.configured, left.apns.configured], [false, true])
  // Another organization has none of it, and keys of its own.
  const other = await (await p.wide("globex", ...BOTH)).notifications.getProviders()
  assert.equal(other.apns.configured, false)
  assert.notEqual(other.webpush.public_key, shown.webpush.public_key)
})
