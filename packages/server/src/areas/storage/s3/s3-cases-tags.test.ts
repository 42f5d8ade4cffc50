/** Tags, as far as they are in ceph's s3-tests. */
import assert from "node:assert/strict"
import {
  CopyObjectCommand,
  DeleteBucketTaggingCommand,
  DeleteObjectTaggingCommand,
  GetBucketTaggingCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutBucketTaggingCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
} from "@aws-sdk/client-s3"
import { refused, runCases, type S3World } from "./testing/world.ts"

const put = async ({ s3 }: S3World, Bucket: string, Body: string) =>
  (await s3.send(new PutObjectCommand({ Bucket, Key: "foo", Body }))).VersionId

const tagged = async ({ s3 }: S3World, Bucket: string, VersionId?: string) =>
  Object.fromEntries(
    ((await s3.send(new GetObjectTaggingCommand({ Bucket, Key: "foo", VersionId }))).TagSet ?? []).map(
      ({ Key, Value }) => [Key, Value],
    ),
  )

const TagSet = [
  { Key: "a", Value: "1" },
  { Key: "b c", Value: "ä" },
]

runCases("tags are kept with objects, versions and buckets as in S3", {
  test_get_obj_tagging: async world => {
    const bucket = await world.bucketOf("foo")
    const at = { Bucket: bucket, Key: "foo" }
    assert.deepEqual(await tagged(world, bucket), {})
    await world.s3.send(new PutObjectTaggingCommand({ ...at, Tagging: { TagSet } }))
    assert.deepEqual(await tagged(world, bucket), { a: "1", "b c": "ä" })
    assert.equal((await world.s3.send(new HeadObjectCommand(at))).TagCount, 2)
    await world.s3.send(new DeleteObjectTaggingCommand(at))
    assert.deepEqual(await tagged(world, bucket), {})
    assert.equal((await world.s3.send(new HeadObjectCommand(at))).TagCount, undefined)
  },
  test_put_obj_with_tags: async world => {
    const bucket = await world.bucketOf()
    await world.s3.send(
      new PutObjectCommand({ Bucket: bucket, Key: "foo", Body: "x", Tagging: "a=1&b%20c=%C3%A4" }),
    )
    assert.deepEqual(await tagged(world, bucket), { a: "1", "b c": "ä" })
    await put(world, bucket, "x")
    assert.deepEqual(await tagged(world, bucket), {})
  },
  test_put_excess_tags: async world => {
    const bucket = await world.bucketOf("foo")
    const excess = [
      Array.from({ length: 11 }, (_, at) => ({ Key: `${at}`, Value: "" })),
      [{ Key: "k".repeat(129), Value: "" }],
      [{ Key: "k", Value: "v".repeat(257) }],
      [
        { Key: "k", Value: "1" },
        { Key: "k", Value: "2" },
      ],
      [{ Key: "aws:k", Value: "1" }],
    ]
    for (const TagSet of excess)
      await refused(
        world.s3.send(new PutObjectTaggingCommand({ Bucket: bucket, Key: "foo", Tagging: { TagSet } })),
        400,
        "InvalidTag",
      )
    assert.deepEqual(await tagged(world, bucket), {})
  },
  test_tags_of_a_copy: async world => {
    const bucket = await world.bucketOf()
    await world.s3.send(new PutObjectCommand({ Bucket: bucket, Key: "from", Body: "x", Tagging: "a=1" }))
    const copy = { Bucket: bucket, Key: "foo", CopySource: `${bucket}/from` }
    await world.s3.send(new CopyObjectCommand(copy))
    assert.deepEqual(await tagged(world, bucket), { a: "1" })
    await world.s3.send(new CopyObjectCommand({ ...copy, TaggingDirective: "REPLACE", Tagging: "b=2" }))
    assert.deepEqual(await tagged(world, bucket), { b: "2" })
  },
  test_tags_of_versions: async world => {
    const bucket = await world.bucketOf()
    await world.s3.send(
      new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: "Enabled" } }),
    )
    const first = await put(world, bucket, "one")
    await put(world, bucket, "two")
    const at = { Bucket: bucket, Key: "foo" }
    await world.s3.send(new PutObjectTaggingCommand({ ...at, VersionId: first, Tagging: { TagSet } }))
    assert.deepEqual(await tagged(world, bucket), {})
    assert.deepEqual(await tagged(world, bucket, first), { a: "1", "b c": "ä" })
    await refused(tagged(world, bucket, "0".repeat(32)), 404, "NoSuchVersion")
  },
  test_set_bucket_tagging: async world => {
    const bucket = await world.bucketOf()
    const get = async () => (await world.s3.send(new GetBucketTaggingCommand({ Bucket: bucket }))).TagSet
    await refused(get(), 404, "NoSuchTagSet")
    await world.s3.send(new PutBucketTaggingCommand({ Bucket: bucket, Tagging: { TagSet } }))
    assert.deepEqual(await get(), TagSet)
    await world.s3.send(new DeleteBucketTaggingCommand({ Bucket: bucket }))
    await refused(get(), 404, "NoSuchTagSet")
  },
})
