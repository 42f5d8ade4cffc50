import assert from "node:assert/strict"
import { createSecretKey, randomBytes } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { type Binding, decrypt, encrypt, type Plaintext, parseCiphertext } from "./ciphertext.ts"

const TENANT = "0190a5c2-7d3e-7c41-9b0a-1f2e3d4c5b6a"
const key = createSecretKey(randomBytes(32))

const context = fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), { maxKeys: 5 })
const plaintext = fc.record({
  encoding: fc.constantFrom("utf8" as const, "base64" as const),
  bytes: fc.uint8Array({ maxLength: 300 }),
})

const openAs = (text: string, binding: Omit<Binding, "version">): Plaintext | undefined => {
  const parsed = parseCiphertext(text)
  return parsed && decrypt(key, { ...binding, version: parsed.version }, parsed.bytes)
}

test("whatever was encrypted decrypts to the same bytes and encoding, in the same context", () => {
  fc.assert(
    fc.property(plaintext, context, fc.integer({ min: 1, max: 999_999_999 }), (made, context, version) => {
      const text = encrypt(key, { tenantId: TENANT, projectId: null, version, context }, made)
      assert.equal(parseCiphertext(text)?.version, version)
      const opened = openAs(text, { tenantId: TENANT, projectId: null, context })
      assert.deepEqual(
        { encoding: opened?.encoding, bytes: Buffer.from(opened?.bytes ?? []) },
        { encoding: made.encoding, bytes: Buffer.from(made.bytes) },
      )
    }),
  )
})

test("the order of a context's fields does not matter, and every other difference does", () => {
  fc.assert(
    fc.property(plaintext, context, context, (made, context, other) => {
      const text = encrypt(key, { tenantId: TENANT, projectId: null, version: 1, context }, made)
      const turned = Object.fromEntries(Object.entries(context).reverse())
      assert.ok(openAs(text, { tenantId: TENANT, projectId: null, context: turned }))
      const same =
        JSON.stringify(Object.entries(context).sort()) === JSON.stringify(Object.entries(other).sort())
      assert.equal(openAs(text, { tenantId: TENANT, projectId: null, context: other }) !== undefined, same)
    }),
  )
})

test("fields of a context cannot be told as one another's", () => {
  const bytes = Buffer.from("text")
  const contexts = [
    { a: "b", c: "d" },
    { a: 'b","c":"d' },
    { 'a":"b","c': "d" },
    { ab: "", c: "d" },
    JSON.parse('{"__proto__":"a"}'),
    { "\ud800": "a" },
    { "\ufffd": "a" },
    {},
  ]
  for (const context of contexts) {
    const text = encrypt(
      key,
      { tenantId: TENANT, projectId: null, version: 1, context },
      { encoding: "utf8", bytes },
    )
    for (const other of contexts)
      assert.equal(
        openAs(text, { tenantId: TENANT, projectId: null, context: other }) !== undefined,
        context === other,
      )
  }
})

test("no context is the same as an empty one", () => {
  const made = { encoding: "utf8", bytes: Buffer.from("text") } as const
  const text = encrypt(key, { tenantId: TENANT, projectId: null, version: 1, context: undefined }, made)
  assert.ok(openAs(text, { tenantId: TENANT, projectId: null, context: {} }))
})

test("a ciphertext with one bit of its bytes changed does not decrypt", () => {
  fc.assert(
    fc.property(plaintext, fc.nat(), (made, at) => {
      const binding = { tenantId: TENANT, projectId: null, version: 3, context: {} }
      const parsed = parseCiphertext(encrypt(key, binding, made))
      assert.ok(parsed)
      const { bytes } = parsed
      const bit = at % (bytes.length * 8)
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.equal(decrypt(key, binding, bytes), undefined)
    }),
  )
})

test("a ciphertext with one character changed, left out or added anywhere does not decrypt", () => {
  // Padding leaves bits of the last character unused; texts of three lengths have none, two and four.
  for (const length of [2, 3, 4]) {
    const bytes = Buffer.alloc(length, "x")
    const text = encrypt(
      key,
      { tenantId: TENANT, projectId: null, version: 1, context: {} },
      { encoding: "utf8", bytes },
    )
    const opens = (changed: string) =>
      openAs(changed, { tenantId: TENANT, projectId: null, context: {} }) !== undefined
    assert.ok(opens(text))
    for (let at = 0; at < text.length; at++) {
      const [before, character = "", after] = [text.slice(0, at), text[at], text.slice(at + 1)]
      assert.ok(!opens(before + after), `without ${at}`)
      for (const other of "ABab01+/=:-_ v\n\u0000é") {
        if (other !== character) assert.ok(!opens(before + other + after), `${other} at ${at}`)
        assert.ok(!opens(before + other + character + after) || text === before + other + character + after)
      }
    }
    assert.ok(!opens(`${text}\n`) && !opens(` ${text}`))
  }
})

test("a key, tenant or version of another does not decrypt", () => {
  const bytes = Buffer.from("text")
  const binding = { tenantId: TENANT, projectId: null, version: 1, context: {} }
  const parsed = parseCiphertext(encrypt(key, binding, { encoding: "utf8", bytes }))
  assert.ok(parsed && decrypt(key, binding, parsed.bytes))
  assert.equal(decrypt(createSecretKey(randomBytes(32)), binding, parsed.bytes), undefined)
  assert.equal(decrypt(key, { ...binding, version: 2 }, parsed.bytes), undefined)
  assert.equal(decrypt(key, { ...binding, tenantId: TENANT.replace("6a", "6b") }, parsed.bytes), undefined)
})
