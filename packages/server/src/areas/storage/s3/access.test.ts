/** Policies, access control lists and CORS rules, set by a client and met by others. */
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCorsCommand,
  DeleteBucketPolicyCommand,
  DeleteObjectCommand,
  GetBucketAclCommand,
  GetBucketCorsCommand,
  GetBucketPolicyCommand,
  GetBucketPolicyStatusCommand,
  GetObjectAclCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutBucketAclCommand,
  PutBucketCorsCommand,
  PutBucketPolicyCommand,
  PutObjectAclCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  PutPublicAccessBlockCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3"
import { noteReply } from "../../../testing/watch.ts"
import { accessOf, openClient, openWorld, refused, type S3World, textOf } from "./testing/world.ts"

const ORIGIN = "https://app.example.com"

/** A request without credentials. */
const anybody = async (
  { platform: p }: Pick<S3World, "platform">,
  target: string,
  init: RequestInit = {},
) => {
  const response = await p.request(target, init)
  const declared = new URL(target.replace(/^\/s3\//, "/s3-public/"), p.url).href
  noteReply(init.method ?? "GET", declared, response.status, response.headers.get("x-error-code"))
  const text = await response.text()
  return { status: response.status, text, headers: response.headers }
}

const policyOf = (bucket: string, ...statements: readonly object[]) =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: statements.map(statement => ({
      Effect: "Allow",
      Principal: "*",
      Resource: [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`],
      ...statement,
    })),
  })

test("a policy opens exactly what it says, to anybody and to other projects, and closes it again at once", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, bucketOf } = world
  const Bucket = await bucketOf("open/a", "closed/b")
  const other = openClient(t, await accessOf(p, "other"))
  const get = (key: string) => anybody(world, `/s3/${Bucket}/${key}`)
  await refused(other.send(new GetObjectCommand({ Bucket, Key: "open/a" })), 404, "NoSuchBucket")

  const Policy = policyOf(Bucket, { Action: "s3:GetObject", Resource: `arn:aws:s3:::${Bucket}/open/*` })
  await s3.send(new PutBucketPolicyCommand({ Bucket, Policy }))
  assert.equal((await s3.send(new GetBucketPolicyCommand({ Bucket }))).Policy, Policy)
  const status = await s3.send(new GetBucketPolicyStatusCommand({ Bucket }))
  assert.equal(status.PolicyStatus?.IsPublic, true)

  assert.deepEqual([(await get("open/a")).status, (await get("open/a")).text], [200, "open/a"])
  assert.equal(
    await textOf((await other.send(new GetObjectCommand({ Bucket, Key: "open/a" }))).Body),
    "open/a",
  )
  assert.equal((await get("closed/b")).status, 403)
  // What is not there is not told to those who may not list.
  assert.equal((await get("open/missing")).status, 403)
  assert.equal((await anybody(world, `/s3/${Bucket}`)).status, 403)
  for (const [method, target] of [
    ["PUT", `/s3/${Bucket}/open/a`],
    ["DELETE", `/s3/${Bucket}/open/a`],
    ["GET", `/s3/${Bucket}?policy`],
    ["GET", `/s3/${Bucket}/open/a?acl`],
    ["GET", `/s3/${Bucket}/open/a?tagging`],
    ["GET", `/s3/${Bucket}/open/a?versionId=null`],
    ["HEAD", `/s3/${Bucket}`],
  ] as const)
    assert.equal((await anybody(world, target, { method })).status, 403, `${method} ${target}`)
  await refused(other.send(new DeleteObjectCommand({ Bucket, Key: "open/a" })), 403, "AccessDenied")
  await refused(other.send(new PutBucketPolicyCommand({ Bucket, Policy })), 403, "AccessDenied")
  await refused(other.send(new ListObjectsV2Command({ Bucket })), 403, "AccessDenied")

  await s3.send(new DeleteBucketPolicyCommand({ Bucket }))
  assert.equal((await get("open/a")).status, 403)
  await refused(s3.send(new GetBucketPolicyCommand({ Bucket })), 404, "NoSuchBucketPolicy")
  await refused(s3.send(new PutBucketPolicyCommand({ Bucket, Policy: "{}" })), 400, "MalformedPolicy")
  await refused(
    s3.send(
      new PutBucketPolicyCommand({
        Bucket: "no-such-bucket-here",
        Policy: policyOf("no-such-bucket-here", { Action: "s3:*" }),
      }),
    ),
    404,
    "NoSuchBucket",
  )
})

test("a policy that denies holds for the owner's keys at every entrance, and a person can take it away", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, access, bucketOf } = world
  const Bucket = await bucketOf("k", "free")
  const { storage } = p.as(access.secret)
  const { url } = await storage.presign({ bucket: Bucket, key: "k" })
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: "k" }))
  const { upload_id } = await storage.createMultipart({ bucket: Bucket, key: "k" })
  const deny = {
    Effect: "Deny",
    Action: "s3:*",
    Resource: [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/k`],
  }
  const { policy } = await storage.updateBucket({
    name: Bucket,
    policy: JSON.parse(policyOf(Bucket, deny)) as Record<string, unknown>,
  })
  assert.ok(policy)

  for (const denied of [
    () => s3.send(new GetObjectCommand({ Bucket, Key: "k" })),
    () => s3.send(new PutObjectCommand({ Bucket, Key: "k", Body: "x" })),
    () => s3.send(new PutObjectCommand({ Bucket, Key: "k", Body: "x", Tagging: "a=b" })),
    () => s3.send(new UploadPartCommand({ Bucket, Key: "k", UploadId, PartNumber: 1, Body: "x" })),
    () => s3.send(new DeleteObjectCommand({ Bucket, Key: "k" })),
    () => s3.send(new ListObjectsV2Command({ Bucket })),
    () => s3.send(new GetBucketPolicyCommand({ Bucket })),
    () => s3.send(new DeleteBucketPolicyCommand({ Bucket })),
  ])
    await refused(denied(), 403, "AccessDenied")
  for (const denied of [
    () => storage.getObject({ bucket: Bucket, key: "k" }),
    () => storage.putObject({ bucket: Bucket, key: "k" }, { body: "x" }),
    () => storage.putPart({ upload_id, part_number: 1 }, { body: "x" }),
    () => storage.deleteObject({ bucket: Bucket, key: "k" }),
    () => storage.deleteObjects({ bucket: Bucket, keys: ["free", "k"] }),
    () => storage.listObjects({ bucket: Bucket }),
    () => storage.copyObject({ source_bucket: Bucket, source_key: "k", bucket: Bucket, key: "free" }),
    () => storage.setTags({ bucket: Bucket, key: "k", tags: {} }),
    () => storage.updateBucket({ name: Bucket, policy: null }),
    () => storage.deleteBucket({ name: Bucket }),
  ])
    await assert.rejects(denied(), { code: "bucket_access_denied" })
  const upload = await p.request("/v1/storage/uploads", {
    method: "POST",
    headers: {
      authorization: `Bearer ${access.secret}`,
      "tus-resumable": "1.0.0",
      "upload-length": "1",
      "upload-metadata": `bucket ${btoa(Bucket)},key ${btoa("k")}`,
    },
  })
  assert.equal(upload.status, 403)
  assert.equal((await fetch(url)).status, 403)
  // What no statement names stays as it was.
  assert.equal(await textOf((await s3.send(new GetObjectCommand({ Bucket, Key: "free" }))).Body), "free")

  const { projectId } = await p.tenant("acme")
  const person = await p.person("acme")
  await person.storage.updateBucket({ name: Bucket, policy: null }, { project: projectId })
  assert.equal(await textOf((await s3.send(new GetObjectCommand({ Bucket, Key: "k" }))).Body), "k")
  assert.equal((await fetch(url)).status, 200)
})

test("conditions are about the address, the prefix, tags, headers and TLS of the request", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, bucketOf } = world
  const Bucket = await bucketOf("a/1", "b/2")
  const other = openClient(t, await accessOf(p, "other"))
  const set = (...statements: readonly object[]) =>
    s3.send(new PutBucketPolicyCommand({ Bucket, Policy: policyOf(Bucket, ...statements) }))
  const read = (Key: string) => other.send(new GetObjectCommand({ Bucket, Key }))

  const here = ["127.0.0.0/8", "::1/128"]
  await set({ Action: "s3:GetObject", Condition: { IpAddress: { "aws:SourceIp": here } } })
  assert.ok(await read("a/1"))
  await set({ Action: "s3:GetObject", Condition: { NotIpAddress: { "aws:SourceIp": here } } })
  await refused(read("a/1"), 403, "AccessDenied")

  await set({ Action: "s3:ListBucket", Condition: { StringLike: { "s3:prefix": "a/*" } } })
  const listed = await other.send(new ListObjectsV2Command({ Bucket, Prefix: "a/" }))
  assert.deepEqual(
    listed.Contents?.map(({ Key }) => Key),
    ["a/1"],
  )
  await refused(other.send(new ListObjectsV2Command({ Bucket })), 403, "AccessDenied")

  await set({
    Action: "s3:GetObject",
    Condition: { StringEquals: { "s3:ExistingObjectTag/security": "public" } },
  })
  await refused(read("a/1"), 403, "AccessDenied")
  const Tagging = { TagSet: [{ Key: "security", Value: "public" }] }
  await s3.send(new PutObjectTaggingCommand({ Bucket, Key: "a/1", Tagging }))
  assert.ok(await read("a/1"))
  await refused(other.send(new GetObjectTaggingCommand({ Bucket, Key: "a/1" })), 403, "AccessDenied")

  await set({ Action: "s3:PutObject", Condition: { StringEquals: { "s3:x-amz-acl": "private" } } })
  const put = (ACL?: "private") =>
    other.send(new PutObjectCommand({ Bucket, Key: "new", Body: "x", ...(ACL && { ACL }) }))
  await refused(put(), 403, "AccessDenied")
  assert.ok(await put("private"))

  // This platform is reached without TLS.
  await set({
    Effect: "Deny",
    Action: "s3:GetObject",
    Condition: { Bool: { "aws:SecureTransport": "false" } },
  })
  await refused(s3.send(new GetObjectCommand({ Bucket, Key: "a/1" })), 403, "AccessDenied")
})

test("access control lists by name open buckets and single objects, and a block closes them whatever they say", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, bucketOf } = world
  const other = openClient(t, await accessOf(p, "other"))
  const Bucket = `acl-${Date.now().toString(36)}`
  await s3.send(new CreateBucketCommand({ Bucket, ACL: "public-read" }))
  const grantsOf = async () =>
    (await s3.send(new GetBucketAclCommand({ Bucket }))).Grants?.map(({ Grantee, Permission }) => [
      Grantee?.URI?.split("/").at(-1),
      Permission,
    ])
  const owner = [undefined, "FULL_CONTROL"]
  assert.deepEqual(await grantsOf(), [["AllUsers", "READ"], owner])
  await world.put(Bucket, "private", "1")
  await s3.send(new PutObjectCommand({ Bucket, Key: "public", Body: "2", ACL: "public-read" }))
  const { status, text } = await anybody(world, `/s3/${Bucket}?list-type=2`)
  assert.equal(status, 200)
  assert.match(text, /<Key>private<\/Key>/)
  assert.equal((await anybody(world, `/s3/${Bucket}`, { method: "HEAD" })).status, 200)
  assert.equal((await anybody(world, `/s3/${Bucket}/public`)).text, "2")
  assert.equal((await anybody(world, `/s3/${Bucket}/private`)).status, 403)
  // Who may list is told what is not there.
  assert.equal((await anybody(world, `/s3/${Bucket}/missing`)).status, 404)
  await s3.send(new PutObjectAclCommand({ Bucket, Key: "private", ACL: "authenticated-read" }))
  assert.equal((await anybody(world, `/s3/${Bucket}/private`)).status, 403)
  assert.ok(await other.send(new GetObjectCommand({ Bucket, Key: "private" })))

  assert.equal((await anybody(world, `/s3/${Bucket}/new`, { method: "PUT", body: "x" })).status, 403)
  await s3.send(new PutBucketAclCommand({ Bucket, ACL: "public-read-write" }))
  assert.equal((await anybody(world, `/s3/${Bucket}/new`, { method: "PUT", body: "x" })).status, 200)
  // Whoever may put objects says who reads them, and opens no other.
  assert.equal(
    (
      await anybody(world, `/s3/${Bucket}/private?acl`, {
        method: "PUT",
        headers: { "x-amz-acl": "public-read" },
      })
    ).status,
    403,
  )
  assert.equal((await anybody(world, `/s3/${Bucket}/new`, { method: "DELETE" })).status, 204)

  const block = (fields: object) =>
    s3.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration: fields }))
  await block({ IgnorePublicAcls: true })
  assert.equal((await anybody(world, `/s3/${Bucket}/public`)).status, 403)
  assert.equal((await anybody(world, `/s3/${Bucket}`)).status, 403)
  await block({ BlockPublicAcls: true, BlockPublicPolicy: true })
  const got = await s3.send(new GetPublicAccessBlockCommand({ Bucket }))
  assert.equal(got.PublicAccessBlockConfiguration?.BlockPublicAcls, true)
  for (const blocked of [
    new PutBucketAclCommand({ Bucket, ACL: "public-read" }),
    new PutObjectCommand({ Bucket, Key: "x", Body: "x", ACL: "public-read" }),
    new PutObjectAclCommand({ Bucket, Key: "public", ACL: "public-read" }),
    new PutBucketPolicyCommand({ Bucket, Policy: policyOf(Bucket, { Action: "s3:GetObject" }) }),
  ])
    await refused(s3.send(blocked as PutBucketAclCommand), 403, "AccessDenied")
  await assert.rejects(p.as(world.access.secret).storage.updateBucket({ name: Bucket, acl: "public-read" }), {
    code: "invalid_parameter",
  })

  // A bucket that its own setting made public is closed by a block too.
  const second = await bucketOf("k")
  const { storage } = p.as(world.access.secret)
  await storage.updateBucket({ name: second, public: true })
  assert.equal((await anybody(world, `/s3/${second}/k`)).status, 200)
  const closed = {
    block_public_acls: false,
    ignore_public_acls: false,
    block_public_policy: false,
    restrict_public_buckets: true,
  }
  const shown = await storage.updateBucket({ name: second, public_access_block: closed })
  assert.deepEqual(shown.public_access_block, closed)
  assert.equal((await anybody(world, `/s3/${second}/k`)).status, 403)
  assert.equal(
    (await fetch(`${p.url}/v1/storage/public/${(await p.tenant("acme")).projectId}/${second}/k`)).status,
    404,
  )
  await refused(s3.send(new GetObjectAclCommand({ Bucket: second, Key: "missing" })), 404, "NoSuchKey")
  await refused(other.send(new HeadBucketCommand({ Bucket: second })), 403)
})

test("CORS rules of a bucket say which pages may call it; their preflight is answered, and replies say it again", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, bucketOf } = world
  const Bucket = await bucketOf("k")
  await p.as(world.access.secret).storage.updateBucket({ name: Bucket, public: true })
  await refused(s3.send(new GetBucketCorsCommand({ Bucket })), 404, "NoSuchCORSConfiguration")
  const CORSRules = [
    {
      ID: "one",
      AllowedMethods: ["GET", "PUT"],
      AllowedOrigins: ["https://*.example.com"],
      AllowedHeaders: ["x-amz-*"],
      ExposeHeaders: ["etag"],
      MaxAgeSeconds: 60,
    },
    { AllowedMethods: ["GET"], AllowedOrigins: ["*"] },
  ]
  await s3.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules } }))
  assert.deepEqual((await s3.send(new GetBucketCorsCommand({ Bucket }))).CORSRules, CORSRules)
  const { cors } = await p.as(world.access.secret).storage.getBucket({ name: Bucket })
  assert.deepEqual(cors?.[1], { allowed_origins: ["*"], allowed_methods: ["GET"] })

  const preflight = (target: string, origin: string, method: string, headers?: string) =>
    anybody(world, target, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": method,
        ...(headers !== undefined && { "access-control-request-headers": headers }),
      },
    })
  const target = `/s3/${Bucket}/k`
  const allowed = await preflight(target, ORIGIN, "PUT", "x-amz-meta-a, X-Amz-Date")
  assert.equal(allowed.status, 200)
  assert.equal(allowed.headers.get("access-control-allow-origin"), ORIGIN)
  assert.equal(allowed.headers.get("access-control-allow-methods"), "GET, PUT")
  assert.equal(allowed.headers.get("access-control-allow-headers"), "x-amz-meta-a, X-Amz-Date")
  assert.equal(allowed.headers.get("access-control-max-age"), "60")
  for (const [origin, method, headers] of [
    ["https://evil.example", "PUT", undefined],
    [ORIGIN, "DELETE", undefined],
    [ORIGIN, "PUT", "content-type"],
  ] as const) {
    const denied = await preflight(target, origin, method, headers)
    assert.deepEqual([denied.status, denied.headers.get("access-control-allow-origin")], [403, null])
  }
  assert.equal((await preflight(`/s3/${Bucket}`, "https://evil.example", "PUT")).status, 403)
  assert.equal((await preflight(`/s3/${Bucket}`, ORIGIN, "PUT")).status, 200)
  for (const path of [target, `/s3/${Bucket}`])
    assert.equal((await anybody(world, path, { method: "OPTIONS" })).status, 400)

  const read = async (origin?: string) =>
    (await anybody(world, target, { headers: origin === undefined ? {} : { origin } })).headers
  assert.equal((await read(ORIGIN)).get("access-control-allow-origin"), ORIGIN)
  assert.equal((await read(ORIGIN)).get("access-control-expose-headers"), "etag")
  assert.equal((await read("https://evil.example")).get("access-control-allow-origin"), "*")
  assert.equal((await read()).get("access-control-allow-origin"), null)

  await s3.send(new DeleteBucketCorsCommand({ Bucket }))
  assert.equal((await preflight(target, ORIGIN, "DELETE")).headers.get("access-control-allow-origin"), "*")
  assert.equal((await preflight(`/s3/${Bucket}`, ORIGIN, "DELETE")).status, 204)
  const tooMany = [{ AllowedMethods: ["GET"], AllowedOrigins: ["https://*.*"] }]
  await refused(
    s3.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules: tooMany } })),
    400,
    "MalformedXML",
  )
})
