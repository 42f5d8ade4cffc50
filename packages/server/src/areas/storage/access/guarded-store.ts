/** The store as one caller may use it: each of its methods first asks whether the bucket allows that. */
import { isFault } from "../../../kernel/fault.ts"
import type { MultipartUploads, NamedVersion, ObjectStore, Place } from "../object-store.ts"
import type { CannedAcl } from "../rules/acl.ts"
import { type Accesses, allows, type BucketAccess, type Caller, denied, type Question } from "./access.ts"
import { checkAcl } from "./lists.ts"

interface Guard {
  /** Undefined where there is no such bucket: then the store says so. */
  of(place: Place, bucket: string): Promise<BucketAccess | undefined>
  check(access: BucketAccess | undefined, question: Question): void
}

const createGuard = (accesses: Accesses, caller: Caller): Guard => ({
  of: async ({ projectId }, bucket) =>
    await (caller.kind === "owner" ? accesses.find(projectId, bucket) : accesses.findNow(projectId, bucket)),
  check(access, question) {
    const isOpen = access ? allows(access, caller, question) : caller.kind !== "anybody"
    if (!isOpen) throw denied(caller)
  },
})

const versioned = (action: string, version: string | undefined): string =>
  version === undefined ? action : `${action}Version`

const readersOf = (store: ObjectStore, guard: Guard, caller: Caller) => {
  /** That an object is not there is told to those who may list. */
  const hiding = async <Found>(access: BucketAccess | undefined, find: () => Promise<Found>) => {
    try {
      return await find()
    } catch (error) {
      const isHidden =
        caller.kind !== "owner" &&
        isFault(error, "object_not_found") &&
        !(access && allows(access, caller, { action: "s3:ListBucket" })) &&
        !access?.isPublic
      throw isHidden ? denied(caller) : error
    }
  }
  return {
    async find(place, bucket, key, version, action = versioned("s3:GetObject", version)) {
      const access = await guard.of(place, bucket)
      const object = await hiding(access, () => store.find(place, bucket, key, version))
      guard.check(access, { action, key, object })
      return object
    },
    async findParts(place, bucket, key, version) {
      const access = await guard.of(place, bucket)
      const found = await hiding(access, () => store.findParts(place, bucket, key, version))
      guard.check(access, { action: versioned("s3:GetObject", version), key, object: found.object })
      return found
    },
    async open(place, bucket, key, choose, version) {
      const access = await guard.of(place, bucket)
      const action = versioned("s3:GetObject", version)
      return await hiding(access, () =>
        store.open(
          place,
          bucket,
          key,
          object => {
            guard.check(access, { action, key, object })
            return choose(object)
          },
          version,
        ),
      )
    },
  } satisfies Partial<ObjectStore>
}

type NewList = { readonly key: string; readonly acl?: CannedAcl | undefined }

/** An object that is put with a list of its own. */
const checkNewList = async (guard: Guard, place: Place, bucket: string, { key, acl }: NewList) => {
  if (acl === undefined) return
  const access = await guard.of(place, bucket)
  if (acl !== "private") guard.check(access, { action: "s3:PutObjectAcl", key, isNew: true })
  checkAcl(acl, access?.settings ?? {})
}

/** Of an upload, whose bucket and key its row tells. */
const uploadsOf = ({ multipart }: ObjectStore, guard: Guard): MultipartUploads => {
  const checkUpload = async (place: Place, uploadId: string, action: string) => {
    const { bucket, key } = await multipart.find(place, uploadId)
    guard.check(await guard.of(place, bucket), { action, key })
  }
  return {
    async create(place, upload) {
      guard.check(await guard.of(place, upload.bucket), { action: "s3:PutObject", key: upload.key })
      await checkNewList(guard, place, upload.bucket, upload)
      return await multipart.create(place, upload)
    },
    find: multipart.find,
    async putPart(place, part) {
      await checkUpload(place, part.uploadId, "s3:PutObject")
      return await multipart.putPart(place, part)
    },
    async listParts(place, uploadId, page) {
      await checkUpload(place, uploadId, "s3:ListMultipartUploadParts")
      return await multipart.listParts(place, uploadId, page)
    },
    async list(place, bucket, page) {
      guard.check(await guard.of(place, bucket), { action: "s3:ListBucketMultipartUploads" })
      return await multipart.list(place, bucket, page)
    },
    async complete(place, completion) {
      await checkUpload(place, completion.uploadId, "s3:PutObject")
      return await multipart.complete(place, completion)
    },
    async abort(place, uploadId) {
      await checkUpload(place, uploadId, "s3:AbortMultipartUpload")
      await multipart.abort(place, uploadId)
    },
  }
}

const bucketsOf = (store: ObjectStore, guard: Guard, caller: Caller) => {
  const check = async (place: Place, bucket: string, action: string) =>
    guard.check(await guard.of(place, bucket), { action })
  const ownersAlone = () => {
    if (caller.kind !== "owner") throw denied(caller)
  }
  return {
    async createBucket(place, bucket) {
      ownersAlone()
      return await store.createBucket(place, bucket)
    },
    async listBuckets(place, page) {
      ownersAlone()
      return await store.listBuckets(place, page)
    },
    async findBucket(place, name, action = "s3:ListBucket") {
      await check(place, name, action)
      return await store.findBucket(place, name)
    },
    async findSettings(place, name, action) {
      await check(place, name, action)
      return await store.findSettings(place, name, action)
    },
    async setSettings(place, name, change, action) {
      await check(place, name, action)
      await store.setSettings(place, name, change, action)
    },
    async setBucketPublic(place, name, isPublic) {
      await check(place, name, "s3:PutBucketAcl")
      await store.setBucketPublic(place, name, isPublic)
    },
    async setVersioning(place, name, versioning) {
      await check(place, name, "s3:PutBucketVersioning")
      await store.setVersioning(place, name, versioning)
    },
    async setBucketTags(place, name, tags) {
      await check(place, name, "s3:PutBucketTagging")
      await store.setBucketTags(place, name, tags)
    },
    async removeBucket(place, name) {
      await check(place, name, "s3:DeleteBucket")
      await store.removeBucket(place, name)
    },
  } satisfies Partial<ObjectStore>
}

export const guardStore = (store: ObjectStore, accesses: Accesses, caller: Caller): ObjectStore => {
  const guard = createGuard(accesses, caller)
  const check = async (place: Place, bucket: string, question: Question) =>
    guard.check(await guard.of(place, bucket), question)
  const readers = readersOf(store, guard, caller)

  /** Changes of what an object is beside its bytes may be asked for its tags first. */
  const checkObject = async (
    place: Place,
    bucket: string,
    { key, version }: NamedVersion,
    action: string,
  ) => {
    await readers.find(place, bucket, key, version, versioned(action, version))
  }

  const checkList = (place: Place, bucket: string, list: NewList) => checkNewList(guard, place, bucket, list)

  return {
    ...bucketsOf(store, guard, caller),
    ...readers,
    multipart: uploadsOf(store, guard),
    async put(place, object) {
      const { bucket, key } = object
      await check(place, bucket, { action: "s3:PutObject", key })
      await checkList(place, bucket, object)
      if (object.tags) await check(place, bucket, { action: "s3:PutObjectTagging", key })
      return await store.put(place, object)
    },
    async list(place, bucket, listing) {
      await check(place, bucket, { action: "s3:ListBucket" })
      return await store.list(place, bucket, listing)
    },
    async listVersions(place, bucket, listing) {
      await check(place, bucket, { action: "s3:ListBucketVersions" })
      return await store.listVersions(place, bucket, listing)
    },
    async setTags(place, bucket, named, tags) {
      await checkObject(place, bucket, named, "s3:PutObjectTagging")
      return await store.setTags(place, bucket, named, tags)
    },
    async setAcl(place, bucket, named, acl) {
      await checkObject(place, bucket, named, "s3:PutObjectAcl")
      checkAcl(acl, (await guard.of(place, bucket))?.settings ?? {})
      return await store.setAcl(place, bucket, named, acl)
    },
    async remove(place, bucket, keys, conditions) {
      const access = await guard.of(place, bucket)
      for (const key of keys) guard.check(access, { action: "s3:DeleteObject", key })
      return await store.remove(place, bucket, keys, conditions)
    },
    async removeVersions(place, bucket, named, conditions) {
      const access = await guard.of(place, bucket)
      for (const { key, version } of named)
        guard.check(access, { action: versioned("s3:DeleteObject", version), key })
      return await store.removeVersions(place, bucket, named, conditions)
    },
    async copy(place, copy) {
      const { from, to } = copy
      const source = await store.find(place, from.bucket, from.key, from.version).catch(error => {
        if (isFault(error, "object_not_found")) return undefined
        throw error
      })
      const reading = { action: versioned("s3:GetObject", from.version), key: from.key, object: source }
      await check(place, from.bucket, reading)
      await check(place, to.bucket, { action: "s3:PutObject", key: to.key })
      await checkList(place, to.bucket, { key: to.key, acl: copy.acl })
      return await store.copy(place, copy)
    },
  }
}
