import assert from "node:assert/strict"
import { test } from "node:test"
import type { SvcError } from "@svc/sdk"
import { storageWorld } from "./testing/world.ts"

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => assert.fail("it was let through"),
    (error: unknown) => (error as SvcError).code,
  )

test("what is overwritten or deleted in a bucket with versions can be read, listed and restored", async t => {
  const { svc, bucket, put, text } = await storageWorld(t)
  const before = await put("a", "zero")
  assert.equal(before.version_id, null)
  assert.equal(
    (await svc.storage.updateBucket({ name: bucket, versioning: "enabled" })).versioning,
    "enabled",
  )
  const one = await put("a", "one")
  const two = await put("a", "two")
  const read = async (version_id: string | null) =>
    (await svc.storage.getObject({ bucket, key: "a", version_id: version_id ?? "" })).text()
  assert.deepEqual([await read("null"), await read(one.version_id), await text("a")], ["zero", "one", "two"])

  const deleted = await svc.storage.deleteObject({ bucket, key: "a" })
  assert.deepEqual([deleted.deleted, deleted.delete_marker], [true, true])
  assert.equal(await refusal(text("a")), "object_not_found")
  const { data } = await svc.storage.listVersions({ bucket })
  assert.deepEqual(
    data.map(({ version_id, is_latest, is_delete_marker }) => [version_id, is_latest, is_delete_marker]),
    [
      [deleted.version_id, true, true],
      [two.version_id, false, false],
      [one.version_id, false, false],
      ["null", false, false],
    ],
  )

  const restored = await svc.storage.restoreVersion({ bucket, key: "a", version_id: one.version_id ?? "" })
  assert.equal(await text("a"), "one")
  assert.notEqual(restored.version_id, one.version_id)
  const { objects, bytes } = await counted(svc, bucket)
  assert.deepEqual([objects, bytes], [1, "zeroonetwoone".length])
})

const counted = async (svc: Awaited<ReturnType<typeof storageWorld>>["svc"], name: string) => {
  const { object_count, size_bytes } = await svc.storage.getBucket({ name })
  return { objects: object_count, bytes: size_bytes }
}

test("a page of versions goes on where the page before ended", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  await svc.storage.updateBucket({ name: bucket, versioning: "enabled" })
  for (const key of ["a", "b", "b", "b", "dir/c", "dir/d"]) await put(key, key)
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof svc.storage.listVersions>> = await svc.storage.listVersions({
      bucket,
      limit: 2,
      delimiter: "/",
      ...(cursor !== null && { cursor }),
    })
    seen.push(...page.data.map(({ key }) => key), ...page.delimited_prefixes)
    cursor = page.cursor
  } while (cursor !== null)
  assert.deepEqual(seen, ["a", "b", "b", "b", "dir/"])
  assert.equal(await refusal(svc.storage.listVersions({ bucket, cursor: "bm9uZQ" })), "invalid_parameter")
})

test("the bytes of versions count, and are free again when the last of them is gone", async t => {
  const { p, svc, bucket, put } = await storageWorld(t)
  await svc.storage.updateBucket({ name: bucket, versioning: "enabled" })
  const ids = [await put("a", "same"), await put("a", "same"), await put("b", "same")]
  assert.deepEqual(await counted(svc, bucket), { objects: 2, bytes: 12 })
  for (const { key, version_id } of ids)
    await svc.storage.deleteObject({ bucket, key, version_id: version_id ?? "" })
  assert.deepEqual(await counted(svc, bucket), { objects: 0, bytes: 0 })
  const { rows } = await p.database.pool.query("SELECT refs FROM storage.blobs WHERE refs <> 0")
  assert.deepEqual(rows, [])
  await svc.storage.deleteBucket({ name: bucket })
})

test("writers of one key at once leave as many versions as they wrote, of which one is the newest", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  await svc.storage.updateBucket({ name: bucket, versioning: "enabled" })
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      at % 4 === 3 ? svc.storage.deleteObject({ bucket, key: "a" }) : put("a", `${at}`),
    ),
  )
  const { data } = await svc.storage.listVersions({ bucket })
  assert.equal(data.length, 20)
  assert.deepEqual(data.map(({ is_latest }) => is_latest).indexOf(true), 0)
  assert.equal(data.filter(({ is_latest }) => is_latest).length, 1)
  await Promise.all(
    data.map(({ key, version_id }) =>
      svc.storage.deleteObject({ bucket, key, version_id: version_id ?? "" }),
    ),
  )
  assert.deepEqual(await counted(svc, bucket), { objects: 0, bytes: 0 })
})

test("versions and tags are out of reach of other tenants, and of a key that only reads", async t => {
  const { p, svc, bucket, put } = await storageWorld(t)
  await svc.storage.updateBucket({ name: bucket, versioning: "enabled" })
  const { version_id } = await put("a", "secret")
  const named = { bucket, key: "a", version_id: version_id ?? "" }
  const stranger = p.as((await p.key("globex", ["storage:read", "storage:write"])).secret)
  assert.equal(await refusal(stranger.storage.getObject(named)), "bucket_not_found")
  assert.equal(await refusal(stranger.storage.listVersions({ bucket })), "bucket_not_found")
  assert.equal(await refusal(stranger.storage.setTags({ ...named, tags: {} })), "bucket_not_found")
  assert.equal(await refusal(stranger.storage.restoreVersion(named)), "bucket_not_found")
  const reader = p.as((await p.key("acme", ["storage:read"])).secret)
  assert.equal(await refusal(reader.storage.setTags({ ...named, tags: {} })), "missing_scope")
  const writer = p.as((await p.key("acme", ["storage:write"])).secret)
  assert.equal(await refusal(writer.storage.restoreVersion(named)), "missing_scope")
})

test("older versions are not public with their bucket", async t => {
  const { p, svc, bucket, put } = await storageWorld(t)
  await svc.storage.updateBucket({ name: bucket, versioning: "enabled", public: true })
  const { version_id } = await put("a", "old")
  await put("a", "new")
  assert.equal(await (await p.request(`/s3/${bucket}/a`)).text(), "new")
  const older = await p.request(`/s3/${bucket}/a?versionId=${version_id}`)
  assert.equal(older.status, 403)
  await older.body?.cancel()
})

test("tags are set and read by version, and kept to S3's limits", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  await put("a", "x")
  await svc.storage.setTags({ bucket, key: "a", tags: { album: "summer", __proto__x: "1" } })
  assert.deepEqual((await svc.storage.getTags({ bucket, key: "a" })).tags, {
    album: "summer",
    __proto__x: "1",
  })
  assert.equal(
    await refusal(svc.storage.setTags({ bucket, key: "a", tags: { "aws:x": "1" } })),
    "invalid_parameter",
  )
  assert.equal(await refusal(svc.storage.setTags({ bucket, key: "none", tags: {} })), "object_not_found")
  assert.equal(
    await refusal(svc.storage.getTags({ bucket, key: "a", version_id: "0".repeat(32) })),
    "object_not_found",
  )
  assert.deepEqual((await svc.storage.updateBucket({ name: bucket, tags: { team: "a" } })).tags, {
    team: "a",
  })
  assert.equal(
    await refusal(svc.storage.updateBucket({ name: bucket, tags: { "aws:x": "" } })),
    "invalid_parameter",
  )
})
