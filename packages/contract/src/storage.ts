import { ANY_TYPE, area, MIB, T } from "./dsl.ts"
import { accessFields } from "./storage-access.ts"
import {
  Bucket,
  BucketName,
  Buckets,
  BucketTags,
  bytesReplies,
  headReplies,
  Key,
  LISTED_OBJECTS_MAX,
  ListedObjects,
  ListQuery,
  NamedBucket,
  StoredObject,
  storedFields,
  Transfer,
  Usage,
  VersionId,
  WRITE_FAULTS,
} from "./storage-fields.ts"
import { ReadConditions, ReadHeaders, UploadHeaders, WriteConditions } from "./storage-headers.ts"
import { lifecycleField } from "./storage-lifecycle.ts"
import { linkOperations } from "./storage-links.ts"
import { uploadOperations } from "./storage-uploads.ts"
import { versionOperations } from "./storage-versions.ts"
import { described, OneOf, PageQuery } from "./types.ts"

const BucketParams = T.Object({ bucket: NamedBucket })
const ObjectParams = T.Object({ bucket: NamedBucket, key: Key })

const VersionQuery = T.Object({
  version_id: T.Optional(described(VersionId, "Version of the object; the newest when left out")),
})

const FIND_FAULTS = [
  ...(["bucket_not_found", "object_not_found", "invalid_parameter", "bucket_access_denied"] as const),
] as const
const READ_FAULTS = [...FIND_FAULTS, "precondition_failed", "range_not_satisfiable"] as const

export const storage = area(
  "storage",
  {
    title: "Storage",
    summary: "Buckets and objects",
    project: "required",
    belongs: "project",
    refusals: { project: "storage_project_required" },
  },
  {
    listBuckets: {
      id: "listBuckets",
      http: "GET /v1/storage/buckets",
      summary: "List the project's buckets, by name",
      scope: "storage:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Buckets },
    },
    createBucket: {
      id: "createBucket",
      http: "POST /v1/storage/buckets",
      summary: "Create a bucket",
      scope: "storage:write",
      effect: "write",
      body: T.Object({
        name: BucketName,
        public: T.Optional(
          T.Boolean({ default: false, description: "True if its objects can be read without a key" }),
        ),
      }),
      replies: { 201: Bucket },
      faults: ["name_taken", "invalid_name"],
      example: { name: "photos" },
    },
    getBucket: {
      id: "getBucket",
      http: "GET /v1/storage/buckets/{name}",
      summary: "Read a bucket",
      scope: "storage:read",
      effect: "read",
      extension: true,
      params: T.Object({ name: NamedBucket }),
      replies: { 200: Bucket },
      faults: ["bucket_not_found"],
    },
    updateBucket: {
      id: "updateBucket",
      http: "PATCH /v1/storage/buckets/{name}",
      summary:
        "Make a bucket public or private, keep versions, set who may use it, its tags, or what expires",
      description:
        "Objects of a public bucket are read without a key at `public_url`, and at " +
        "`/v1/storage/public/{project_id}/…` in any case. They cannot be listed without a key. With versions, what is overwritten or " +
        "deleted is kept until its version is deleted by id; they can be suspended, and never be off again. A policy can deny " +
        "your own keys something and allow other projects or anybody something; a field that is null takes a setting away.",
      scope: "storage:write",
      effect: "write",
      idempotency: "natural",
      extension: true,
      params: T.Object({ name: NamedBucket }),
      body: T.Object(
        {
          public: T.Optional(T.Boolean({ description: "True if its objects can be read without a key" })),
          versioning: T.Optional(
            OneOf(["enabled", "suspended"], { description: "Whether versions of objects are kept" }),
          ),
          tags: T.Optional(described(BucketTags, "Tags that replace those of the bucket")),
          cors: T.Optional(accessFields.cors),
          policy: T.Optional(accessFields.policy),
          acl: T.Optional(accessFields.acl),
          public_access_block: T.Optional(accessFields.public_access_block),
          lifecycle: T.Optional(lifecycleField),
        },
        { minProperties: 1 },
      ),
      replies: { 200: Bucket },
      faults: ["bucket_not_found", "invalid_parameter", "bucket_access_denied"],
      example: { name: "photos", public: true },
    },
    deleteBucket: {
      id: "deleteBucket",
      http: "DELETE /v1/storage/buckets/{name}",
      summary: "Delete an empty bucket",
      scope: "storage:write",
      effect: "destroy",
      risk: "high",
      params: T.Object({ name: NamedBucket }),
      replies: {
        200: T.Object({
          name: T.String({ description: "Name of the bucket" }),
          deleted: T.Literal(true, { description: "Always true" }),
        }),
      },
      faults: ["bucket_not_found", "bucket_not_empty", "bucket_access_denied"],
    },
    listObjects: {
      id: "listObjects",
      http: "GET /v1/storage/buckets/{bucket}/objects",
      summary: "List objects in the byte order of their keys",
      scope: "storage:read",
      effect: "read",
      params: BucketParams,
      query: ListQuery,
      replies: { 200: ListedObjects },
      faults: ["bucket_not_found", "invalid_parameter", "bucket_access_denied"],
    },
    putObject: {
      id: "putObject",
      http: "PUT /v1/storage/buckets/{bucket}/objects/{key}",
      summary: "Store an object",
      description:
        "The body is the content, at most 5 GiB. `Content-Type`, `-Encoding`, `-Disposition`, `-Language`, " +
        "`Cache-Control`, `Expires` and `x-svc-meta-*` are stored with it. `Content-MD5` and `x-svc-checksum-*` (crc32, " +
        "crc32c, crc64nvme, sha1, sha256 in base64) are verified. `If-Match` and `If-None-Match` are honoured.",
      scope: "storage:write",
      effect: "write",
      idempotency: "natural",
      audit: "rollup",
      rest: true,
      content: { request: "bytes", requestTypes: ANY_TYPE },
      params: ObjectParams,
      headers: UploadHeaders,
      replies: { 200: StoredObject },
      faults: WRITE_FAULTS,
    },
    getObject: {
      id: "getObject",
      http: "GET /v1/storage/buckets/{bucket}/objects/{key}",
      summary: "Read an object, or a range of it",
      scope: "storage:read",
      effect: "read",
      rest: true,
      content: { reply: "bytes", replyTypes: ANY_TYPE },
      params: ObjectParams,
      query: VersionQuery,
      headers: ReadHeaders,
      replies: bytesReplies,
      faults: READ_FAULTS,
    },
    headObject: {
      id: "headObject",
      http: "HEAD /v1/storage/buckets/{bucket}/objects/{key}",
      summary: "Read the headers of an object",
      scope: "storage:read",
      effect: "read",
      rest: true,
      params: ObjectParams,
      query: VersionQuery,
      headers: ReadConditions,
      replies: headReplies,
      faults: [...FIND_FAULTS, "precondition_failed"],
    },
    deleteObject: {
      id: "deleteObject",
      http: "DELETE /v1/storage/buckets/{bucket}/objects/{key}",
      summary: "Delete an object, or a version of it; it is no error if there is none",
      description:
        "In a bucket with versions the object stays as a version, behind a delete marker. A version that is named is deleted for good; deleting the delete marker brings the object back.",
      scope: "storage:write",
      effect: "destroy",
      idempotency: "natural",
      audit: "rollup",
      rest: true,
      params: ObjectParams,
      query: VersionQuery,
      headers: WriteConditions,
      replies: {
        200: T.Object({
          bucket: T.String({ description: "Name of the bucket" }),
          key: T.String({ description: "Key of the object" }),
          deleted: T.Boolean({ description: "True if there was an object, or that version" }),
          version_id: described(
            storedFields.version_id,
            "The version that is gone, or the delete marker that was made; null without versions",
          ),
          delete_marker: T.Boolean({ description: "True if `version_id` is a delete marker" }),
        }),
      },
      faults: ["bucket_not_found", "invalid_parameter", "precondition_failed", "bucket_access_denied"],
    },
    deleteObjects: {
      id: "deleteObjects",
      http: "POST /v1/storage/buckets/{bucket}/delete",
      summary: "Delete several objects, all or none",
      scope: "storage:write",
      effect: "destroy",
      risk: "high",
      idempotency: "natural",
      audit: "rollup",
      extension: true,
      params: BucketParams,
      body: T.Object({
        keys: T.Array(Key, { minItems: 1, maxItems: LISTED_OBJECTS_MAX, description: "Keys of the objects" }),
      }),
      bodyBytesMax: 7 * MIB,
      replies: {
        200: T.Object({ deleted: T.Array(T.String(), { description: "Keys of the objects that existed" }) }),
      },
      faults: ["bucket_not_found", "invalid_parameter", "bucket_access_denied"],
      example: { bucket: "photos", keys: ["a.jpg", "b.jpg"] },
    },
    copyObject: {
      id: "copyObject",
      http: "POST /v1/storage/copy",
      summary: "Copy an object",
      description:
        "Without metadata the copy has that of the source; with any, only the given one. No bytes are transferred. It also needs " +
        "`storage:read`, because it reads the source.",
      scope: "storage:write",
      effect: "write",
      idempotency: "natural",
      audit: "rollup",
      extension: true,
      body: Transfer,
      replies: { 200: StoredObject },
      faults: ["missing_scope", ...FIND_FAULTS, "precondition_failed", "plan_limit_reached"],
      example: { source_bucket: "photos", source_key: "a.jpg", bucket: "photos", key: "b.jpg" },
    },
    moveObject: {
      id: "moveObject",
      http: "POST /v1/storage/move",
      summary: "Move an object to another key or bucket",
      description:
        "Copies the object, then deletes the source unless it was written meanwhile. It also needs " +
        "`storage:read`.",
      scope: "storage:write",
      effect: "destroy",
      audit: "rollup",
      extension: true,
      body: Transfer,
      replies: { 200: StoredObject },
      faults: ["missing_scope", ...FIND_FAULTS, "precondition_failed", "plan_limit_reached"],
      example: { source_bucket: "photos", source_key: "a.jpg", bucket: "photos", key: "b.jpg" },
    },
    usage: {
      id: "getStorageUsage",
      http: "GET /v1/storage/usage",
      summary: "Show what is stored and what the plan includes",
      scope: "storage:read",
      effect: "read",
      extension: true,
      replies: { 200: Usage },
    },
    ...versionOperations,
    ...linkOperations,
    ...uploadOperations,
  },
)
