import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { crc32 } from "node:zlib"
import {
  ANY,
  countedSource,
  holdsNothing,
  inChunks,
  LATER,
  listAll,
  newBytes,
  newOwner,
  publish,
  read,
  rejectsAs,
  type Suite,
  stage,
} from "./fixture.ts"

const digest = (name: string, bytes: Uint8Array) => createHash(name).update(bytes).digest("hex")

export const wholenessTests = ({ open, largeBytes }: Suite): void => {
  for (const length of [0, 1, 65_535, 65_536, 65_537, largeBytes])
    test(`a blob of ${length} bytes comes back as it went in`, async t => {
      const blobs = await open(t)
      const owner = newOwner()
      const bytes = newBytes(length)
      const staged = await stage(blobs, owner, bytes)
      assert.equal(staged.bytes, length)
      await staged.publish()
      assert.ok((await read(blobs, owner, staged.address)).equals(bytes))
    })

  test("an address is printable and short", async t => {
    const { address } = await stage(await open(t), newOwner(), newBytes(10))
    assert.match(address, /^[!-~]{1,200}$/)
  })

  test("the hashes asked for are those of the bytes, and no others are there", async t => {
    const blobs = await open(t)
    const bytes = newBytes(largeBytes)
    const { hashes } = await stage(blobs, newOwner(), bytes, ["md5", "sha1", "sha256", "crc32"])
    assert.deepEqual(Object.keys(hashes).sort(), ["crc32", "md5", "sha1", "sha256"])
    for (const name of ["md5", "sha1", "sha256"] as const)
      assert.equal(hashes[name]?.toString("hex"), digest(name, bytes))
    assert.equal(hashes.crc32?.readUInt32BE(), crc32(bytes))
    assert.deepEqual((await stage(blobs, newOwner(), bytes)).hashes, {})
    const checks = (await stage(blobs, newOwner(), Buffer.from("123456789"), ["crc32c", "crc64nvme"])).hashes
    assert.equal(checks.crc32c?.toString("hex"), "e3069283")
    assert.equal(checks.crc64nvme?.toString("hex"), "ae8b14860a799888")
  })

  test("what is staged is neither readable nor listed until it is published", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const bytes = newBytes(largeBytes)
    const staged = await stage(blobs, owner, bytes)
    await rejectsAs("missing", () => blobs.read(owner, staged.address))
    assert.equal(await blobs.verify(owner, staged.address), "missing")
    assert.deepEqual(await listAll(blobs), [])
    await staged.publish()
    assert.ok((await read(blobs, owner, staged.address)).equals(bytes))
  })

  test("publishing twice is publishing once, and nothing takes it back", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const staged = await stage(blobs, owner, newBytes(10))
    await staged.publish()
    await staged.publish()
    await staged.discard()
    assert.equal(await blobs.sweep(LATER()), 0)
    assert.equal((await read(blobs, owner, staged.address)).length, 10)
    assert.equal((await listAll(blobs)).length, 1)
  })

  test("what was discarded leaves nothing and cannot be published", async t => {
    const blobs = await open(t)
    for (const length of [10, largeBytes]) {
      const staged = await stage(blobs, newOwner(), newBytes(length))
      await staged.discard()
      await staged.discard()
      await rejectsAs("refused", () => staged.publish())
    }
    await holdsNothing(blobs)
  })
}

export const sourceTests = ({ open, largeBytes }: Suite): void => {
  test("a source may be as long as is allowed, and is left after a chunk too much", async t => {
    const blobs = await open(t)
    const chunk = newBytes(10_000)
    const exact = await blobs.stage(newOwner(), countedSource(chunk, 5), { bytesMax: 50_000 })
    assert.equal(exact.bytes, 50_000)
    await exact.discard()
    const source = countedSource(chunk, 1_000_000)
    await rejectsAs("refused", () => blobs.stage(newOwner(), source, { bytesMax: largeBytes }))
    assert.equal(source.pulled, Math.floor(largeBytes / chunk.length) + 1)
    assert.ok(source.isClosed)
    await holdsNothing(blobs)
  })

  test("a source that fails leaves nothing, and its error passes unchanged", async t => {
    const blobs = await open(t)
    for (const length of [0, 100_000, largeBytes]) {
      const broken = new Error("the upload broke off")
      const source = async function* () {
        yield* inChunks(newBytes(length))
        throw broken
      }
      await assert.rejects(blobs.stage(newOwner(), source(), ANY), error => error === broken)
    }
    await holdsNothing(blobs)
  })

  test("an abort ends a write whose source hangs, and leaves nothing", async t => {
    const blobs = await open(t)
    for (const length of [0, 100_000, largeBytes]) {
      const abort = new AbortController()
      const source = async function* () {
        yield* inChunks(newBytes(length))
        setImmediate(() => abort.abort())
        await new Promise(() => undefined)
      }
      await rejectsAs("unavailable", () =>
        blobs.stage(newOwner(), source(), { ...ANY, signal: abort.signal }),
      )
    }
    await holdsNothing(blobs)
  })

  test("an abort that came before takes nothing from the source", async t => {
    const source = countedSource(newBytes(10), 10)
    const blobs = await open(t)
    const signal = AbortSignal.abort()
    await rejectsAs("unavailable", () => blobs.stage(newOwner(), source, { ...ANY, signal }))
    assert.equal(source.pulled, 0)
  })
}

export const samenessTests = ({ open, largeBytes }: Suite): void => {
  test("equal bytes published at the same time are all readable, at one address where addresses are contents", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const bytes = newBytes(200_000)
    const addresses = await Promise.all(Array.from({ length: 8 }, () => publish(blobs, owner, bytes)))
    for (const address of addresses) assert.ok((await read(blobs, owner, address)).equals(bytes))
    const expected = blobs.capabilities.contentAddressed ? 1 : 8
    assert.equal(new Set(addresses).size, expected)
    assert.equal((await listAll(blobs)).length, expected)
  })

  test("publishing equal bytes again disturbs nobody who reads them", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const bytes = newBytes(largeBytes)
    const address = await publish(blobs, owner, bytes)
    const reading = await blobs.read(owner, address)
    await publish(blobs, owner, bytes)
    assert.ok(Buffer.concat(await reading.toArray()).equals(bytes))
    assert.ok((await read(blobs, owner, address)).equals(bytes))
    assert.equal(await blobs.verify(owner, address), "intact")
  })

  test("equal bytes of two owners are two blobs", async t => {
    const blobs = await open(t)
    const [one, other] = [newOwner(), newOwner()]
    const bytes = newBytes(100)
    const address = await publish(blobs, one, bytes)
    const otherAddress = await publish(blobs, other, bytes)
    await blobs.remove(one, [address])
    assert.ok((await read(blobs, other, otherAddress)).equals(bytes))
    await rejectsAs("missing", () => blobs.read(one, address))
  })
}
