import assert from "node:assert/strict"
import { test } from "node:test"
import {
  ANY,
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

/** Clocks of file systems tick every few milliseconds, those of servers every second. */
const CLOCK_MS = 2_000

const byAddress = (a: { address: string }, b: { address: string }) => (a.address < b.address ? -1 : 1)

export const upkeepTests = ({ open, largeBytes }: Suite): void => {
  test("the list has every blob of every owner once, with its length and time", async t => {
    const blobs = await open(t)
    const since = Date.now() - CLOCK_MS
    const expected = await Promise.all(
      [0, 10, 1000, largeBytes].flatMap(bytes =>
        [newOwner(), newOwner()].map(async owner => ({
          ...{ owner, bytes, address: await publish(blobs, owner, newBytes(bytes)) },
        })),
      ),
    )
    const listed = await listAll(blobs)
    const times = listed.map(({ publishedAt }) => publishedAt)
    assert.ok(Math.min(...times) >= since && Math.max(...times) <= Date.now() + CLOCK_MS)
    const withoutTimes = listed.map(({ owner, bytes, address }) => ({ owner, bytes, address }))
    const sorted = (rows: typeof expected) =>
      rows.toSorted((a, b) => byAddress(a, b) || (a.owner < b.owner ? -1 : 1))
    assert.equal(new Set(listed.map(({ owner, address }) => `${owner} ${address}`)).size, expected.length)
    assert.deepEqual(
      sorted(withoutTimes)
        .map(row => JSON.stringify(row))
        .sort(),
      sorted(expected)
        .map(({ owner, bytes, address }) => JSON.stringify({ owner, bytes, address }))
        .sort(),
    )
  })

  test("removing many at once passes over those that are not there", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const kept = await publish(blobs, owner, newBytes(11))
    const removed = await Promise.all(
      Array.from({ length: 20 }, (_, n) => publish(blobs, owner, newBytes(20 + n))),
    )
    const large = await publish(blobs, owner, newBytes(largeBytes))
    const staged = await stage(blobs, owner, newBytes(10))
    const unknown = Array.from({ length: 1_100 }, () => staged.address)
    await blobs.remove(owner, [...unknown, ...removed, large, ...removed])
    await blobs.remove(owner, [])
    assert.deepEqual(
      (await listAll(blobs)).map(({ address }) => address),
      [kept],
    )
    for (const address of [...removed, large]) await rejectsAs("missing", () => blobs.read(owner, address))
  })

  test("a sweep removes what was staged before and never published, and nothing else", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const bytes = newBytes(largeBytes)
    const address = await publish(blobs, owner, bytes)
    const forgotten = [
      await stage(blobs, owner, newBytes(largeBytes)),
      await stage(blobs, owner, newBytes(largeBytes)),
    ]
    assert.equal(await blobs.sweep(Date.now() - 60_000), 0)
    assert.equal(await blobs.sweep(LATER()), 2)
    assert.equal(await blobs.sweep(LATER()), 0)
    for (const staged of forgotten) {
      await rejectsAs("missing", () => staged.publish())
      await rejectsAs("missing", () => blobs.read(owner, staged.address))
    }
    assert.ok((await read(blobs, owner, address)).equals(bytes))
  })

  test("a blob that is as it was written is intact, one that is not there is missing", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    for (const length of [0, 100, largeBytes]) {
      const address = await publish(blobs, owner, newBytes(length))
      assert.equal(await blobs.verify(owner, address), "intact")
      await blobs.remove(owner, [address])
      assert.equal(await blobs.verify(owner, address), "missing")
    }
    await holdsNothing(blobs)
  })
}

export const lifeTests = ({ open }: Suite): void => {
  test("a store that is open is healthy", async t => {
    const health = await (await open(t)).health()
    assert.equal(health.ok, true, health.reason)
    await holdsNothing(await open(t))
  })

  test("a closed store serves nothing", async t => {
    const blobs = await open(t)
    const owner = newOwner()
    const address = await publish(blobs, owner, newBytes(10))
    await blobs[Symbol.asyncDispose]()
    await blobs[Symbol.asyncDispose]()
    await rejectsAs("unavailable", () => blobs.stage(owner, inChunks(newBytes(10)), ANY))
    await rejectsAs("unavailable", () => blobs.read(owner, address))
    await rejectsAs("unavailable", () => blobs.remove(owner, [address]))
    await rejectsAs("unavailable", () => blobs.verify(owner, address))
    await rejectsAs("unavailable", () => blobs.sweep(0))
    await rejectsAs("unavailable", () => listAll(blobs))
    assert.equal((await blobs.health()).ok, false)
  })
}
