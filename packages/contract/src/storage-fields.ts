/** What requests and replies of storage are made of. */
import { T } from "./dsl.ts"
import { accessFields } from "./storage-access.ts"
import { lifecycleField } from "./storage-lifecycle.ts"
import { Dictionary, described, Id, Nullable, OneOf, Page, Time } from "./types.ts"

/** Bytes of a key in UTF-8; the handler counts bytes, the schema bounds characters. S3's limit. */
export const OBJECT_KEY_BYTES_MAX = 1024
/** Names and values of an object's own metadata together. S3's limit. */
export const OBJECT_METADATA_BYTES_MAX = 2048
/** Largest object in one request; larger ones are uploaded in parts. S3's limit. */
export const PUT_BYTES_MAX = 5 * 1024 ** 3
/** Largest object in parts. S3's limit. */
export const OBJECT_BYTES_MAX = 5 * 1024 ** 4
export const PARTS_MAX = 10_000
export const LISTED_OBJECTS_DEFAULT = 100
export const LISTED_OBJECTS_MAX = 1000
/** S3's limits of tags. */
export const OBJECT_TAGS_MAX = 10
export const BUCKET_TAGS_MAX = 50
export const TAG_KEY_LENGTH_MAX = 128
export const TAG_VALUE_LENGTH_MAX = 256
/** Seven days, as S3 has it. */
export const SIGNED_URL_SECONDS_MAX = 604_800
const SIGNED_URL_SECONDS_DEFAULT = 900

export const BucketName = T.String({
  minLength: 3,
  maxLength: 63,
  pattern: "^[a-z0-9][a-z0-9.-]*[a-z0-9]$",
  description: "3 to 63 lower-case letters, digits, hyphens and dots, as in S3",
})
/** Name of a bucket that may not exist: an impossible name gets the same error as a missing bucket. */
export const NamedBucket = T.String({ minLength: 1, maxLength: 255, description: "Name of the bucket" })
export const Key = T.String({
  minLength: 1,
  maxLength: OBJECT_KEY_BYTES_MAX,
  description: "Key of the object, at most 1,024 bytes in UTF-8; slashes have no special meaning",
})
const Text = T.String({ maxLength: 1024 })

const tags = (countMax: number, description: string) =>
  Dictionary(
    T.String({ minLength: 1, maxLength: TAG_KEY_LENGTH_MAX }),
    T.String({ maxLength: TAG_VALUE_LENGTH_MAX }),
    { maxProperties: countMax, description },
  )
export const ObjectTags = tags(OBJECT_TAGS_MAX, "At most 10 tags; no key begins with `aws:`")
export const BucketTags = tags(BUCKET_TAGS_MAX, "At most 50 tags; no key begins with `aws:`")

export const VersionId = T.String({
  pattern: "^(null|[0-9a-f]{32})$",
  description: "Version of the object; `null` is the one that was stored while there were no versions",
})

export const Bucket = T.Object({
  name: T.String({ description: "Name of the bucket" }),
  public: T.Boolean({ description: "True if its objects can be read without a key" }),
  public_url: Nullable(
    T.String({
      description:
        "Address of its objects for everyone, followed by a slash and the key; null while it is private. " +
        "The first public bucket of a name has S3's path, others one with their project",
    }),
  ),
  versioning: OneOf(["off", "enabled", "suspended"], {
    description:
      "`enabled`: what is overwritten or deleted is kept as a version. `suspended`: the versions stay, and no more are made",
  }),
  tags: T.Record(T.String(), T.String(), { description: "Tags of the bucket" }),
  ...accessFields,
  lifecycle: lifecycleField,
  object_count: T.Integer({ description: "Number of objects, older versions not counted" }),
  size_bytes: T.Integer({ description: "Size of all objects and their older versions" }),
  created_at: Time,
})
export const Buckets = Page(Bucket)

/** A line of a header. */
const HeaderText = T.String({
  maxLength: 1024,
  pattern: "^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$",
  description: "Value of the header",
})

export const HttpMetadata = T.Object(
  {
    content_type: T.Optional(HeaderText),
    content_encoding: T.Optional(HeaderText),
    content_disposition: T.Optional(HeaderText),
    content_language: T.Optional(HeaderText),
    cache_control: T.Optional(HeaderText),
    expires: T.Optional(HeaderText),
  },
  { description: "Headers that are returned with the object" },
)

export const CustomMetadata = Dictionary(
  T.String({ minLength: 1, maxLength: 2048 }),
  T.String({ maxLength: 2048 }),
  {
    description: "Metadata of your own, at most 2 KiB in all; names are lower-case",
  },
)

export const ChecksumAlgorithm = OneOf(["crc32", "crc32c", "crc64nvme", "sha1", "sha256"], {
  description: "Digest that every part must have",
})
export const ChecksumType = OneOf(["full_object", "composite"], {
  description: "`full_object`: of all bytes; `composite`: of the digests of the parts",
})
const Checksums = T.Record(T.String(), T.String(), { description: "Digests in base64, by algorithm" })

export const storedFields = {
  bucket: T.String({ description: "Name of the bucket" }),
  key: T.String({ description: "Key of the object" }),
  size: T.Integer({ description: "Size in bytes" }),
  etag: T.String({
    description:
      "MD5 in hexadecimal; for an object uploaded in parts, the MD5 of their MD5s, `-` and their number",
  }),
  last_modified: Time,
  http_metadata: HttpMetadata,
  custom_metadata: CustomMetadata,
  checksums: Checksums,
  checksum_type: ChecksumType,
  part_count: Nullable(T.Integer(), {
    description: "Number of parts that it was uploaded in; null for objects that were uploaded whole",
  }),
  version_id: Nullable(T.String(), {
    description:
      "Version of the object, `null` in letters for one that was stored before there were versions; null if the bucket never had versions",
  }),
} as const
export const StoredObject = T.Object(storedFields)

export const ListedObjects = T.Object(
  {
    data: T.Array(StoredObject, { description: "Objects of the page" }),
    delimited_prefixes: T.Array(T.String(), {
      description: "Prefixes up to the delimiter that stand for groups of keys",
    }),
    is_truncated: T.Boolean({ description: "True if there are more" }),
    cursor: Nullable(T.String({ description: "Asks for the next page; null at the end" })),
    limit: T.Integer({ description: "The `limit` that was applied" }),
  },
  { "x-svc-list": true },
)

export const ListQuery = T.Object({
  prefix: T.Optional(described(Text, "Only keys that begin with this")),
  delimiter: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 64,
      description: "Groups keys that are equal up to this text after the prefix, usually `/`",
    }),
  ),
  start_after: T.Optional(described(Text, "Only keys after this one")),
  cursor: T.Optional(T.String({ maxLength: 4096, description: "`cursor` of the page before" })),
  limit: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: LISTED_OBJECTS_MAX,
      default: LISTED_OBJECTS_DEFAULT,
      description: "Largest number of objects and prefixes",
    }),
  ),
})

export const Transfer = T.Object({
  source_bucket: described(NamedBucket, "Bucket to take it from"),
  source_key: described(Key, "Key to take it from"),
  bucket: described(NamedBucket, "Bucket to put it in"),
  key: described(Key, "Key to put it under"),
  http_metadata: T.Optional(HttpMetadata),
  custom_metadata: T.Optional(CustomMetadata),
  overwrite: T.Optional(
    T.Boolean({ default: true, description: "Whether an object of that key may be replaced" }),
  ),
})

export const PresignInput = T.Object({
  bucket: NamedBucket,
  key: Key,
  method: T.Optional(OneOf(["GET", "PUT"], { description: "`GET` reads and is the default, `PUT` stores" })),
  expires_in: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: SIGNED_URL_SECONDS_MAX,
      default: SIGNED_URL_SECONDS_DEFAULT,
      description: "Seconds until the URL expires",
    }),
  ),
  content_type: T.Optional(described(HeaderText, "With `PUT`: media type that must be sent")),
  content_length: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: PUT_BYTES_MAX,
      description: "With `PUT`: size in bytes that must be sent",
    }),
  ),
  max_size: T.Optional(
    T.Integer({ minimum: 0, maximum: PUT_BYTES_MAX, description: "With `PUT`: largest size in bytes" }),
  ),
  checksum_sha256: T.Optional(
    T.String({ maxLength: 44, description: "With `PUT`: SHA-256 in base64 that the content must have" }),
  ),
  overwrite: T.Optional(
    T.Boolean({ default: true, description: "With `PUT`: whether an object of that key may be replaced" }),
  ),
  response_content_disposition: T.Optional(
    described(HeaderText, "With `GET`: `Content-Disposition` of the response"),
  ),
  response_content_type: T.Optional(described(HeaderText, "With `GET`: `Content-Type` of the response")),
})

export const SignedUrl = T.Object({
  url: T.String({ description: "Address; whoever has it can use it" }),
  method: T.String({ description: "Method to use it with" }),
  headers: T.Record(T.String(), T.String(), { description: "Headers that must be sent with the request" }),
  expires_at: Time,
})

export const Usage = T.Object({
  buckets: T.Integer({ description: "Number of buckets" }),
  objects: T.Integer({ description: "Number of objects" }),
  size_bytes: T.Integer({ description: "Size of all objects" }),
  upload_bytes: T.Integer({ description: "Bytes of incomplete uploads" }),
  organization_bytes: T.Integer({
    description: "Bytes of all projects of the organization, which count against the plan",
  }),
  included_bytes: Nullable(T.Integer({ description: "Bytes that the plan includes; null for no limit" })),
  can_exceed: T.Boolean({ description: "True if more can be stored for a price" }),
  damaged_blobs: T.Integer({
    description: "Pieces of objects that the last integrity check found damaged",
  }),
})

export const UploadId = T.Object({ upload_id: described(Id, "Id of the upload") })

export const Upload = T.Object({
  upload_id: T.String({ description: "Id of the upload" }),
  bucket: T.String({ description: "Name of the bucket" }),
  key: T.String({ description: "Key of the object" }),
  http_metadata: HttpMetadata,
  custom_metadata: CustomMetadata,
  checksum_algorithm: Nullable(ChecksumAlgorithm, {
    description: "Digest that every part must have; null for none",
  }),
  checksum_type: ChecksumType,
  created_at: Time,
})

export const Part = T.Object({
  part_number: T.Integer({ description: "Number of the part, from 1" }),
  size: T.Integer({ description: "Size in bytes" }),
  etag: T.String({ description: "MD5 of the part in hexadecimal" }),
  checksums: Checksums,
  last_modified: Time,
})

const Bytes = T.Unknown()
/** Includes the replies to conditions (304) and ranges (206). */
export const bytesReplies = { 200: Bytes, 206: Bytes, 304: null } as const
export const headReplies = { 200: null, 304: null } as const

export const WRITE_FAULTS = [
  "bucket_access_denied",
  "bucket_not_found",
  "invalid_parameter",
  "invalid_request",
  "precondition_failed",
  "checksum_mismatch",
  "plan_limit_reached",
] as const
