import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"
import { createSigningSecret, readSigningSecret, signatureOf } from "./signature.ts"

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

test("a secret is base64 of 24 to 64 bytes with or without whsec_, as the reference library reads it", () => {
  for (const bytes of [24, 32, 64]) {
    const bare = randomBytes(bytes).toString("base64")
    const read = readSigningSecret(bare)
    assert.deepEqual(read, { secret: `whsec_${bare}` })
    assert.deepEqual(readSigningSecret(`whsec_${bare}`), read)
    const headers = headersOf([`whsec_${bare}`], "evt_1", Math.floor(Date.now() / 1000), "{}")
    new Webhook(bare).verify("{}", headers)
  }
})

test("what the reference library would decode to something else is no secret", () => {
  const cases: [string, RegExp][] = [
    ["", /0 bytes/],
    ["whsec_", /0 bytes/],
    ["whsec_not base64!", /base64 with padding/],
    ["a plain passphrase that is long enough", /base64 with padding/],
    [Buffer.alloc(23).toString("base64"), /23 bytes/],
    [`whsec_${Buffer.alloc(65).toString("base64")}`, /65 bytes/],
  ]
  for (const [secret, problem] of cases) {
    const read = readSigningSecret(secret)
    assert.match("problem" in read ? read.problem : "", problem, secret)
  }
})
