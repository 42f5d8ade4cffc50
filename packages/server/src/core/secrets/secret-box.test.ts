import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { openLocalSecrets } from "../../ports/secrets/drivers/local/driver.ts"
import { erase, keysWorld, OTHER, rotate, TENANT } from "./testing/keys.ts"

const FORM = /^svc:box2:v1:[\w-]+$/

test("what was sealed opens again, whatever it says", async t => {
  const { box } = await (await keysWorld(t)).process()
  const text = fc.string({ unit: "grapheme", maxLength: 2000 })
  await fc.assert(
    fc.asyncProperty(text, async plaintext => {
      assert.equal(await box.open(TENANT, "a", await box.seal(TENANT, "a", plaintext)), plaintext)
    }),
  )
})

test("two seals of one text differ, and neither shows it", async t => {
  const { box } = await (await keysWorld(t)).process()
  const seal = () => box.seal(TENANT, "a", "the plain words")
  const [one, other] = [await seal(), await seal()]
  assert.notEqual(one, other)
  for (const sealed of [one, other]) {
    assert.match(sealed, FORM)
    assert.ok(!Buffer.from(sealed.split(":")[3] ?? "", "base64url").includes("plain"))
  }
})

test("a sealed text opens for its tenant, its purpose and its platform only", async t => {
  const world = await keysWorld(t)
  const { box } = await world.process()
  const sealed = await box.seal(TENANT, "approval:1", "text")
  await box.seal(OTHER, "approval:1", "text")

  await assert.rejects(box.open(OTHER, "approval:1", sealed))
  await assert.rejects(box.open(TENANT, "approval:2", sealed))
  const stranger = await world.process(openLocalSecrets({ masterKey: randomBytes(32) }))
  await assert.rejects(stranger.box.open(TENANT, "approval:1", sealed))
  assert.equal(await (await world.process()).box.open(TENANT, "approval:1", sealed), "text")
})

test("a sealed text with one bit changed anywhere, cut off, or of another kind does not open", async t => {
  const { box } = await (await keysWorld(t)).process()
  const sealed = await box.seal(TENANT, "a", "some text")
  const bytes = Buffer.from(sealed.split(":")[3] ?? "", "base64url")
  const form = (changed: Buffer) => `svc:box2:v1:${changed.toString("base64url")}`
  assert.equal(await box.open(TENANT, "a", form(bytes)), "some text")

  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    await assert.rejects(box.open(TENANT, "a", form(changed)), `bit ${bit}`)
  }
  for (let length = 0; length < sealed.length; length++)
    await assert.rejects(box.open(TENANT, "a", sealed.slice(0, length)), `length ${length}`)
  const { length } = "svc:box2:v1:"
  for (const beginning of ["svc:box2:v2:", "svc:box2:v0:", "svc:box2:v01:", "svc:box1:", "svc:v1:", ""])
    await assert.rejects(box.open(TENANT, "a", beginning + sealed.slice(length)), beginning)
})

test("what was sealed before a rotation opens after it, and though users' ciphertexts of that time do not", async t => {
  const one = await (await keysWorld(t)).process()
  const sealed = await one.box.seal(TENANT, "a", "text")
  await rotate(one, TENANT)
  await one.tenantKeys.setMinDecryption(one.database.db, TENANT, 2)

  assert.equal(await one.box.open(TENANT, "a", sealed), "text")
  assert.match(await one.box.seal(TENANT, "a", "text"), /^svc:box2:v2:/)
  assert.equal(await one.tenantKeys.forOpening(TENANT, "data", 1), undefined)
})

/** Made with another implementation (pyca/cryptography), from the same master key. */
const OLD = "svc:box1:MjM0NTY3ODk6Ozw9ZntRUeL2Y1eJL7nbyxpdTZd5_8xNEg9FmbFLCl_kFw"

test("a text from before tenants had keys opens, until its tenant is erased", async t => {
  const one = await (await keysWorld(t)).process()
  assert.equal(await one.box.open(TENANT, "database:1", OLD), "an old password")
  await assert.rejects(one.box.open(OTHER, "database:1", OLD))
  await assert.rejects(one.box.open(TENANT, "database:2", OLD))

  await erase(one, TENANT)

  await assert.rejects(one.box.open(TENANT, "database:1", OLD))
})

test("the format is the one that is documented: a text that another implementation sealed opens", async t => {
  const one = await (await keysWorld(t)).process()
  await one.database.db
    .insertInto("encryption.keys")
    .values({
      ...{ tenant_id: TENANT, version: 7, state: "active", uses_reserved: 0, created_at: new Date() },
      wrapped_key:
        "svc:wrap1:AAECAwQFBgcICQoLFnwGjA+lbMVrZI/HdgKQzLn83MYTEs0GH9tv9OFRLiYAGEWQSL8R9cSBUIGlMteq",
    })
    .execute()

  const sealed = "svc:box2:v7:yMnKy8zNzs_Q0dLTrl4kTHvfFvjbYlIzqBFUxohi9LL5W77cTDg"
  assert.equal(await one.box.open(TENANT, "database:1", sealed), "a password")
})
