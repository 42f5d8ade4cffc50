/** Presigned URLs in pages of other origins. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import { watchedFetch } from "../../../testing/watch.ts"
import { openWorld } from "./testing/world.ts"

const ORIGIN = "https://app.example.com"

test("a page of any origin may read and write by presigned URL, and read the headers of the answer", async t => {
  const { s3, bucketOf } = await openWorld(t)
  const bucket = await bucketOf("k")
  const urlOf = (command: GetObjectCommand | PutObjectCommand) => getSignedUrl(s3, command)

  const put = await urlOf(new PutObjectCommand({ Bucket: bucket, Key: "new" }))
  const preflight = await watchedFetch(put, {
    method: "OPTIONS",
    headers: {
      origin: ORIGIN,
      "access-control-request-method": "PUT",
      "access-control-request-headers": "content-type,x-amz-meta-color",
    },
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get("access-control-allow-origin"), "*")
  assert.match(preflight.headers.get("access-control-allow-methods") ?? "", /\bPUT\b/)
  assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /\*/)

  const stored = await watchedFetch(put, { method: "PUT", body: "new", headers: { origin: ORIGIN } })
  assert.equal(stored.status, 200)
  for (const target of [put, await urlOf(new GetObjectCommand({ Bucket: bucket, Key: "k" }))]) {
    const method = target === put ? "PUT" : "GET"
    const { headers } = await watchedFetch(target, { method, headers: { origin: ORIGIN } })
    assert.equal(headers.get("access-control-allow-origin"), "*", method)
    assert.equal(headers.get("access-control-expose-headers"), "*", method)
    assert.equal(headers.get("access-control-allow-credentials"), null, method)
  }
})

test("a page is told why its URL was refused", async t => {
  const { platform: p, bucketOf } = await openWorld(t)
  const bucket = await bucketOf()
  const { status, headers } = await p.request(`/s3/${bucket}/k?X-Amz-Signature=0`, {
    headers: { origin: ORIGIN },
  })
  assert.deepEqual([status, headers.get("access-control-allow-origin")], [400, "*"])
})
