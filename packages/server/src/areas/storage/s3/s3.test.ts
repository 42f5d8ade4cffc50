/** The AWS SDK with its default settings over HTTP: bodies come in chunks with a checksum at their end. */
import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { Readable } from "node:stream"
import { test } from "node:test"
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3"
import { Upload } from "@aws-sdk/lib-storage"
import { everyScope, platform } from "../../../testing/platform.ts"
import { accessOf, openClient, openWorld, refused } from "./testing/world.ts"

const MIB = 1024 * 1024

const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex")

test("a stream of 20 MiB arrives whole, in one request or in parts, and any range of it can be read", async t => {
  const { s3, bucketOf } = await openWorld(t)
  const Bucket = await bucketOf()
  const content = randomBytes(20 * MIB)
  const pieces = function* () {
    for (let at = 0; at < content.length; at += 100_000) yield content.subarray(at, at + 100_000)
  }

  const one = { Bucket, Key: "one", Body: Readable.from(pieces()), ContentLength: content.length }
  const { ETag, ChecksumCRC32 } = await s3.send(new PutObjectCommand(one))
  assert.equal(ETag, `"${md5(content)}"`)
  assert.ok(ChecksumCRC32, "the SDK sent a checksum behind the body, and it was kept")

  const upload = new Upload({ client: s3, params: { Bucket, Key: "parts", Body: Readable.from(pieces()) } })
  assert.match((await upload.done()).ETag ?? "", /-4"$/)

  for (const Key of ["one", "parts"]) {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
    assert.equal(md5((await Body?.transformToByteArray()) ?? new Uint8Array()), md5(content))
    const Range = `bytes=${5 * MIB - 10}-${5 * MIB + 9}`
    const part = await s3.send(new GetObjectCommand({ Bucket, Key, Range }))
    const expected = content.subarray(5 * MIB - 10, 5 * MIB + 10)
    assert.deepEqual(Buffer.from((await part.Body?.transformToByteArray()) ?? []), expected)
  }
})

test("objects are the same through S3 and through the JSON API", async t => {
  const { platform: p, access, s3, bucketOf } = await openWorld(t)
  const bucket = await bucketOf()
  const attributes = { ContentType: "text/plain", Metadata: { colour: "blue" }, CacheControl: "max-age=60" }
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a/b c", Body: "hello", ...attributes }))

  const svc = p.as(access.secret)
  assert.equal(await (await svc.storage.getObject({ bucket, key: "a/b c" })).text(), "hello")
  await svc.storage.putObject({ bucket, key: "other" }, { body: "from elsewhere" })

  const { ContentType, Metadata, CacheControl } = await s3.send(
    new HeadObjectCommand({ Bucket: bucket, Key: "a/b c" }),
  )
  assert.deepEqual({ ContentType, Metadata, CacheControl }, attributes)
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }))
  assert.deepEqual(
    Contents.map(({ Key, Size }) => [Key, Size]),
    [
      ["a/b c", 5],
      ["other", 14],
    ],
  )
})

test("a client that takes no path in its endpoint works at the root", async t => {
  const p = await platform(t)
  const s3 = openClient(t, { ...(await accessOf(p)), endpoint: p.url })
  await s3.send(new CreateBucketCommand({ Bucket: "at-the-root" }))
  await s3.send(new PutObjectCommand({ Bucket: "at-the-root", Key: "v1/me", Body: "not an operation" }))
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: "at-the-root", Key: "v1/me" }))
  assert.equal(await Body?.transformToString(), "not an operation")
})

test("of clients that create the same object at once, one does", async t => {
  const { s3, bucketOf } = await openWorld(t)
  const Bucket = await bucketOf()
  const attempts = Array.from({ length: 8 }, (_, at) =>
    s3.send(new PutObjectCommand({ Bucket, Key: "once", Body: `writer ${at}`, IfNoneMatch: "*" })),
  )
  const outcomes = await Promise.allSettled(attempts)
  const winner = outcomes.findIndex(({ status }) => status === "fulfilled")
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1)
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: "once" }))
  assert.equal(await Body?.transformToString(), `writer ${winner}`)
})

test("a key of the whole organization acts in the project that its access key was made for", async t => {
  const p = await platform(t)
  const wide = await accessOf(p, "acme", everyScope, { project_id: null })
  const bound = await accessOf(p)
  await openClient(t, bound).send(new CreateBucketCommand({ Bucket: "shared" }))
  await openClient(t, wide).send(new PutObjectCommand({ Bucket: "shared", Key: "k", Body: "x" }))
  const { Contents } = await openClient(t, bound).send(new ListObjectsV2Command({ Bucket: "shared" }))
  assert.deepEqual(
    Contents?.map(({ Key }) => Key),
    ["k"],
  )
})

test("the plan's space cannot be exceeded through S3 either", async t => {
  const p = await platform(t)
  await p.tenant("small", "free")
  const s3 = openClient(t, await accessOf(p, "small"))
  await s3.send(new CreateBucketCommand({ Bucket: "full" }))
  const ask = { Bucket: "full", Key: "k", ContentLength: 2 * 1024 ** 3 }
  const endless = Readable.from([Buffer.alloc(1024)])
  await refused(s3.send(new PutObjectCommand({ ...ask, Body: endless })), 403, "QuotaExceeded")
})
