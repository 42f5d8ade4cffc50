import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { readdirSync, statSync } from "node:fs"
import { mkdtemp, open, readdir, rename, rm, stat, symlink, truncate, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import {
  ANY,
  holdsNothing,
  inChunks,
  LATER,
  listAll,
  MIB,
  newBytes,
  newOwner,
  publish,
  read,
  rejectsAs,
  stage,
} from "./conformance/fixture.ts"
import { blobConformance } from "./conformance.ts"
import { openDiskBlobs } from "./drivers/disk/driver.ts"
import { createLayout } from "./drivers/disk/layout.ts"

const temporaryFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-blob-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const openAt = async (t: TestContext, path: string) => {
  const blobs = await openDiskBlobs({ path })
  t.after(() => blobs[Symbol.asyncDispose]())
  return blobs
}

blobConformance("The disk", { largeBytes: 3 * MIB, open: async t => openAt(t, await temporaryFolder(t)) })

/** A store with one blob in it. */
const openWithBlob = async (t: TestContext, length: number) => {
  const path = await temporaryFolder(t)
  const blobs = await openAt(t, path)
  const owner = newOwner()
  const bytes = newBytes(length)
  const address = await publish(blobs, owner, bytes)
  return { path, blobs, owner, bytes, address, file: createLayout(path).blobOf(owner, address) }
}

const flipBit = async (path: string, position: number): Promise<void> => {
  await using file = await open(path, "r+")
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, position)
  await file.write(Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, position)
}

test("one bit flipped anywhere on the disk is found, and publishing the bytes again mends it", async t => {
  const { blobs, owner, bytes, address, file } = await openWithBlob(t, 2 * MIB)
  for (const position of [0, MIB, 2 * MIB - 1]) {
    await flipBit(file, position)
    assert.equal(await blobs.verify(owner, address), "damaged")
    assert.equal(await publish(blobs, owner, bytes), address)
    assert.equal(await blobs.verify(owner, address), "intact")
  }
  assert.ok((await read(blobs, owner, address)).equals(bytes))
})

test("a file that lost its end is damaged, and a read of the bytes it should have fails", async t => {
  for (const length of [1000, 2 * MIB]) {
    const { blobs, owner, address, file } = await openWithBlob(t, length)
    await truncate(file, length - 1)
    assert.equal(await blobs.verify(owner, address), "damaged")
    await rejectsAs("refused", () => read(blobs, owner, address, { start: 0, end: length - 1 }))
  }
})

test("nobody but the owner of the process may look into the store", async t => {
  const { path, blobs, owner, file } = await openWithBlob(t, 10)
  await stage(blobs, owner, newBytes(10))
  const names = await readdir(path, { recursive: true, withFileTypes: true })
  assert.equal(names.length, 6)
  for (const entry of names) {
    const { mode } = await stat(join(entry.parentPath, entry.name))
    assert.equal(mode & 0o777, entry.isDirectory() ? 0o700 : 0o600, entry.name)
  }
  assert.ok(names.some(entry => join(entry.parentPath, entry.name) === file))
})

test("a link in a blob's place leads nowhere", async t => {
  const { path, blobs, owner, address, file } = await openWithBlob(t, 10)
  const outside = join(path, "outside")
  await writeFile(outside, "secret")
  await rm(file)
  await symlink(outside, file)
  await rejectsAs("unavailable", () => blobs.read(owner, address))
  await blobs.remove(owner, [address])
  assert.equal((await stat(outside)).size, 6)
})

test("folders that an operator removed are made again", async t => {
  const { path, blobs, owner, bytes, address, file } = await openWithBlob(t, 10)
  for (const folder of [dirname(file), dirname(dirname(file))]) {
    await rename(folder, join(path, `away-${randomInt(1e9)}`))
    await rejectsAs("missing", () => blobs.read(owner, address))
    assert.equal(await publish(blobs, owner, bytes), address)
    assert.ok((await read(blobs, owner, address)).equals(bytes))
  }
})

test("what does not belong into the store is neither listed nor in the way", async t => {
  const { path, blobs, owner, file } = await openWithBlob(t, 10)
  for (const name of [join(path, "owners", "notes"), join(path, "owners", owner, "x"), `${file}.bak`])
    await writeFile(name, "")
  assert.equal((await listAll(blobs)).length, 1)
})

test("a source runs ahead of the disk by no more than a megabyte", async t => {
  const path = await temporaryFolder(t)
  const blobs = await openAt(t, path)
  const { staged } = createLayout(path)
  const writtenBytes = () =>
    readdirSync(staged).reduce((sum, name) => sum + statSync(join(staged, name)).size, 0)
  let given = 0
  let aheadMax = 0
  const source = async function* () {
    for await (const chunk of inChunks(newBytes(16 * MIB))) {
      given += chunk.length
      yield chunk
      aheadMax = Math.max(aheadMax, given - writtenBytes())
    }
  }
  await (await blobs.stage(newOwner(), source(), ANY)).discard()
  assert.ok(aheadMax > 0 && aheadMax <= MIB, `${aheadMax} bytes were not on the disk`)
})

test("a store that is opened again has what was published, and forgets what was not", async t => {
  const { path, blobs, owner, bytes, address } = await openWithBlob(t, 100_000)
  await stage(blobs, owner, newBytes(10))
  await blobs[Symbol.asyncDispose]()
  const again = await openAt(t, path)
  assert.ok((await read(again, owner, address)).equals(bytes))
  assert.equal(await again.sweep(LATER()), 1)
})

/** Lets a second process publish until it has told of so many addresses, kills it, and tells which they were. */
const publishUntilKilled = async (t: TestContext, path: string, owner: string, count: number) => {
  const program = fileURLToPath(new URL("drivers/disk/second-process.ts", import.meta.url))
  const child = spawn(process.execPath, [program, path, owner], { stdio: ["ignore", "pipe", "inherit"] })
  t.after(() => child.kill("SIGKILL"))
  const addresses: string[] = []
  for await (const address of createInterface({ input: child.stdout })) {
    addresses.push(address)
    if (addresses.length === count) setTimeout(() => child.kill("SIGKILL"), randomInt(30))
  }
  assert.equal(child.signalCode ?? "SIGKILL", "SIGKILL")
  assert.ok(addresses.length >= count)
  return addresses
}

test("what was published outlives kill -9 at any moment, and what was not leaves nothing to read", async t => {
  const path = await temporaryFolder(t)
  const owner = newOwner()
  const acknowledged = new Set<string>()
  let left = 0
  for (let round = 0; round < 6; round += 1) {
    for (const address of await publishUntilKilled(t, path, owner, randomInt(1, 60)))
      acknowledged.add(address)
    await using blobs = await openDiskBlobs({ path })
    const listed = await listAll(blobs)
    for (const { address } of listed) assert.equal(await blobs.verify(owner, address), "intact")
    const there = new Set(listed.map(({ address }) => address))
    assert.deepEqual(
      [...acknowledged].filter(address => !there.has(address)),
      [],
    )
    left += await blobs.sweep(LATER())
    assert.deepEqual(await readdir(createLayout(path).staged), [])
  }
  assert.ok(left > 0, "eight writers at a time were never interrupted")
})

const run = promisify(execFile)

test("a full disk takes no more, keeps what it has, and nothing of what did not fit", async t => {
  const path = await temporaryFolder(t)
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=4m,mode=700", "svc-test", path])
  } catch {
    return t.skip("file systems cannot be mounted here")
  }
  try {
    const blobs = await openAt(t, path)
    const owner = newOwner()
    const address = await publish(blobs, owner, newBytes(MIB))
    const { freeBytes = 0 } = await blobs.health()
    assert.ok(freeBytes > 2 * MIB && freeBytes <= 3 * MIB)
    for (const length of [5 * MIB, 3 * MIB + 1000]) {
      await rejectsAs("unavailable", () => stage(blobs, owner, newBytes(length)))
      assert.equal(await blobs.sweep(LATER()), 0)
    }
    const small = await publish(blobs, owner, newBytes(10))
    assert.equal(await blobs.verify(owner, address), "intact")
    await blobs.remove(owner, [address, small])
    await holdsNothing(blobs)
  } finally {
    await run("umount", ["--lazy", path])
  }
})
