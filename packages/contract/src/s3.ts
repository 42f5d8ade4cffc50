/** The S3 protocol over the buckets of storage. Its operations share method and path, and differ by query. */
import { area, T } from "./dsl.ts"
import { publicOperations } from "./s3-public.ts"
import { Nullable, Time } from "./types.ts"

/** The query selects the operation, with names and values that S3 defines. */
const Query = T.Object({}, { additionalProperties: true })

const bucket = T.String({ minLength: 1, maxLength: 255, description: "Name of the bucket" })
const InBucket = T.Object({ bucket })
const AtKey = T.Object({
  bucket,
  key: T.String({ minLength: 1, maxLength: 4096, description: "Key of the object" }),
})

/** XML, or an object's bytes. */
const Foreign = T.Unknown()

/** Pages of any origin may use presigned URLs, because the signature authenticates them. */
const shared = { envelope: "s3", extension: true, crossOrigin: true } as const

const reads = { ...shared, scope: "storage:read", effect: "read", query: Query } as const
const writes = {
  ...shared,
  scope: "storage:write",
  effect: "write",
  query: Query,
  audit: "rollup",
  idempotency: "natural",
} as const

export const s3 = area(
  "s3",
  {
    title: "S3",
    summary: "The same buckets over the S3 protocol",
    project: "required",
    belongs: "project",
    refusals: { project: "storage_project_required" },
  },
  {
    credentials: {
      id: "createS3Credentials",
      http: "POST /v1/storage/s3-credentials",
      summary: "Get the S3 access key that belongs to the calling API key",
      description:
        "The same API key always gets the same pair. It has the storage permissions of the API key, and ends when that is " +
        "revoked, rotated or expires.",
      scope: ["storage:read", "storage:write"],
      effect: "read",
      extension: true,
      replies: {
        200: T.Object({
          access_key_id: T.String({ description: "Access key id" }),
          secret_access_key: T.String({ description: "Secret access key" }),
          endpoint: T.String({ description: "Endpoint URL for S3 clients" }),
          region: T.String({ description: "Region; any other is accepted as well" }),
          virtual_host_endpoint: Nullable(
            T.String({
              description:
                "The endpoint whose names below it are buckets (`<bucket>.s3.localhost`), for clients that put the " +
                "bucket in the host name",
            }),
          ),
          expires_at: Nullable(Time),
        }),
      },
      faults: ["key_required"],
    },
    listBuckets: {
      ...reads,
      id: "s3ListBuckets",
      http: "GET /s3",
      summary: "List the buckets of the project",
      replies: { 200: Foreign },
    },
    getBucket: {
      ...reads,
      id: "s3GetBucket",
      http: "GET /s3/{bucket}",
      summary: "List objects, or read a setting of the bucket",
      params: InBucket,
      replies: { 200: Foreign },
      faults: ["bucket_access_denied", "bucket_not_found", "invalid_parameter"],
    },
    headBucket: {
      ...reads,
      id: "s3HeadBucket",
      http: "HEAD /s3/{bucket}",
      summary: "Check whether the bucket exists",
      params: InBucket,
      replies: { 200: null },
      faults: ["bucket_access_denied", "bucket_not_found"],
    },
    putBucket: {
      ...writes,
      id: "s3PutBucket",
      http: "PUT /s3/{bucket}",
      summary: "Create the bucket",
      transaction: "none",
      audit: "each",
      params: InBucket,
      content: { request: "bytes" },
      replies: { 200: null },
      faults: ["bucket_access_denied", "bucket_not_found", "name_taken", "not_implemented"],
    },
    deleteBucket: {
      ...writes,
      risk: "high",
      id: "s3DeleteBucket",
      http: "DELETE /s3/{bucket}",
      summary: "Delete the bucket, once it is empty",
      effect: "destroy",
      transaction: "none",
      audit: "each",
      params: InBucket,
      replies: { 204: null },
      faults: ["bucket_access_denied", "bucket_not_found", "bucket_not_empty"],
    },
    postBucket: {
      ...writes,
      risk: "high",
      id: "s3PostBucket",
      http: "POST /s3/{bucket}",
      summary: "Delete several objects",
      effect: "destroy",
      params: InBucket,
      content: { request: "bytes" },
      replies: { 200: Foreign },
      faults: ["bucket_access_denied", "bucket_not_found", "not_implemented"],
    },
    getObject: {
      ...reads,
      id: "s3GetObject",
      http: "GET /s3/{bucket}/{key}",
      summary: "Read an object, its attributes or the parts of an upload",
      rest: true,
      params: AtKey,
      content: { reply: "bytes" },
      replies: { 200: Foreign, 206: Foreign, 304: null },
      faults: [
        "bucket_access_denied",
        ...(["bucket_not_found", "object_not_found", "upload_not_found", "precondition_failed"] as const),
        ...(["range_not_satisfiable", "not_implemented"] as const),
      ],
    },
    headObject: {
      ...reads,
      id: "s3HeadObject",
      http: "HEAD /s3/{bucket}/{key}",
      summary: "Read the headers of an object",
      rest: true,
      params: AtKey,
      replies: { 200: null, 206: null, 304: null },
      faults: [
        "bucket_access_denied",
        "bucket_not_found",
        "object_not_found",
        "precondition_failed",
        "range_not_satisfiable",
      ],
    },
    putObject: {
      ...writes,
      id: "s3PutObject",
      http: "PUT /s3/{bucket}/{key}",
      summary: "Store an object or a part of one, from the body or from another object",
      rest: true,
      params: AtKey,
      content: { request: "bytes" },
      replies: { 200: Foreign },
      faults: [
        "bucket_access_denied",
        ...(["bucket_not_found", "object_not_found", "upload_not_found", "precondition_failed"] as const),
        ...(["checksum_mismatch", "not_implemented"] as const),
      ],
    },
    deleteObject: {
      ...writes,
      id: "s3DeleteObject",
      http: "DELETE /s3/{bucket}/{key}",
      summary: "Delete an object, or abort an upload",
      effect: "destroy",
      rest: true,
      params: AtKey,
      replies: { 204: null },
      faults: ["bucket_access_denied", "bucket_not_found", "upload_not_found", "not_implemented"],
    },
    postObject: {
      ...writes,
      id: "s3PostObject",
      http: "POST /s3/{bucket}/{key}",
      summary: "Begin or complete an upload in parts",
      rest: true,
      params: AtKey,
      content: { request: "bytes" },
      replies: { 200: Foreign },
      faults: ["bucket_access_denied", "bucket_not_found", "upload_not_found", "not_implemented"],
    },
    ...publicOperations,
  },
)
