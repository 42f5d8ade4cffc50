/** Access to objects without a key: by signed URL, and in public buckets. */
import { ANY_TYPE, type OperationSpec, T } from "./dsl.ts"
import {
  bytesReplies,
  headReplies,
  Key,
  NamedBucket,
  PresignInput,
  SignedUrl,
  StoredObject,
  WRITE_FAULTS,
} from "./storage-fields.ts"
import { ReadConditions, ReadHeaders, SignedUploadHeaders } from "./storage-headers.ts"
import { Id } from "./types.ts"

const SignedParams = T.Object({
  token: T.String({ minLength: 1, maxLength: 4096, description: "Token of the signed URL" }),
  key: Key,
})
const PublicParams = T.Object({ project_id: Id, bucket: NamedBucket, key: Key })

/** Signed URLs may replace headers of the reply, which are then part of what is signed. */
const SIGNED_FAULTS = [
  "bucket_access_denied",
  "signed_url_invalid",
  "bucket_not_found",
  "object_not_found",
  "precondition_failed",
] as const
const PUBLIC_FAULTS = ["object_not_found", "precondition_failed"] as const

export const linkOperations = {
  presign: {
    id: "presignObject",
    http: "POST /v1/storage/presign",
    summary: "Create a URL that reads or writes one object without a key",
    description:
      "`PUT` needs `storage:write`. The URL allows exactly what is given here, until it expires or the key " +
      "that created it ends.",
    scope: ["storage:read", "storage:write"],
    effect: "read-or-write",
    body: PresignInput,
    replies: { 200: SignedUrl },
    faults: ["bucket_not_found", "invalid_parameter", "missing_scope", "key_read_only"],
    example: { bucket: "photos", key: "a.jpg", method: "GET", expires_in: 600 },
  },
  getSigned: {
    id: "getSignedObject",
    http: "GET /v1/storage/signed/{token}/{key}",
    summary: "Read an object by a signed URL",
    scope: "public",
    limit: "handler",
    effect: "read",
    project: "none",
    extension: true,
    rest: true,
    crossOrigin: true,
    content: { reply: "bytes", replyTypes: ANY_TYPE },
    params: SignedParams,
    headers: ReadHeaders,
    replies: bytesReplies,
    faults: [...SIGNED_FAULTS, "range_not_satisfiable"],
  },
  headSigned: {
    id: "headSignedObject",
    http: "HEAD /v1/storage/signed/{token}/{key}",
    summary: "Read the headers of an object by a signed URL",
    scope: "public",
    limit: "handler",
    effect: "read",
    project: "none",
    extension: true,
    rest: true,
    crossOrigin: true,
    params: SignedParams,
    headers: ReadConditions,
    replies: headReplies,
    faults: SIGNED_FAULTS,
  },
  putSigned: {
    id: "putSignedObject",
    http: "PUT /v1/storage/signed/{token}/{key}",
    summary: "Store an object by a signed URL",
    scope: "public",
    limit: "handler",
    effect: "write",
    project: "none",
    idempotency: "natural",
    audit: "rollup",
    extension: true,
    rest: true,
    crossOrigin: true,
    content: { request: "bytes", requestTypes: ANY_TYPE },
    params: SignedParams,
    headers: SignedUploadHeaders,
    replies: { 200: StoredObject },
    faults: ["signed_url_invalid", ...WRITE_FAULTS],
  },
  getPublic: {
    id: "getPublicObject",
    http: "GET /v1/storage/public/{project_id}/{bucket}/{key}",
    summary: "Read an object of a public bucket",
    scope: "public",
    effect: "read",
    project: "none",
    extension: true,
    rest: true,
    crossOrigin: true,
    content: { reply: "bytes", replyTypes: ANY_TYPE },
    params: PublicParams,
    headers: ReadHeaders,
    replies: bytesReplies,
    faults: [...PUBLIC_FAULTS, "range_not_satisfiable"],
  },
  headPublic: {
    id: "headPublicObject",
    http: "HEAD /v1/storage/public/{project_id}/{bucket}/{key}",
    summary: "Read the headers of an object of a public bucket",
    scope: "public",
    effect: "read",
    project: "none",
    extension: true,
    rest: true,
    crossOrigin: true,
    params: PublicParams,
    headers: ReadConditions,
    replies: headReplies,
    faults: PUBLIC_FAULTS,
  },
} as const satisfies Record<string, OperationSpec>
