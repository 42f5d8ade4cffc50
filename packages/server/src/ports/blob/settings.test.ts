import assert from "node:assert/strict"
import { test } from "node:test"
import { bucketUrl } from "./settings.ts"

test("the address of a bucket names the server, the bucket and what stands before every key", () => {
  const endpoint = "https://s3.example.com:9000"
  const accepted = [
    ["https://s3.example.com:9000/svc-blobs", { endpoint, bucket: "svc-blobs", prefix: "" }],
    ["https://s3.example.com:9000/svc.blobs/", { endpoint, bucket: "svc.blobs", prefix: "" }],
    ["https://s3.example.com:9000/blobs/one/two%20x", { endpoint, bucket: "blobs", prefix: "one/two x/" }],
  ] as const
  for (const [text, parsed] of accepted) assert.deepEqual(bucketUrl(text), parsed)
  assert.equal(bucketUrl(undefined), undefined)
})

test("an address that names no bucket is refused", () => {
  for (const path of ["", "/", "/ab", "/Upper", "/-x-", "/bucket//x", "/bucket/%zz", "/under_score"])
    assert.throws(() => bucketUrl(`https://s3.example.com${path}`), Error, path)
  for (const text of ["s3://bucket/prefix", "bucket", "file:///bucket"])
    assert.throws(() => bucketUrl(text), RangeError)
})
