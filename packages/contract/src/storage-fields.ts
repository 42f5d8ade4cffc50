/** What storage's requests and replies are made of. */
import { T } from "./dsl.ts"
import { Dictionary, Id, Nullable, OneOf, Page, Time } from "./types.ts"

/** Bytes of a key in UTF-8; the handler counts bytes, the schema bounds characters. S3's limit. */
export const OBJECT_KEY_BYTES_MAX = 1024
/** Names and values of an object's own metadata together. S3's limit. */
export const OBJECT_METADATA_BYTES_MAX = 2048
/** Of one request; larger objects are sent in parts. S3's limit. */
export const PUT_BYTES_MAX = 5 * 1024 ** 3
/** Of an object in parts. S3's limit. */
export const OBJECT_BYTES_MAX = 5 * 1024 ** 4
export const PARTS_MAX = 10_000
export const LISTED_OBJECTS_DEFAULT = 100
export const LISTED_OBJECTS_MAX = 1000
/** Seven days, as S3 has it. */
export const SIGNED_URL_SECONDS_MAX = 604_800
const SIGNED_URL_SECONDS_DEFAULT = 900

export const BucketName = T.String({
  minLength: 3,
  maxLength: 63,
  pattern: "^[a-z0-9][a-z0-9.-]*[a-z0-9]$",
  description: "3 to 63 lower-case letters, digits, hyphens and dots, as in S3",
})
/** Of one that exists or not: whatever cannot be a bucket is one that was never made. */
export const NamedBucket = T.String({ minLength: 1, maxLength: 255 })
export const Key = T.String({
  minLength: 1,
  maxLength: OBJECT_KEY_BYTES_MAX,
  description: "At most 1,024 bytes in UTF-8; slashes have no meaning of their own",
})
const Text = T.String({ maxLength: 1024 })

export const Bucket = T.Object({
  name: T.String(),
  public: T.Boolean({ description: "Whether anybody may read its objects without a key" }),
  public_url: Nullable(
    T.String({
      description:
        "Where anybody reads its objects, with a slash and the key behind it; null while it is private. " +
        "The public bucket of a name that was made public first has S3's path, others one with their project",
    }),
  ),
  object_count: T.Integer(),
  size_bytes: T.Integer(),
  created_at: Time,
})
export const Buckets = Page(Bucket)

/** A line of a header. */
const HeaderText = T.String({ maxLength: 1024, pattern: "^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$" })

export const HttpMetadata = T.Object(
  {
    content_type: T.Optional(HeaderText),
    content_encoding: T.Optional(HeaderText),
    content_disposition: T.Optional(HeaderText),
    content_language: T.Optional(HeaderText),
    cache_control: T.Optional(HeaderText),
    expires: T.Optional(HeaderText),
  },
  { description: "Headers that are sent with the object" },
)

export const CustomMetadata = Dictionary(
  T.String({ minLength: 1, maxLength: 2048 }),
  T.String({ maxLength: 2048 }),
  {
    description: "At most 2 KiB, names and values together; names are lower-case",
  },
)

export const ChecksumAlgorithm = OneOf(["crc32", "crc32c", "crc64nvme", "sha1", "sha256"])
export const ChecksumType = OneOf(["full_object", "composite"])
const Checksums = T.Record(T.String(), T.String(), { description: "Digests in base64, by algorithm" })

export const StoredObject = T.Object({
  bucket: T.String(),
  key: T.String(),
  size: T.Integer({ description: "Bytes" }),
  etag: T.String({
    description:
      "MD5 in hexadecimal; of an object in parts, the MD5 of their MD5s, `-` and how many they are",
  }),
  last_modified: Time,
  http_metadata: HttpMetadata,
  custom_metadata: CustomMetadata,
  checksums: Checksums,
  checksum_type: ChecksumType,
  part_count: Nullable(T.Integer()),
  version_id: T.Null(),
})

export const ListedObjects = T.Object(
  {
    data: T.Array(StoredObject),
    delimited_prefixes: T.Array(T.String(), {
      description: "What the keys have in common up to the delimiter, in the place of those keys",
    }),
    is_truncated: T.Boolean(),
    cursor: Nullable(T.String({ description: "Asks for the next page; null at the end" })),
    limit: T.Integer(),
  },
  { "x-svc-list": true },
)

export const ListQuery = T.Object({
  prefix: T.Optional(Text),
  delimiter: T.Optional(T.String({ minLength: 1, maxLength: 64 })),
  start_after: T.Optional(Text),
  cursor: T.Optional(T.String({ maxLength: 4096 })),
  limit: T.Optional(T.Integer({ minimum: 1, maximum: LISTED_OBJECTS_MAX, default: LISTED_OBJECTS_DEFAULT })),
})

export const Transfer = T.Object({
  source_bucket: NamedBucket,
  source_key: Key,
  bucket: NamedBucket,
  key: Key,
  http_metadata: T.Optional(HttpMetadata),
  custom_metadata: T.Optional(CustomMetadata),
  overwrite: T.Optional(T.Boolean({ default: true })),
})

export const PresignInput = T.Object({
  bucket: NamedBucket,
  key: Key,
  method: T.Optional(OneOf(["GET", "PUT"])),
  expires_in: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: SIGNED_URL_SECONDS_MAX,
      default: SIGNED_URL_SECONDS_DEFAULT,
      description: "Seconds",
    }),
  ),
  content_type: T.Optional(HeaderText),
  content_length: T.Optional(T.Integer({ minimum: 0, maximum: PUT_BYTES_MAX })),
  max_size: T.Optional(T.Integer({ minimum: 0, maximum: PUT_BYTES_MAX, description: "Bytes" })),
  checksum_sha256: T.Optional(T.String({ maxLength: 44, description: "Base64" })),
  overwrite: T.Optional(T.Boolean({ default: true, description: "Whether an object may be there already" })),
  response_content_disposition: T.Optional(HeaderText),
  response_content_type: T.Optional(HeaderText),
})

export const SignedUrl = T.Object({
  url: T.String(),
  method: T.String(),
  headers: T.Record(T.String(), T.String(), { description: "To be sent with it" }),
  expires_at: Time,
})

export const Usage = T.Object({
  buckets: T.Integer(),
  objects: T.Integer(),
  size_bytes: T.Integer(),
  upload_bytes: T.Integer({ description: "Of uploads that are not complete" }),
  organization_bytes: T.Integer({ description: "All of it, in all projects: what counts against the plan" }),
  included_bytes: Nullable(T.Integer({ description: "What the plan includes; null: any amount" })),
  can_exceed: T.Boolean({ description: "Whether more than that may be stored, at a price" }),
  damaged_blobs: T.Integer({
    description: "Pieces of objects that are not what was written, as the last check of each found",
  }),
})

export const UploadId = T.Object({ upload_id: Id })

export const Upload = T.Object({
  upload_id: T.String(),
  bucket: T.String(),
  key: T.String(),
  http_metadata: HttpMetadata,
  custom_metadata: CustomMetadata,
  checksum_algorithm: Nullable(ChecksumAlgorithm),
  checksum_type: ChecksumType,
  created_at: Time,
})

export const Part = T.Object({
  part_number: T.Integer(),
  size: T.Integer(),
  etag: T.String(),
  checksums: Checksums,
  last_modified: Time,
})

const Bytes = T.Unknown()
/** Also the answers to conditions (304) and ranges (206). */
export const bytesReplies = { 200: Bytes, 206: Bytes, 304: null } as const
export const headReplies = { 200: null, 304: null } as const

export const WRITE_FAULTS = [
  "bucket_not_found",
  "invalid_parameter",
  "invalid_request",
  "precondition_failed",
  "checksum_mismatch",
  "plan_limit_reached",
] as const
