/** Rows as they come, and the records that others see. */
import type { HashName } from "../../../ports/blob/port.ts"
import type {
  BucketRecord,
  BucketSettings,
  Checksums,
  HttpMetadata,
  ObjectRecord,
  PartRecord,
  Tags,
  UploadRecord,
  Versioning,
} from "../object-store.ts"
import type { CannedAcl } from "../rules/acl.ts"

export interface ObjectRow {
  readonly key: string
  readonly size: number
  readonly etag: string
  readonly last_modified: Date
  readonly http: HttpMetadata
  readonly metadata: Readonly<Record<string, string>>
  readonly checksums: Checksums
  readonly checksum_type: "full_object" | "composite"
  readonly part_count: number | null
  readonly version_id: string | null
  readonly tags: Tags
  /** Null: `private`. */
  readonly acl?: CannedAcl | null
}

export const OBJECT_COLUMNS =
  "o.key, o.size, o.etag, o.last_modified, o.http, o.metadata, o.checksums, o.checksum_type, o.part_count, o.version_id, o.tags, o.acl"

/** What clients call a version; nothing where there never were any. */
export const shownVersion = (versioning: Versioning, versionId: string | null): string | null =>
  versioning === "off" ? null : (versionId ?? "null")

export const toObject = (bucket: string, row: ObjectRow, versioning: Versioning): ObjectRecord => ({
  bucket,
  key: row.key,
  size: row.size,
  etag: row.etag,
  lastModified: row.last_modified,
  http: row.http,
  metadata: row.metadata,
  checksums: row.checksums,
  checksumType: row.checksum_type,
  partCount: row.part_count,
  versionId: shownVersion(versioning, row.version_id),
  tags: row.tags,
  acl: row.acl ?? "private",
})

/** A blob that an object is made of. */
export interface BlobPart {
  readonly address: string
  readonly size: number
}

export interface StoredParts {
  readonly addresses: readonly string[]
  /** Arrays of big numbers come as text. */
  readonly sizes: readonly (string | number)[]
}

export const toBlobParts = ({ addresses, sizes }: StoredParts): BlobPart[] =>
  addresses.map((address, at) => ({ address, size: Number(sizes[at]) }))

export interface BucketRow {
  readonly project_id: string
  readonly name: string
  readonly is_public: boolean
  readonly holds_public_name: boolean
  readonly versioning: Versioning
  readonly tags: Tags
  readonly settings: BucketSettings
  readonly created_at: Date
  readonly object_count: number
  readonly size_bytes: number
}

export const toBucket = (row: BucketRow): BucketRecord => ({
  projectId: row.project_id,
  name: row.name,
  isPublic: row.is_public,
  holdsPublicName: row.holds_public_name,
  versioning: row.versioning,
  tags: row.tags,
  settings: row.settings,
  objectCount: row.object_count,
  sizeBytes: row.size_bytes,
  createdAt: row.created_at,
})

export interface UploadRow {
  readonly id: string
  /** Empty for a partial upload. */
  readonly bucket: string
  readonly key: string
  readonly kind: "multipart" | "resumable"
  /** Whether it is a part of another upload, or was put together from such. */
  readonly concat: "partial" | "final" | null
  readonly concat_text: string | null
  readonly http: HttpMetadata
  readonly metadata: Readonly<Record<string, string>>
  readonly checksum_algorithm: HashName | null
  readonly checksum_type: "full_object" | "composite"
  readonly length_bytes: number | null
  readonly received_bytes: number
  readonly metadata_text: string | null
  readonly tags: Tags
  readonly acl: CannedAcl | null
  readonly created_at: Date
  readonly expires_at: Date
  readonly completed: CompletedObject | null
}

/** As JSON: the time is text. Those of before there were versions have none, and no tags. */
export type CompletedObject = Omit<ObjectRecord, "lastModified" | "versionId" | "tags"> & {
  readonly lastModified: string
} & Partial<Pick<ObjectRecord, "versionId" | "tags">>

export const toUpload = (row: UploadRow): UploadRecord => ({
  id: row.id,
  bucket: row.bucket,
  key: row.key,
  http: row.http,
  metadata: row.metadata,
  checksumAlgorithm: row.checksum_algorithm,
  checksumType: row.checksum_type,
  createdAt: row.created_at,
})

export interface PartRow {
  readonly number: number
  readonly address: string | null
  readonly size: number
  readonly etag: string
  readonly checksums: Checksums
  readonly last_modified: Date
}

export const toPart = (row: PartRow): PartRecord => ({
  number: row.number,
  size: row.size,
  etag: row.etag,
  checksums: row.checksums,
  lastModified: row.last_modified,
})
