import assert from "node:assert/strict"
import { createECDH, randomBytes } from "node:crypto"
import { createRequire } from "node:module"
import { test } from "node:test"
import fc from "fast-check"
import { encrypt, WEB_PUSH_PLAINTEXT_BYTES_MAX } from "./encryption.ts"

// It has no types of its own.
const ece = createRequire(import.meta.url)("http_ece") as {
  decrypt(body: Buffer, options: object): Buffer
}

const bytes = (text: string) => Buffer.from(text, "base64url")

test("the example of RFC 8291, appendix A, is encrypted to the same bytes", () => {
  const encrypted = encrypt(
    Buffer.from("When I grow up, I want to be a watermelon"),
    {
      publicKey: bytes(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      ),
      authSecret: bytes("BTBZMqHH6r4Tts7J_aSIgg"),
    },
    {
      privateKey: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
      salt: bytes("DGv6ra1nlYgDCS1FRnbzlw"),
    },
  )
  assert.equal(
    encrypted.toString("base64url"),
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl" +
      "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
  )
})

test("a library that is not ours decrypts whatever fits one message", () => {
  const privateKey = createECDH("prime256v1")
  const publicKey = privateKey.generateKeys()
  const authSecret = randomBytes(16)
  const options = { version: "aes128gcm", privateKey, authSecret: authSecret.toString("base64url") }
  const contents = fc.uint8Array({ maxLength: WEB_PUSH_PLAINTEXT_BYTES_MAX, size: "max" })
  fc.assert(
    fc.property(contents, content => {
      const encrypted = encrypt(Buffer.from(content), { publicKey, authSecret })
      assert.ok(encrypted.length <= 4096)
      assert.deepEqual(ece.decrypt(encrypted, options), Buffer.from(content))
    }),
    { numRuns: 50 },
  )
})

test("a key that is no point of the curve is refused", () => {
  const publicKey = Buffer.alloc(65, 7)
  publicKey[0] = 4
  assert.throws(() => encrypt(Buffer.from("x"), { publicKey, authSecret: Buffer.alloc(16) }))
})
