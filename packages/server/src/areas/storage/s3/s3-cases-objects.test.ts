/** Single objects, as far as they are in ceph's s3-tests. */
import assert from "node:assert/strict"
import { hash } from "node:crypto"
import { test } from "node:test"
import {
  CopyObjectCommand,
  type CopyObjectCommandInput,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
} from "@aws-sdk/client-s3"
import { type Cases, openWorld, refused, runCases, type S3World, textOf } from "./testing/world.ts"

type Ask = Omit<GetObjectCommandInput, "Bucket" | "Key">
type Put = Omit<PutObjectCommandInput, "Bucket" | "Key">

const get = ({ s3 }: S3World, Bucket: string, Key = "foo", ask: Ask = {}) =>
  s3.send(new GetObjectCommand({ Bucket, Key, ...ask }))
const put = ({ s3 }: S3World, Bucket: string, ask: Put, Key = "foo") =>
  s3.send(new PutObjectCommand({ Bucket, Key, ...ask }))

/** A bucket with an object `foo` that holds `bar`. */
const withFoo = async (world: S3World, ask: Put = {}) => {
  const bucket = await world.bucketOf()
  const { ETag } = await put(world, bucket, { Body: "bar", ...ask })
  return { bucket, etag: ETag ?? "" }
}

const contentOf = async (world: S3World, bucket: string, key = "foo") =>
  textOf((await get(world, bucket, key)).Body)

const kept =
  (value: string, expected: string | undefined = value): Cases[string] =>
  async world => {
    const { bucket } = await withFoo(world, { Metadata: { meta1: value } })
    assert.equal((await get(world, bucket)).Metadata?.meta1, expected)
  }

runCases("objects are stored, read and deleted as in S3", {
  test_object_write_read_update_read_delete: async world => {
    const { bucket } = await withFoo(world)
    assert.equal(await contentOf(world, bucket), "bar")
    await put(world, bucket, { Body: "soup" })
    assert.equal(await contentOf(world, bucket), "soup")
    await world.s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: "foo" }))
    await refused(get(world, bucket), 404, "NoSuchKey")
  },
  test_object_read_not_exist: async world => refused(get(world, await world.bucketOf()), 404, "NoSuchKey"),
  test_object_write_to_nonexist_bucket: world =>
    refused(put(world, "no-such-bucket", { Body: "x" }), 404, "NoSuchBucket"),
  test_object_delete_key_bucket_gone: ({ s3 }) =>
    refused(s3.send(new DeleteObjectCommand({ Bucket: "no-such-bucket", Key: "foo" })), 404, "NoSuchBucket"),
  test_object_head_zero_bytes: async world => {
    const { bucket } = await withFoo(world, { Body: "" })
    const { ContentLength } = await world.s3.send(new HeadObjectCommand({ Bucket: bucket, Key: "foo" }))
    assert.equal(ContentLength, 0)
  },
  test_object_write_check_etag: async world =>
    assert.equal((await withFoo(world)).etag, '"37b51d194a7513e45b56f6524f2d51f2"'),
  test_object_write_cache_control: async world => {
    const { bucket } = await withFoo(world, { CacheControl: "public, max-age=14400" })
    assert.equal((await get(world, bucket)).CacheControl, "public, max-age=14400")
    assert.equal((await get(world, (await withFoo(world)).bucket)).CacheControl, undefined)
  },
  test_object_write_expires: async world => {
    const { bucket } = await withFoo(world, { Expires: new Date("2030-01-02T03:04:05Z") })
    assert.equal((await get(world, bucket)).ExpiresString, "Wed, 02 Jan 2030 03:04:05 GMT")
  },
  test_object_content_encoding_aws_chunked: async world => {
    for (const ContentEncoding of ["gzip", "deflate, gzip"]) {
      const { bucket } = await withFoo(world, { ContentEncoding })
      assert.equal((await get(world, bucket)).ContentEncoding, ContentEncoding)
    }
  },
  test_object_requestid_matches_header_on_error: async ({ platform: p, access, bucketOf }) => {
    const response = await p.request(`/s3/${await bucketOf()}/bar`, {
      headers: { authorization: `Bearer ${access.secret}` },
    })
    assert.ok(
      (await response.text()).includes(`<RequestId>${response.headers.get("x-request-id")}</RequestId>`),
    )
  },
  test_object_set_get_metadata_none_to_good: kept("mymeta"),
  test_object_set_get_metadata_none_to_empty: kept(""),
  test_object_set_get_unicode_metadata: async ({ platform: p, access, bucketOf }) => {
    const path = `/s3/${await bucketOf()}/foo`
    const authorization = `Bearer ${access.secret}`
    const value = Buffer.from("Hello Wörld é ☃").toString("latin1")
    await p.request(path, { method: "PUT", body: "x", headers: { authorization, "x-amz-meta-meta1": value } })
    const { headers } = await p.request(path, { headers: { authorization } })
    assert.equal(headers.get("x-amz-meta-meta1"), value)
  },
  test_object_metadata_replaced_on_put: async world => {
    const { bucket } = await withFoo(world, { Metadata: { meta1: "bar" } })
    await put(world, bucket, { Body: "bar" })
    assert.deepEqual((await get(world, bucket)).Metadata, {})
  },
  test_multi_object_delete: async world => {
    const bucket = await world.bucketOf("key0", "key1", "key2")
    const Objects = ["key0", "key1", "key2"].map(Key => ({ Key }))
    for (const _again of [1, 2]) {
      const { Deleted, Errors } = await world.s3.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }),
      )
      assert.deepEqual([Deleted, Errors], [Objects, undefined])
    }
    const quiet = await world.s3.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
    )
    assert.deepEqual([quiet.Deleted, quiet.Errors], [undefined, undefined])
  },
  test_multi_object_delete_key_limit: async world => {
    const Objects = Array.from({ length: 1001 }, (_, at) => ({ Key: `key-${at}` }))
    const Bucket = await world.bucketOf()
    await refused(
      world.s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } })),
      400,
      "MalformedXML",
    )
  },
  test_delete_objects_if_match: async world => {
    const { bucket, etag } = await withFoo(world)
    const attempt = (ETag: string) =>
      world.s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: [{ Key: "foo", ETag }] } }))
    assert.equal((await attempt("badetag")).Errors?.[0]?.Code, "PreconditionFailed")
    assert.equal((await attempt(etag)).Deleted?.[0]?.Key, "foo")
  },
  test_object_raw_response_headers: async world => {
    const { bucket } = await withFoo(world)
    const reply = await get(world, bucket, "foo", {
      ResponseCacheControl: "no-cache",
      ResponseContentDisposition: "bla",
      ResponseContentEncoding: "aaa",
      ResponseContentLanguage: "esperanto",
      ResponseContentType: "foo/bar",
    })
    const { CacheControl, ContentDisposition, ContentEncoding, ContentLanguage, ContentType } = reply
    assert.deepEqual(
      [CacheControl, ContentDisposition, ContentEncoding, ContentLanguage, ContentType],
      ["no-cache", "bla", "aaa", "esperanto", "foo/bar"],
    )
  },
})

const LONG_AGO = new Date("1994-11-05T08:49:37Z")
const future = () => new Date(Date.now() + 86_400_000)

const reads =
  (ask: (etag: string) => Ask, status?: number, code?: string): Cases[string] =>
  async world => {
    const { bucket, etag } = await withFoo(world)
    const attempt = get(world, bucket, "foo", ask(etag))
    if (status === undefined) assert.equal(await textOf((await attempt).Body), "bar")
    else await refused(attempt, status, code)
  }

const overwrites =
  (ask: (etag: string) => Put, status?: number, code?: string, key = "foo"): Cases[string] =>
  async world => {
    const { bucket, etag } = await withFoo(world)
    const attempt = put(world, bucket, { Body: "zar", ...ask(etag) }, key)
    if (status === undefined) {
      await attempt
      assert.equal(await contentOf(world, bucket, key), "zar")
    } else {
      await refused(attempt, status, code)
      assert.equal(await contentOf(world, bucket), "bar")
    }
  }

runCases("conditions hold as in S3", {
  test_get_object_ifmatch_good: reads(IfMatch => ({ IfMatch })),
  test_get_object_ifmatch_failed: reads(() => ({ IfMatch: '"ABCORZ"' }), 412, "PreconditionFailed"),
  test_get_object_ifnonematch_good: reads(IfNoneMatch => ({ IfNoneMatch }), 304),
  test_get_object_ifnonematch_failed: reads(() => ({ IfNoneMatch: "ABCORZ" })),
  test_get_object_ifmodifiedsince_good: reads(() => ({ IfModifiedSince: LONG_AGO })),
  test_get_object_ifmodifiedsince_failed: reads(() => ({ IfModifiedSince: future() }), 304),
  test_get_object_ifunmodifiedsince_good: reads(
    () => ({ IfUnmodifiedSince: LONG_AGO }),
    412,
    "PreconditionFailed",
  ),
  test_get_object_ifunmodifiedsince_failed: reads(() => ({ IfUnmodifiedSince: future() })),
  test_put_object_ifmatch_good: overwrites(IfMatch => ({ IfMatch: IfMatch.replaceAll('"', "") })),
  test_put_object_ifmatch_failed: overwrites(() => ({ IfMatch: '"ABCORZ"' }), 412, "PreconditionFailed"),
  test_put_object_ifmatch_overwrite_existed_good: overwrites(() => ({ IfMatch: "*" })),
  test_put_object_ifmatch_nonexisted_failed: async world =>
    refused(put(world, await world.bucketOf(), { Body: "x", IfMatch: "*" }), 404, "NoSuchKey"),
  test_put_object_ifnonmatch_good: overwrites(() => ({ IfNoneMatch: "ABCORZ" })),
  test_put_object_ifnonmatch_failed: overwrites(IfNoneMatch => ({ IfNoneMatch }), 412, "PreconditionFailed"),
  test_put_object_ifnonmatch_nonexisted_good: overwrites(
    () => ({ IfNoneMatch: "*" }),
    undefined,
    undefined,
    "new",
  ),
  test_put_object_ifnonmatch_overwrite_existed_failed: overwrites(
    () => ({ IfNoneMatch: "*" }),
    412,
    "PreconditionFailed",
  ),
  test_delete_object_if_match: async world => {
    const { bucket, etag } = await withFoo(world)
    const attempt = (IfMatch: string) =>
      world.s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: "foo", IfMatch }))
    await refused(attempt("badetag"), 412, "PreconditionFailed")
    await attempt(etag)
    await refused(get(world, bucket), 404, "NoSuchKey")
  },
})

const ranged =
  (Range: string, content: string, contentRange: string): Cases[string] =>
  async world => {
    const { bucket } = await withFoo(world, { Body: "testcontent" })
    const reply = await get(world, bucket, "foo", { Range })
    assert.deepEqual(
      [reply.$metadata.httpStatusCode, reply.ContentRange, await textOf(reply.Body)],
      [206, contentRange, content],
    )
  }

runCases("ranges are what S3 takes them for", {
  test_ranged_request_response_code: ranged("bytes=4-7", "cont", "bytes 4-7/11"),
  test_ranged_request_skip_leading_bytes_response_code: ranged("bytes=4-", "content", "bytes 4-10/11"),
  test_ranged_request_return_trailing_bytes_response_code: ranged("bytes=-7", "content", "bytes 4-10/11"),
  test_ranged_request_invalid_range: async world => {
    const { bucket } = await withFoo(world, { Body: "testcontent" })
    await refused(get(world, bucket, "foo", { Range: "bytes=40-50" }), 416, "InvalidRange")
  },
  test_ranged_request_empty_object: async world => {
    const { bucket } = await withFoo(world, { Body: "" })
    await refused(get(world, bucket, "foo", { Range: "bytes=40-50" }), 416, "InvalidRange")
  },
  test_non_multipart_get_part: async world => {
    const { bucket } = await withFoo(world)
    const whole = await get(world, bucket, "foo", { PartNumber: 1 })
    assert.deepEqual([await textOf(whole.Body), whole.ContentRange], ["bar", "bytes 0-2/3"])
    await refused(get(world, bucket, "foo", { PartNumber: 2 }), 400, "InvalidPart")
  },
})

const heads = async (world: S3World, Bucket: string, ask: Ask) =>
  world.s3.send(new HeadObjectCommand({ Bucket, Key: "foo", ...ask }))

test("HEAD answers conditions and ranges as GET does", async t => {
  const world = await openWorld(t)
  const { bucket, etag } = await withFoo(world)
  const part = await heads(world, bucket, { Range: "bytes=1-" })
  assert.deepEqual(
    [part.$metadata.httpStatusCode, part.ContentLength, part.ContentRange],
    [206, 2, "bytes 1-2/3"],
  )
  await refused(heads(world, bucket, { IfNoneMatch: etag }), 304)
  await refused(heads(world, bucket, { IfMatch: '"other"' }), 412)
  await refused(heads(world, bucket, { Range: "bytes=3-" }), 416)
})

const copy = ({ s3 }: S3World, ask: CopyObjectCommandInput) => s3.send(new CopyObjectCommand(ask))

runCases("copies are made as in S3", {
  test_object_copy_zero_size: async world => {
    const { bucket } = await withFoo(world, { Body: "" })
    await copy(world, { Bucket: bucket, Key: "bar", CopySource: `${bucket}/foo` })
    assert.equal((await get(world, bucket, "bar")).ContentLength, 0)
  },
  test_object_copy_same_bucket: async world => {
    const { bucket, etag } = await withFoo(world)
    const { CopyObjectResult } = await copy(world, {
      Bucket: bucket,
      Key: "bar",
      CopySource: `/${bucket}/foo`,
    })
    assert.equal(CopyObjectResult?.ETag, etag)
    assert.equal(await contentOf(world, bucket, "bar"), "bar")
  },
  test_object_copy_diff_bucket: async world => {
    const [{ bucket }, other] = [await withFoo(world), await world.bucketOf()]
    await copy(world, { Bucket: other, Key: "bar", CopySource: `${bucket}/foo` })
    assert.equal(await contentOf(world, other, "bar"), "bar")
  },
  test_object_copy_verify_contenttype: async world => {
    const { bucket } = await withFoo(world, { ContentType: "text/bla" })
    await copy(world, { Bucket: bucket, Key: "bar", CopySource: `${bucket}/foo` })
    assert.equal((await get(world, bucket, "bar")).ContentType, "text/bla")
  },
  test_object_copy_to_itself: async world => {
    const { bucket } = await withFoo(world)
    await refused(
      copy(world, { Bucket: bucket, Key: "foo", CopySource: `${bucket}/foo` }),
      400,
      "InvalidRequest",
    )
  },
  test_object_copy_to_itself_with_metadata: async world => {
    const { bucket } = await withFoo(world)
    await copy(world, {
      ...{ Bucket: bucket, Key: "foo", CopySource: `${bucket}/foo` },
      ...{ Metadata: { foo: "bar" }, MetadataDirective: "REPLACE" },
    })
    const reply = await get(world, bucket)
    assert.deepEqual([reply.Metadata, await textOf(reply.Body)], [{ foo: "bar" }, "bar"])
  },
  test_object_copy_retaining_metadata: async world => {
    const { bucket } = await withFoo(world, { Metadata: { a: "1" }, ContentType: "image/ogg" })
    await copy(world, { Bucket: bucket, Key: "bar", CopySource: `${bucket}/foo`, Metadata: { b: "2" } })
    const { Metadata, ContentType } = await get(world, bucket, "bar")
    assert.deepEqual([Metadata, ContentType], [{ a: "1" }, "image/ogg"])
  },
  test_object_copy_replacing_metadata: async world => {
    const { bucket } = await withFoo(world, { Metadata: { a: "1" }, ContentType: "image/ogg" })
    await copy(world, {
      ...{ Bucket: bucket, Key: "bar", CopySource: `${bucket}/foo`, MetadataDirective: "REPLACE" },
      ...{ Metadata: { b: "2" }, ContentType: "audio/mpeg" },
    })
    const { Metadata, ContentType } = await get(world, bucket, "bar")
    assert.deepEqual([Metadata, ContentType], [{ b: "2" }, "audio/mpeg"])
  },
  test_object_copy_bucket_not_found: async world =>
    refused(
      copy(world, { Bucket: await world.bucketOf(), Key: "x", CopySource: "no-such-bucket/foo" }),
      404,
      "NoSuchBucket",
    ),
  test_object_copy_key_not_found: async world => {
    const Bucket = await world.bucketOf()
    await refused(copy(world, { Bucket, Key: "x", CopySource: `${Bucket}/foo` }), 404, "NoSuchKey")
  },
  test_copy_object_ifmatch_good: async world => {
    const { bucket, etag } = await withFoo(world)
    await copy(world, { Bucket: bucket, Key: "bar", CopySource: `${bucket}/foo`, CopySourceIfMatch: etag })
    assert.equal(await contentOf(world, bucket, "bar"), "bar")
  },
  test_copy_object_ifmatch_failed: async world => {
    const { bucket } = await withFoo(world)
    const ask = { Bucket: bucket, Key: "bar", CopySource: `${bucket}/foo`, CopySourceIfMatch: "ABCORZ" }
    await refused(copy(world, ask), 412, "PreconditionFailed")
  },
  test_copy_object_ifnonematch_failed: async world => {
    const { bucket, etag } = await withFoo(world)
    const ask = { Bucket: bucket, Key: "bar", CopySource: `${bucket}/foo`, CopySourceIfNoneMatch: etag }
    await refused(copy(world, ask), 412, "PreconditionFailed")
  },
})

runCases("checksums are verified, kept and told as in S3", {
  test_object_checksum_sha256: async world => {
    const bucket = await world.bucketOf()
    const { ChecksumSHA256 } = await put(world, bucket, { Body: "bar", ChecksumAlgorithm: "SHA256" })
    assert.equal(ChecksumSHA256, hash("sha256", "bar", "base64"))
    const told = await world.s3.send(
      new HeadObjectCommand({ Bucket: bucket, Key: "foo", ChecksumMode: "ENABLED" }),
    )
    assert.equal(told.ChecksumSHA256, ChecksumSHA256)
    await refused(put(world, bucket, { Body: "baz", ChecksumSHA256: ChecksumSHA256 ?? "" }), 400, "BadDigest")
    assert.equal(await contentOf(world, bucket), "bar")
  },
  test_object_checksum_crc64nvme: async world => {
    const bucket = await world.bucketOf()
    const { ChecksumCRC64NVME } = await put(world, bucket, {
      Body: "bar",
      ChecksumCRC64NVME: "AAAAAAAAAAA=",
    }).catch(error => ({ ChecksumCRC64NVME: String(error.name) }))
    assert.equal(ChecksumCRC64NVME, "BadDigest")
  },
  test_object_create_bad_md5_bad: async world =>
    refused(
      put(world, await world.bucketOf(), { Body: "bar", ContentMD5: "rL0Y20xC+Fzt72VPzMSk2A==" }),
      400,
      "BadDigest",
    ),
  test_object_create_bad_md5_invalid_short: async world =>
    refused(
      put(world, await world.bucketOf(), { Body: "bar", ContentMD5: "YWJyYWNhZGFicmE=" }),
      400,
      "InvalidDigest",
    ),
  test_get_object_attributes: async world => {
    const { bucket, etag } = await withFoo(world)
    const reply = await world.s3.send(
      new GetObjectAttributesCommand({
        ...{ Bucket: bucket, Key: "foo" },
        ObjectAttributes: ["ETag", "Checksum", "StorageClass", "ObjectSize"],
      }),
    )
    assert.deepEqual([`"${reply.ETag}"`, reply.StorageClass, reply.ObjectSize], [etag, "STANDARD", 3])
    assert.ok(reply.Checksum?.ChecksumCRC32)
  },
})
