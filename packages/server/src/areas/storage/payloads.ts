/** Records as the API shows them. */
import type { areas, Input, Output } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type {
  BucketRecord,
  BucketSettings,
  Conditions,
  ObjectAttributes,
  ObjectRecord,
  PartRecord,
  Place,
  UploadRecord,
} from "./object-store.ts"
import { httpFromWire, httpToWire } from "./rules/attributes.ts"
import type { CorsRule } from "./rules/cors.ts"

type Operations = typeof areas.storage.specs

export const placeOf = ({ organization, owner }: Pick<Call, "organization" | "owner">): Place => ({
  organization,
  projectId: owner,
})

/** Where anybody reads the objects of a bucket. */
const publicUrl = ({ projectId, name, isPublic, holdsPublicName }: BucketRecord, baseUrl: string) => {
  if (!isPublic) return null
  return holdsPublicName ? `${baseUrl}/s3/${name}` : `${baseUrl}/v1/storage/public/${projectId}/${name}`
}

const accessPayload = ({ cors, policy, acl, block, lifecycle }: BucketSettings) => ({
  cors: cors ? corsToWire(cors) : null,
  policy: policy === undefined ? null : (JSON.parse(policy) as Record<string, unknown>),
  acl: acl ?? ("private" as const),
  public_access_block: block ? { ...block } : null,
  lifecycle: lifecycle
    ? lifecycle.map(({ tags, ...rule }) => ({ ...rule, ...(tags && { tags: { ...tags } }) }))
    : null,
})

type WireCors = NonNullable<Output<Operations["getBucket"]>["cors"]>

const corsToWire = (rules: readonly CorsRule[]): WireCors =>
  rules.map(({ allowed_origins, allowed_methods, allowed_headers, expose_headers, ...rule }) => ({
    ...rule,
    allowed_origins: [...allowed_origins],
    allowed_methods: [...allowed_methods],
    ...(allowed_headers && { allowed_headers: [...allowed_headers] }),
    ...(expose_headers && { expose_headers: [...expose_headers] }),
  }))

export const bucketPayload = (bucket: BucketRecord, baseUrl: string): Output<Operations["getBucket"]> => ({
  name: bucket.name,
  public: bucket.isPublic,
  public_url: publicUrl(bucket, baseUrl),
  object_count: bucket.objectCount,
  size_bytes: bucket.sizeBytes,
  versioning: bucket.versioning,
  tags: { ...bucket.tags },
  ...accessPayload(bucket.settings),
  created_at: bucket.createdAt.toISOString(),
})

export const objectPayload = (object: ObjectRecord): Output<Operations["putObject"]> => ({
  bucket: object.bucket,
  key: object.key,
  size: object.size,
  etag: object.etag,
  last_modified: object.lastModified.toISOString(),
  http_metadata: httpToWire(object.http),
  custom_metadata: { ...object.metadata },
  checksums: { ...object.checksums },
  checksum_type: object.checksumType,
  part_count: object.partCount,
  version_id: object.versionId,
})

type Algorithm = NonNullable<Input<Operations["createMultipart"]>["checksum_algorithm"]>

export const uploadPayload = (upload: UploadRecord): Output<Operations["createMultipart"]> => ({
  upload_id: upload.id,
  bucket: upload.bucket,
  key: upload.key,
  http_metadata: httpToWire(upload.http),
  custom_metadata: { ...upload.metadata },
  // Nothing else is ever stored: the contract lists them.
  checksum_algorithm: upload.checksumAlgorithm as Algorithm | null,
  checksum_type: upload.checksumType,
  created_at: upload.createdAt.toISOString(),
})

export const partPayload = (part: PartRecord): Output<Operations["putPart"]> => ({
  part_number: part.number,
  size: part.size,
  etag: part.etag,
  checksums: { ...part.checksums },
  last_modified: part.lastModified.toISOString(),
})

/** Attributes of a JSON body; undefined when it names none. */
export const attributesOf = ({
  http_metadata,
  custom_metadata,
}: Pick<Input<Operations["copyObject"]>, "http_metadata" | "custom_metadata">):
  | ObjectAttributes
  | undefined =>
  http_metadata || custom_metadata
    ? { http: httpFromWire(http_metadata ?? {}), metadata: custom_metadata ?? {} }
    : undefined

export const overwriting = (overwrite: boolean | undefined): { conditions?: Conditions } =>
  overwrite === false ? { conditions: { ifNoneMatch: ["*"] } } : {}

/** As announced; a body in chunks announces nothing. */
export const announcedSize = (header: Call["header"]): { size?: number } => {
  const length = header("content-length")
  if (length === undefined) return header("transfer-encoding") === undefined ? { size: 0 } : {}
  return { size: Number(length) }
}
