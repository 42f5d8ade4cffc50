/** Public buckets over S3: who may read what of them without credentials. */
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  GetBucketAclCommand,
  GetBucketPolicyStatusCommand,
  GetObjectAclCommand,
  PutBucketAclCommand,
} from "@aws-sdk/client-s3"
import { platform, type TestPlatform } from "../../../testing/platform.ts"
import { noteReply } from "../../../testing/watch.ts"
import { ask } from "./testing/signing.ts"
import { accessOf, openWorld, type S3World } from "./testing/world.ts"

const codeOf = (text: string): string | undefined => /<Code>(\w+)<\/Code>/.exec(text)?.[1]

/** What anybody is told who reads that path, but for what names the request itself. */
const anybody = async (p: TestPlatform, target: string, init: RequestInit = {}) => {
  const response = await p.request(target, init)
  const text = await response.text()
  // Requests without credentials are answered by the operations of this path.
  const declared = new URL(target.replace(/^\/s3\//, "/s3-public/"), p.url).href
  noteReply(init.method ?? "GET", declared, response.status, response.headers.get("x-error-code"))
  return {
    status: response.status,
    code: codeOf(text),
    text: text.replace(/<(Resource|RequestId)>.*?<\/\1>/g, ""),
    headers: response.headers,
  }
}

const setPublic = ({ platform: p, access }: S3World, name: string, isPublic: boolean) =>
  p.as(access.secret).storage.updateBucket({ name, public: isPublic })

test("anybody reads the objects of a public bucket by path and by host name, with ranges and conditions, and nothing else of it", async t => {
  const world = await openWorld(t)
  const { platform: p, bucketOf } = world
  const bucket = await bucketOf("deep/key é")
  const { public_url } = await setPublic(world, bucket, true)
  assert.equal(public_url, `${p.config.baseUrl}/s3/${bucket}`)
  const path = `/s3/${bucket}/deep/key%20%C3%A9`

  const got = await anybody(p, path)
  assert.deepEqual([got.status, got.text], [200, "deep/key é"])
  assert.equal(got.headers.get("content-security-policy"), "sandbox")
  assert.equal(got.headers.get("access-control-allow-origin"), "*")
  assert.ok(got.headers.get("x-amz-request-id"))
  const etag = got.headers.get("etag") ?? ""
  const head = await anybody(p, path, { method: "HEAD" })
  assert.deepEqual([head.status, head.headers.get("content-length")], [200, "11"])
  const range = await anybody(p, path, { headers: { range: "bytes=0-3" } })
  assert.deepEqual([range.status, range.text], [206, "deep"])
  for (const [status, target, headers] of [
    [206, path, { range: "bytes=0-3" }],
    [304, path, { "if-none-match": etag }],
    [404, `${path}/missing`, {}],
    [412, path, { "if-match": '"other"' }],
    [416, path, { range: "bytes=90-" }],
  ] as const)
    assert.equal((await anybody(p, target, { method: "HEAD", headers })).status, status)
  assert.equal((await anybody(p, path, { headers: { range: "bytes=90-" } })).code, "InvalidRange")
  assert.equal((await anybody(p, path, { headers: { "if-none-match": etag } })).status, 304)
  assert.equal((await anybody(p, path, { headers: { "if-match": '"other"' } })).code, "PreconditionFailed")
  // The declared path of the same operation, and S3's host names.
  assert.equal((await anybody(p, path.replace("/s3/", "/s3-public/"))).text, "deep/key é")
  const { port } = new URL(p.url)
  for (const [host, target] of [
    [`${bucket}.s3.localhost:${port}`, "/deep/key%20%C3%A9"],
    [`s3.localhost:${port}`, `/${bucket}/deep/key%20%C3%A9`],
  ] as const) {
    const { status, text } = await ask(p, host, target)
    assert.deepEqual([status, text], [200, "deep/key é"], host)
  }

  assert.deepEqual((await anybody(p, `/s3/${bucket}/missing`)).code, "NoSuchKey")
  for (const [method, target] of [
    ["GET", "/s3"],
    ["GET", `/s3/${bucket}`],
    ["GET", `/s3/${bucket}/`],
    ["GET", `/s3/${bucket}?acl`],
    ["GET", `${path}?acl`],
    ["GET", `${path}?attributes`],
    ["GET", `${path}?uploadId=x`],
    ["PUT", path],
    ["DELETE", path],
  ] as const)
    assert.equal((await anybody(p, target, { method })).code, "AccessDenied", `${method} ${target}`)
  assert.equal((await anybody(p, `${path}?response-content-type=text/html`)).code, "InvalidRequest")
})

test("a private bucket, one that is not there and one of a deleted project are refused alike; a path leads to no other bucket", async t => {
  const world = await openWorld(t)
  const { platform: p, bucketOf } = world
  const closed = await bucketOf("k")
  const open = await bucketOf("k")
  await setPublic(world, open, true)
  const told = async (target: string) => {
    const { status, text, headers } = await anybody(p, target)
    return { status, text, error: headers.get("x-error-code"), names: [...headers.keys()].sort() }
  }
  const absent = await told("/s3/no-such-bucket/k")
  assert.equal(absent.status, 403)
  assert.deepEqual(await told(`/s3/${closed}/k`), absent)
  assert.deepEqual(await told(`/s3/${closed}/missing`), absent)
  assert.equal((await anybody(p, `/s3/${closed}/k`, { method: "HEAD" })).status, 403)

  // `fetch` would resolve these paths itself.
  const { host } = new URL(p.url)
  for (const target of [
    `/s3/${open}/../${closed}/k`,
    `/s3/${open}/%2e%2e/${closed}/k`,
    `/s3/${open}%2f..%2f${closed}/k`,
    `/s3/${open}/..%2f..%2f${closed}%2fk`,
    `/s3/${open}/${closed}/k`,
    `/s3//${closed}/k`,
    `/s3-public/${open}/../${closed}/k`,
  ]) {
    const { status, text } = await ask(p, host, target)
    assert.ok([400, 403, 404].includes(status), `${target}: ${status} ${text}`)
  }

  const { projectId } = await p.tenant("acme")
  await (await p.person("acme")).projects.delete({ id: projectId })
  assert.deepEqual(await told(`/s3/${open}/k`), absent)
})

test("a bucket that is made private is closed at once, in every process", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, bucketOf } = world
  const other = await platform(t, { databaseUrl: p.config.databaseUrl ?? "", startMs: p.clock.now() })
  const bucket = await bucketOf("k")
  await setPublic(world, bucket, true)
  const statuses = async () => [
    (await anybody(p, `/s3/${bucket}/k`, { method: "HEAD" })).status,
    (await anybody(other, `/s3/${bucket}/k`, { method: "HEAD" })).status,
  ]
  assert.deepEqual(await statuses(), [200, 200])
  await setPublic(world, bucket, false)
  assert.deepEqual(await statuses(), [403, 403])
  await setPublic(world, bucket, true)
  // S3's own way to say it.
  await s3.send(new PutBucketAclCommand({ Bucket: bucket, ACL: "private" }))
  assert.deepEqual(await statuses(), [403, 403])
})

test("of two public buckets of one name S3's path leads to the first, and the other has an address of its own", async t => {
  const p = await platform(t)
  const storage = async (tenant: string) => {
    const svc = await p.client(tenant, "storage:read", "storage:write")
    const { projectId } = await p.tenant(tenant)
    await svc.storage.createBucket({ name: "photos" })
    await svc.storage.putObject({ bucket: "photos", key: "k" }, { body: tenant })
    const make = (isPublic: boolean) => svc.storage.updateBucket({ name: "photos", public: isPublic })
    return { make, own: `/v1/storage/public/${projectId}/photos` }
  }
  const first = await storage("first")
  const second = await storage("second")
  const made = await Promise.all([first.make(true), second.make(true)])
  const [winner, loser] = made[0]?.public_url?.endsWith("/s3/photos") ? [first, second] : [second, first]
  const name = winner === first ? "first" : "second"
  assert.deepEqual(
    new Set(made.map(({ public_url }) => public_url)),
    new Set([`${p.config.baseUrl}/s3/photos`, `${p.config.baseUrl}${loser.own}`]),
  )
  assert.equal((await anybody(p, "/s3/photos/k")).text, name)
  assert.equal((await anybody(p, `${loser.own}/k`)).status, 200)

  // Nothing changes hands by itself: the name is free until one of that name is made public.
  await winner.make(false)
  assert.equal((await anybody(p, "/s3/photos/k")).status, 403)
  await loser.make(false)
  assert.equal((await loser.make(true)).public_url, `${p.config.baseUrl}/s3/photos`)
  assert.equal((await winner.make(true)).public_url, `${p.config.baseUrl}${winner.own}`)
  assert.notEqual((await anybody(p, "/s3/photos/k")).text, name)
})

test("reads by anybody count against their address's limit, and their bytes are the owner's", async t => {
  const p = await platform(t, { env: { SVC_RATE_LIMIT: "plan" } })
  const access = await accessOf(p)
  const { projectId, organizationId } = await p.tenant("acme")
  const { storage } = p.as(access.secret)
  await storage.createBucket({ name: "photos", public: true })
  await storage.putObject({ bucket: "photos", key: "k" }, { body: "12345" })
  const answers = await Promise.all(Array.from({ length: 70 }, () => anybody(p, "/s3/photos/k")))
  const good = answers.filter(({ status }) => status === 200).length
  assert.equal(good, 60)
  assert.ok(answers.some(({ code }) => code === "SlowDown"))

  await p.clock.advance(60_000)
  const { quantity } = await p.database.db
    .selectFrom("core.usage")
    .select(eb => eb.fn.sum<number>("quantity").as("quantity"))
    .where("metric", "=", "egress_bytes")
    .where("organization_id", "=", organizationId)
    .where("project_id", "=", projectId)
    .executeTakeFirstOrThrow()
  assert.equal(quantity, 5 * good)
})

test("ACLs and the status of the policy show that a bucket is public", async t => {
  const world = await openWorld(t)
  const { s3, bucketOf } = world
  const Bucket = await bucketOf("k")
  const shown = async () => ({
    grants: [
      await s3.send(new GetBucketAclCommand({ Bucket })),
      await s3.send(new GetObjectAclCommand({ Bucket, Key: "k" })),
    ].map(({ Grants = [] }) => Grants.map(({ Grantee, Permission }) => [Grantee?.URI, Permission])),
    isPublic: (await s3.send(new GetBucketPolicyStatusCommand({ Bucket }))).PolicyStatus?.IsPublic,
  })
  const owner = [undefined, "FULL_CONTROL"]
  assert.deepEqual(await shown(), { grants: [[owner], [owner]], isPublic: false })
  await setPublic(world, Bucket, true)
  const all = [["http://acs.amazonaws.com/groups/global/AllUsers", "READ"], owner]
  assert.deepEqual(await shown(), { grants: [all, all], isPublic: true })
})

test("every refusal at S3's paths is S3's XML with its request id", async t => {
  const { platform: p } = await openWorld(t)
  const { port, host } = new URL(p.url)
  for (const [at, target, method, code] of [
    [host, "/s3/b/k", "PATCH", "MethodNotAllowed"],
    [host, "/s3/b/k", "GET", "AccessDenied"],
    [`s3.localhost:${port}`, "/", "GET", "AccessDenied"],
    [`s3.localhost:${port}`, "/", "POST", "MethodNotAllowed"],
    [
      "elsewhere.example.com",
      "/k?X-Amz-Signature=00&X-Amz-Algorithm=AWS4-HMAC-SHA256",
      "GET",
      "InvalidRequest",
    ],
  ] as const) {
    const { text, headers } = await ask(p, at, target, {}, method)
    assert.equal(codeOf(text), code, `${method} ${at}${target}`)
    assert.equal(headers["x-amz-request-id"], /<RequestId>(.*)<\/RequestId>/.exec(text)?.[1])
  }
})
