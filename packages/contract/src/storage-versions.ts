/** Versions and tags of objects. */
import { type OperationSpec, T } from "./dsl.ts"
import {
  Key,
  LISTED_OBJECTS_DEFAULT,
  LISTED_OBJECTS_MAX,
  NamedBucket,
  ObjectTags,
  StoredObject,
  storedFields,
  VersionId,
} from "./storage-fields.ts"

const BucketParams = T.Object({ bucket: NamedBucket })

const VersionOf = T.Object({ key: Key, version_id: T.Optional(VersionId) })

const TagsReply = T.Object({
  bucket: T.String({ description: "Name of the bucket" }),
  key: T.String({ description: "Key of the object" }),
  version_id: StoredObject.properties.version_id,
  tags: T.Record(T.String(), T.String(), { description: "Tags of the object or the version" }),
})

const FIND_FAULTS = [
  ...(["bucket_not_found", "object_not_found", "invalid_parameter", "bucket_access_denied"] as const),
] as const

export const versionOperations = {
  listVersions: {
    id: "listObjectVersions",
    http: "GET /v1/storage/buckets/{bucket}/versions",
    summary: "List versions and delete markers, by key and then the newest first",
    scope: "storage:read",
    effect: "read",
    extension: true,
    params: BucketParams,
    query: T.Object({
      prefix: T.Optional(T.String({ maxLength: 1024, description: "Only keys that begin with this" })),
      delimiter: T.Optional(
        T.String({
          minLength: 1,
          maxLength: 64,
          description: "Groups keys that are equal up to this text after the prefix, usually `/`",
        }),
      ),
      cursor: T.Optional(T.String({ maxLength: 4096, description: "`cursor` of the page before" })),
      limit: T.Optional(
        T.Integer({
          minimum: 1,
          maximum: LISTED_OBJECTS_MAX,
          default: LISTED_OBJECTS_DEFAULT,
          description: "Largest number of versions and prefixes",
        }),
      ),
    }),
    replies: {
      200: T.Object(
        {
          data: T.Array(
            T.Object({
              ...storedFields,
              is_latest: T.Boolean({ description: "True for the newest version of its key" }),
              is_delete_marker: T.Boolean({
                description: "True for a mark that the key was deleted: it has no content",
              }),
            }),
            { description: "Versions of the page" },
          ),
          delimited_prefixes: T.Array(T.String(), {
            description: "Prefixes up to the delimiter that stand for groups of keys",
          }),
          is_truncated: T.Boolean({ description: "True if there are more" }),
          cursor: T.Union([T.String(), T.Null()], {
            description: "Asks for the next page; null at the end",
          }),
          limit: T.Integer({ description: "The `limit` that was applied" }),
        },
        { "x-svc-list": true },
      ),
    },
    faults: ["bucket_not_found", "invalid_parameter", "bucket_access_denied"],
  },
  restoreVersion: {
    id: "restoreObjectVersion",
    http: "POST /v1/storage/buckets/{bucket}/restore",
    summary: "Make an older version the newest, by a copy of it",
    description: "No bytes are transferred, and the older version stays. It also needs `storage:read`.",
    scope: "storage:write",
    effect: "write",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    params: BucketParams,
    body: T.Object({ key: Key, version_id: VersionId }),
    replies: { 200: StoredObject },
    faults: ["missing_scope", ...FIND_FAULTS, "plan_limit_reached"],
    example: { bucket: "photos", key: "a.jpg", version_id: "6f1c2a9be0d44d6c9b8f0c6a7d1e2f30" },
  },
  getTags: {
    id: "getObjectTags",
    http: "GET /v1/storage/buckets/{bucket}/tags",
    summary: "Read the tags of an object or a version",
    scope: "storage:read",
    effect: "read",
    extension: true,
    params: BucketParams,
    query: VersionOf,
    replies: { 200: TagsReply },
    faults: FIND_FAULTS,
  },
  setTags: {
    id: "setObjectTags",
    http: "PUT /v1/storage/buckets/{bucket}/tags",
    summary: "Replace the tags of an object or a version",
    scope: "storage:write",
    effect: "write",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    params: BucketParams,
    body: T.Object({ key: Key, version_id: T.Optional(VersionId), tags: ObjectTags }),
    replies: { 200: TagsReply },
    faults: FIND_FAULTS,
    example: { bucket: "photos", key: "a.jpg", tags: { album: "summer" } },
  },
} as const satisfies Record<string, OperationSpec>
