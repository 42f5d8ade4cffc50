/** URLs presigned by signature version 2, which older clients make for us-east-1. */
import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { test } from "node:test"
import type { TestPlatform } from "../../../testing/platform.ts"
import { type Access, accessOf, openWorld } from "./testing/world.ts"

interface Presigned {
  readonly method?: string
  /** As it is signed. */
  readonly resource: string
  /** As it is sent. */
  readonly path?: string
  readonly type?: string
  readonly query?: string
  readonly expires?: number
}

const HOUR_SECONDS = 3600

const presign = ({ credentials }: Access, { method = "GET", resource, type = "", ...more }: Presigned) => {
  const { path = resource.replace(/\?.*/, ""), query = "" } = more
  const expires = more.expires ?? Math.floor(Date.now() / 1000) + HOUR_SECONDS
  const signature = createHmac("sha1", credentials.secretAccessKey)
    .update([method, "", type, expires, resource].join("\n"))
    .digest("base64")
  const signed = `AWSAccessKeyId=${credentials.accessKeyId}&Expires=${expires}&Signature=${encodeURIComponent(signature)}`
  return `${path}?${query}${signed}`
}

const answered = async (p: TestPlatform, target: string, init?: RequestInit) => {
  const response = await p.request(target, init)
  const text = await response.text()
  return [response.status, /<Code>(\w+)/.exec(text)?.[1] ?? text]
}

test("a URL of version 2 reads and writes the object it was made for, signed with the endpoint's path or without", async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  const bucket = await bucketOf("a b")
  const escaped = `${bucket}/a%20b`
  assert.deepEqual(await answered(p, presign(access, { resource: `/s3/${escaped}` })), [200, "a b"])
  assert.deepEqual(await answered(p, presign(access, { resource: `/${escaped}` })), [200, "a b"])
  const bare = presign(access, { resource: `/${escaped}`, path: `/s3/${escaped}` })
  assert.deepEqual(await answered(p, bare), [200, "a b"])

  const put = presign(access, { method: "PUT", resource: `/s3/${bucket}/new`, type: "text/plain" })
  const init = { method: "PUT", body: "new", headers: { "content-type": "text/plain" } }
  assert.equal((await answered(p, put, init))[0], 200)
  assert.deepEqual(await answered(p, presign(access, { resource: `/s3/${bucket}/new` })), [200, "new"])

  const typed = presign(access, {
    resource: `/s3/${bucket}/new?response-content-type=text/x-own`,
    query: "response-content-type=text%2Fx-own&",
  })
  assert.equal((await p.request(typed)).headers.get("content-type"), "text/x-own")
})

test("a URL of version 2 is good for nothing else, nor after its time, nor beyond its key", async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  const bucket = await bucketOf("k", "other")
  const wrong = [403, "SignatureDoesNotMatch"]
  const url = presign(access, { resource: `/s3/${bucket}/k` })
  assert.deepEqual(await answered(p, url.replace("/k?", "/other?")), wrong)
  assert.deepEqual(await answered(p, url, { method: "DELETE" }), wrong)
  assert.deepEqual(await answered(p, `${url}&response-content-type=text/html`), wrong)
  assert.deepEqual(await answered(p, `${url}&x-amz-acl=private`), wrong)
  assert.deepEqual(await answered(p, url, { headers: { "x-amz-copy-source": `${bucket}/other` } }), wrong)
  assert.deepEqual(await answered(p, url.replace(/Expires=\d+/, "Expires=99999999999")), wrong)
  const past = Math.floor(Date.now() / 1000) - HOUR_SECONDS
  const old = presign(access, { resource: `/s3/${bucket}/k`, expires: past })
  assert.deepEqual(await answered(p, old), [403, "AccessDenied"])

  const reader = await accessOf(p, "acme", ["storage:read"])
  const put = presign(reader, { method: "PUT", resource: `/s3/${bucket}/k` })
  assert.deepEqual(await answered(p, put, { method: "PUT", body: new Uint8Array() }), [403, "AccessDenied"])
})

test("what is wrong with a signature is said in the words of where it stands", async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  const bucket = await bucketOf("k")
  const say = async (target: string, headers: Record<string, string> = {}) => {
    const text = await (await p.request(target, { headers })).text()
    return [/<Code>(\w+)/.exec(text)?.[1], /<Message>(.*?)<\/Message>/.exec(text)?.[1]]
  }
  const { accessKeyId } = access.credentials
  const [headerCode, headerMessage] = await say(`/s3/${bucket}/k`, { authorization: `AWS ${accessKeyId}:x` })
  assert.equal(headerCode, "AuthorizationHeaderMalformed")
  assert.match(headerMessage ?? "", /version 2.*presigned URLs alone.*version 4/)
  const [queryCode, queryMessage] = await say(`/s3/${bucket}/k?AWSAccessKeyId=${accessKeyId}&Signature=x`)
  assert.equal(queryCode, "AuthorizationQueryParametersError")
  assert.match(queryMessage ?? "", /Expires must be/)
})
