/** S3 for requests without credentials, in buckets that their owner opened; and what browsers ask before they call. */
import { type OperationSpec, T } from "./dsl.ts"

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

const anonymous = {
  envelope: "s3",
  extension: true,
  crossOrigin: true,
  scope: "public",
  project: "none",
  query: Query,
} as const
const reads = { ...anonymous, effect: "read" } as const
const writes = { ...anonymous, effect: "write", audit: "rollup", idempotency: "natural" } as const

const FIRST_OF_ITS_NAME =
  "For requests without credentials to the same path below `/s3`, if the bucket's owner opened it to everybody, and it " +
  "is the first of its name that was opened. A private bucket gets the same error as one that does not exist."

export const publicOperations = {
  getPublicBucket: {
    ...reads,
    id: "s3GetPublicBucket",
    http: "GET /s3-public/{bucket}",
    summary: "List the objects of a bucket that is open to everybody",
    description: FIRST_OF_ITS_NAME,
    params: InBucket,
    replies: { 200: Foreign },
    faults: ["missing_credentials"],
  },
  headPublicBucket: {
    ...reads,
    id: "s3HeadPublicBucket",
    http: "HEAD /s3-public/{bucket}",
    summary: "Check whether a bucket is open to everybody",
    params: InBucket,
    replies: { 200: null },
    faults: ["missing_credentials"],
  },
  postPublicBucket: {
    ...writes,
    id: "s3PostForm",
    http: "POST /s3-public/{bucket}",
    summary: "Store a file that a form of a browser sends",
    description:
      "For `multipart/form-data` sent to the bucket's path below `/s3`. Who may post is said by a policy among the " +
      "fields, signed by an access key; without one, a bucket that everybody may write to takes the file.",
    params: InBucket,
    content: { request: "bytes" },
    replies: { 200: null, 201: Foreign, 204: null, 303: null },
    faults: [
      ...(["missing_credentials", "signature_invalid", "bucket_access_denied", "bucket_not_found"] as const),
      "invalid_request",
    ],
  },
  getPublicObject: {
    ...reads,
    id: "s3GetPublicObject",
    http: "GET /s3-public/{bucket}/{key}",
    summary: "Read an object that is open to everybody",
    description: FIRST_OF_ITS_NAME,
    rest: true,
    params: AtKey,
    content: { reply: "bytes" },
    replies: { 200: Foreign, 206: Foreign, 304: null },
    faults: ["missing_credentials", "object_not_found", "precondition_failed", "range_not_satisfiable"],
  },
  headPublicObject: {
    ...reads,
    id: "s3HeadPublicObject",
    http: "HEAD /s3-public/{bucket}/{key}",
    summary: "Read the headers of an object that is open to everybody",
    rest: true,
    params: AtKey,
    replies: { 200: null, 206: null, 304: null },
    faults: ["missing_credentials", "object_not_found", "precondition_failed", "range_not_satisfiable"],
  },
  putPublicObject: {
    ...writes,
    id: "s3PutPublicObject",
    http: "PUT /s3-public/{bucket}/{key}",
    summary: "Store an object in a bucket that everybody may write to",
    description: FIRST_OF_ITS_NAME,
    rest: true,
    params: AtKey,
    content: { request: "bytes" },
    replies: { 200: Foreign },
    faults: ["missing_credentials"],
  },
  deletePublicObject: {
    ...writes,
    id: "s3DeletePublicObject",
    http: "DELETE /s3-public/{bucket}/{key}",
    summary: "Delete an object in a bucket that everybody may write to",
    effect: "destroy",
    rest: true,
    params: AtKey,
    replies: { 204: null },
    faults: ["missing_credentials"],
  },
  preflightBucket: {
    ...reads,
    id: "s3PreflightBucket",
    http: "OPTIONS /s3-public/{bucket}",
    summary: "Tell a browser whether a page of another origin may call the bucket",
    params: InBucket,
    replies: { 200: null, 204: null },
    faults: ["cors_denied", "invalid_request"],
  },
  preflightObject: {
    ...reads,
    id: "s3PreflightObject",
    http: "OPTIONS /s3-public/{bucket}/{key}",
    summary: "Tell a browser whether a page of another origin may call the object",
    rest: true,
    params: AtKey,
    replies: { 200: null, 204: null },
    faults: ["cors_denied", "invalid_request"],
  },
} as const satisfies Record<string, OperationSpec>
