import assert from "node:assert/strict"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { refused } from "../../core/accounts/testing/people.ts"
import { bytesOf, type StorageWorld, storageWorld } from "./testing/world.ts"

const HOUR_MS = 3_600_000

/** What of the operator's data folder contains these bytes, wherever that is. */
const filesWith = async ({ p }: StorageWorld, text: string): Promise<string[]> => {
  const entries = await readdir(p.config.dataDir, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const contents = await Promise.all(files.map(file => readFile(file)))
  return files.filter((_, at) => contents[at]?.includes(text))
}

test("what no object is made of any more is given back after its readers' time, and nothing else", async t => {
  const world = await storageWorld(t)
  const { p, svc, bucket, put, text } = world
  const [kept, first, second] = ["bytes that are kept", "bytes of the first", "bytes of the second"]
  const copies = () => Promise.all([kept, first, second].map(async of => (await filesWith(world, of)).length))
  await put("kept", kept)
  await put("twin", kept)
  await put("a", first)
  await put("a", second)
  await svc.storage.deleteObject({ bucket, key: "twin" })
  assert.deepEqual(await copies(), [1, 1, 1])
  await p.clock.advance(HOUR_MS - 120_000)
  assert.deepEqual(await copies(), [1, 1, 1])
  await p.clock.advance(HOUR_MS)
  assert.deepEqual(await copies(), [1, 0, 1])
  assert.deepEqual([await text("kept"), await text("a")], [kept, second])
})

test("an object that is put while the collector removes the same bytes keeps them", async t => {
  const world = await storageWorld(t)
  const { p, svc, bucket, put, text } = world
  for (let round = 0; round < 6; round++) {
    await put("a", "the same bytes")
    await svc.storage.deleteObject({ bucket, key: "a" })
    const collecting = p.clock.advance(HOUR_MS + 120_000)
    const putting = Array.from({ length: 6 }, (_, n) => put(`b${n}`, "the same bytes"))
    await Promise.all([collecting, ...putting])
    for (let n = 0; n < 6; n++) assert.equal(await text(`b${n}`), "the same bytes")
    await svc.storage.deleteObjects({ bucket, keys: [0, 1, 2, 3, 4, 5].map(n => `b${n}`) })
  }
})

test("writers of the same keys and bytes at once leave counts that add up, and bytes that are kept exactly as long", async t => {
  const world = await storageWorld(t)
  const { p, svc, bucket, put, text } = world
  const contents = ["bytes of one", "bytes of another", "bytes of a third"]
  const act = async (n: number) => {
    const key = `k${n % 3}`
    if (n % 5 === 4) await svc.storage.deleteObjects({ bucket, keys: ["k0", "k1", "k2"] })
    else if (n % 7 === 6)
      await svc.storage
        .copyObject({ source_bucket: bucket, source_key: key, bucket, key: `k${(n + 1) % 3}` })
        .catch(error => assert.equal(error.code, "object_not_found"))
    else await put(key, contents[n % contents.length] ?? "")
  }
  for (let round = 0; round < 6; round++)
    await Promise.all(Array.from({ length: 24 }, (_, n) => act(n + round)))

  const { data } = await svc.storage.listObjects({ bucket })
  const { objects, size_bytes } = await svc.storage.usage()
  assert.equal(objects, data.length)
  assert.equal(
    size_bytes,
    data.reduce((sum, { size }) => sum + size, 0),
  )
  const kept = new Set<string>()
  await p.clock.advance(2 * HOUR_MS)
  for (const { key } of data) kept.add(await text(key))
  for (const content of contents)
    assert.equal((await filesWith(world, content)).length, kept.has(content) ? 1 : 0)
  await svc.storage.deleteObjects({ bucket, keys: data.map(({ key }) => key) })
  await p.clock.advance(2 * HOUR_MS)
  for (const content of contents) assert.deepEqual(await filesWith(world, content), [])
})

test("an object that is overwritten while it is read is read to its end as it was", async t => {
  const { p, svc, bucket, put } = await storageWorld(t)
  const body = bytesOf(8 * 1024 ** 2)
  await put("a", body)
  const response = await svc.storage.getObject({ bucket, key: "a" })
  await put("a", "new")
  await p.clock.advance(2 * HOUR_MS)
  assert.ok(Buffer.from(body).equals(Buffer.from(await response.arrayBuffer())))
})

test("a damaged piece is found, told, and mended by putting the object again", async t => {
  const world = await storageWorld(t)
  const { p, svc, put, text } = world
  await put("a", "what was written")
  await p.clock.advance(120_000)
  assert.equal((await svc.storage.usage()).damaged_blobs, 0)
  const [file = ""] = await filesWith(world, "what was written")
  await writeFile(file, "what was wrotten")
  await p.clock.advance(HOUR_MS + 120_000)
  assert.equal((await svc.storage.usage()).damaged_blobs, 1)
  const services = (await svc.identity.services()) as { services: { name: string; status: string }[] }
  const state = services.services.find(({ name }) => name === "storage")
  assert.equal(state?.status, "degraded")

  await put("a", "what was written")
  assert.equal((await svc.storage.usage()).damaged_blobs, 0)
  assert.equal(await text("a"), "what was written")
})

test("a free organization stores what its plan includes and no more; uploads under way count", async t => {
  const { p, svc, bucket, put } = await storageWorld(t, { plan: "free" })
  const GB = 1024 ** 3
  const { included_bytes, can_exceed } = await svc.storage.usage()
  assert.deepEqual([included_bytes, can_exceed], [GB, false])
  await put("a", "1234567890")
  // Copies count and take no room.
  const sixteenth = Buffer.alloc(GB / 16)
  await put("full0", sixteenth)
  for (let n = 1; n < 15; n++)
    await svc.storage.copyObject({ source_bucket: bucket, source_key: "full0", bucket, key: `full${n}` })
  await put("full15", sixteenth.subarray(10 + 5))
  await p.clock.advance(11_000)
  await refused(put("b", "123456"), "plan_limit_reached")
  await refused(
    svc.storage.copyObject({ source_bucket: bucket, source_key: "a", bucket, key: "b" }),
    "plan_limit_reached",
  )
  const { upload_id } = await svc.storage.createMultipart({ bucket, key: "c" })
  await refused(svc.storage.putPart({ upload_id, part_number: 1 }, { body: "123456" }), "plan_limit_reached")
  const unknown = svc.storage.putObject({ bucket, key: "b" }, { body: new Blob(["123456"]).stream() })
  await refused(unknown, "plan_limit_reached")
  await put("b", "12345")
})

test("what is kept is metered by the hour as its share of the day, and what passes as it passes", async t => {
  const { p, put, text } = await storageWorld(t)
  await put("a", bytesOf(1024 ** 2))
  await text("a")
  for (let hour = 0; hour < 6; hour++) await p.clock.advance(HOUR_MS)
  const rows = await p.database.db
    .selectFrom("core.usage")
    .select(["metric", eb => eb.fn.sum<number>("quantity").as("quantity")])
    .where("metric", "in", ["storage_gb", "ingress_bytes", "egress_bytes"])
    .groupBy("metric")
    .execute()
  const usage = Object.fromEntries(rows.map(({ metric, quantity }) => [metric, quantity]))
  assert.equal(usage.ingress_bytes, 1024 ** 2)
  assert.equal(usage.egress_bytes, 1024 ** 2)
  const ofDay = 6 / 24
  assert.ok(Math.abs((usage.storage_gb ?? 0) * 1024 - ofDay) < 0.01, `${usage.storage_gb}`)
})
