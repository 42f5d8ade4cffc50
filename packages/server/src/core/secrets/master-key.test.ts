import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { loadMasterKey } from "./master-key.ts"

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

test("a master key lies where the setting says, outside of what it protects", async t => {
  const [directory, elsewhere] = [await temporaryDir(t), await temporaryDir(t)]
  const file = join(elsewhere, "key")
  const made = await loadMasterKey(directory, undefined, file)
  assert.deepEqual(await loadMasterKey(directory, undefined, file), made)
  assert.deepEqual([await readdir(directory), await readdir(elsewhere)], [[], ["key"]])
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
