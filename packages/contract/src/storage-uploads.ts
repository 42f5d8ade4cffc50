/** Uploads in several requests: in numbered parts, and resumable ones. */
import { MIB, type OperationSpec, T } from "./dsl.ts"
import {
  ChecksumAlgorithm,
  ChecksumType,
  CustomMetadata,
  HttpMetadata,
  Key,
  NamedBucket,
  OBJECT_BYTES_MAX,
  PARTS_MAX,
  Part,
  StoredObject,
  Upload,
  UploadId,
} from "./storage-fields.ts"
import { PartHeaders, TusCreateHeaders, TusHeaders, TusPatchHeaders } from "./storage-headers.ts"
import { described, Id } from "./types.ts"

export const TUS_VERSION = "1.0.0"
export const TUS_CHECKSUM_ALGORITHMS = ["md5", "sha1", "sha256", "crc32"] as const

/** Headers of every reply to a tus client. */
export const TUS_HEADERS = {
  "tus-resumable": TUS_VERSION,
  "tus-version": TUS_VERSION,
  "tus-extension":
    "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination,concatenation",
  "tus-checksum-algorithm": TUS_CHECKSUM_ALGORITHMS.join(","),
} as const

const tusOptions = { ...TUS_HEADERS, "tus-max-size": String(OBJECT_BYTES_MAX) } as const

const TUS_FAULTS = [
  "upload_not_found",
  "precondition_failed",
  "invalid_parameter",
  "invalid_request",
  "conflict",
  "upload_checksum_mismatch",
  "plan_limit_reached",
] as const

export const uploadOperations = {
  createMultipart: {
    id: "createMultipartUpload",
    http: "POST /v1/storage/multipart",
    summary: "Start an upload in parts",
    scope: "storage:write",
    effect: "write",
    audit: "rollup",
    extension: true,
    body: T.Object({
      bucket: NamedBucket,
      key: Key,
      http_metadata: T.Optional(HttpMetadata),
      custom_metadata: T.Optional(CustomMetadata),
      checksum_algorithm: T.Optional(
        described(ChecksumAlgorithm, "Digest that every part must have; none when left out"),
      ),
      checksum_type: T.Optional(
        described(ChecksumType, "`full_object`: of all bytes; `composite`: of the digests of the parts"),
      ),
    }),
    replies: { 201: Upload },
    faults: ["bucket_not_found", "invalid_parameter", "bucket_access_denied"],
    example: { bucket: "photos", key: "film.mp4" },
  },
  listMultipart: {
    id: "listMultipartUploads",
    http: "GET /v1/storage/multipart",
    summary: "List the unfinished uploads in parts of a bucket, by key",
    scope: "storage:read",
    effect: "read",
    extension: true,
    query: T.Object({
      bucket: NamedBucket,
      prefix: T.Optional(T.String({ maxLength: 1024, description: "Only keys that begin with this" })),
      after_key: T.Optional(T.String({ maxLength: 1024, description: "Only uploads after this key" })),
      after_id: T.Optional(described(Id, "With `after_key`: only uploads after this id")),
      limit: T.Optional(
        T.Integer({ minimum: 1, maximum: 1000, default: 100, description: "Largest number of uploads" }),
      ),
    }),
    replies: {
      200: T.Object(
        {
          data: T.Array(Upload, { description: "Uploads of the page" }),
          is_truncated: T.Boolean({ description: "True if there are more" }),
        },
        { "x-svc-list": true },
      ),
    },
    faults: ["bucket_not_found", "invalid_parameter", "bucket_access_denied"],
  },
  putPart: {
    id: "putUploadPart",
    http: "PUT /v1/storage/multipart/{upload_id}/parts/{part_number}",
    summary: "Upload a part; a part of the same number is replaced",
    description:
      "5 MiB to 5 GiB; the last may be smaller. `Content-MD5` and `x-svc-checksum-*` are verified.",
    scope: "storage:write",
    effect: "write",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    content: { request: "bytes" },
    params: T.Object({
      upload_id: Id,
      part_number: T.Integer({ minimum: 1, maximum: PARTS_MAX, description: "Number of the part, from 1" }),
    }),
    headers: PartHeaders,
    replies: { 200: Part },
    faults: [
      "bucket_access_denied",
      "upload_not_found",
      "invalid_parameter",
      "invalid_request",
      "checksum_mismatch",
      "plan_limit_reached",
    ],
  },
  listParts: {
    id: "listUploadParts",
    http: "GET /v1/storage/multipart/{upload_id}/parts",
    summary: "List the uploaded parts, by number",
    scope: "storage:read",
    effect: "read",
    extension: true,
    params: UploadId,
    query: T.Object({
      after: T.Optional(
        T.Integer({
          minimum: 0,
          maximum: PARTS_MAX,
          default: 0,
          description: "Only parts with a greater number",
        }),
      ),
      limit: T.Optional(
        T.Integer({ minimum: 1, maximum: 1000, default: 1000, description: "Largest number of parts" }),
      ),
    }),
    replies: {
      200: T.Object(
        {
          data: T.Array(Part, { description: "Parts of the page" }),
          is_truncated: T.Boolean({ description: "True if there are more" }),
        },
        { "x-svc-list": true },
      ),
    },
    faults: ["upload_not_found", "bucket_access_denied"],
  },
  completeMultipart: {
    id: "completeMultipartUpload",
    http: "POST /v1/storage/multipart/{upload_id}/complete",
    summary: "Complete an upload: join the parts in the order of their numbers",
    scope: "storage:write",
    effect: "write",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    params: UploadId,
    body: T.Object({
      parts: T.Array(
        T.Object({
          part_number: T.Integer({ minimum: 1, maximum: PARTS_MAX, description: "Number of the part" }),
          etag: T.String({ maxLength: 100, description: "`etag` that sending the part returned" }),
        }),
        { minItems: 1, maxItems: PARTS_MAX, description: "Parts to put together" },
      ),
      overwrite: T.Optional(
        T.Boolean({ default: true, description: "Whether an object of that key may be replaced" }),
      ),
    }),
    bodyBytesMax: 2 * MIB,
    replies: { 200: StoredObject },
    faults: [
      "bucket_access_denied",
      "upload_not_found",
      "upload_part_invalid",
      "upload_part_too_small",
      "bucket_not_found",
      "invalid_parameter",
      "precondition_failed",
    ],
  },
  abortMultipart: {
    id: "abortMultipartUpload",
    http: "DELETE /v1/storage/multipart/{upload_id}",
    summary: "Abort an upload and delete its parts",
    scope: "storage:write",
    effect: "destroy",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    params: UploadId,
    replies: {
      200: T.Object({
        upload_id: T.String({ description: "Id of the upload" }),
        aborted: T.Literal(true, { description: "Always true" }),
      }),
    },
    faults: ["upload_not_found", "bucket_access_denied"],
  },
  createUpload: {
    id: "createResumableUpload",
    http: "POST /v1/storage/uploads",
    summary: "Start a resumable upload (tus 1.0)",
    description:
      "`Upload-Metadata` names `bucket` and `key` (or `bucketName` and `objectName`), and may have `contentType`, " +
      "`cacheControl` and `metadata` (JSON). With `Upload-Concat: partial` it is left out, and `final;…` creates an " +
      "object from partial uploads. `OPTIONS` returns the extensions.",
    scope: "storage:write",
    effect: "write",
    audit: "rollup",
    extension: true,
    crossOrigin: true,
    content: { request: "bytes", requestTypes: ["application/offset+octet-stream"] },
    headers: TusCreateHeaders,
    optionsHeaders: tusOptions,
    replies: {
      201: T.Object({
        upload_id: T.String({ description: "Id of the upload" }),
        offset: T.Integer({ description: "Bytes that have arrived" }),
      }),
    },
    faults: [...TUS_FAULTS, "bucket_not_found", "bucket_access_denied"],
  },
  headUpload: {
    id: "headResumableUpload",
    http: "HEAD /v1/storage/uploads/{upload_id}",
    summary: "Show how much of a resumable upload has arrived",
    scope: "storage:write",
    effect: "read",
    extension: true,
    crossOrigin: true,
    optionsHeaders: tusOptions,
    params: UploadId,
    headers: TusHeaders,
    replies: { 200: null },
    faults: ["upload_not_found", "precondition_failed"],
  },
  patchUpload: {
    id: "patchResumableUpload",
    http: "PATCH /v1/storage/uploads/{upload_id}",
    summary: "Continue a resumable upload",
    scope: "storage:write",
    effect: "write",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    crossOrigin: true,
    content: { request: "bytes", requestTypes: ["application/offset+octet-stream"], bytesRequired: true },
    params: UploadId,
    headers: TusPatchHeaders,
    replies: { 204: null },
    faults: [...TUS_FAULTS, "bucket_not_found", "bucket_access_denied", "upload_final"],
  },
  deleteUpload: {
    id: "deleteResumableUpload",
    http: "DELETE /v1/storage/uploads/{upload_id}",
    summary: "Abort a resumable upload",
    scope: "storage:write",
    effect: "destroy",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    crossOrigin: true,
    params: UploadId,
    headers: TusHeaders,
    replies: { 204: null },
    faults: ["upload_not_found", "precondition_failed"],
  },
} as const satisfies Record<string, OperationSpec>
