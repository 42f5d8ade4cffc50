/** Buckets in host names, as SDKs address them by default. */
import assert from "node:assert/strict"
import { Agent } from "node:http"
import { type TestContext, test } from "node:test"
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import type { TestPlatform } from "../../../testing/platform.ts"
import { ask, sign } from "./testing/signing.ts"
import { type Access, openClient, openWorld, refused, textOf } from "./testing/world.ts"

/** Every name leads to this machine, as those below `localhost` do in most resolvers. */
const hereOnly = () =>
  new Agent({
    lookup: (_name, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
  })

/** The SDK as it comes: it puts the bucket in the name of the host. */
const openHostClient = (t: TestContext, access: Access, endpoint: string): S3Client => {
  const httpAgent = hereOnly()
  t.after(() => httpAgent.destroy())
  return openClient(t, { ...access, endpoint }, { forcePathStyle: false, requestHandler: { httpAgent } })
}

const hostsOf = (p: TestPlatform) => {
  const { port } = new URL(p.url)
  return { port, domain: `s3.localhost:${port}` }
}

for (const [what, endpointOf] of [
  ["S3's own domain", (p: TestPlatform) => `http://${hostsOf(p).domain}`],
  ["the endpoint with a path", (p: TestPlatform) => `http://localhost:${hostsOf(p).port}/s3`],
] as const)
  test(`the SDK without forcePathStyle finds its buckets by host name, below ${what}`, async t => {
    const { platform: p, access, s3, put } = await openWorld(t)
    const client = openHostClient(t, access, endpointOf(p))
    const Bucket = "by-host.name"
    const dashed = "by-host-name"
    for (const name of [Bucket, dashed]) await client.send(new CreateBucketCommand({ Bucket: name }))
    await client.send(new PutObjectCommand({ Bucket: dashed, Key: "deep/key é +", Body: "hello" }))
    await put(dashed, "s3/looks-like-a-path", "by path")

    // Both ways of addressing show the same.
    for (const one of [client, s3]) {
      const { Contents = [] } = await one.send(new ListObjectsV2Command({ Bucket: dashed }))
      assert.deepEqual(
        Contents.map(({ Key }) => Key),
        ["deep/key é +", "s3/looks-like-a-path"],
      )
      for (const [Key, body] of [
        ["deep/key é +", "hello"],
        ["s3/looks-like-a-path", "by path"],
      ] as const)
        assert.equal(await textOf((await one.send(new GetObjectCommand({ Bucket: dashed, Key }))).Body), body)
      const { Buckets = [] } = await one.send(new ListBucketsCommand({}))
      assert.deepEqual(
        Buckets.map(({ Name }) => Name),
        [dashed, Bucket],
      )
    }

    // A key's name is no bucket's: removing an object leaves an empty bucket of that name alone.
    await client.send(new CreateBucketCommand({ Bucket: "plain" }))
    await client.send(new DeleteObjectCommand({ Bucket: dashed, Key: "plain" }))
    await client.send(new DeleteBucketCommand({ Bucket: "plain" }))
    await refused(client.send(new ListObjectsV2Command({ Bucket: "plain" })), 404, "NoSuchBucket")
  })

test("a presigned URL with the bucket in its host name is good there, and nowhere else", async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  const bucket = await bucketOf("k")
  const client = openHostClient(t, access, `http://${hostsOf(p).domain}`)
  const url = new URL(await getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key: "k" })))
  assert.equal(url.hostname, `${bucket}.s3.localhost`)
  const target = url.pathname + url.search
  const { status, text } = await ask(p, url.host, target)
  assert.deepEqual([status, text], [200, "k"])
  assert.equal((await ask(p, `other.${hostsOf(p).domain}`, target)).status, 403)
})

test("an endpoint with a slash at its end leads to the same buckets and objects", async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  const Bucket = await bucketOf("a//b")
  const client = openClient(t, { ...access, endpoint: `${access.endpoint}/` })
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }))
  assert.deepEqual(
    Contents.map(({ Key }) => Key),
    ["a//b"],
  )
  // Clients that only join the texts send two slashes.
  for (const [target, text] of [
    ["/s3/", /<ListAllMyBucketsResult/],
    [`/s3//${Bucket}`, /<ListBucketResult/],
    [`/s3/${Bucket}/`, /<ListBucketResult/],
    [`/s3//${Bucket}/a//b`, /^a\/\/b$/],
  ] as const) {
    const answer = await ask(p, new URL(p.url).host, target, sign(p, access, { target }))
    assert.equal(answer.status, 200, target)
    assert.match(answer.text, text)
  }
})

test("everything on S3's own domain is S3's, the paths of the platform too", async t => {
  const { platform: p } = await openWorld(t)
  const { domain } = hostsOf(p)
  for (const [host, target] of [
    [domain, "/v1/me"],
    [`bucket.${domain}`, "/health"],
    [`bucket.${domain}`, "/"],
  ] as const) {
    const { status, text } = await ask(p, host, target)
    assert.deepEqual([status, /<Code>(\w+)/.exec(text)?.[1]], [403, "AccessDenied"], host + target)
  }
})

test("a signed request at the root for a host that is not ours is refused in S3's form, and says what to do", async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  await bucketOf()
  for (const host of ["bucket.example.com", `bucket.localhost:${hostsOf(p).port}`]) {
    const headers = sign(p, access, { target: "/key", headers: { host } })
    const { status, text } = await ask(p, host, "/key", headers)
    assert.deepEqual([status, /<Code>(\w+)/.exec(text)?.[1]], [400, "InvalidRequest"])
    assert.match(text, /the host bucket\..* below \/s3.*&lt;bucket&gt;\.s3\.localhost/)
  }
  // Behind a proxy that goes by another name, the path says it all.
  const host = "cloud.example.com"
  assert.equal((await ask(p, host, "/s3", sign(p, access, { target: "/s3", headers: { host } }))).status, 200)
})
