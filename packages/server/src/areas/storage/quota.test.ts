import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { plans } from "@svc/contract"
import { refused } from "../../core/accounts/testing/people.ts"
import { createTestClock } from "../../testing/clock.ts"
import { createQuota } from "./quota.ts"
import { storageWorld } from "./testing/world.ts"

const GB = 1024 ** 3

/** A bucket of a free organization in which a ten-byte object `big` counts as all but `left` bytes of the plan. */
const fullWorld = async (t: TestContext, left: number) => {
  const world = await storageWorld(t, { plan: "free" })
  const { p, put } = world
  await put("big", "1234567890")
  const { db } = p.database
  await db
    .updateTable("storage.objects")
    .set({ size: GB - left })
    .execute()
  await db
    .updateTable("storage.counts")
    .set({ size_bytes: GB - left })
    .execute()
  await p.clock.advance(11_000)
  return world
}

const stream = (text: string) => new Blob([text]).stream()

test("an upload that takes the place of a larger object fits into a full plan", async t => {
  const { svc, bucket, put, text } = await fullWorld(t, 5)
  await refused(put("other", "123456"), "plan_limit_reached")
  await put("big", "much smaller than before")
  assert.equal(await text("big"), "much smaller than before")
  await put("other", "123456")
  assert.equal(await text("other"), "123456")

  const { size_bytes } = await svc.storage.getBucket({ name: bucket })
  assert.equal(size_bytes, 30)
})

test("what was deleted a moment ago is room again, for bodies of any length and for copies", async t => {
  const { svc, bucket, put } = await fullWorld(t, 0)
  await refused(put("other", "1"), "plan_limit_reached")
  await refused(svc.storage.putObject({ bucket, key: "other" }, { body: stream("1") }), "plan_limit_reached")
  await svc.storage.deleteObject({ bucket, key: "big" })
  await svc.storage.putObject({ bucket, key: "other" }, { body: stream("123456") })
  await svc.storage.copyObject({ source_bucket: bucket, source_key: "other", bucket, key: "copy" })
})

test("a version that is restored takes room like a copy, and one that is kept frees none", async t => {
  const { svc, bucket, put } = await fullWorld(t, 0)
  await svc.storage.updateBucket({ name: bucket, versioning: "enabled" })
  await refused(svc.storage.restoreVersion({ bucket, key: "big", version_id: "null" }), "plan_limit_reached")
  await svc.storage.deleteObject({ bucket, key: "big" })
  await refused(put("other", "1"), "plan_limit_reached")
  await svc.storage.deleteObject({ bucket, key: "big", version_id: "null" })
  await put("other", "1")
})

test("a body of unknown length may take the place of what is there, and no more", async t => {
  const { svc, bucket, p, text } = await fullWorld(t, 2)
  await p.database.db.updateTable("storage.objects").set({ size: 10 }).execute()
  const send = (body: string) => svc.storage.putObject({ bucket, key: "big" }, { body: stream(body) })
  await refused(send("1234567890abc"), "plan_limit_reached")
  await send("1234567890ab")
  assert.equal(await text("big"), "1234567890ab")
})

test("a part that is sent again takes the place of the first", async t => {
  const { svc, bucket } = await fullWorld(t, 6)
  const { upload_id } = await svc.storage.createMultipart({ bucket, key: "parts" })
  const send = (body: string) => svc.storage.putPart({ upload_id, part_number: 1 }, { body })
  await send("123456")
  await send("abcdef")
  await refused(send("1234567"), "plan_limit_reached")
})

test("uploads at the same time do not share the last bytes of a plan", async t => {
  const { put } = await fullWorld(t, 20)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) => put(`same-time-${index}`, "1234567890")),
  )
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 2)
})

test("what is stored while usage is looked up counts once, whether the answer has it or not", async () => {
  const limit = (plans.free.included.storage_gb ?? 0) * GB
  const organization = { id: "one", name: "one", plan: "free", requestsPerSecond: 1 } as const
  for (const firstAnswer of [limit - 20, limit - 10]) {
    const first = Promise.withResolvers<number>()
    const answers = [first.promise]
    const bytesOf = () => answers.shift() ?? Promise.resolve(limit - 10)
    const quota = createQuota({ bytesOf }, createTestClock())
    const held = quota.hold(organization, 10)
    const admitted = quota.admit(organization, 10)
    held.stored()
    first.resolve(firstAnswer)
    assert.equal(await admitted, 10)
    await assert.rejects(quota.admit(organization, 11), { code: "plan_limit_reached" })
  }
})

test("what is stored during every look at usage still counts", async () => {
  const limit = (plans.free.included.storage_gb ?? 0) * GB
  const organization = { id: "one", name: "one", plan: "free", requestsPerSecond: 1 } as const
  const bytesOf = async () => {
    quota.hold(organization, 10).stored()
    return limit - 10
  }
  const quota = createQuota({ bytesOf }, createTestClock())
  await assert.rejects(quota.admit(organization, 1), { code: "plan_limit_reached" })
})
