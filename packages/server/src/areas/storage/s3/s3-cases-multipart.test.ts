/** Uploads in parts, as far as they are in ceph's s3-tests. */
import assert from "node:assert/strict"
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  GetObjectAttributesCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from "@aws-sdk/client-s3"
import { refused, runCases, type S3World } from "./testing/world.ts"

const MIB = 1024 * 1024
const PART_BYTES = 5 * MIB

type Begin = Omit<CreateMultipartUploadCommandInput, "Bucket" | "Key">

/** Bytes that differ from place to place. */
const bytesOf = (size: number, seed: number): Buffer => {
  const block = Buffer.from(Array.from({ length: 251 }, (_, at) => (at * seed) % 256))
  return Buffer.alloc(size, block)
}

const begin = async ({ s3, bucketOf }: S3World, ask: Begin = {}, bucket?: string, Key = "big") => {
  const Bucket = bucket ?? (await bucketOf())
  const { UploadId = "" } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key, ...ask }))
  const upload = { Bucket, Key, UploadId }
  return {
    ...{ upload, bucket: Bucket },
    async part(PartNumber: number, Body: Uint8Array, extra: object = {}): Promise<CompletedPart> {
      const sent = await s3.send(new UploadPartCommand({ ...upload, PartNumber, Body, ...extra }))
      const { ETag, ChecksumCRC32, ChecksumCRC32C, ChecksumCRC64NVME, ChecksumSHA1, ChecksumSHA256 } = sent
      return {
        ...{ PartNumber, ETag },
        ...{ ChecksumCRC32, ChecksumCRC32C, ChecksumCRC64NVME, ChecksumSHA1, ChecksumSHA256 },
      }
    },
    complete: (Parts: CompletedPart[], extra: object = {}) =>
      s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts }, ...extra })),
  }
}

const download = async ({ s3 }: S3World, Bucket: string, Key = "big") => {
  const { Body, ...reply } = await s3.send(new GetObjectCommand({ Bucket, Key }))
  return { ...reply, content: Buffer.from((await Body?.transformToByteArray()) ?? []) }
}

const WRONG = {
  ...{ CRC32: "AAAAAA==", CRC32C: "AAAAAA==", CRC64NVME: "AAAAAAAAAAA=" },
  ...{ SHA1: `${"A".repeat(27)}=`, SHA256: `${"A".repeat(43)}=` },
}

const checksummed =
  (algorithm: "CRC32" | "CRC32C" | "CRC64NVME" | "SHA1" | "SHA256", type: "COMPOSITE" | "FULL_OBJECT") =>
  async (world: S3World) => {
    const { part, complete, upload } = await begin(world, { ChecksumAlgorithm: algorithm })
    const parts = [
      await part(1, bytesOf(PART_BYTES, 3), { ChecksumAlgorithm: algorithm }),
      await part(2, bytesOf(100, 5), { ChecksumAlgorithm: algorithm }),
    ]
    await refused(complete(parts, { [`Checksum${algorithm}`]: WRONG[algorithm] }), 400, "BadDigest")
    const done = await complete(parts)
    const digest = done[`Checksum${algorithm}`]
    assert.equal(done.ChecksumType, type)
    assert.match(digest ?? "", type === "COMPOSITE" ? /^[\w+/=]+-2$/ : /^[\w+/]+=*$/)
    const { Bucket, Key } = upload
    const ask = new GetObjectAttributesCommand({ Bucket, Key, ObjectAttributes: ["Checksum", "ObjectParts"] })
    const { Checksum, ObjectParts } = await world.s3.send(ask)
    assert.deepEqual([Checksum?.[`Checksum${algorithm}`], ObjectParts?.TotalPartsCount], [digest, 2])
  }

runCases("uploads in parts become the object that they would in S3", {
  test_multipart_upload: async world => {
    const ask = { Metadata: { foo: "bar" }, ContentType: "text/bla" }
    const { part, complete, bucket } = await begin(world, ask)
    const content = [bytesOf(PART_BYTES, 3), bytesOf(PART_BYTES, 7), bytesOf(MIB, 11)]
    const parts: CompletedPart[] = []
    for (const [at, bytes] of content.entries()) parts.push(await part(at + 1, bytes))
    const { ETag } = await complete(parts)
    assert.match(ETag ?? "", /^"[0-9a-f]{32}-3"$/)
    const got = await download(world, bucket)
    assert.deepEqual([got.ETag, got.Metadata, got.ContentType], [ETag, { foo: "bar" }, "text/bla"])
    assert.ok(got.content.equals(Buffer.concat(content)))
  },
  test_multipart_upload_empty: async world => {
    const { complete } = await begin(world)
    await refused(complete([]), 400, "MalformedXML")
  },
  test_multipart_upload_small: async world => {
    const { part, complete, bucket } = await begin(world)
    const parts = [await part(1, Buffer.from("1"))]
    await complete(parts)
    // Whoever did not hear the answer asks again and gets it.
    await complete(parts)
    assert.equal((await download(world, bucket)).content.toString(), "1")
  },
  test_multipart_upload_complete_without_create: async world => {
    const upload = { Bucket: await world.bucketOf(), Key: "big", UploadId: "no-such-upload" }
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: "x" }] }
    await refused(
      world.s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload })),
      404,
      "NoSuchUpload",
    )
  },
  test_multipart_upload_resend_part: async world => {
    const { part, complete, bucket } = await begin(world)
    await part(1, Buffer.from("first"))
    await complete([await part(1, Buffer.from("again"))])
    assert.equal((await download(world, bucket)).content.toString(), "again")
  },
  test_multipart_upload_multiple_sizes: async world => {
    for (const size of [PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES]) {
      const { part, complete, bucket } = await begin(world)
      const content = bytesOf(size, 13)
      const parts = [await part(1, content.subarray(0, PART_BYTES))]
      if (size > PART_BYTES) parts.push(await part(2, content.subarray(PART_BYTES)))
      await complete(parts)
      assert.ok((await download(world, bucket)).content.equals(content))
    }
  },
  test_multipart_upload_size_too_small: async world => {
    const { part, complete } = await begin(world)
    await refused(
      complete([await part(1, Buffer.from("1")), await part(2, Buffer.from("2"))]),
      400,
      "EntityTooSmall",
    )
  },
  test_multipart_upload_missing_part: async world => {
    const { part, complete } = await begin(world)
    const { ETag } = await part(1, Buffer.from("1"))
    await refused(complete([{ PartNumber: 9999, ETag }]), 400, "InvalidPart")
  },
  test_multipart_upload_incorrect_etag: async world => {
    const { part, complete } = await begin(world)
    await part(1, Buffer.from("1"))
    await refused(complete([{ PartNumber: 1, ETag: "ffffffffffffffffffffffffffffffff" }]), 400, "InvalidPart")
  },
  test_multipart_upload_part_order: async world => {
    const { part, complete } = await begin(world)
    const parts = [await part(1, Buffer.from("1")), await part(2, Buffer.from("2"))]
    await refused(complete(parts.reverse()), 400, "InvalidPartOrder")
  },
  test_multipart_upload_part_number_range: async world => {
    const { part } = await begin(world)
    for (const number of [0, 10_001]) await refused(part(number, Buffer.from("1")), 400, "InvalidArgument")
  },
  test_multipart_upload_overwrite_existing_object: async world => {
    const bucket = await world.bucketOf("big")
    const { part, complete } = await begin(world, {}, bucket)
    await complete([await part(1, Buffer.from("new"))])
    assert.equal((await download(world, bucket)).content.toString(), "new")
  },
  test_abort_multipart_upload: async world => {
    const { part, upload, bucket } = await begin(world)
    await part(1, Buffer.from("1"))
    await world.s3.send(new AbortMultipartUploadCommand(upload))
    await refused(world.s3.send(new ListPartsCommand(upload)), 404, "NoSuchUpload")
    await refused(part(2, Buffer.from("2")), 404, "NoSuchUpload")
    const { Uploads } = await world.s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    assert.equal(Uploads, undefined)
  },
  test_abort_multipart_upload_not_found: async world => {
    const upload = { Bucket: await world.bucketOf(), Key: "big", UploadId: "56788" }
    await refused(world.s3.send(new AbortMultipartUploadCommand(upload)), 404, "NoSuchUpload")
  },
  test_list_multipart_upload: async world => {
    const bucket = await world.bucketOf()
    const made = []
    for (const key of ["mymultipart", "mymultipart", "mymultipart2"])
      made.push((await begin(world, {}, bucket, key)).upload.UploadId)
    const list = (extra: object = {}) =>
      world.s3.send(new ListMultipartUploadsCommand({ Bucket: bucket, ...extra }))
    const all = await list()
    assert.deepEqual(new Set(all.Uploads?.map(({ UploadId }) => UploadId)), new Set(made))
    const first = await list({ MaxUploads: 2 })
    assert.deepEqual([first.IsTruncated, first.Uploads?.length], [true, 2])
    const rest = await list({ KeyMarker: first.NextKeyMarker, UploadIdMarker: first.NextUploadIdMarker })
    assert.deepEqual(
      rest.Uploads?.map(({ UploadId }) => UploadId),
      made.slice(2),
    )
  },
  test_list_multipart_upload_owner: async world => {
    const { bucket } = await begin(world)
    const { Uploads } = await world.s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    assert.ok(Uploads?.[0]?.Owner?.ID && Uploads[0].Initiator?.ID && Uploads[0].Initiated)
  },
  test_list_parts: async world => {
    const { part, upload } = await begin(world)
    for (const number of [1, 5, 9]) await part(number, Buffer.from(String(number)))
    const first = await world.s3.send(new ListPartsCommand({ ...upload, MaxParts: 2 }))
    const rest = await world.s3.send(
      new ListPartsCommand({ ...upload, PartNumberMarker: first.NextPartNumberMarker }),
    )
    assert.deepEqual(
      [first, rest].map(({ Parts, IsTruncated }) => [
        Parts?.map(({ PartNumber }) => PartNumber),
        IsTruncated,
      ]),
      [
        [[1, 5], true],
        [[9], false],
      ],
    )
  },
  test_multipart_put_object_if_match: async world => {
    const bucket = await world.bucketOf("big")
    const { part, complete } = await begin(world, {}, bucket)
    const parts = [await part(1, Buffer.from("new"))]
    await refused(complete(parts, { IfNoneMatch: "*" }), 412, "PreconditionFailed")
    await refused(complete(parts, { IfMatch: '"other"' }), 412, "PreconditionFailed")
    const gone = await begin(world)
    const first = await gone.part(1, bytesOf(3, 1))
    await refused(gone.complete([first], { IfMatch: '"other"' }), 404, "NoSuchKey")
    await complete(parts, { IfMatch: "*" })
    assert.equal((await download(world, bucket)).content.toString(), "new")
  },
  test_multipart_use_cksum_helper_crc32: checksummed("CRC32", "COMPOSITE"),
  test_multipart_use_cksum_helper_crc32c: checksummed("CRC32C", "COMPOSITE"),
  test_multipart_use_cksum_helper_sha1: checksummed("SHA1", "COMPOSITE"),
  test_multipart_use_cksum_helper_crc64nvme: checksummed("CRC64NVME", "FULL_OBJECT"),
  test_multipart_use_cksum_helper_sha256: checksummed("SHA256", "COMPOSITE"),
})

const source = async (world: S3World) => {
  const bucket = await world.bucketOf()
  const content = bytesOf(PART_BYTES + 100, 17)
  await world.put(bucket, "source?file a+b", content)
  const { upload, complete } = await begin(world)
  const copy = (PartNumber: number, extra: object = {}) =>
    world.s3.send(
      new UploadPartCopyCommand({
        ...{ ...upload, PartNumber, CopySource: encodeURI(`${bucket}/source?file a+b`).replace("?", "%3F") },
        ...extra,
      }),
    )
  return { content, copy, complete, bucket: upload.Bucket }
}

runCases("parts are copied from objects as in S3", {
  test_multipart_copy_small: async world => {
    const { content, copy, complete, bucket } = await source(world)
    const { CopyPartResult } = await copy(1, { CopySourceRange: "bytes=0-0" })
    await complete([{ PartNumber: 1, ETag: CopyPartResult?.ETag }])
    assert.ok((await download(world, bucket)).content.equals(content.subarray(0, 1)))
  },
  test_multipart_copy_without_range: async world => {
    const { content, copy, complete, bucket } = await source(world)
    const { CopyPartResult } = await copy(1)
    await complete([{ PartNumber: 1, ETag: CopyPartResult?.ETag }])
    assert.ok((await download(world, bucket)).content.equals(content))
  },
  test_multipart_copy_invalid_range: async world => {
    const { copy } = await source(world)
    await refused(copy(1, { CopySourceRange: "bytes=0-99999999" }), 400, "InvalidArgument")
  },
  test_multipart_copy_improper_range: async world => {
    const { copy } = await source(world)
    for (const CopySourceRange of [
      "0-2",
      "bytes=0",
      "bytes=hello-world",
      "bytes=0-bar",
      "bytes=hello-",
      "bytes=0-2,3-5",
    ])
      await refused(copy(1, { CopySourceRange }), 400, "InvalidArgument")
  },
})
