/** Versions, as far as they are in ceph's s3-tests. */
import assert from "node:assert/strict"
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3"
import { refused, runCases, type S3World, textOf } from "./testing/world.ts"

type Status = "Enabled" | "Suspended"

const setStatus = ({ s3 }: S3World, Bucket: string, Status: Status) =>
  s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status } }))

const versioned = async (world: S3World) => {
  const bucket = await world.bucketOf()
  await setStatus(world, bucket, "Enabled")
  return bucket
}

const put = async ({ s3 }: S3World, Bucket: string, Body: string, Key = "foo") =>
  (await s3.send(new PutObjectCommand({ Bucket, Key, Body }))).VersionId ?? assert.fail("no version")

const read = async ({ s3 }: S3World, Bucket: string, VersionId?: string, Key = "foo") =>
  textOf((await s3.send(new GetObjectCommand({ Bucket, Key, VersionId }))).Body)

const remove = ({ s3 }: S3World, Bucket: string, VersionId?: string, Key = "foo") =>
  s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId }))

/** The versions of a page as `key:id`, markers with a `-`, the newest of a key with a `*`. */
const list = async ({ s3 }: S3World, Bucket: string, ask: Record<string, unknown> = {}) => {
  const {
    Versions = [],
    DeleteMarkers = [],
    ...page
  } = await s3.send(new ListObjectVersionsCommand({ Bucket, ...ask }))
  return { versions: Versions, markers: DeleteMarkers, page }
}

const keys = async ({ s3 }: S3World, Bucket: string) =>
  ((await s3.send(new ListObjectsV2Command({ Bucket }))).Contents ?? []).map(({ Key }) => Key)

const tagged = async ({ s3 }: S3World, Bucket: string, VersionId?: string) =>
  Object.fromEntries(
    ((await s3.send(new GetObjectTaggingCommand({ Bucket, Key: "foo", VersionId }))).TagSet ?? []).map(
      ({ Key, Value }) => [Key, Value],
    ),
  )

runCases("versions of objects are kept, listed and deleted as in S3", {
  test_versioning_bucket_create_suspend: async world => {
    const bucket = await world.bucketOf()
    const status = async () =>
      (await world.s3.send(new GetBucketVersioningCommand({ Bucket: bucket }))).Status
    assert.equal(await status(), undefined)
    for (const next of ["Suspended", "Enabled", "Enabled", "Suspended"] as const) {
      await setStatus(world, bucket, next)
      assert.equal(await status(), next)
    }
  },
  test_versioning_obj_create_read_remove: async world => {
    const bucket = await versioned(world)
    const ids = [
      await put(world, bucket, "one"),
      await put(world, bucket, "two"),
      await put(world, bucket, "three"),
    ]
    assert.equal(new Set(ids).size, 3)
    assert.equal(await read(world, bucket), "three")
    assert.equal(await read(world, bucket, ids[0]), "one")
    await remove(world, bucket, ids[2])
    assert.equal(await read(world, bucket), "two")
    await remove(world, bucket, ids[0])
    await remove(world, bucket, ids[1])
    await refused(read(world, bucket), 404, "NoSuchKey")
    await refused(read(world, bucket, ids[1]), 404, "NoSuchVersion")
    await world.s3.send(new DeleteBucketCommand({ Bucket: bucket }))
  },
  test_versioning_obj_create_versions_remove_special_names: async world => {
    const bucket = await versioned(world)
    for (const key of ["_", ":", " ", "ä/…"]) {
      const id = await put(world, bucket, key, key)
      await remove(world, bucket, undefined, key)
      assert.equal(await read(world, bucket, id, key), key)
    }
    assert.deepEqual(await keys(world, bucket), [])
  },
  test_versioning_delete_marker: async world => {
    const bucket = await versioned(world)
    const id = await put(world, bucket, "one")
    const { DeleteMarker, VersionId: marker = "" } = await remove(world, bucket)
    assert.equal(DeleteMarker, true)
    assert.notEqual(marker, id)
    await refused(read(world, bucket), 404, "NoSuchKey")
    const gone = await world.platform.request(`/s3/${bucket}/foo`, {
      headers: { authorization: `Bearer ${world.access.secret}` },
    })
    assert.equal(gone.headers.get("x-amz-delete-marker"), "true")
    assert.equal(gone.headers.get("x-amz-version-id"), marker)
    await gone.body?.cancel()
    await refused(read(world, bucket, marker), 405, "MethodNotAllowed")
    const { versions, markers } = await list(world, bucket)
    assert.deepEqual(
      [
        versions.map(({ VersionId, IsLatest }) => [VersionId, IsLatest]),
        markers.map(({ VersionId, IsLatest }) => [VersionId, IsLatest]),
      ],
      [[[id, false]], [[marker, true]]],
    )
    await refused(world.s3.send(new DeleteBucketCommand({ Bucket: bucket })), 409, "BucketNotEmpty")
    // Without the marker the object is there again.
    assert.equal((await remove(world, bucket, marker)).DeleteMarker, true)
    assert.equal(await read(world, bucket), "one")
    assert.deepEqual(await keys(world, bucket), ["foo"])
  },
  test_versioning_delete_of_nothing_makes_a_marker: async world => {
    const bucket = await versioned(world)
    assert.equal((await remove(world, bucket)).DeleteMarker, true)
    assert.equal((await list(world, bucket)).markers.length, 1)
  },
  test_versioning_obj_plain_null_version_removal: async world => {
    const bucket = await world.bucketOf("foo")
    await setStatus(world, bucket, "Enabled")
    assert.equal(
      (await world.s3.send(new HeadObjectCommand({ Bucket: bucket, Key: "foo" }))).VersionId,
      "null",
    )
    await remove(world, bucket, "null")
    await refused(read(world, bucket), 404, "NoSuchKey")
    assert.deepEqual(await list(world, bucket).then(({ versions }) => versions), [])
  },
  test_versioning_obj_plain_null_version_overwrite: async world => {
    const bucket = await world.bucketOf("foo")
    await setStatus(world, bucket, "Enabled")
    const id = await put(world, bucket, "two")
    assert.equal(await read(world, bucket, "null"), "foo")
    await remove(world, bucket, id)
    assert.equal(await read(world, bucket), "foo")
  },
  test_versioning_obj_plain_null_version_overwrite_suspended: async world => {
    const bucket = await world.bucketOf("foo")
    await setStatus(world, bucket, "Enabled")
    const id = await put(world, bucket, "two")
    await setStatus(world, bucket, "Suspended")
    assert.equal(await put(world, bucket, "three"), "null")
    assert.equal(await put(world, bucket, "four"), "null")
    assert.deepEqual(
      (await list(world, bucket)).versions.map(({ VersionId }) => VersionId),
      ["null", id],
    )
    const { VersionId, DeleteMarker } = await remove(world, bucket)
    assert.deepEqual([VersionId, DeleteMarker], ["null", true])
    await refused(read(world, bucket), 404, "NoSuchKey")
    assert.equal(await read(world, bucket, id), "two")
    assert.equal(await put(world, bucket, "five"), "null")
    const { versions, markers } = await list(world, bucket)
    assert.deepEqual([versions.map(({ VersionId }) => VersionId), markers], [["null", id], []])
  },
  test_versioning_copy_obj_version: async world => {
    const bucket = await versioned(world)
    const first = await put(world, bucket, "one")
    await put(world, bucket, "two")
    const copy = await world.s3.send(
      new CopyObjectCommand({ Bucket: bucket, Key: "foo", CopySource: `${bucket}/foo?versionId=${first}` }),
    )
    assert.equal(copy.CopySourceVersionId, first)
    assert.equal(await read(world, bucket, copy.VersionId), "one")
    assert.equal(await read(world, bucket), "one")
    await refused(
      world.s3.send(
        new CopyObjectCommand({
          Bucket: bucket,
          Key: "bar",
          CopySource: `${bucket}/foo?versionId=${"0".repeat(32)}`,
        }),
      ),
      404,
      "NoSuchVersion",
    )
  },
  test_versioning_multi_object_delete_with_marker: async world => {
    const bucket = await versioned(world)
    const id = await put(world, bucket, "one")
    const { VersionId: marker } = await remove(world, bucket)
    const { Deleted = [], Errors } = await world.s3.send(
      new DeleteObjectsCommand({
        Bucket: bucket,
        Delete: {
          Objects: [
            { Key: "foo", VersionId: id },
            { Key: "foo", VersionId: marker },
            { Key: "never", VersionId: "0".repeat(32) },
          ],
        },
      }),
    )
    assert.equal(Errors, undefined)
    assert.deepEqual(
      Deleted.map(({ VersionId, DeleteMarker }) => [VersionId, DeleteMarker ?? false]),
      [
        [id, false],
        [marker, true],
        ["0".repeat(32), false],
      ],
    )
    await world.s3.send(new DeleteBucketCommand({ Bucket: bucket }))
  },
  test_versioning_multi_object_delete_with_marker_create: async world => {
    const bucket = await versioned(world)
    const { Deleted = [] } = await world.s3.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: [{ Key: "foo" }] } }),
    )
    const { markers } = await list(world, bucket)
    assert.deepEqual(
      Deleted.map(({ Key, DeleteMarkerVersionId }) => [Key, DeleteMarkerVersionId]),
      markers.map(({ Key, VersionId }) => [Key, VersionId]),
    )
  },
  test_versioning_obj_list_marker: async world => {
    const bucket = await versioned(world)
    const made: string[] = []
    for (const key of ["a", "b/1", "b/2", "c"])
      for (let version = 0; version < 3; version++) made.push(`${key} ${await put(world, bucket, key, key)}`)
    const seen: string[] = []
    let from: Record<string, unknown> = {}
    for (;;) {
      const { versions, page } = await list(world, bucket, { MaxKeys: 5, ...from })
      seen.push(...versions.map(({ Key, VersionId }) => `${Key} ${VersionId}`))
      if (!page.IsTruncated) break
      from = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
    }
    assert.equal(seen.length, 12)
    assert.deepEqual([...seen].sort(), [...made].sort())
    // The newest of a key comes first.
    assert.deepEqual(seen.slice(0, 3), made.slice(0, 3).reverse())
    const grouped = await list(world, bucket, { Delimiter: "/", MaxKeys: 5 })
    assert.deepEqual(
      grouped.page.CommonPrefixes?.map(({ Prefix }) => Prefix),
      ["b/"],
    )
    const behind = await list(world, bucket, {
      KeyMarker: "a",
      VersionIdMarker: made[1]?.split(" ")[1],
      MaxKeys: 1,
    })
    assert.equal(behind.versions[0]?.VersionId, made[0]?.split(" ")[1])
  },
  test_versions_are_all_found_by_who_deletes_each_page: async world => {
    const bucket = await versioned(world)
    for (let version = 0; version < 7; version++) await put(world, bucket, `version ${version}`)
    await remove(world, bucket)
    let from: Record<string, unknown> = {}
    let deleted = 0
    for (;;) {
      const { versions, markers, page } = await list(world, bucket, { MaxKeys: 3, ...from })
      const Objects = [...versions, ...markers].map(({ Key, VersionId }) => ({ Key: Key ?? "", VersionId }))
      await world.s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }))
      deleted += Objects.length
      if (!page.IsTruncated) break
      from = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
    }
    assert.equal(deleted, 8)
    await world.s3.send(new DeleteBucketCommand({ Bucket: bucket }))
  },
  test_versioning_obj_create_overwrite_multipart: async world => {
    const bucket = await versioned(world)
    const first = await put(world, bucket, "one")
    const at = { Bucket: bucket, Key: "foo" }
    const { UploadId } = await world.s3.send(new CreateMultipartUploadCommand({ ...at, Tagging: "a=1" }))
    const { ETag } = await world.s3.send(
      new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: "two" }),
    )
    const done = await world.s3.send(
      new CompleteMultipartUploadCommand({
        ...at,
        UploadId,
        MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] },
      }),
    )
    assert.equal(await read(world, bucket, done.VersionId), "two")
    assert.deepEqual(await tagged(world, bucket), { a: "1" })
    assert.equal(await read(world, bucket, first), "one")
    const other = await world.s3.send(new CreateMultipartUploadCommand(at))
    await world.s3.send(new AbortMultipartUploadCommand({ ...at, UploadId: other.UploadId }))
  },
  test_versioning_concurrent_multi_object_delete: async world => {
    const bucket = await versioned(world)
    const ids = await Promise.all(Array.from({ length: 10 }, (_, at) => put(world, bucket, `${at}`)))
    const Objects = ids.map(VersionId => ({ Key: "foo", VersionId }))
    await Promise.all(
      Array.from({ length: 5 }, () =>
        world.s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } })),
      ),
    )
    assert.deepEqual((await list(world, bucket)).versions, [])
    await world.s3.send(new DeleteBucketCommand({ Bucket: bucket }))
  },
  test_mfa_delete_is_refused: async world =>
    refused(
      world.s3.send(
        new PutBucketVersioningCommand({
          Bucket: await world.bucketOf(),
          VersioningConfiguration: { Status: "Enabled", MFADelete: "Enabled" },
        }),
      ),
      501,
      "NotImplemented",
    ),
})
