/** The store of objects: rows in the control database, bytes in the blob store. */
import { PUT_BYTES_MAX } from "@svc/contract"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import type { ByteRange } from "../../ports/blob/port.ts"
import { createMultipart } from "./multipart.ts"
import { createdData } from "./object-events.ts"
import type { ObjectRecord, ObjectStore, Place, PutObject } from "./object-store.ts"
import type { ObjectStoreNeeds } from "./object-store-needs.ts"
import { createPartsReader } from "./reading.ts"
import type { Received } from "./receive.ts"
import { checkAttributes } from "./rules/attributes.ts"
import { admitsWrite, judgeRead } from "./rules/conditions.ts"
import { checkBucketName, checkKey } from "./rules/names.ts"
import { bucketStore } from "./store/buckets.ts"
import {
  createFinder,
  findObject,
  findObjectParts,
  listObjects,
  type NewObject,
  putObject,
  removeObjects,
} from "./store/objects.ts"
import { toBlobParts } from "./store/rows.ts"

const SEEN_MAX = 10_000

/**
 * A write is refused before its body is read where that is known already. That a bucket is there is remembered: the
 * statement that stores the row decides anyway, and a wrong memory costs no more than an upload in vain.
 */
const createWriteCheck = ({ database: { db, pool } }: ObjectStoreNeeds) => {
  const seen = createBoundedCache<true>(SEEN_MAX)
  return async (projectId: string, { bucket, key, conditions }: Omit<PutObject, "source">): Promise<void> => {
    checkKey(key)
    const name = `${projectId}/${bucket}`
    if (conditions) {
      const found = await findObject(pool, projectId, bucket, key).catch(error => {
        if (isFault(error, "object_not_found")) return undefined
        throw error
      })
      if (!admitsWrite(conditions, found?.object)) throw fault("precondition_failed")
    } else if (!seen.has(name)) await bucketStore(db).find(projectId, bucket)
    seen.set(name, true)
  }
}

/** Bytes of the object that is there; 0 when there is none. */
const sizeOf = async (
  pool: ObjectStoreNeeds["database"]["pool"],
  projectId: string,
  { bucket, key }: Pick<PutObject, "bucket" | "key">,
): Promise<number> => {
  try {
    return (await findObject(pool, projectId, bucket, key)).object.size
  } catch (error) {
    if (isFault(error)) return 0
    throw error
  }
}

const toRecord = (put: PutObject, received: Received): ObjectRecord => {
  const { http, metadata } = checkAttributes(put)
  return {
    bucket: put.bucket,
    key: put.key,
    size: received.size,
    etag: received.etag,
    lastModified: put.now,
    http,
    metadata,
    checksums: received.checksums,
    checksumType: "full_object",
    partCount: null,
  }
}

/** Publishes what was received and commits the row that refers to it, with a hand on the blob in between. */
const createKeeper =
  ({ claims, objectEvents }: ObjectStoreNeeds) =>
  async (place: Place, received: Received, put: Pick<NewObject, "object" | "conditions">): Promise<void> => {
    const { projectId } = place
    const addresses = received.parts.map(({ address }) => address)
    using _held = await claims.hold(projectId, addresses)
    await received.publish()
    const { parts } = received
    await objectEvents.told(
      place,
      "storage.object.created",
      db => putObject(db, { ...put, projectId, parts, isPublished: true }),
      () => [createdData(put.object)],
    )
  }

const createCopy =
  ({ database: { pool }, quota, objectEvents }: ObjectStoreNeeds): ObjectStore["copy"] =>
  async (place, { from, to, attributes, now }) => {
    const { organization, projectId } = place
    checkKey(to.key)
    const source = await findObjectParts(pool, { projectId, bucket: from.bucket, key: from.key })
    if (judgeRead(from.conditions, source.object) !== "go_on") throw fault("precondition_failed")
    await quota.admit(organization, source.object.size, () => sizeOf(pool, projectId, to))
    const object = {
      ...source.object,
      ...(attributes && checkAttributes(attributes)),
      ...{ bucket: to.bucket, key: to.key, lastModified: now },
    }
    // The source may be overwritten now. Its blobs then wait to be collected, far longer than this statement takes.
    const parts = toBlobParts(source.stored)
    const numbered = source.object.partCount === null ? undefined : source.numbered
    const put = { projectId, object, parts, numbered, conditions: to.conditions, isPublished: false }
    const held = quota.hold(organization, object.size)
    try {
      await objectEvents.told(
        place,
        "storage.object.created",
        db => putObject(db, put),
        () => [createdData(object)],
      )
    } catch (error) {
      held.dropped()
      throw error
    }
    held.stored()
    return object
  }

const createBuckets = ({ database: { db }, clock }: ObjectStoreNeeds) => {
  const buckets = bucketStore(db)
  return {
    async createBucket(place, bucket) {
      checkBucketName(bucket.name)
      return buckets.create(place, bucket)
    },
    findBucket: ({ projectId }, name) => buckets.find(projectId, name),
    listBuckets: ({ projectId }, page) => buckets.list(projectId, page),
    setBucketPublic: ({ projectId }, name, isPublic) => buckets.setPublic(projectId, name, isPublic),
    removeBucket: ({ projectId }, name) => buckets.remove(projectId, name, new Date(clock.now())),
  } satisfies Partial<ObjectStore>
}

export const createObjectStore = (needs: ObjectStoreNeeds): ObjectStore => {
  const { clock, receive, objectEvents } = needs
  const { pool } = needs.database
  const keep = createKeeper(needs)
  const checkWrite = createWriteCheck(needs)
  const openParts = createPartsReader(needs)
  const find = createFinder(pool)

  const put = async (place: Place, object: PutObject): Promise<ObjectRecord> => {
    const { projectId } = place
    checkAttributes(object)
    await checkWrite(projectId, object)
    const replaced = () => sizeOf(pool, projectId, object)
    const received = await receive(place, { ...object, bytesMax: PUT_BYTES_MAX, replaced })
    try {
      const record = toRecord(object, received)
      await keep(place, received, { object: record, conditions: object.conditions })
      received.stored()
      return record
    } catch (error) {
      await received.discard()
      throw error
    }
  }

  return {
    ...createBuckets(needs),
    put,
    async find({ projectId }, bucket, key) {
      checkKey(key)
      return (await find({ projectId, bucket, key })).object
    },
    async findParts({ projectId }, bucket, key) {
      checkKey(key)
      const { object, stored, numbered } = await findObjectParts(pool, { projectId, bucket, key })
      const open = (range: ByteRange) => openParts(projectId, toBlobParts(stored), range)
      return { object, parts: numbered, open }
    },
    async open({ projectId }, bucket, key, choose) {
      checkKey(key)
      const { object, stored } = await find({ projectId, bucket, key })
      const chosen = choose(object)
      if (chosen === "none") return { object, body: null }
      return { object, body: await openParts(projectId, toBlobParts(stored), chosen) }
    },
    list: ({ projectId }, bucket, listing) => listObjects(pool, projectId, bucket, listing),
    remove(place, bucket, keys, conditions) {
      keys.forEach(checkKey)
      const { projectId } = place
      return objectEvents.told(
        place,
        "storage.object.deleted",
        db => removeObjects(db, { projectId, bucket, keys, now: new Date(clock.now()), conditions }),
        removed => [...removed].map(key => ({ bucket, key })),
      )
    },
    copy: createCopy(needs),
    multipart: createMultipart(needs),
  }
}
