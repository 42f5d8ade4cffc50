import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, afterEach, before, type TestContext, test } from "node:test"
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
import { openS3Blobs, type S3Options } from "./drivers/s3/driver.ts"
import { startS3Server, type TestServer } from "./drivers/s3/testing/s3rver.ts"

const folder = await mkdtemp(join(tmpdir(), "svc-s3-"))
let server: TestServer

before(async () => {
  server = await startS3Server(folder)
})
afterEach(() => {
  server.front.failing = () => undefined
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const openStore = async (t: TestContext, options: Partial<S3Options> = {}) => {
  const blobs = await openS3Blobs({ ...server.address, partBytes: MIB, ...options })
  t.after(() => blobs[Symbol.asyncDispose]())
  return blobs
}

/** A store under a prefix that nobody else has. */
const openEmpty = (t: TestContext, options: Partial<S3Options> = {}) =>
  openStore(t, { prefix: `${randomUUID()}/`, ...options })

/** A store that waits no longer than that, with a blob that another one has published in its own time. */
const openImpatient = async (t: TestContext, timeoutMs: number, bytes: number) => {
  const prefix = `${randomUUID()}/`
  const owner = newOwner()
  const address = await publish(await openStore(t, { prefix }), owner, newBytes(bytes))
  return { blobs: await openStore(t, { prefix, timeoutMs }), owner, address }
}

const LARGE = 3 * MIB
const UNAVAILABLE = { status: 500, code: "InternalError" }

blobConformance("S3", { largeBytes: LARGE, open: t => openEmpty(t) })

/** Where the server keeps what is under a key. */
const fileOf = (key: string) => `${folder}/${server.address.bucket}/${key}._S3rver_object`

test("two stores in one bucket do not see each other", async t => {
  const [one, other] = [await openEmpty(t), await openEmpty(t)]
  const owner = newOwner()
  const address = await publish(one, owner, newBytes(10))
  await stage(one, owner, newBytes(LARGE))
  await rejectsAs("missing", () => other.read(owner, address))
  await holdsNothing(other)
  assert.equal(await one.sweep(LATER()), 1)
})

test("the list goes on after what a server gives at once", async t => {
  const prefix = `${randomUUID()}/`
  const blobs = await openStore(t, { prefix })
  const owner = newOwner()
  const addresses = Array.from({ length: 250 }, () => randomUUID()).sort()
  await mkdir(dirname(fileOf(`${prefix}blobs/${owner}/x`)), { recursive: true })
  for (const address of [...addresses, "notes"])
    await writeFile(fileOf(`${prefix}blobs/${owner}/${address}`), "bytes")
  const listed = await listAll(blobs)
  assert.deepEqual(listed.map(({ address }) => address).sort(), addresses)
  await blobs.remove(owner, addresses)
  assert.deepEqual(await listAll(blobs), [])
})

test("bytes that changed on the server are found, and so is a sum that was lost", async t => {
  const prefix = `${randomUUID()}/`
  const blobs = await openStore(t, { prefix })
  const owner = newOwner()
  for (const length of [1000, LARGE]) {
    const address = await publish(blobs, owner, newBytes(length))
    assert.equal(await blobs.verify(owner, address), "intact")
    await using file = await open(fileOf(`${prefix}blobs/${owner}/${address}`), "r+")
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, length - 1)
    await file.write(Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, length - 1)
    assert.equal(await blobs.verify(owner, address), "damaged")
  }
  const address = await publish(blobs, owner, newBytes(LARGE))
  await rm(fileOf(`${prefix}sums/${owner}/${address}`))
  assert.equal(await blobs.verify(owner, address), "damaged")
})

test("a blob that is removed leaves nothing on the server, nor does one that was given up", async t => {
  const prefix = randomUUID()
  const blobs = await openStore(t, { prefix: `${prefix}/` })
  const owner = newOwner()
  const address = await publish(blobs, owner, newBytes(LARGE))
  await blobs.remove(owner, [address])
  const failed = await stage(blobs, owner, newBytes(LARGE))
  server.front.failing = (method, _path, query) =>
    method === "POST" && query.has("uploadId") ? UNAVAILABLE : undefined
  await rejectsAs("unavailable", () => failed.publish())
  await failed.discard()
  const names = await readdir(`${folder}/${server.address.bucket}/${prefix}`, { recursive: true }).catch(
    () => [],
  )
  assert.deepEqual(
    names.filter(name => name.includes("_S3rver_")),
    [],
  )
})

test("a source runs ahead of the server by no more than two parts and what a socket holds", async t => {
  const blobs = await openEmpty(t)
  const before = server.front.receivedBytes
  let given = 0
  let aheadMax = 0
  const source = async function* () {
    for await (const chunk of inChunks(newBytes(24 * MIB))) {
      given += chunk.length
      yield chunk
      aheadMax = Math.max(aheadMax, given - (server.front.receivedBytes - before))
    }
  }
  await (await blobs.stage(newOwner(), source(), ANY)).discard()
  assert.ok(aheadMax <= 3 * MIB, `${aheadMax} bytes were not with the server`)
})

test("while the server fails every call is unavailable, leaves nothing, and works once it is back", async t => {
  const blobs = await openEmpty(t)
  const owner = newOwner()
  const bytes = newBytes(LARGE)
  const address = await publish(blobs, owner, bytes)
  const staged = [await stage(blobs, owner, newBytes(10)), await stage(blobs, owner, newBytes(LARGE))]
  server.front.failing = () => UNAVAILABLE
  await rejectsAs("unavailable", () => stage(blobs, owner, bytes))
  await rejectsAs("unavailable", () => blobs.read(owner, address))
  await rejectsAs("unavailable", () => blobs.verify(owner, address))
  await rejectsAs("unavailable", () => blobs.remove(owner, [address]))
  await rejectsAs("unavailable", () => blobs.sweep(LATER()))
  await rejectsAs("unavailable", () => listAll(blobs))
  for (const blob of staged) await rejectsAs("unavailable", () => blob.publish())
  assert.equal((await blobs.health()).ok, false)
  server.front.failing = () => undefined
  for (const blob of staged) {
    await blob.publish()
    assert.equal((await read(blobs, owner, blob.address)).length, blob.bytes)
  }
  assert.ok((await read(blobs, owner, address)).equals(bytes))
  assert.equal(await blobs.sweep(LATER()), 0)
})

test("a server that stumbles once is asked again", async t => {
  const blobs = await openEmpty(t)
  const owner = newOwner()
  const bytes = newBytes(LARGE)
  const seen = new Set<string>()
  server.front.failing = (method, path, query) => {
    const request = `${method} ${path} ${query}`
    if (seen.has(request)) return undefined
    seen.add(request)
    return UNAVAILABLE
  }
  const address = await publish(blobs, owner, bytes)
  assert.ok((await read(blobs, owner, address)).equals(bytes))
})

test("a part that cannot be sent ends the upload and leaves nothing", async t => {
  const blobs = await openEmpty(t)
  server.front.failing = (_method, _path, query) =>
    query.get("partNumber") === "2" ? { status: 400, code: "InvalidPart" } : undefined
  await rejectsAs("unavailable", () => stage(blobs, newOwner(), newBytes(LARGE)))
  server.front.failing = () => undefined
  await holdsNothing(blobs)
})

test("a completion whose answer got lost is a completion", async t => {
  const blobs = await openEmpty(t)
  const owner = newOwner()
  const bytes = newBytes(LARGE)
  const staged = await stage(blobs, owner, bytes)
  let lost = 0
  server.front.failing = (method, _path, query) => {
    if (method !== "POST" || !query.has("uploadId") || lost > 0) return undefined
    lost += 1
    return { status: 500, late: true }
  }
  await staged.publish()
  assert.equal(lost, 1)
  assert.ok((await read(blobs, owner, staged.address)).equals(bytes))
})

test("a server that never answers makes a call unavailable in time", async t => {
  const { blobs, owner, address } = await openImpatient(t, 100, 10)
  const staged = await stage(blobs, owner, newBytes(10))
  server.front.failing = () => ({ hang: true })
  await rejectsAs("unavailable", () => blobs.read(owner, address))
  await rejectsAs("unavailable", () => staged.publish())
  assert.equal((await blobs.health()).ok, false)
})

test("a body that breaks off, or stops coming, fails the read; no short blob is ever given", async t => {
  const { blobs, owner, address } = await openImpatient(t, 200, LARGE)
  for (const then of ["break", "silence"] as const)
    for (const range of [undefined, { start: 5, end: LARGE - 5 }]) {
      server.front.failing = method => (method === "GET" ? { bodyBytes: 1000, then } : undefined)
      await rejectsAs("unavailable", () => read(blobs, owner, address, range))
      await rejectsAs("unavailable", () => blobs.verify(owner, address))
    }
})

test("a server that knows no removal in batches is asked to remove one by one", async t => {
  const blobs = await openEmpty(t)
  const owner = newOwner()
  const addresses = await Promise.all([10, 20, LARGE].map(length => publish(blobs, owner, newBytes(length))))
  server.front.failing = (_method, _path, query) =>
    query.has("delete") ? { status: 501, code: "NotImplemented" } : undefined
  await blobs.remove(owner, addresses)
  assert.deepEqual(await listAll(blobs), [])
})

test("a missing bucket, a wrong key or a server that is away is no missing blob, and health tells no secret", async t => {
  const secretAccessKey = "a-secret"
  const wrong: Partial<S3Options>[] = [
    { bucket: "another-bucket" },
    { credentials: { accessKeyId: "nobody", secretAccessKey } },
    { endpoint: "http://127.0.0.1:1" },
  ]
  for (const options of wrong) {
    const blobs = await openEmpty(t, options)
    await rejectsAs("unavailable", () => blobs.read(newOwner(), randomUUID()))
    const { ok, reason = "" } = await blobs.health()
    assert.equal(ok, false)
    assert.ok(reason.length > 0 && !reason.includes(secretAccessKey))
  }
})
