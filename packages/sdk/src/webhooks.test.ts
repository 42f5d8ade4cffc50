import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"
import { verifyWebhook, WebhookVerificationError } from "./index.ts"

const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`
const secret = newSecret()
const now = () => 1_763_661_600_000
const event = { id: "evt_1", type: "order.paid", timestamp: "2026-11-20T18:00:00.123Z", source: null }
const body = JSON.stringify({ ...event, tenant_id: "t", data: { amount: 42, note: "Grüße €" } })

/** As the independent library signs it. */
const headersFor = (text: string, { id = "evt_1", by = [secret], atMs = now() } = {}) => ({
  "webhook-id": id,
  "webhook-timestamp": `${Math.floor(atMs / 1000)}`,
  "webhook-signature": by.map(one => new Webhook(one).sign(id, new Date(atMs), text)).join(" "),
})

const refused = (attempt: Promise<unknown>) => assert.rejects(attempt, WebhookVerificationError)

test("what an independent library signed is verified, in every form that a server has it", async () => {
  const headers = headersFor(body)
  const expected = JSON.parse(body)
  assert.deepEqual(await verifyWebhook(body, headers, secret, { now }), expected)
  assert.deepEqual(await verifyWebhook(Buffer.from(body), new Headers(headers), secret, { now }), expected)
  const capitals = {
    "Webhook-Id": headers["webhook-id"],
    "Webhook-Timestamp": headers["webhook-timestamp"],
    "Webhook-Signature": headers["webhook-signature"],
  }
  assert.deepEqual(await verifyWebhook(body, capitals, secret, { now }), expected)
  assert.deepEqual(await verifyWebhook(body, headers, secret.slice("whsec_".length), { now }), expected)
})

test("any text and id that the library signs is verified, and not after a byte has changed", async () => {
  const ids = fc.stringMatching(/^[a-z0-9_]{1,40}$/)
  await fc.assert(
    fc.asyncProperty(ids, fc.json(), fc.nat(), async (id, text, at) => {
      const headers = headersFor(text, { id })
      assert.deepEqual(await verifyWebhook(text, headers, secret, { now }), JSON.parse(text))
      const changed = Buffer.from(text)
      changed.writeUInt8((changed.readUInt8(at % changed.length) + 1) % 256, at % changed.length)
      await refused(verifyWebhook(changed, headers, secret, { now }))
    }),
    { numRuns: 50 },
  )
})

test("while secrets rotate, either side may have the old one", async () => {
  const newer = newSecret()
  const headers = headersFor(body, { by: [newer, secret] })
  await verifyWebhook(body, headers, secret, { now })
  await verifyWebhook(body, headers, newer, { now })
  await verifyWebhook(body, headersFor(body), [newer, secret], { now })
  await refused(verifyWebhook(body, headers, newSecret(), { now }))
})

test("a request is refused that is older or newer than five minutes, whoever signed it", async () => {
  for (const seconds of [-300, 300]) {
    await verifyWebhook(body, headersFor(body, { atMs: now() + seconds * 1000 }), secret, { now })
  }
  for (const seconds of [-301, 301]) {
    await refused(verifyWebhook(body, headersFor(body, { atMs: now() + seconds * 1000 }), secret, { now }))
  }
  const old = headersFor(body, { atMs: now() - 301_000 })
  await verifyWebhook(body, old, secret, { now, toleranceSeconds: 600 })
})

test("a request is refused without its headers, or with another id, time or signature than was signed", async () => {
  const headers = headersFor(body)
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
    await refused(verifyWebhook(body, { ...headers, [name]: undefined }, secret, { now }))
    await refused(verifyWebhook(body, { ...headers, [name]: ["a", "b"] }, secret, { now }))
  }
  const timestamp = `${Number(headers["webhook-timestamp"]) + 1}`
  const signature = headers["webhook-signature"]
  for (const changes of [
    { "webhook-id": "evt_2" },
    { "webhook-timestamp": timestamp },
    { "webhook-timestamp": "now" },
    { "webhook-timestamp": `${headers["webhook-timestamp"]}.5` },
    { "webhook-signature": signature.replace("v1,", "v2,") },
    { "webhook-signature": signature.replace("v1,", "v1a,") },
    { "webhook-signature": signature.slice(0, -8) },
    { "webhook-signature": "v1," },
    { "webhook-signature": "v1,%%%" },
  ]) {
    await refused(verifyWebhook(body, { ...headers, ...changes }, secret, { now }))
  }
})

test("a secret that is none is the caller's mistake, and not taken for a forged request", async () => {
  for (const wrong of ["", "whsec_", "whsec_%%%"]) {
    await assert.rejects(verifyWebhook(body, headersFor(body), wrong, { now }), TypeError)
  }
})
