/** Deletes that hold only for the object that the caller knows; and what clients ask of lists of buckets. */
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  PutBucketAclCommand,
} from "@aws-sdk/client-s3"
import { openWorld, refused } from "./testing/world.ts"

const DAY_MS = 86_400_000

test("an object is deleted only while it has the size and the time that the request names", async t => {
  const { s3, bucketOf } = await openWorld(t)
  const Bucket = await bucketOf("four")
  const object = { Bucket, Key: "four" }
  const { LastModified = new Date(0), ETag = "" } = await s3.send(new HeadObjectCommand(object))
  const other = new Date(LastModified.getTime() - DAY_MS)
  for (const demanded of [
    { IfMatchSize: 5 },
    { IfMatchLastModifiedTime: other },
    { IfMatchSize: 4, IfMatchLastModifiedTime: other },
    { IfMatchSize: 4, IfMatch: '"other"' },
  ])
    await refused(s3.send(new DeleteObjectCommand({ ...object, ...demanded })), 412, "PreconditionFailed")
  await s3.send(new HeadObjectCommand(object))
  await s3.send(
    new DeleteObjectCommand({
      ...object,
      ...{ IfMatchSize: 4, IfMatchLastModifiedTime: LastModified, IfMatch: ETag },
    }),
  )
  await refused(s3.send(new HeadObjectCommand(object)), 404)
  // It is gone, which is what was asked for.
  await s3.send(new DeleteObjectCommand({ ...object, IfMatchSize: 4 }))
})

test("of several objects those are deleted that are as the request says", async t => {
  const { s3, bucketOf } = await openWorld(t)
  const Bucket = await bucketOf("a", "bb", "ccc")
  const { Deleted = [], Errors = [] } = await s3.send(
    new DeleteObjectsCommand({
      Bucket,
      Delete: {
        Objects: [
          { Key: "a", Size: 1 },
          { Key: "bb", Size: 1 },
          { Key: "ccc", LastModifiedTime: new Date(0) },
        ],
      },
    }),
  )
  assert.deepEqual(
    Deleted.map(({ Key }) => Key),
    ["a"],
  )
  assert.deepEqual(
    Errors.map(({ Key, Code }) => [Key, Code]),
    [
      ["bb", "PreconditionFailed"],
      ["ccc", "PreconditionFailed"],
    ],
  )
})

test("a list of buckets has pages, a reply its request id, and a bucket may be told to be private", async t => {
  const { s3, bucketOf } = await openWorld(t)
  const names = [await bucketOf(), await bucketOf(), await bucketOf()].sort()
  const first = await s3.send(new ListBucketsCommand({ MaxBuckets: 2 }))
  assert.ok(first.ContinuationToken)
  const second = await s3.send(
    new ListBucketsCommand({ MaxBuckets: 2, ContinuationToken: first.ContinuationToken }),
  )
  assert.equal(second.ContinuationToken, undefined)
  const listed = [...(first.Buckets ?? []), ...(second.Buckets ?? [])].map(({ Name }) => Name)
  assert.deepEqual(listed, names)
  assert.ok(first.$metadata.requestId)

  const [Bucket = ""] = names
  await s3.send(new PutBucketAclCommand({ Bucket, ACL: "private" }))
  const GrantRead = "id=somebody"
  await refused(s3.send(new PutBucketAclCommand({ Bucket, GrantRead })), 501, "NotImplemented")
})
