/** Forms of browsers: what their policy allows is stored, and nothing else. */
import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { test } from "node:test"
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketPolicyCommand,
} from "@aws-sdk/client-s3"
import { signingKeyOf } from "../../../core/keys/sigv4.ts"
import { uniqueName } from "../../../testing/platform.ts"
import { noteReply } from "../../../testing/watch.ts"
import { type Access, accessOf, openWorld, type S3World, textOf } from "./testing/world.ts"

type Fields = Readonly<Record<string, string>>

const post = async (
  { platform: p }: S3World,
  bucket: string,
  fields: Fields,
  file: string | null = "content",
) => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  if (file !== null) form.append("file", new Blob([file]), "my file.txt")
  const response = await p.request(`/s3/${bucket}`, { method: "POST", body: form, redirect: "manual" })
  const declared = `${p.url}/s3-public/${bucket}`
  noteReply("POST", declared, response.status, response.headers.get("x-error-code"))
  const text = await response.text()
  return { status: response.status, code: /<Code>(\w+)</.exec(text)?.[1], text, headers: response.headers }
}

const policyOf = (conditions: readonly unknown[], expiresMs: number) =>
  Buffer.from(JSON.stringify({ expiration: new Date(expiresMs).toISOString(), conditions })).toString(
    "base64",
  )

/** Fields that a signed form has, by version 4. */
const signed = ({ credentials }: Access, policy: string): Fields => {
  const scope = "20260102/us-east-1/s3/aws4_request"
  const key = signingKeyOf(credentials.secretAccessKey, scope)
  return {
    policy,
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${credentials.accessKeyId}/${scope}`,
    "X-Amz-Date": "20260102T000000Z",
    "X-Amz-Signature": createHmac("sha256", key).update(policy).digest("hex"),
  }
}

const OF_SIGNATURE = ["algorithm", "credential", "date"].map(name => ["starts-with", `$x-amz-${name}`, ""])

test("a signed form stores one file as its policy says, and answers as it asks", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, access, bucketOf } = world
  const Bucket = await bucketOf()
  const soon = p.clock.now() + 60_000
  const more = [
    ["starts-with", "$Content-Type", "text/"],
    { "x-amz-meta-color": "red" },
    ["starts-with", "$success_action_status", ""],
    ["starts-with", "$success_action_redirect", ""],
    ["content-length-range", 3, 100],
  ]
  const conditions = [{ bucket: Bucket }, ["starts-with", "$key", "user/"], ...OF_SIGNATURE, ...more]
  const sign = signed(access, policyOf(conditions, soon))
  const fields = {
    key: `user/$${"{filename}"}`,
    "Content-Type": "text/plain",
    "x-amz-meta-color": "red",
    ...sign,
  }

  const stored = await post(world, Bucket, fields)
  assert.deepEqual([stored.status, stored.text], [204, ""])
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: "user/my file.txt" }))
  assert.equal(await textOf(got.Body), "content")
  assert.deepEqual([got.ContentType, got.Metadata], ["text/plain", { color: "red" }])
  assert.equal((await post(world, Bucket, { ...fields, success_action_status: "200" })).status, 200)
  const created = await post(world, Bucket, { ...fields, success_action_status: "201" })
  assert.deepEqual([created.status, /<Key>(.*)<\/Key>/.exec(created.text)?.[1]], [201, "user/my file.txt"])
  const back = await post(world, Bucket, {
    ...fields,
    success_action_redirect: "https://app.example.com/done?a=b",
  })
  assert.equal(back.status, 303)
  assert.match(
    back.headers.get("location") ?? "",
    /^https:\/\/app\.example\.com\/done\?a=b&bucket=.*&key=user/,
  )

  // Version 2, which older pages have.
  const old = policyOf([{ bucket: Bucket }, ["starts-with", "$key", ""]], soon)
  const { accessKeyId, secretAccessKey } = access.credentials
  const signature = createHmac("sha1", secretAccessKey).update(old).digest("base64")
  const second = { key: "old", AWSAccessKeyId: accessKeyId, policy: old, signature }
  assert.equal((await post(world, Bucket, second)).status, 204)

  for (const [changed, file, code] of [
    [{ key: "other/x" }, "content", "AccessDenied"],
    // The name of the file counts as it is then.
    [{ key: `$${"{filename}"}` }, "content", "AccessDenied"],
    [{ "x-amz-meta-color": "blue" }, "content", "AccessDenied"],
    [{ "x-amz-meta-more": "1" }, "content", "AccessDenied"],
    [{ acl: "public-read" }, "content", "AccessDenied"],
    [{ policy: policyOf([{ bucket: Bucket }], soon) }, "content", "SignatureDoesNotMatch"],
    [{ "X-Amz-Signature": "00" }, "content", "SignatureDoesNotMatch"],
    [{}, "x", "EntityTooSmall"],
    [{}, "x".repeat(101), "EntityTooLarge"],
    [{}, null, "MalformedPOSTRequest"],
    [{ padding: "x".repeat(30_000) }, "content", "MaxPostPreDataLengthExceededError"],
    [signed(access, policyOf(conditions, p.clock.now() - 1)), "content", "AccessDenied"],
    [signed(access, Buffer.from("{}").toString("base64")), "content", "InvalidPolicyDocument"],
  ] as const)
    assert.equal(
      (await post(world, Bucket, { ...fields, ...changed }, file)).code,
      code,
      JSON.stringify(changed).slice(0, 99),
    )
  const kept = await s3.send(new HeadObjectCommand({ Bucket, Key: "user/my file.txt" }))
  assert.equal(kept.ContentLength, "content".length)
})

test("a form does what its signer may do, at the addresses of its key, until the key ends", async t => {
  const world = await openWorld(t)
  const { platform: p, s3, bucketOf, access } = world
  const Bucket = await bucketOf()
  const conditions = [["starts-with", "$bucket", ""], ["starts-with", "$key", ""], ...OF_SIGNATURE]
  const policy = policyOf(conditions, p.clock.now() + 60_000)
  const by = async (signer: Access, bucket = Bucket) => {
    const { status, code } = await post(world, bucket, { key: "k", ...signed(signer, policy) })
    return [status, code]
  }
  assert.deepEqual(await by(access), [204, undefined])
  assert.deepEqual(await by(await accessOf(p, "acme", ["storage:read"])), [403, "AccessDenied"])
  assert.deepEqual(await by(await accessOf(p, "other")), [404, "NoSuchBucket"])
  assert.deepEqual(await by(access, "never-made-here"), [404, "NoSuchBucket"])
  const Policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      { Effect: "Deny", Principal: "*", Action: "s3:PutObject", Resource: `arn:aws:s3:::${Bucket}/k` },
    ],
  })
  await s3.send(new PutBucketPolicyCommand({ Bucket, Policy }))
  assert.deepEqual(await by(access), [403, "AccessDenied"])
  const ended = await accessOf(p)
  await (await p.person("acme")).keys.revoke({ id: ended.keyId })
  assert.deepEqual(await by(ended), [403, "InvalidAccessKeyId"])
})

test("a form without a policy is for buckets that everybody may write to", async t => {
  const world = await openWorld(t)
  const { s3, bucketOf } = world
  const open = `open-${uniqueName().toLowerCase().replaceAll("_", "-")}`.slice(0, 60)
  await s3.send(new CreateBucketCommand({ Bucket: open, ACL: "public-read-write" }))
  assert.equal((await post(world, open, { key: "k", acl: "public-read" })).status, 204)
  assert.equal(
    await textOf((await s3.send(new GetObjectCommand({ Bucket: open, Key: "k" }))).Body),
    "content",
  )
  assert.deepEqual((await post(world, await bucketOf(), { key: "k" })).code, "AccessDenied")
  assert.deepEqual((await post(world, open, {})).code, "InvalidArgument")
})
