import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { refused } from "../../core/accounts/testing/people.ts"
import { bytesOf, storageWorld } from "./testing/world.ts"

const MIB = 1024 ** 2
const DAY_MS = 86_400_000

const uploadWorld = async (t: Parameters<typeof storageWorld>[0]) => {
  const world = await storageWorld(t)
  const { svc, bucket } = world
  const begin = async (key: string, more: object = {}) =>
    (await svc.storage.createMultipart({ bucket, key, ...more })).upload_id
  const send = async (upload_id: string, part_number: number, body: Uint8Array) => {
    const { etag } = await svc.storage.putPart({ upload_id, part_number }, { body })
    return { part_number, etag }
  }
  return { ...world, begin, send }
}

test("parts that come in any order become one object, whose ETag is that of S3", async t => {
  const { svc, bucket, begin, send, fetch } = await uploadWorld(t)
  const parts = [bytesOf(5 * MIB, 1), bytesOf(5 * MIB + 1, 2), bytesOf(10, 3)] as const
  const id = await begin("film", {
    http_metadata: { content_type: "video/mp4" },
    custom_metadata: { a: "b" },
    checksum_algorithm: "sha256",
  })
  const third = await send(id, 30, parts[2])
  const [first, second] = await Promise.all([send(id, 1, parts[0]), send(id, 7, parts[1])])
  assert.deepEqual(
    (await svc.storage.listParts({ upload_id: id })).data.map(({ part_number, size }) => [part_number, size]),
    [
      [1, 5 * MIB],
      [7, 5 * MIB + 1],
      [30, 10],
    ],
  )
  assert.equal((await svc.storage.listMultipart({ bucket })).data[0]?.upload_id, id)
  assert.equal((await svc.storage.usage()).upload_bytes, 10 * MIB + 11)

  const input = { upload_id: id, parts: [first, second, third] }
  const object = await svc.storage.completeMultipart(input)
  const whole = Buffer.concat(parts)
  const hash = (name: string, bytes: Uint8Array) => createHash(name).update(bytes).digest()
  const etag = hash("md5", Buffer.concat(parts.map(part => hash("md5", part)))).toString("hex")
  const sum = hash("sha256", Buffer.concat(parts.map(part => hash("sha256", part)))).toString("base64")
  assert.deepEqual(
    [object.etag, object.size, object.part_count, object.checksums, object.checksum_type],
    [`${etag}-3`, whole.length, 3, { sha256: `${sum}-3` }, "composite"],
  )
  assert.deepEqual(await svc.storage.completeMultipart(input), object)
  const response = await fetch("film")
  assert.equal(response.headers.get("content-type"), "video/mp4")
  assert.ok(whole.equals(Buffer.from(await response.arrayBuffer())))
  const across = await fetch("film", { headers: { range: `bytes=${5 * MIB - 5}-${10 * MIB + 3}` } })
  assert.ok(whole.subarray(5 * MIB - 5, 10 * MIB + 4).equals(Buffer.from(await across.arrayBuffer())))
  const { size_bytes, upload_bytes, objects } = await svc.storage.usage()
  assert.deepEqual([objects, size_bytes, upload_bytes], [1, whole.length, 0])
  assert.deepEqual((await svc.storage.listMultipart({ bucket })).data, [])
  await assert.rejects(svc.storage.listMultipart({ bucket: "no-such-bucket" }), { code: "bucket_not_found" })
})

test("an upload is completed only by the parts that are there, in order and large enough", async t => {
  const { svc, bucket, begin, send } = await uploadWorld(t)
  const id = await begin("a")
  const [small, last] = [await send(id, 1, bytesOf(10)), await send(id, 2, bytesOf(20))]
  const complete = (...parts: { part_number: number; etag: string }[]) =>
    svc.storage.completeMultipart({ upload_id: id, parts })
  await refused(complete(small, last), "upload_part_too_small")
  await refused(complete(last, small), "invalid_parameter")
  await refused(complete({ ...small, part_number: 3 }), "upload_part_invalid")
  await refused(complete({ ...small, etag: last.etag }), "upload_part_invalid")
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [])
  assert.equal((await complete(last)).size, 20)
})

test("an upload that was given up, has expired or is another tenant's takes no part", async t => {
  const { p, svc, bucket, begin, send } = await uploadWorld(t)
  const id = await begin("a")
  await send(id, 1, bytesOf(10))
  const stranger = await p.client("globex", "storage:read", "storage:write")
  await refused(stranger.storage.listParts({ upload_id: id }), "upload_not_found")
  await refused(stranger.storage.abortMultipart({ upload_id: id }), "upload_not_found")
  await refused(
    stranger.storage.putPart({ upload_id: id, part_number: 1 }, { body: "x" }),
    "upload_not_found",
  )
  await svc.storage.abortMultipart({ upload_id: id })
  await refused(send(id, 2, bytesOf(10)), "upload_not_found")
  await refused(svc.storage.abortMultipart({ upload_id: id }), "upload_not_found")

  const old = await begin("b")
  await send(old, 1, bytesOf(10))
  await p.clock.advance(7 * DAY_MS + 1)
  await refused(send(old, 2, bytesOf(10)), "upload_not_found")
  await p.clock.advance(120_000)
  assert.equal((await svc.storage.usage()).upload_bytes, 0)
  await svc.storage.deleteBucket({ name: bucket })
})

test("a copy shares its source's bytes, and a move leaves nothing behind", async t => {
  const { p, svc, bucket, put, text } = await uploadWorld(t)
  await put("a", "content", { "content-type": "text/plain", "x-svc-meta-a": "1" })
  const names = { source_bucket: bucket, source_key: "a", bucket }
  const copied = await svc.storage.copyObject({ ...names, key: "b" })
  assert.deepEqual([copied.custom_metadata, copied.http_metadata.content_type], [{ a: "1" }, "text/plain"])
  const renamed = await svc.storage.copyObject({ ...names, key: "a", custom_metadata: { a: "2" } })
  assert.deepEqual(renamed.custom_metadata, { a: "2" })
  await refused(svc.storage.copyObject({ ...names, key: "b", overwrite: false }), "precondition_failed")
  await refused(svc.storage.copyObject({ ...names, source_key: "x", key: "b" }), "object_not_found")
  await svc.storage.moveObject({ ...names, key: "c" })
  await svc.storage.moveObject({ ...names, source_key: "c", key: "c" })
  await refused(svc.storage.getObject({ bucket, key: "a" }), "object_not_found")
  assert.deepEqual([await text("b"), await text("c")], ["content", "content"])
  const blobs = await p.database.db.selectFrom("storage.blobs").select(["refs", "bytes"]).execute()
  assert.deepEqual(blobs, [{ refs: 2, bytes: 7 }])
})
