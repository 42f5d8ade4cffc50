import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import fc from "fast-check"
import { createSecretBox, loadMasterKey } from "./secret-box.ts"

const TENANT = "00000000-0000-7000-8000-000000000001"
const OTHER = "00000000-0000-7000-8000-000000000002"
const PREFIX = "svc:box1:"

const box = createSecretBox(randomBytes(32))

test("what was sealed opens again, whatever it says", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 2000 })
  fc.assert(
    fc.property(text, plaintext => {
      assert.equal(box.open(TENANT, "a", box.seal(TENANT, "a", plaintext)), plaintext)
    }),
  )
})

test("two seals of one text differ, and neither shows it", () => {
  const [one, other] = [box.seal(TENANT, "a", "the plain words"), box.seal(TENANT, "a", "the plain words")]
  assert.notEqual(one, other)
  for (const sealed of [one, other]) {
    assert.ok(sealed.startsWith(PREFIX))
    assert.ok(!Buffer.from(sealed.slice(PREFIX.length), "base64url").includes("plain"))
  }
})

test("a sealed text opens for its tenant, its purpose and its platform only", () => {
  const sealed = box.seal(TENANT, "approval:1", "text")
  assert.throws(() => box.open(OTHER, "approval:1", sealed))
  assert.throws(() => box.open(TENANT, "approval:2", sealed))
  assert.throws(() => createSecretBox(randomBytes(32)).open(TENANT, "approval:1", sealed))
  assert.equal(box.open(TENANT, "approval:1", sealed), "text")
})

test("a sealed text with one bit changed anywhere does not open", () => {
  const sealed = Buffer.from(box.seal(TENANT, "a", "some text").slice(PREFIX.length), "base64url")
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => box.open(TENANT, "a", PREFIX + changed.toString("base64url")), `bit ${bit}`)
  }
})

test("a text that was cut off, or is no sealed text at all, does not open", () => {
  const sealed = box.seal(TENANT, "a", "some text")
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => box.open(TENANT, "a", sealed.slice(0, length)), `length ${length}`)
  }
  for (const text of ["some text", "svc:box2:AAAA", PREFIX]) assert.throws(() => box.open(TENANT, "a", text))
})

const temporaryDir = async (t: TestContext): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "svc-test-"))
  t.after(() => rm(directory, { recursive: true }))
  return directory
}

test("a master key is made once, for its owner's eyes only, and is the same ever after", async t => {
  const directory = await temporaryDir(t)

  const made = await loadMasterKey(directory, undefined)

  assert.equal(made.length, 32)
  assert.equal((await stat(join(directory, "master.key"))).mode & 0o777, 0o600)
  assert.deepEqual(await loadMasterKey(directory, undefined), made)
  assert.deepEqual(await readdir(directory), ["master.key"])
})

test("of several processes that start at once one makes the key and all have the same", async t => {
  for (let round = 0; round < 10; round++) {
    const directory = await temporaryDir(t)
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadMasterKey(directory, undefined)))
    assert.equal(new Set(keys.map(key => key.toString("hex"))).size, 1)
    assert.deepEqual(await readdir(directory), ["master.key"])
  }
})

test("a master key that is given is used, and leaves no file", async t => {
  const directory = await temporaryDir(t)
  const key = randomBytes(32)

  assert.deepEqual(await loadMasterKey(directory, key.toString("base64")), key)
  assert.deepEqual(await readdir(directory), [])
})

test("a master key that is none is refused, and a file that holds none is left as it is", async t => {
  const directory = await temporaryDir(t)
  for (const setting of [
    "",
    "short",
    randomBytes(31).toString("base64"),
    randomBytes(33).toString("base64"),
  ]) {
    await assert.rejects(loadMasterKey(directory, setting), {
      name: "StartupError",
      message: "The master key in SVC_MASTER_KEY is not 32 bytes of base64.",
    })
  }
  const path = join(directory, "master.key")
  await writeFile(path, "not a key")
  await assert.rejects(loadMasterKey(directory, undefined), { name: "StartupError" })
  assert.equal(await readFile(path, "utf8"), "not a key")
})
