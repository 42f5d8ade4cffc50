import assert from "node:assert/strict"
import { once } from "node:events"
import { test } from "node:test"
import fc from "fast-check"
import {
  ANY,
  inChunks,
  listAll,
  MIB,
  newBytes,
  newOwner,
  publish,
  read,
  rejectsAs,
  type Suite,
} from "./fixture.ts"

export const ownerTests = ({ open }: Suite): void => {
  test("no address, whoever made it up, reads, verifies or removes what belongs to another", async t => {
    const blobs = await open(t)
    const [owner, other] = [newOwner(), newOwner()]
    const address = await publish(blobs, owner, newBytes(100))
    const forged = [
      address,
      `../${owner}/${address}`,
      `../${owner}/${address.slice(0, 2)}/${address.slice(2)}`,
      `${owner}/${address}`,
      `/${address}`,
      address.toUpperCase(),
      `${address}\0`,
      `${address}/`,
      "..",
      "",
      "é".repeat(32),
      "a".repeat(10_000),
    ]
    for (const guess of forged) {
      await rejectsAs("missing", () => blobs.read(other, guess))
      assert.equal(await blobs.verify(other, guess), "missing")
    }
    await blobs.remove(other, forged)
    await blobs.remove(
      owner,
      forged.filter(guess => guess !== address && guess !== address.toUpperCase()),
    )
    assert.equal((await read(blobs, owner, address)).length, 100)
    assert.equal((await listAll(blobs)).length, 1)
  })

  test("an owner that is no lower-case UUID is refused", async t => {
    const blobs = await open(t)
    const address = await publish(blobs, newOwner(), newBytes(1))
    for (const owner of ["", "..", newOwner().toUpperCase(), `${newOwner()}/..`, `../${newOwner()}`]) {
      await rejectsAs("refused", () => blobs.stage(owner, inChunks(newBytes(1)), ANY))
      await rejectsAs("refused", () => blobs.read(owner, address))
      await rejectsAs("refused", () => blobs.remove(owner, [address]))
      await rejectsAs("refused", () => blobs.verify(owner, address))
    }
  })
}

export const rangeTests = ({ open, largeBytes }: Suite): void => {
  test("a range gives its bytes, the first and the last one included", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    for (const length of [1, 100, largeBytes]) {
      const bytes = newBytes(length)
      const address = await publish(blobs, owner, bytes)
      const last = length - 1
      const middle = Math.floor(length / 2)
      for (const [start, end] of [
        [0, 0],
        [last, last],
        [0, last],
        [middle, last],
        [0, middle],
      ] as const)
        assert.ok(
          (await read(blobs, owner, address, { start, end })).equals(bytes.subarray(start, end + 1)),
          `${start} to ${end} of ${length}`,
        )
    }
  })

  test("a range that the blob does not have fails and gives no other bytes for it", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    for (const length of [0, 100, largeBytes]) {
      const address = await publish(blobs, owner, newBytes(length))
      for (const [start, end] of [
        [length, length],
        [length + 5, length + 9],
        [0, length],
      ] as const)
        await rejectsAs("refused", () => read(blobs, owner, address, { start, end }))
    }
  })

  test("a range that is none is refused", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const address = await publish(blobs, owner, newBytes(100))
    for (const [start, end] of [
      [-1, 5],
      [5, 4],
      [0.5, 3],
      [0, Number.NaN],
      [0, Number.POSITIVE_INFINITY],
    ] as const)
      await rejectsAs("refused", () => blobs.read(owner, address, { start, end }))
  })

  test("any bytes in any chunks come back, whole and in any range", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const cases = fc.record({
      length: fc.oneof(fc.nat(300), fc.nat(largeBytes)),
      chunkBytes: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1000, max: 300_000 })),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
      to: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ length, chunkBytes, from, to }) => {
        const bytes = newBytes(length)
        // A million chunks of a byte would test nothing but patience.
        const source = inChunks(bytes, Math.max(chunkBytes, Math.ceil(length / 2000)))
        const staged = await blobs.stage(owner, source, ANY)
        await staged.publish()
        assert.ok((await read(blobs, owner, staged.address)).equals(bytes))
        if (length === 0) return
        const start = Math.min(length - 1, Math.floor(Math.min(from, to) * length))
        const end = Math.min(length - 1, Math.floor(Math.max(from, to) * length))
        const ranged = await read(blobs, owner, staged.address, { start, end })
        assert.ok(ranged.equals(bytes.subarray(start, end + 1)))
      }),
      { numRuns: 40 },
    )
  })
}

export const streamTests = ({ open, largeBytes }: Suite): void => {
  test("a reader who does not read finds no more than a few chunks waiting for him", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const bytes = newBytes(Math.max(largeBytes, 8 * MIB))
    const address = await publish(blobs, owner, bytes)
    const reading = await blobs.read(owner, address)
    let waiting = -1
    // Reads ahead until it has enough: the number stands still.
    while (waiting !== reading.readableLength) {
      waiting = reading.readableLength
      reading.read(0)
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
    }
    assert.ok(waiting <= MIB, `${waiting} bytes are held for a reader who waits`)
    assert.ok(Buffer.concat(await reading.toArray()).equals(bytes))
  })

  test("a reader may leave in the middle", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const address = await publish(blobs, owner, newBytes(largeBytes))
    for (let reader = 0; reader < 20; reader += 1) {
      const reading = await blobs.read(owner, address)
      await reading[Symbol.asyncIterator]().next()
      if (!reading.destroyed) {
        reading.destroy()
        await once(reading, "close")
      }
    }
    assert.equal((await read(blobs, owner, address)).length, largeBytes)
  })

  test("a read under way when its blob is removed gives all of it or fails, and later ones find nothing", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const bytes = newBytes(largeBytes)
    const address = await publish(blobs, owner, bytes)
    const reading = await blobs.read(owner, address)
    await blobs.remove(owner, [address])
    await rejectsAs("missing", () => blobs.read(owner, address))
    const given = await reading.toArray().then(Buffer.concat, () => undefined)
    assert.ok(given === undefined || given.equals(bytes))
  })
}
