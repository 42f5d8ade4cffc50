/** The store of objects: rows in the control database, bytes in the blob store. */
import { PUT_BYTES_MAX } from "@svc/contract"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import type { ByteRange } from "../../ports/blob/port.ts"
import { isOpening } from "./access/changes.ts"
import { createMultipart } from "./multipart.ts"
import { createdData, deletedData } from "./object-events.ts"
import type { ObjectRecord, ObjectStore, Place, PutObject } from "./object-store.ts"
import type { ObjectStoreNeeds } from "./object-store-needs.ts"
import { createPartsReader } from "./reading.ts"
import type { Received } from "./receive.ts"
import type { CannedAcl } from "./rules/acl.ts"
import { checkAttributes } from "./rules/attributes.ts"
import { admitsWrite, judgeRead } from "./rules/conditions.ts"
import { checkBucketName, checkKey } from "./rules/names.ts"
import { BUCKET_TOPIC, changeSettings, findSettings, openBucket } from "./store/bucket-settings.ts"
import { bucketStore } from "./store/buckets.ts"
import {
  bucketNotFound,
  createFinder,
  findObject,
  findObjectParts,
  listObjects,
  type NewObject,
  type ObjectName,
  putObject,
} from "./store/objects.ts"
import { toBlobParts } from "./store/rows.ts"
import { changeVersion, deleteObjects, findVersion, listVersions } from "./store/versions.ts"

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

/** Bytes of the object that another one takes the place of; 0 when there is none, or when it is kept as a version. */
const sizeOf = async (
  pool: ObjectStoreNeeds["database"]["pool"],
  projectId: string,
  { bucket, key }: Pick<PutObject, "bucket" | "key">,
): Promise<number> => {
  try {
    const { object, versioning } = await findObject(pool, projectId, bucket, key)
    return versioning === "enabled" ? 0 : object.size
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
    versionId: null,
    tags: put.tags ?? {},
    ...(put.acl && { acl: put.acl }),
  }
}

/** Publishes what was received and commits the row that refers to it, with a hand on the blob in between. */
const createKeeper =
  ({ claims, objectEvents }: ObjectStoreNeeds) =>
  async (
    place: Place,
    received: Received,
    put: Pick<NewObject, "object" | "conditions">,
  ): Promise<ObjectRecord> => {
    const { projectId } = place
    const addresses = received.parts.map(({ address }) => address)
    using _held = await claims.hold(projectId, addresses)
    await received.publish()
    const { parts } = received
    return await objectEvents.told(
      place,
      "storage.object.created",
      db => putObject(db, { ...put, projectId, parts, isPublished: true }),
      () => [createdData(put.object)],
    )
  }

const createCopy =
  ({ database: { pool }, quota, objectEvents }: ObjectStoreNeeds): ObjectStore["copy"] =>
  async (place, { from, to, attributes, tags, acl, now }) => {
    const { organization, projectId } = place
    checkKey(to.key)
    const { bucket, key, version } = from
    const source = await (version === undefined
      ? findObjectParts(pool, { projectId, bucket, key })
      : findVersion(pool, { projectId, bucket, key, version }))
    if (judgeRead(from.conditions, source.object) !== "go_on") throw fault("precondition_failed")
    await quota.admit(organization, source.object.size, () => sizeOf(pool, projectId, to))
    const object = {
      ...source.object,
      ...(attributes && checkAttributes(attributes)),
      ...(tags && { tags }),
      acl: acl ?? ("private" as const),
      ...{ bucket: to.bucket, key: to.key, lastModified: now },
    }
    // The source may be overwritten now. Its blobs then wait to be collected, far longer than this statement takes.
    const parts = toBlobParts(source.stored)
    const numbered = source.object.partCount === null ? undefined : source.numbered
    const put = { projectId, object, parts, numbered, conditions: to.conditions, isPublished: false }
    const held = quota.hold(organization, object.size)
    try {
      const copy = await objectEvents.told(
        place,
        "storage.object.created",
        db => putObject(db, put),
        () => [createdData(object)],
      )
      held.stored()
      return copy
    } catch (error) {
      held.dropped()
      throw error
    }
  }

const createBuckets = ({ database: { db }, changes, clock }: ObjectStoreNeeds) => {
  const buckets = bucketStore(db)
  return {
    async createBucket(place, bucket) {
      checkBucketName(bucket.name)
      return buckets.create(place, bucket)
    },
    findBucket: ({ projectId }, name) => buckets.find(projectId, name),
    listBuckets: ({ projectId }, page) => buckets.list(projectId, page),
    async findSettings({ projectId }, name) {
      const found = await findSettings(db, projectId, name)
      if (!found) throw bucketNotFound(name)
      return found.settings
    },
    setSettings({ projectId }, name, change) {
      const opens = isOpening(change.acl) || typeof change.policy === "string"
      return changeSettings({ db, changes }, { projectId, name, opens }, change)
    },
    async setBucketPublic({ projectId }, name, isPublic) {
      await buckets.setPublic(projectId, name, isPublic)
      await changes.invalidate(db, BUCKET_TOPIC, projectId)
    },
    setVersioning: ({ projectId }, name, versioning) => buckets.setVersioning(projectId, name, versioning),
    setBucketTags: ({ projectId }, name, tags) => buckets.setTags(projectId, name, tags),
    async removeBucket({ projectId }, name) {
      await buckets.remove(projectId, name, new Date(clock.now()))
      await changes.invalidate(db, BUCKET_TOPIC, projectId)
    },
  } satisfies Partial<ObjectStore>
}

export const createObjectStore = (needs: ObjectStoreNeeds): ObjectStore => {
  const { clock, receive, objectEvents } = needs
  const { pool } = needs.database
  const keep = createKeeper(needs)
  const checkWrite = createWriteCheck(needs)
  const openParts = createPartsReader(needs)
  const findNewest = createFinder(pool)
  const findOne = ({ version, ...name }: ObjectName & { readonly version: string | undefined }) =>
    version === undefined ? findNewest(name) : findVersion(pool, { ...name, version })

  /** Others find the bucket by its name once they may read something in it. */
  const opened = async (projectId: string, bucket: string, acl: CannedAcl | undefined) => {
    if (isOpening(acl)) await openBucket(needs.database.db, projectId, bucket)
  }

  const removeVersions: ObjectStore["removeVersions"] = (place, bucket, named, conditions) => {
    for (const { key } of named) checkKey(key)
    const { projectId } = place
    return objectEvents.told(
      place,
      "storage.object.deleted",
      db => deleteObjects(db, { projectId, bucket, named, now: new Date(clock.now()), conditions }),
      removed => deletedData(bucket, removed),
    )
  }

  const put = async (place: Place, object: PutObject): Promise<ObjectRecord> => {
    const { projectId } = place
    checkAttributes(object)
    await checkWrite(projectId, object)
    const replaced = () => sizeOf(pool, projectId, object)
    const received = await receive(place, { ...object, bytesMax: PUT_BYTES_MAX, replaced })
    try {
      const record = toRecord(object, received)
      const stored = await keep(place, received, { object: record, conditions: object.conditions })
      received.stored()
      await opened(projectId, object.bucket, object.acl)
      return stored
    } catch (error) {
      await received.discard()
      throw error
    }
  }

  return {
    ...createBuckets(needs),
    put,
    async find({ projectId }, bucket, key, version) {
      checkKey(key)
      return (await findOne({ projectId, bucket, key, version })).object
    },
    async findParts({ projectId }, bucket, key, version) {
      checkKey(key)
      const named = { projectId, bucket, key }
      const { object, stored, numbered } = await (version === undefined
        ? findObjectParts(pool, named)
        : findVersion(pool, { ...named, version }))
      const open = (range: ByteRange) => openParts(projectId, toBlobParts(stored), range)
      return { object, parts: numbered, open }
    },
    async open({ projectId }, bucket, key, choose, version) {
      checkKey(key)
      const { object, stored } = await findOne({ projectId, bucket, key, version })
      const chosen = choose(object)
      if (chosen === "none") return { object, body: null }
      return { object, body: await openParts(projectId, toBlobParts(stored), chosen) }
    },
    list: ({ projectId }, bucket, listing) => listObjects(pool, projectId, bucket, listing),
    listVersions: ({ projectId }, bucket, listing) => listVersions(pool, projectId, bucket, listing),
    setTags({ projectId }, bucket, { key, version }, tags) {
      checkKey(key)
      return changeVersion(pool, { projectId, bucket, key, version }, { tags })
    },
    async setAcl({ projectId }, bucket, { key, version }, acl) {
      checkKey(key)
      const changed = await changeVersion(pool, { projectId, bucket, key, version }, { acl })
      await opened(projectId, bucket, acl)
      return changed
    },
    async remove(place, bucket, keys, conditions) {
      const removed = await removeVersions(
        place,
        bucket,
        keys.map(key => ({ key })),
        conditions,
      )
      return new Set(removed.filter(({ wasThere }) => wasThere).map(({ key }) => key))
    },
    removeVersions,
    async copy(place, copy) {
      const copied = await createCopy(needs)(place, copy)
      await opened(place.projectId, copy.to.bucket, copy.acl)
      return copied
    },
    multipart: createMultipart(needs, opened),
  }
}
