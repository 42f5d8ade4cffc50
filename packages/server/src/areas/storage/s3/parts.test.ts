/** Parts of finished objects: read by their number, and told by `GetObjectAttributes`. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3"
import { bytesOf } from "../testing/world.ts"
import { openWorld, refused, type S3World } from "./testing/world.ts"

const MIB = 1024 ** 2
/** Numbers need not follow on each other. */
const PARTS = [
  { number: 2, body: bytesOf(5 * MIB, 2) },
  { number: 5, body: bytesOf(5 * MIB + 3, 5) },
  { number: 9, body: bytesOf(100, 9) },
]

const sha256 = (body: Uint8Array): string => createHash("sha256").update(body).digest("base64")

/** An object made of those parts. */
const upload = async ({ s3 }: S3World, Bucket: string, Key: string) => {
  const ChecksumAlgorithm = "SHA256"
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm }))
  const Parts = []
  for (const { number: PartNumber, body: Body } of PARTS) {
    const part = { Bucket, Key, UploadId, PartNumber, Body, ChecksumAlgorithm } as const
    const { ETag, ChecksumSHA256 } = await s3.send(new UploadPartCommand(part))
    Parts.push({ ETag, ChecksumSHA256, PartNumber })
  }
  await s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
}

test("a part of an object is read by its number, in copies too, and attributes list all of them by the page", async t => {
  const world = await openWorld(t)
  const { s3, bucketOf, put } = world
  const Bucket = await bucketOf()
  await upload(world, Bucket, "film")
  await s3.send(new CopyObjectCommand({ Bucket, Key: "copy", CopySource: `${Bucket}/film` }))
  for (const Key of ["film", "copy"]) {
    let start = 0
    for (const { number: PartNumber, body } of PARTS) {
      const ask = { Bucket, Key, PartNumber, ChecksumMode: "ENABLED" } as const
      const { Body, $metadata, ...got } = await s3.send(new GetObjectCommand(ask))
      assert.ok(Body)
      assert.equal(Buffer.compare(await Body.transformToByteArray(), body), 0)
      const head = await s3.send(new HeadObjectCommand(ask))
      for (const told of [{ ...got, $metadata }, head]) {
        assert.deepEqual([told.$metadata.httpStatusCode, told.PartsCount], [206, PARTS.length])
        assert.equal(told.ContentRange, `bytes ${start}-${start + body.length - 1}/${10 * MIB + 103}`)
        assert.deepEqual([told.ChecksumSHA256, told.ChecksumType], [sha256(body), "COMPOSITE"])
      }
      start += body.length
    }
    await refused(s3.send(new GetObjectCommand({ Bucket, Key, PartNumber: 1 })), 400, "InvalidPart")
    const both = new GetObjectCommand({ Bucket, Key, PartNumber: 2, Range: "bytes=0-1" })
    await refused(s3.send(both), 400, "InvalidRequest")

    const attributes = async (MaxParts?: number, PartNumberMarker?: string) => {
      const page = { MaxParts, PartNumberMarker }
      const ask = { Bucket, Key, ObjectAttributes: ["ObjectParts" as const], ...page }
      return (await s3.send(new GetObjectAttributesCommand(ask))).ObjectParts
    }
    const parts = PARTS.map(({ number, body }) => ({
      PartNumber: number,
      Size: body.length,
      ChecksumSHA256: sha256(body),
    }))
    assert.deepEqual((await attributes())?.Parts, parts)
    const first = await attributes(2)
    assert.deepEqual([first?.Parts, first?.IsTruncated, first?.TotalPartsCount], [parts.slice(0, 2), true, 3])
    assert.equal(first?.NextPartNumberMarker, "5")
    const rest = await attributes(2, first.NextPartNumberMarker)
    assert.deepEqual([rest?.Parts, rest?.IsTruncated], [parts.slice(2), false])
  }

  // What replaces it was sent whole.
  await put(Bucket, "film", "whole")
  const whole = await s3.send(new GetObjectCommand({ Bucket, Key: "film", PartNumber: 1 }))
  assert.deepEqual([await whole.Body?.transformToString(), whole.PartsCount], ["whole", undefined])
  await refused(s3.send(new GetObjectCommand({ Bucket, Key: "film", PartNumber: 2 })), 400, "InvalidPart")
  const ask = { Bucket, Key: "film", ObjectAttributes: ["ObjectParts" as const] }
  assert.equal((await s3.send(new GetObjectAttributesCommand(ask))).ObjectParts, undefined)
})

test("an object from before parts were kept has the parts that its blobs tell", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, bucketOf } = world
  const Bucket = await bucketOf()
  await upload(world, Bucket, "film")
  await p.database.db.updateTable("storage.objects").set({ parts: null }).where("key", "=", "film").execute()
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: "film", PartNumber: 3 }))
  assert.equal((await Body?.transformToByteArray())?.length, 100)
})
