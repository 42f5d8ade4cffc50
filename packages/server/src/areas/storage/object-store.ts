/** What every entrance to storage (JSON API, S3, resumable uploads, presigned URLs, other areas) is built on. */
import type { Readable } from "node:stream"
import type { OrganizationFacts } from "../../kernel/call.ts"
import type { ByteRange, HashName } from "../../ports/blob/port.ts"
import type { CannedAcl } from "./rules/acl.ts"
import type { CorsRule } from "./rules/cors.ts"
import type { LifecycleRule } from "./rules/lifecycle.ts"

/** Whose buckets: every statement names the project first. The organization pays. */
export interface Place {
  readonly organization: OrganizationFacts
  readonly projectId: string
}

export interface BucketRecord {
  readonly projectId: string
  readonly name: string
  /** Whether anybody may read its objects without a key. */
  readonly isPublic: boolean
  /** Whether it is the one public bucket of its name that answers at S3's path, which names no project. */
  readonly holdsPublicName: boolean
  readonly versioning: Versioning
  readonly tags: Tags
  readonly settings: BucketSettings
  readonly objectCount: number
  readonly sizeBytes: number
  readonly createdAt: Date
}

/** Whether what is overwritten or deleted is kept as a version. Once `enabled`, it can be suspended and never be off again. */
export type Versioning = "off" | VersioningSetting
export type VersioningSetting = "enabled" | "suspended"

export type Tags = Readonly<Record<string, string>>

/** What stays closed to everybody, whatever a policy or a list says. */
export interface PublicAccessBlock {
  /** Lists that let everybody in are refused. */
  readonly block_public_acls: boolean
  /** Lists let nobody in. */
  readonly ignore_public_acls: boolean
  /** Policies that let everybody in are refused. */
  readonly block_public_policy: boolean
  /** Nobody comes in by a policy that lets everybody in, nor by `isPublic`. */
  readonly restrict_public_buckets: boolean
}

/** With `BucketOwnerEnforced` lists mean nothing. */
export type Ownership = "BucketOwnerEnforced" | "BucketOwnerPreferred" | "ObjectWriter"

export interface BucketSettings {
  readonly cors?: readonly CorsRule[]
  /** As it was written. */
  readonly policy?: string
  readonly acl?: CannedAcl
  readonly block?: PublicAccessBlock
  readonly ownership?: Ownership
  readonly lifecycle?: readonly LifecycleRule[]
}

/** Null takes a setting away. */
export type SettingsChange = { readonly [Name in keyof BucketSettings]: BucketSettings[Name] | null }

/** Headers that are kept with an object and sent with it. */
export interface HttpMetadata {
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentDisposition?: string
  readonly contentLanguage?: string
  readonly cacheControl?: string
  readonly expires?: string
}

/** Digests in base64 of the big-endian bytes, as S3 writes them. */
export type Checksums = Readonly<Partial<Record<HashName, string>>>

export interface ObjectRecord {
  readonly bucket: string
  readonly key: string
  readonly size: number
  /** MD5 in hexadecimal; of an object made of parts the MD5 of their MD5s and `-` and their number. Without quotes. */
  readonly etag: string
  readonly lastModified: Date
  readonly http: HttpMetadata
  /** Lower-case names without the `x-svc-meta-` or `x-amz-meta-`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly checksums: Checksums
  /** Whether the checksums are of the whole, or of the checksums of its parts. */
  readonly checksumType: "full_object" | "composite"
  /** How many parts it was put together from; null when it was sent whole. */
  readonly partCount: number | null
  /** `null` as text is the version of before there were any; null: the bucket never had versions. */
  readonly versionId: string | null
  readonly tags: Tags
  /** Lists of objects do not tell it. */
  readonly acl?: CannedAcl
}

export interface NamedVersion {
  readonly key: string
  /** Left out: the newest. */
  readonly version?: string | undefined
}

/** What a deletion did to one of the versions that it named. */
export interface RemovedVersion {
  readonly key: string
  /** The version that is gone, or the delete marker that was made; null where there are no versions. */
  readonly versionId: string | null
  /** Whether that is a delete marker. */
  readonly isMarker: boolean
  /** Whether there was something to delete. */
  readonly wasThere: boolean
}

export interface VersionRecord {
  readonly object: ObjectRecord
  readonly isMarker: boolean
  readonly isLatest: boolean
}

export interface VersionListing extends Pick<Listing, "prefix" | "delimiter" | "limit"> {
  /** Versions behind this one. Without a marker: the keys after this one. */
  readonly after?: { readonly key: string; readonly marker?: string | undefined } | undefined
}

export interface ListedVersions {
  readonly versions: readonly VersionRecord[]
  readonly prefixes: readonly string[]
  /** What `after` of the next page is; null at the end. */
  readonly next: { readonly key: string; readonly marker?: string } | null
}

/** One of the parts that an object was put together from. */
export interface NumberedPart {
  readonly number: number
  readonly size: number
  readonly checksums: Checksums
}

/** An object as it was at one moment, with its parts: none when it was sent whole. */
export interface ObjectInParts {
  readonly object: ObjectRecord
  readonly parts: readonly NumberedPart[]
  open(range: ByteRange): Promise<Readable>
}

/** What must hold for the object that is there (RFC 9110, 13). ETags without quotes; `*` stands for any. */
export interface Conditions {
  readonly ifMatch?: readonly string[]
  readonly ifNoneMatch?: readonly string[]
  readonly ifModifiedSince?: Date
  readonly ifUnmodifiedSince?: Date
}

export interface ObjectAttributes {
  readonly http: HttpMetadata
  readonly metadata: Readonly<Record<string, string>>
}

export interface PutObject extends ObjectAttributes {
  readonly bucket: string
  readonly key: string
  readonly source: AsyncIterable<Uint8Array>
  /** As announced; another length that arrives is refused and nothing is stored. */
  readonly size?: number
  /** Digests that the content must have, else `checksum_mismatch`; those named are kept with the object. */
  readonly expected?: Readonly<Partial<Record<HashName, Buffer>>>
  /** Digests that are only known once the source has ended (trailing checksums): asked for after the last byte. */
  readonly trailing?: {
    readonly hashes: readonly HashName[]
    expected(): Readonly<Partial<Record<HashName, Buffer>>>
  }
  readonly conditions?: Conditions
  readonly tags?: Tags
  /** `private` when left out. */
  readonly acl?: CannedAcl
  readonly signal?: AbortSignal
  readonly now: Date
}

export interface Listing {
  readonly prefix?: string
  readonly delimiter?: string
  /** Keys after this one, in the order of their UTF-8 bytes. */
  readonly startAfter?: string
  /** As a page before gave it. */
  readonly cursor?: string
  /** Objects and prefixes together, 1 to 1,000. */
  readonly limit: number
}

export interface ListedObjects {
  readonly objects: readonly ObjectRecord[]
  readonly prefixes: readonly string[]
  /** Null at the end. */
  readonly cursor: string | null
}

export interface UploadRecord extends ObjectAttributes {
  readonly id: string
  readonly bucket: string
  readonly key: string
  readonly createdAt: Date
  readonly checksumAlgorithm: HashName | null
  readonly checksumType: "full_object" | "composite"
}

export interface PartRecord {
  readonly number: number
  readonly size: number
  readonly etag: string
  readonly checksums: Checksums
  readonly lastModified: Date
}

/** Uploads in parts of 5 MiB to 5 GiB (the last may be smaller), at most 10,000, numbered from 1: S3's limits. */
export interface MultipartUploads {
  create(
    place: Place,
    upload: ObjectAttributes & {
      readonly bucket: string
      readonly key: string
      readonly checksumAlgorithm?: HashName
      readonly checksumType?: "full_object" | "composite"
      readonly tags?: Tags
      readonly acl?: CannedAcl
      readonly now: Date
    },
  ): Promise<UploadRecord>
  find(place: Place, uploadId: string): Promise<UploadRecord>
  /** A number that was sent before is replaced. */
  putPart(
    place: Place,
    part: Pick<PutObject, "source" | "size" | "expected" | "trailing" | "signal" | "now"> & {
      readonly uploadId: string
      readonly number: number
    },
  ): Promise<PartRecord>
  /** Parts with higher numbers than `after`, in order. */
  listParts(
    place: Place,
    uploadId: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly parts: readonly PartRecord[]; readonly isTruncated: boolean }>
  /** Uploads under way, by key and then id. */
  list(
    place: Place,
    bucket: string,
    page: {
      readonly prefix?: string
      readonly afterKey?: string
      readonly afterId?: string
      readonly limit: number
    },
  ): Promise<{ readonly uploads: readonly UploadRecord[]; readonly isTruncated: boolean }>
  /** Puts the named parts together, without copying a byte. Asked again after it succeeded, it gives the same object. */
  complete(
    place: Place,
    completion: {
      readonly uploadId: string
      readonly parts: readonly {
        readonly number: number
        readonly etag: string
        readonly checksums?: Checksums
      }[]
      /** Of the object that it becomes, else `checksum_mismatch`. */
      readonly checksums?: Checksums
      readonly conditions?: Conditions
      readonly now: Date
    },
  ): Promise<ObjectRecord>
  abort(place: Place, uploadId: string): Promise<void>
}

/**
 * Promises: what resolved survives `kill -9`; a read that starts after a write resolved sees it; no reader ever sees a
 * torn object; of writers that race with conditions exactly one wins. Refusals are faults: `bucket_not_found`,
 * `object_not_found`, `precondition_failed`, `checksum_mismatch`, `payload_too_large`, the plan's quota.
 */
export interface ObjectStore {
  createBucket(place: Place, bucket: { name: string; isPublic: boolean; now: Date }): Promise<BucketRecord>
  /** `action` is what S3 calls that for which it is looked for; `s3:ListBucket` when left out. */
  findBucket(place: Place, name: string, action?: string): Promise<BucketRecord>
  findSettings(place: Place, name: string, action: string): Promise<BucketSettings>
  setSettings(place: Place, name: string, change: SettingsChange, action: string): Promise<void>
  listBuckets(
    place: Place,
    page: { limit: number; offset: number },
  ): Promise<{ rows: BucketRecord[]; total: number }>
  setBucketPublic(place: Place, name: string, isPublic: boolean): Promise<void>
  setVersioning(place: Place, name: string, versioning: VersioningSetting): Promise<void>
  setBucketTags(place: Place, name: string, tags: Tags): Promise<void>
  removeBucket(place: Place, name: string): Promise<void>

  put(place: Place, object: PutObject): Promise<ObjectRecord>
  /**
   * Throws `object_not_found`, with `x-amz-delete-marker` where that is what is there; conditions are the caller's to
   * judge with `conditions.ts`.
   */
  find(place: Place, bucket: string, key: string, version?: string, action?: string): Promise<ObjectRecord>
  findParts(place: Place, bucket: string, key: string, version?: string): Promise<ObjectInParts>
  /** The object as `find` saw it, and its bytes from then: a write in between changes nothing of what is read. */
  open(
    place: Place,
    bucket: string,
    key: string,
    choose: (object: ObjectRecord) => ByteRange | "all" | "none",
    version?: string,
  ): Promise<{ readonly object: ObjectRecord; readonly body: Readable | null }>
  listVersions(place: Place, bucket: string, listing: VersionListing): Promise<ListedVersions>
  /** The version that was named, or the newest; throws `object_not_found`. */
  setTags(place: Place, bucket: string, named: NamedVersion, tags: Tags): Promise<ObjectRecord>
  setAcl(place: Place, bucket: string, named: NamedVersion, acl: CannedAcl): Promise<ObjectRecord>
  list(place: Place, bucket: string, listing: Listing): Promise<ListedObjects>
  /** At most 1,000 keys; tells which were there. */
  remove(
    place: Place,
    bucket: string,
    keys: readonly string[],
    conditions?: Conditions,
  ): Promise<ReadonlySet<string>>
  /** The same of versions; the newest of a key is not deleted where there are versions: it gets a delete marker. */
  removeVersions(
    place: Place,
    bucket: string,
    named: readonly NamedVersion[],
    conditions?: Conditions,
  ): Promise<readonly RemovedVersion[]>
  /** Copies without copying a byte. Without `attributes` or `tags` the source's are kept. */
  copy(
    place: Place,
    copy: {
      readonly from: NamedVersion & { readonly bucket: string; readonly conditions?: Conditions }
      readonly to: { readonly bucket: string; readonly key: string; readonly conditions?: Conditions }
      readonly attributes?: ObjectAttributes
      readonly tags?: Tags
      /** A copy never has its source's. */
      readonly acl?: CannedAcl
      readonly now: Date
    },
  ): Promise<ObjectRecord>
  readonly multipart: MultipartUploads
}
