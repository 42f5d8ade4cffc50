import assert from "node:assert/strict"
import { readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { refused } from "../../core/accounts/testing/people.ts"
import { bytesOf, type StorageWorld, storageWorld } from "./testing/world.ts"

const HOUR_MS = 3_600_000

const blobFolder = ({ p }: StorageWorld) => join(p.config.dataDir, "blobs", "owners")

const filesOf = async (world: StorageWorld): Promise<string[]> => {
  const entries = await readdir(blobFolder(world), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

test("what no object is made of any more is given back after its readers' time, and nothing else", async t => {
  const world = await storageWorld(t)
  const { p, svc, bucket, put, text } = world
  await put("kept", "kept")
  await put("twin", "kept")
  await put("a", "first")
  await put("a", "second")
  await svc.storage.deleteObject({ bucket, key: "twin" })
  assert.equal((await filesOf(world)).length, 3)
  await p.clock.advance(HOUR_MS - 120_000)
  assert.equal((await filesOf(world)).length, 3)
  await p.clock.advance(HOUR_MS)
  assert.equal((await filesOf(world)).length, 2)
  assert.deepEqual([await text("kept"), await text("a")], ["kept", "second"])
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

test("writers of the same keys and bytes at once leave counts that add up", async t => {
  const { p, svc, bucket, put, text } = await storageWorld(t)
  const contents = ["one", "other", "third"]
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
  const blobs = await p.database.db.selectFrom("storage.blobs").select(["refs"]).execute()
  assert.equal(
    blobs.reduce((sum, { refs }) => sum + refs, 0),
    data.length,
  )
  for (const { key } of data) assert.ok(contents.includes(await text(key)))
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
  const [file = ""] = await filesOf(world)
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
  // As if there were much more in it.
  await p.database.db
    .updateTable("storage.counts")
    .set({ size_bytes: GB - 5 })
    .execute()
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

test("what is kept is metered as the average of the day, and what passes as it passes", async t => {
  const { p, put, text } = await storageWorld(t)
  await put("a", bytesOf(1024 ** 2))
  await text("a")
  for (let hour = 0; hour < 24; hour++) await p.clock.advance(HOUR_MS)
  const rows = await p.database.db
    .selectFrom("core.usage")
    .select(["metric", eb => eb.fn.sum<number>("quantity").as("quantity")])
    .where("metric", "in", ["storage_gb", "ingress_bytes", "egress_bytes"])
    .groupBy("metric")
    .execute()
  const usage = Object.fromEntries(rows.map(({ metric, quantity }) => [metric, quantity]))
  assert.equal(usage.ingress_bytes, 1024 ** 2)
  assert.equal(usage.egress_bytes, 1024 ** 2)
  assert.ok(Math.abs((usage.storage_gb ?? 0) * 1024 - 1) < 0.1, `${usage.storage_gb}`)
})
