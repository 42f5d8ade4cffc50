import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"
import { createSigningSecret, signatureOf, signingSecretProblem } from "./signature.ts"

const headersOf = (secrets: readonly string[], id: string, timestamp: number, body: string) => ({
  "webhook-id": id,
  "webhook-timestamp": `${timestamp}`,
  "webhook-signature": signatureOf(secrets, { id, timestamp, body }),
})

test("the reference library accepts what is signed, whatever the body", () => {
  const secret = createSigningSecret()
  const timestamp = Math.floor(Date.now() / 1000)
  fc.assert(
    fc.property(fc.json(), body => {
      assert.deepEqual(
        new Webhook(secret).verify(body, headersOf([secret], "evt_1", timestamp, body)),
        JSON.parse(body),
      )
    }),
  )
})

test("the specification's own example has the signature it says", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  const message = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1614265330, body: '{"test": 2432232314}' }
  assert.equal(signatureOf([secret], message), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
})

test("with two secrets a holder of either verifies, and nobody else", () => {
  const secrets = [createSigningSecret(), createSigningSecret()]
  const headers = headersOf(secrets, "evt_1", Math.floor(Date.now() / 1000), "{}")
  for (const secret of secrets) new Webhook(secret).verify("{}", headers)
  assert.throws(() => new Webhook(createSigningSecret()).verify("{}", headers))
  assert.throws(() => new Webhook(secrets[0] ?? "").verify("[]", headers))
})

test("a secret is whsec_ and base64 of 24 to 64 bytes", () => {
  assert.equal(signingSecretProblem(createSigningSecret()), undefined)
  for (const bytes of [24, 64]) {
    assert.equal(signingSecretProblem(`whsec_${Buffer.alloc(bytes, 1).toString("base64")}`), undefined)
  }
  for (const secret of [
    "",
    "whsec_",
    "whsec_not base64!",
    `whsec_${Buffer.alloc(23).toString("base64")}`,
    `whsec_${Buffer.alloc(65).toString("base64")}`,
    Buffer.alloc(32).toString("base64"),
  ]) {
    assert.notEqual(signingSecretProblem(secret), undefined, secret)
  }
})
