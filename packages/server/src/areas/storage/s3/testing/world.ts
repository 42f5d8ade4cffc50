/** Clients of S3 against a whole platform. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import {
  CreateBucketCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  S3ServiceException,
} from "@aws-sdk/client-s3"
import type { Scope } from "@svc/contract"
import { type KeyOptions, platform, type TestPlatform, uniqueName } from "../../../../testing/platform.ts"
import { noteReply } from "../../../../testing/watch.ts"

const STORAGE_SCOPES: readonly Scope[] = ["storage:read", "storage:write"]

/** What an SDK is configured with. */
export interface Access {
  readonly keyId: string
  /** Of the API key. */
  readonly secret: string
  readonly endpoint: string
  readonly region: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
}

export const accessOf = async (
  p: TestPlatform,
  tenant = "acme",
  scopes: readonly Scope[] = STORAGE_SCOPES,
  options: KeyOptions = {},
): Promise<Access> => {
  const { id, secret } = await p.key(tenant, scopes, options)
  const { projectId } = await p.tenant(tenant)
  const got = await p.as(secret, { project: projectId }).s3.credentials()
  return {
    ...{ keyId: id, secret, endpoint: got.endpoint, region: got.region },
    credentials: { accessKeyId: got.access_key_id, secretAccessKey: got.secret_access_key },
  }
}

/** The AWS SDK as it comes, with checksums in trailers; what it is answered is noted for the ledger. */
export const openClient = (t: TestContext, access: Access, config: S3ClientConfig = {}): S3Client => {
  const { endpoint, region, credentials } = access
  const client = new S3Client({
    endpoint,
    region,
    credentials,
    forcePathStyle: true,
    maxAttempts: 1,
    ...config,
  })
  client.middlewareStack.add(
    next => async parameters => {
      const result = await next(parameters)
      const { method, path } = parameters.request as { method: string; path: string }
      const { statusCode, headers } = result.response as {
        statusCode: number
        headers: Record<string, string>
      }
      const routed = path.startsWith("/s3") ? path : `/s3${path}`
      noteReply(method, `http://s3${routed.replace(/\/$/, "")}`, statusCode, headers["x-error-code"] ?? null)
      return result
    },
    { step: "deserialize", priority: "low", name: "ledger" },
  )
  t.after(() => client.destroy())
  return client
}

export interface S3World {
  readonly platform: TestPlatform
  readonly access: Access
  readonly s3: S3Client
  /** A new bucket with these keys, each holding its own name. */
  bucketOf(...keys: readonly string[]): Promise<string>
  put(bucket: string, key: string, body: string | Uint8Array): Promise<string>
}

export const openWorld = async (t: TestContext): Promise<S3World> => {
  const p = await platform(t)
  const access = await accessOf(p)
  const s3 = openClient(t, access)
  const put: S3World["put"] = async (bucket, key, body) =>
    (await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }))).ETag ?? ""
  return {
    ...{ platform: p, access, s3, put },
    async bucketOf(...keys) {
      const bucket = uniqueName().toLowerCase().replaceAll("_", "-")
      await s3.send(new CreateBucketCommand({ Bucket: bucket }))
      for (const key of keys) await put(bucket, key, key)
      return bucket
    },
  }
}

/** Checks the status and S3's code of a refusal. */
export const refused = async (attempt: Promise<unknown>, status: number, code?: string): Promise<void> => {
  const error = await attempt.then(
    () => assert.fail("it was not refused"),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof S3ServiceException, String(error))
  assert.equal(error.$metadata.httpStatusCode, status, error.name)
  if (code !== undefined) assert.equal(error.name, code)
}

export type Cases = Readonly<Record<string, (world: S3World) => Promise<void>>>

/** Cases named as in the list of ceph's s3-tests, told in our own words, on one platform. */
export const runCases = (title: string, cases: Cases): void => {
  test(title, async t => {
    const world = await openWorld(t)
    for (const [name, check] of Object.entries(cases)) await t.test(name, () => check(world))
  })
}

export const textOf = async (body: { transformToString(): Promise<string> } | undefined): Promise<string> =>
  (await body?.transformToString()) ?? ""
