/** Valid inputs of storage's operations, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"

const newBucket = async ({ key }: SampleWorld) => {
  const bucket = uniqueName()
  await key.storage.createBucket({ name: bucket })
  return bucket
}

const newObject = async (world: SampleWorld) => {
  const object = { bucket: await newBucket(world), key: "a folder/name" }
  await world.key.storage.putObject(object, { body: "content" })
  return object
}

const newTransfer = async (world: SampleWorld) => {
  const { bucket, key } = await newObject(world)
  return { source_bucket: bucket, source_key: key, bucket, key: "elsewhere" }
}

const newMultipart = async (world: SampleWorld) => {
  const bucket = await newBucket(world)
  const { upload_id } = await world.key.storage.createMultipart({ bucket, key: "film" })
  return { upload_id }
}

const newParts = async (world: SampleWorld) => {
  const { upload_id } = await newMultipart(world)
  const { etag } = await world.key.storage.putPart({ upload_id, part_number: 1 }, { body: "content" })
  return { upload_id, parts: [{ part_number: 1, etag }] }
}

export const samples = {
  "storage.createBucket": async () => ({ name: uniqueName() }),
  "storage.getBucket": async world => ({ name: await newBucket(world) }),
  "storage.updateBucket": async world => ({ name: await newBucket(world), public: true }),
  "storage.deleteBucket": async world => ({ name: await newBucket(world) }),
  "storage.listObjects": async world => ({ bucket: await newBucket(world) }),
  "storage.putObject": async world => ({ bucket: await newBucket(world), key: "a folder/name" }),
  "storage.getObject": newObject,
  "storage.headObject": newObject,
  "storage.deleteObject": newObject,
  "storage.deleteObjects": async world => ({ bucket: await newBucket(world), keys: ["a", "b"] }),
  "storage.listVersions": async world => ({ bucket: await newBucket(world) }),
  "storage.restoreVersion": async world => ({ ...(await newObject(world)), version_id: "null" }),
  "storage.getTags": newObject,
  "storage.setTags": async world => ({ ...(await newObject(world)), tags: { album: "summer" } }),
  "storage.copyObject": newTransfer,
  "storage.moveObject": newTransfer,
  "storage.createMultipart": async world => ({ bucket: await newBucket(world), key: "film" }),
  "storage.putPart": async world => ({ ...(await newMultipart(world)), part_number: 1 }),
  "storage.listParts": newMultipart,
  "storage.completeMultipart": newParts,
  "storage.abortMultipart": newMultipart,
} as const satisfies Record<string, Sample>

export const unsampled = {
  "storage.putSigned": "public: there is no caller yet to remember an Idempotency-Key for",
  "storage.createUpload": "is asked for in headers; areas/storage/resumable.test.ts has it",
  "storage.patchUpload": "is asked for in headers; areas/storage/resumable.test.ts has it",
  "storage.deleteUpload": "is asked for in headers; areas/storage/resumable.test.ts has it",
} satisfies Unsampled
