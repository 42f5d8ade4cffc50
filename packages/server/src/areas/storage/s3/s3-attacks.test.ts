/** What must not get through the S3 endpoint. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import { everyScope, platform } from "../../../testing/platform.ts"
import { watchedFetch } from "../../../testing/watch.ts"
import { type Plan, send, sign } from "./testing/signing.ts"
import { type Access, accessOf, openClient, openWorld, refused, type S3World } from "./testing/world.ts"

const MINUTE_MS = 60_000

const codeOf = async (world: S3World, plan: Plan, sent: Plan = plan, extra: Record<string, string> = {}) => {
  const { platform: p, access } = world
  const { status, code } = await send(p, sent, { ...sign(p, access, plan), ...extra })
  return [status, code]
}

const objectIn = async (t: TestContext) => {
  const world = await openWorld(t)
  const bucket = await world.bucketOf("k")
  return { world, bucket, target: `/s3/${bucket}/k` }
}

test("a request is answered only as it was signed", async t => {
  const { world, bucket, target } = await objectIn(t)
  const wrong = [403, "SignatureDoesNotMatch"]
  assert.deepEqual(await codeOf(world, { target }), [200, undefined])

  assert.deepEqual(await codeOf(world, { target }, { target: `${target}2` }), wrong)
  assert.deepEqual(await codeOf(world, { target }, { target, method: "DELETE" }), wrong)
  assert.deepEqual(
    await codeOf(world, { target }, { target: `${target}?response-content-type=text/html` }),
    wrong,
  )
  const list = `/s3/${bucket}?prefix=a&max-keys=1`
  assert.deepEqual(await codeOf(world, { target: list }, { target: list.replace("=a", "=b") }), wrong)
  const ranged = { target, headers: { range: "bytes=0-0" } }
  assert.deepEqual(await codeOf(world, ranged, ranged, { range: "bytes=0-9" }), wrong)
  const other = {
    ...world.access,
    credentials: { ...world.access.credentials, secretAccessKey: "x".repeat(43) },
  }
  assert.deepEqual(await codeOf({ ...world, access: other }, { target }), wrong)
})

test("a header that changes what a request does must be signed", async t => {
  const { world, bucket } = await objectIn(t)
  const put = { method: "PUT", target: `/s3/${bucket}/stolen`, headers: { "content-length": "0" } }
  const copies = { "x-amz-copy-source": `${bucket}/k` }
  assert.deepEqual(await codeOf(world, put, put, copies), [400, "AuthorizationHeaderMalformed"])
  await refused(world.s3.send(new GetObjectCommand({ Bucket: bucket, Key: "stolen" })), 404)
})

test("the source of a copy has no null character", async t => {
  const { world, bucket } = await objectIn(t)
  for (const source of [`${bucket}/k%00`, `${bucket}%00/k`]) {
    const headers = { "content-length": "0", "x-amz-copy-source": source }
    const put = { method: "PUT", target: `/s3/${bucket}/copy`, headers }
    assert.deepEqual(await codeOf(world, put), [400, "InvalidArgument"])
  }
})

test("another body than was signed is refused, and nothing of it is stored", async t => {
  const { world, bucket, target } = await objectIn(t)
  const plan = { method: "PUT", target, body: "genuine" }
  assert.deepEqual(await codeOf(world, plan, { ...plan, body: "planted" }), [
    400,
    "XAmzContentSHA256Mismatch",
  ])
  const { Body } = await world.s3.send(new GetObjectCommand({ Bucket: bucket, Key: "k" }))
  assert.equal(await Body?.transformToString(), "k")
})

test("a signed request is good for fifteen minutes before and after its time", async t => {
  const { world, target } = await objectIn(t)
  const at = (minutes: number) => codeOf(world, { target, atMs: Date.now() + minutes * MINUTE_MS })
  assert.deepEqual(
    [await at(-14), await at(14)],
    [
      [200, undefined],
      [200, undefined],
    ],
  )
  const skewed = [403, "RequestTimeTooSkewed"]
  assert.deepEqual([await at(-16), await at(16)], [skewed, skewed])
})

const presign = (s3: S3World["s3"], Bucket: string, expiresIn = 600) =>
  getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: "k" }), { expiresIn })

const fetched = async (url: string, init: RequestInit = {}) => {
  const response = await watchedFetch(url, init)
  const text = await response.text()
  return [response.status, /<Code>(\w+)</.exec(text)?.[1] ?? text]
}

test("a presigned URL gives what it was made for, to everybody, until it expires", async t => {
  const { world, bucket } = await objectIn(t)
  const url = await presign(world.s3, bucket)
  assert.deepEqual(await fetched(url), [200, "k"])

  const wrong = [403, "SignatureDoesNotMatch"]
  assert.deepEqual(await fetched(url, { method: "PUT", body: "x" }), wrong)
  assert.deepEqual(await fetched(url, { method: "DELETE" }), wrong)
  assert.deepEqual(await fetched(url.replace("X-Amz-Expires=600", "X-Amz-Expires=6000")), wrong)
  assert.deepEqual(await fetched(url.replace(`${bucket}/k`, `${bucket}/j`)), wrong)
  assert.deepEqual(await fetched(`${url}&response-content-type=text%2Fhtml`), wrong)
  assert.equal((await fetched(url.replace("X-Amz-Expires=600", "X-Amz-Expires=604801")))[0], 400)

  await world.platform.clock.advance(11 * MINUTE_MS)
  assert.deepEqual(await fetched(url), [403, "AccessDenied"])
})

test("a presigned PUT stores one object and keeps to the headers it was made with", async t => {
  const { world, bucket } = await objectIn(t)
  const put = new PutObjectCommand({
    ...{ Bucket: bucket, Key: "new", ContentType: "text/plain", Metadata: { colour: "blue" } },
  })
  const url = await getSignedUrl(world.s3, put, { signableHeaders: new Set(["host", "content-type"]) })
  const send = (type: string) =>
    fetched(url, { method: "PUT", body: "hello", headers: { "content-type": type } })
  assert.deepEqual(await send("text/html"), [403, "SignatureDoesNotMatch"])
  assert.equal((await send("text/plain"))[0], 200)
  const { Metadata, ContentType } = await world.s3.send(new HeadObjectCommand({ Bucket: bucket, Key: "new" }))
  assert.deepEqual([Metadata, ContentType], [{ colour: "blue" }, "text/plain"])
})

test("a presigned page of a tenant cannot act as one of ours", async t => {
  const { world, bucket } = await objectIn(t)
  const { headers } = await watchedFetch(await presign(world.s3, bucket))
  assert.deepEqual(
    [headers.get("content-security-policy"), headers.get("x-content-type-options")],
    ["sandbox", "nosniff"],
  )
})

test("a bucket of another tenant answers like one that was never made", async t => {
  const { world, bucket } = await objectIn(t)
  const stranger = openClient(t, await accessOf(world.platform, "globex"))
  for (const Bucket of [bucket, "never-made"]) {
    await refused(stranger.send(new ListObjectsV2Command({ Bucket })), 404, "NoSuchBucket")
    await refused(stranger.send(new GetObjectCommand({ Bucket, Key: "k" })), 404, "NoSuchBucket")
    await refused(stranger.send(new HeadObjectCommand({ Bucket, Key: "k" })), 404)
    await refused(stranger.send(new PutObjectCommand({ Bucket, Key: "k", Body: "x" })), 404, "NoSuchBucket")
  }
  assert.deepEqual((await stranger.send(new ListBucketsCommand())).Buckets ?? [], [])
  // Names are a project's own, so that taking one does not tell whether somebody else has it.
  await stranger.send(new CreateBucketCommand({ Bucket: bucket }))
})

test("an access key can do no more than its API key", async t => {
  const { world, bucket } = await objectIn(t)
  const { platform: p } = world
  const readOnly = openClient(t, await accessOf(p, "acme", everyScope, { read_only: true }))
  const reader = openClient(t, await accessOf(p, "acme", ["storage:read"]))
  const away = await accessOf(p, "acme", everyScope)
  for (const s3 of [readOnly, reader]) {
    assert.ok(await s3.send(new GetObjectCommand({ Bucket: bucket, Key: "k" })))
    await refused(s3.send(new PutObjectCommand({ Bucket: bucket, Key: "k", Body: "x" })), 403, "AccessDenied")
  }
  const person = await p.person("acme")
  await person.keys.update({ id: away.keyId, ip_allowlist: ["203.0.113.1"] })
  await refused(openClient(t, away).send(new ListBucketsCommand()), 403, "AccessDenied")
})

test("an access key ends with its API key: revoked, rotated or expired", async t => {
  const { world } = await objectIn(t)
  const { platform: p } = world
  const person = await p.person("acme")
  const open = async (access: Access) => {
    const s3 = openClient(t, access)
    await s3.send(new ListBucketsCommand())
    return s3
  }
  const [revoked, rotated, expiring] = [
    await accessOf(p),
    await accessOf(p),
    await accessOf(p, "acme", everyScope, {
      expires_at: new Date(p.clock.now() + MINUTE_MS),
    }),
  ]
  const [first, second, third] = [await open(revoked), await open(rotated), await open(expiring)]

  await person.keys.revoke({ id: revoked.keyId })
  await refused(first.send(new ListBucketsCommand()), 403, "InvalidAccessKeyId")

  const fresh = await person.keys.rotate({ id: rotated.keyId, grace_period_seconds: 60 })
  assert.ok(await second.send(new ListBucketsCommand()))
  await p.clock.advance(MINUTE_MS)
  await refused(second.send(new ListBucketsCommand()), 400, "ExpiredToken")
  await refused(third.send(new ListBucketsCommand()), 400, "ExpiredToken")
  const anew = await p.as(fresh.secret ?? "").s3.credentials()
  assert.notEqual(anew.secret_access_key, rotated.credentials.secretAccessKey)
})

test("access keys come from API keys alone, the same each time, and cannot be guessed from one another", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["storage:read"])
  const [first, again] = [await p.as(secret).s3.credentials(), await p.as(secret).s3.credentials()]
  assert.deepEqual(first, again)
  assert.match(first.access_key_id, /^[A-Z2-7]{26}$/)
  const other = await accessOf(p)
  assert.notEqual(other.credentials.secretAccessKey, first.secret_access_key)

  const project = (await p.tenant("acme")).projectId
  const person = await p.person("acme")
  await assert.rejects(person.s3.credentials({}, { project }), { status: 403, code: "key_required" })
  const mixed = { ...other, credentials: { ...other.credentials, accessKeyId: first.access_key_id } }
  await refused(openClient(t, mixed).send(new ListBucketsCommand()), 403, "SignatureDoesNotMatch")
  for (const accessKeyId of ["AKIAIOSFODNN7EXAMPLE", "A".repeat(26), "B".repeat(52)]) {
    const unknown = { ...other, credentials: { ...other.credentials, accessKeyId } }
    await refused(openClient(t, unknown).send(new ListBucketsCommand()), 403, "InvalidAccessKeyId")
  }
})

test("a request without a signature or a key gets nothing, and in S3's words", async t => {
  const { world, target } = await objectIn(t)
  const { platform: p } = world
  assert.deepEqual(await fetched(p.url + target), [403, "AccessDenied"])
  const root = await p.request(target.slice(3))
  assert.equal(root.status, 404)
  const credential = `Credential=nobody/${new Date().toISOString().slice(0, 10).replaceAll("-", "")}/us-east-1/s3/aws4_request`
  const authorization = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${"0".repeat(64)}`
  const unknown = {
    ...{ authorization, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
    "x-amz-date": new Date().toISOString().replace(/[-:]|\.\d+/g, ""),
  }
  assert.deepEqual(await fetched(p.url + target, { headers: unknown }), [403, "InvalidAccessKeyId"])
  assert.deepEqual(await fetched(p.url + target, { headers: { authorization: "AWS a:b" } }), [
    400,
    "AuthorizationHeaderMalformed",
  ])
})

test("documents that would swell, nest or are none are refused", async t => {
  const { world, bucket } = await objectIn(t)
  const { platform: p, access } = world
  const post = async (body: string) => {
    const response = await p.request(`/s3/${bucket}?delete`, {
      ...{ method: "POST", body },
      headers: { authorization: `Bearer ${access.secret}` },
    })
    return [response.status, /<Code>(\w+)</.exec(await response.text())?.[1]]
  }
  const malformed = [400, "MalformedXML"]
  const entities = '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
  for (const body of [
    "",
    "not XML",
    "<Delete><Object>",
    "<Other/>",
    "<Delete/>",
    "<Delete><Object><Key></Key></Object></Delete>",
    `${entities}<Delete><Object><Key>&b;</Key></Object></Delete>`,
    "<Delete><Object><Key>&nbsp;</Key></Object></Delete>",
    "<Delete><Object><Key>&#xD800;</Key></Object></Delete>",
    `<Delete>${"<a>".repeat(1000)}${"</a>".repeat(1000)}</Delete>`,
    "<__proto__><Key>k</Key></__proto__>",
  ])
    assert.deepEqual(await post(body), malformed, body.slice(0, 80))
  assert.deepEqual(await post(" ".repeat(5 * 1024 * 1024)), [400, "MaxMessageLengthExceeded"])
  const { Body } = await world.s3.send(new GetObjectCommand({ Bucket: bucket, Key: "k" }))
  assert.equal(await Body?.transformToString(), "k")
})

test("what there is not is refused where it would change something, and never passed over", async t => {
  const { world, bucket, target } = await objectIn(t)
  const { platform: p, access } = world
  const authorization = `Bearer ${access.secret}`
  const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const body =
      method === "PUT" || method === "POST" ? { body: "<Delete><Object><Key>k</Key></Object></Delete>" } : {}
    const response = await p.request(path, { method, headers: { authorization, ...headers }, ...body })
    return [response.status, /<Code>(\w+)</.exec(await response.text())?.[1]]
  }
  const not = [501, "NotImplemented"]
  for (const [method, path] of [
    ["GET", `${target}?torrent`],
    ["DELETE", `${target}?acl`],
    ["POST", `${target}?restore`],
    ["POST", `/s3/${bucket}`],
    ["PUT", `/s3/${bucket}?website`],
  ] as const)
    assert.deepEqual(await ask(method, path), not, `${method} ${path}`)
  for (const headers of [{ "x-amz-server-side-encryption": "AES256" }, { "x-amz-grant-read": "id=1" }])
    assert.deepEqual(await ask("PUT", target, headers), not, JSON.stringify(headers))
  const stored = await ask("PUT", target, { "x-amz-storage-class": "GLACIER" })
  assert.deepEqual(stored, [400, "InvalidStorageClass"])
  assert.deepEqual(await ask("GET", `${target}?versionId=1`), [404, "NoSuchVersion"])
  assert.deepEqual(await ask("POST", "/s3/never-made?delete"), [404, "NoSuchBucket"])
  assert.deepEqual(await ask("GET", target), [200, undefined])
})
