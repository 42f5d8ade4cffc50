/** Lifecycle rules, by the SDK, with a clock that is turned. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import {
  CreateMultipartUploadCommand,
  DeleteBucketLifecycleCommand,
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type LifecycleRule,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3"
import { sql } from "kysely"
import { eventually } from "../../../testing/eventually.ts"
import { openWorld, refused, type S3World } from "./testing/world.ts"

const DAY_MS = 86_400_000

const setRules = ({ s3 }: S3World, Bucket: string, ...Rules: LifecycleRule[]) =>
  s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules } }))

const rulesOf = async ({ s3 }: S3World, Bucket: string) =>
  (await s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules

const keys = async ({ s3 }: S3World, Bucket: string) =>
  ((await s3.send(new ListObjectsV2Command({ Bucket }))).Contents ?? []).map(({ Key }) => Key)

const versionsOf = async ({ s3 }: S3World, Bucket: string) => {
  const { Versions = [], DeleteMarkers = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket }))
  return { versions: Versions.map(({ VersionId }) => VersionId), markers: DeleteMarkers.length }
}

const put = async (
  { s3 }: S3World,
  Bucket: string,
  Key: string,
  more: { Body?: string; Tagging?: string } = {},
) => await s3.send(new PutObjectCommand({ Bucket, Key, Body: Key, ...more }))

/** Its client signs with the time of the clock that is turned. */
const openTurned = async (t: TestContext): Promise<S3World> => {
  const world = await openWorld(t)
  Object.defineProperty(world.s3.config, "systemClockOffset", {
    get: () => world.platform.clock.now() - Date.now(),
    // The client would set it right by what replies say.
    set: () => undefined,
  })
  return world
}

/** To a little after the midnight that is so many days away, and until the rules of each night are carried out. */
const midnights = async ({ platform: { clock, database } }: S3World, days: number) => {
  for (let day = 0; day < days; day++) {
    await clock.advance(DAY_MS - (clock.now() % DAY_MS) + 5_000)
    await eventually("the rules are carried out", async () => {
      const { rows } = await sql`SELECT FROM kernel.jobs WHERE queue = 'storage.lifecycle'
        AND state = 'scheduled' AND run_at > ${new Date(clock.now())}`.execute(database.db)
      return rows.length > 0
    })
  }
}

const enabled = (ID: string, rule: Partial<LifecycleRule>): LifecycleRule => ({
  ...{ ID, Status: "Enabled", Filter: { Prefix: "" } },
  ...rule,
})

test("rules are kept as they were given, and wrong ones are refused as S3 refuses them", async t => {
  const world = await openWorld(t)
  const { s3, bucketOf, platform: p, access } = world
  const bucket = await bucketOf()
  const rules: LifecycleRule[] = [
    enabled("logs", { Filter: { Prefix: "logs/" }, Expiration: { Days: 3 } }),
    enabled("by date", {
      Status: "Disabled",
      Filter: {
        And: {
          Prefix: "a & b/",
          Tags: [
            { Key: "x", Value: "1" },
            { Key: "y", Value: "2" },
          ],
          ObjectSizeGreaterThan: 5,
          ObjectSizeLessThan: 500,
        },
      },
      Expiration: { Date: new Date("2037-09-27T00:00:00Z") },
    }),
    enabled("markers", {
      Expiration: { ExpiredObjectDeleteMarker: true },
      NoncurrentVersionExpiration: { NoncurrentDays: 2, NewerNoncurrentVersions: 5 },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
    }),
  ]
  await setRules(world, bucket, ...rules)
  assert.deepEqual(await rulesOf(world, bucket), rules)

  const expiring = { Expiration: { Days: 1 } }
  const wrong: readonly (readonly [LifecycleRule[], number, string])[] = [
    [[enabled("same", expiring), enabled("same", expiring)], 400, "InvalidArgument"],
    [[enabled("x".repeat(256), expiring)], 400, "InvalidArgument"],
    [[enabled("zero", { Expiration: { Days: 0 } })], 400, "InvalidArgument"],
    [[enabled("noon", { Expiration: { Date: new Date("2037-09-27T12:00:00Z") } })], 400, "InvalidArgument"],
    [
      [enabled("kept", { NoncurrentVersionExpiration: { NewerNoncurrentVersions: 2 } })],
      400,
      "InvalidRequest",
    ],
    [[enabled("nothing", {})], 400, "InvalidRequest"],
    [[enabled("two", { Expiration: { Days: 1, ExpiredObjectDeleteMarker: true } })], 400, "InvalidRequest"],
    [
      [
        enabled("tagged", {
          Filter: { Tag: { Key: "a", Value: "b" } },
          AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
        }),
      ],
      ...([400, "InvalidRequest"] as const),
    ],
    [[{ ...enabled("status", expiring), Status: "enabled" as "Enabled" }], 400, "MalformedXML"],
    [[enabled("moves", { Transitions: [{ Days: 1, StorageClass: "GLACIER" }] })], 501, "NotImplemented"],
  ]
  for (const [given, status, code] of wrong) await refused(setRules(world, bucket, ...given), status, code)
  assert.deepEqual(await rulesOf(world, bucket), rules, "what is refused changes nothing")

  const { projectId } = await p.tenant("acme")
  const { storage } = p.as(access.secret, { project: projectId })
  const shown = await storage.getBucket({ name: bucket })
  assert.deepEqual(shown.lifecycle?.[0], { id: "logs", enabled: true, prefix: "logs/", expire_days: 3 })
  const tenth = { id: "json", enabled: true, noncurrent_days: 10 }
  assert.deepEqual((await storage.updateBucket({ name: bucket, lifecycle: [tenth] })).lifecycle, [tenth])
  assert.equal((await rulesOf(world, bucket))?.[0]?.NoncurrentVersionExpiration?.NoncurrentDays, 10)
  const nothing = storage.updateBucket({ name: bucket, lifecycle: [{ id: "nothing", enabled: true }] })
  await assert.rejects(nothing, { code: "invalid_parameter" })

  await s3.send(new DeleteBucketLifecycleCommand({ Bucket: bucket }))
  await refused(rulesOf(world, bucket), 404, "NoSuchLifecycleConfiguration")
  assert.equal((await storage.getBucket({ name: bucket })).lifecycle, null)
})

test("objects end at the midnight that replies name, those of the rule alone, and their space comes back", async t => {
  const world = await openTurned(t)
  const { s3, bucketOf, platform: p, access } = world
  const bucket = await bucketOf("keep/1", "logs")
  const other = await bucketOf("logs/1")
  await setRules(
    world,
    bucket,
    enabled("the logs", { Filter: { Prefix: "logs/" }, Expiration: { Days: 1 } }),
    enabled("tagged", { Filter: { Tag: { Key: "keep", Value: "no" } }, Expiration: { Days: 2 } }),
    enabled("off", { Status: "Disabled", Expiration: { Days: 1 } }),
  )
  const days = Math.ceil((p.clock.now() + DAY_MS) / DAY_MS)
  const told = `expiry-date="${new Date(days * DAY_MS).toUTCString()}", rule-id="the%20logs"`
  assert.equal((await put(world, bucket, "logs/1")).Expiration, told)
  await put(world, bucket, "logs/2")
  await put(world, bucket, "tagged", { Tagging: "keep=no" })
  await put(world, bucket, "other tag", { Tagging: "keep=yes" })
  const at = { Bucket: bucket, Key: "logs/1" }
  assert.equal((await s3.send(new HeadObjectCommand(at))).Expiration, told)
  assert.equal((await s3.send(new GetObjectCommand(at))).Expiration, told)
  const kept = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: "keep/1" }))
  assert.equal(kept.Expiration, undefined)

  await midnights(world, 1)
  assert.deepEqual(await keys(world, bucket), ["keep/1", "logs", "logs/1", "logs/2", "other tag", "tagged"])
  await put(world, bucket, "logs/2")
  await midnights(world, 1)
  assert.deepEqual(
    await keys(world, bucket),
    ["keep/1", "logs", "logs/2", "other tag", "tagged"],
    "one that was put again lives as long as a new one",
  )
  await midnights(world, 1)
  assert.deepEqual(await keys(world, bucket), ["keep/1", "logs", "other tag"])
  assert.deepEqual(await keys(world, other), ["logs/1"])
  const { projectId } = await p.tenant("acme")
  const { object_count, size_bytes } = await p
    .as(access.secret, { project: projectId })
    .storage.getBucket({ name: bucket })
  assert.deepEqual([object_count, size_bytes], [3, "keep/1logsother tag".length])
})

test("more objects than a page end in one night, and none once the rules are gone", async t => {
  const world = await openTurned(t)
  const { s3, bucketOf } = world
  const names = Array.from({ length: 501 }, (_, n) => `k${n}`)
  const [bucket, spared] = [await bucketOf(), await bucketOf("k")]
  for (let from = 0; from < names.length; from += 50)
    await Promise.all(names.slice(from, from + 50).map(name => put(world, bucket, name)))
  for (const name of [bucket, spared])
    await setRules(world, name, enabled("all", { Expiration: { Days: 1 } }))
  await s3.send(new DeleteBucketLifecycleCommand({ Bucket: spared }))
  await midnights(world, 2)
  assert.deepEqual(await keys(world, bucket), [])
  assert.deepEqual(await keys(world, spared), ["k"])
})

test("older versions end by their age and number, delete markers after the last of them, and uploads with their days", async t => {
  const world = await openTurned(t)
  const { s3, bucketOf } = world
  const bucket = await bucketOf()
  const versioning = { Bucket: bucket, VersioningConfiguration: { Status: "Enabled" } as const }
  await s3.send(new PutBucketVersioningCommand(versioning))
  await setRules(
    world,
    bucket,
    enabled("older", {
      Expiration: { ExpiredObjectDeleteMarker: true },
      NoncurrentVersionExpiration: { NoncurrentDays: 1, NewerNoncurrentVersions: 2 },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
    }),
    enabled("few", { Filter: { Prefix: "gone" }, NoncurrentVersionExpiration: { NoncurrentDays: 1 } }),
  )
  const ids: (string | undefined)[] = []
  for (const Body of ["1", "2", "3", "4"]) ids.unshift((await put(world, bucket, "a", { Body })).VersionId)
  await put(world, bucket, "gone")
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: "gone" }))
  await s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: "u" }))
  const uploads = async () =>
    ((await s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? []).length

  await midnights(world, 1)
  assert.deepEqual([(await versionsOf(world, bucket)).versions.length, await uploads()], [5, 1])
  await midnights(world, 1)
  assert.deepEqual(
    await versionsOf(world, bucket),
    { versions: ids.slice(0, 3), markers: 0 },
    "the newest and two older ones stay",
  )
  assert.deepEqual([await keys(world, bucket), await uploads()], [["a"], 0])

  await setRules(world, bucket, enabled("all", { Expiration: { Days: 1 } }))
  await midnights(world, 1)
  assert.deepEqual(await versionsOf(world, bucket), { versions: ids.slice(0, 3), markers: 1 })
  assert.deepEqual(await keys(world, bucket), [], "with versions an object gets a delete marker")
})
