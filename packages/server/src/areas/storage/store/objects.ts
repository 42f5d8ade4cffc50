/** Rows of storage.objects. Every statement names the project first. */
import { OBJECT_KEY_BYTES_MAX } from "@svc/contract"
import type pg from "pg"
import { createBatcher } from "../../../kernel/batcher.ts"
import { fault } from "../../../kernel/fault.ts"
import type {
  Conditions,
  ListedObjects,
  Listing,
  NumberedPart,
  ObjectRecord,
  Versioning,
} from "../object-store.ts"
import { successorOf } from "../rules/names.ts"
import { type BlobPart, OBJECT_COLUMNS, type ObjectRow, type StoredParts, toObject } from "./rows.ts"

export type Queries = Pick<pg.Pool, "query">

/** The bucket that a row was looked for in, whether there is one or not. */
interface BucketOfRow {
  readonly bucket_id: string
  readonly is_public: boolean
  readonly versioning: Versioning
}

export type FoundRow = BucketOfRow &
  // The delete marker that is in the place of an object.
  (ObjectRow | { readonly key: null; readonly marker_id: string | null }) &
  StoredParts

export interface FoundObject {
  readonly object: ObjectRecord
  readonly isPublic: boolean
  readonly versioning: Versioning
  readonly stored: StoredParts
}

/** The newest version of a key that has no object is a delete marker. Not looked for where there is an object. */
const markerOf = (key: string) => `CASE WHEN o.key IS NULL AND bucket.versioning <> 'off' THEN (
    SELECT coalesce(v.version_id, 'null') FROM storage.versions AS v
    WHERE v.bucket_id = bucket.id AND v.key = ${key} ORDER BY v.age LIMIT 1
  ) END AS marker_id`

const foundColumns = (key: string) =>
  `bucket.id AS bucket_id, bucket.is_public, bucket.versioning, ${OBJECT_COLUMNS}, o.addresses, o.sizes, ${markerOf(key)}`

const FIND = {
  name: "storage-find",
  text: `SELECT ${foundColumns("$3")}
    FROM storage.buckets AS bucket LEFT JOIN storage.objects AS o ON o.bucket_id = bucket.id AND o.key = $3
    WHERE bucket.project_id = $1 AND bucket.name = $2`,
}

const PUT = {
  name: "storage-put",
  text: `SELECT outcome, version_id FROM storage.put_object($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
}

export const bucketNotFound = (name: string) => fault("bucket_not_found", { name })

export const conditionValues = (conditions: Conditions | undefined) => [
  conditions?.ifMatch ?? null,
  conditions?.ifNoneMatch ?? null,
  conditions?.ifUnmodifiedSince ?? null,
]

export const judge = (outcome: string | undefined, bucket: string) => {
  if (outcome === "no_bucket") throw bucketNotFound(bucket)
  if (outcome === "precondition") throw fault("precondition_failed")
}

export interface NewObject {
  readonly projectId: string
  readonly object: ObjectRecord
  readonly parts: readonly BlobPart[]
  /** The numbered parts that it is put together from; undefined when it was sent whole. */
  readonly numbered?: readonly NumberedPart[] | undefined
  readonly conditions?: Conditions | undefined
  /** Whether its blobs were written just now. */
  readonly isPublished: boolean
  /** Blobs that the parts of an upload give up when they become this object, and the bytes of those parts. */
  readonly released?: { readonly addresses: readonly string[]; readonly bytes: number }
}

/** The object as it is then, with its version. */
export const putObject = async (db: Queries, put: NewObject): Promise<ObjectRecord> => {
  const { projectId, object, parts, numbered, conditions, isPublished, released } = put
  const { rows } = await db.query<{ outcome: string; version_id: string | null }>({
    ...PUT,
    values: [
      ...[projectId, object.bucket, object.key, object.size, object.etag, object.lastModified],
      ...[JSON.stringify(object.http), JSON.stringify(object.metadata), JSON.stringify(object.checksums)],
      ...[object.checksumType, object.partCount],
      ...[parts.map(({ address }) => address), parts.map(({ size }) => size)],
      ...[released?.addresses ?? [], released?.bytes ?? 0],
      ...conditionValues(conditions),
      isPublished,
      numbered ? JSON.stringify(numbered) : null,
      JSON.stringify(object.tags),
      object.acl ?? null,
    ],
  })
  judge(rows[0]?.outcome, object.bucket)
  return { ...object, versionId: rows[0]?.version_id ?? null }
}

/** A delete marker that is in its place is told of, as S3 does. */
export const objectNotFound = (key: string, markerId: string | null) => {
  const headers = markerId === null ? {} : { "x-amz-delete-marker": "true", "x-amz-version-id": markerId }
  return fault("object_not_found", { key }, { headers })
}

export const toFound = (row: FoundRow | undefined, bucket: string, key: string): FoundObject => {
  if (!row) throw bucketNotFound(bucket)
  if (row.key === null) throw objectNotFound(key, row.marker_id)
  const { versioning } = row
  return { object: toObject(bucket, row, versioning), isPublic: row.is_public, versioning, stored: row }
}

/** Throws `bucket_not_found` or `object_not_found`. */
export const findObject = async (
  db: Queries,
  projectId: string,
  bucket: string,
  key: string,
): Promise<FoundObject> => {
  const { rows } = await db.query<FoundRow>({ ...FIND, values: [projectId, bucket, key] })
  return toFound(rows[0], bucket, key)
}

export interface ObjectName {
  readonly projectId: string
  readonly bucket: string
  readonly key: string
}

const FIND_PARTS = {
  name: "storage-find-parts",
  text: `SELECT ${foundColumns("$3")}, o.parts
    FROM storage.buckets AS bucket LEFT JOIN storage.objects AS o ON o.bucket_id = bucket.id AND o.key = $3
    WHERE bucket.project_id = $1 AND bucket.name = $2`,
}

/** Objects of before parts were kept have a blob a part, but for one that is empty. */
export const partsOfBlobs = ({ object, stored }: FoundObject): NumberedPart[] =>
  Array.from({ length: object.partCount ?? 0 }, (_, at) => ({
    number: at + 1,
    size: Number(stored.sizes[at] ?? 0),
    checksums: {},
  }))

/** The object with its numbered parts, which most readers do not need and which can be ten thousand. */
export const findObjectParts = async (
  db: Queries,
  { projectId, bucket, key }: ObjectName,
): Promise<FoundObject & { readonly numbered: readonly NumberedPart[] }> => {
  const { rows } = await db.query<FoundRow & { readonly parts: readonly NumberedPart[] | null }>({
    ...FIND_PARTS,
    values: [projectId, bucket, key],
  })
  const found = toFound(rows[0], bucket, key)
  return { ...found, numbered: rows[0]?.parts ?? partsOfBlobs(found) }
}

/** What `FIND` finds, for many at once, in the order in which they are named. */
const FIND_ALL = {
  name: "storage-find-all",
  text: `SELECT found.* FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY
      AS named (project_id, bucket, key, at)
    LEFT JOIN LATERAL (
      SELECT ${foundColumns("named.key")}
      FROM storage.buckets AS bucket LEFT JOIN storage.objects AS o ON o.bucket_id = bucket.id AND o.key = named.key
      WHERE bucket.project_id = named.project_id AND bucket.name = named.bucket LIMIT 1
    ) AS found ON true ORDER BY named.at`,
}

/** Objects found by one statement at most. */
const FOUND_TOGETHER_MAX = 100
/** Statements under way for readers; those who come meanwhile share the next. */
const FINDS_AT_ONCE_MAX = 2

const findRows = async (db: Queries, names: readonly ObjectName[]): Promise<(FoundRow | undefined)[]> => {
  const { rows } = await db.query<FoundRow | { readonly bucket_id: null }>({
    ...FIND_ALL,
    values: [
      names.map(({ projectId }) => projectId),
      names.map(({ bucket }) => bucket),
      names.map(({ key }) => key),
    ],
  })
  return rows.map(row => (row.bucket_id === null ? undefined : row))
}

/** Reads of many callers share a statement, each of which would cost more than the rest of a small object's reading. */
export const createFinder = (db: Queries): ((name: ObjectName) => Promise<FoundObject>) =>
  createBatcher<ObjectName, FoundObject>({
    itemsMax: FOUND_TOGETHER_MAX,
    atOnceMax: FINDS_AT_ONCE_MAX,
    async perform(names) {
      const [only, ...others] = names
      if (only && others.length === 0)
        return await Promise.allSettled([findObject(db, only.projectId, only.bucket, only.key)])
      try {
        const rows = await findRows(db, names)
        return Promise.allSettled(names.map(async ({ bucket, key }, at) => toFound(rows[at], bucket, key)))
      } catch {
        // What is wrong with one name must not be the others' failure.
        return Promise.allSettled(
          names.map(({ projectId, bucket, key }) => findObject(db, projectId, bucket, key)),
        )
      }
    },
  })

export const findBucketId = async (
  db: Queries,
  projectId: string,
  bucket: string,
): Promise<{ readonly id: string; readonly versioning: Versioning }> => {
  const { rows } = await db.query<{ id: string; versioning: Versioning }>({
    name: "storage-bucket-id",
    text: "SELECT id, versioning FROM storage.buckets WHERE project_id = $1 AND name = $2",
    values: [projectId, bucket],
  })
  if (!rows[0]) throw bucketNotFound(bucket)
  return rows[0]
}

const LIST = {
  name: "storage-list",
  text: "SELECT * FROM storage.list_objects($1, $2, $3, $4, $5, $6, $7)",
}

type Entry = ({ readonly common_prefix: null } & ObjectRow) | { readonly common_prefix: string }

/** A text from which on all keys are greater than this one: PostgreSQL's text holds no null character. */
export const after = (key: string): string => `${key}\u0001`

const cursorOf = (entry: string): string => Buffer.from(entry).toString("base64url")

const readCursor = (cursor: string): string => {
  const entry = Buffer.from(cursor, "base64url").toString()
  if (entry === "" || entry.includes("\0") || cursorOf(entry) !== cursor)
    throw fault("invalid_parameter", { reason: "cursor is not one that a list gave" })
  return entry
}

/** What the key and others have in common up to the delimiter, or undefined. */
export const commonPrefix = (key: string, prefix: string, delimiter: string): string | undefined => {
  const at = key.startsWith(prefix) ? key.indexOf(delimiter, prefix.length) : -1
  return at < 0 ? undefined : key.slice(0, at + delimiter.length)
}

const later = (a: string, b: string): string => (Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 ? b : a)

/** The least key to look at. A common prefix that was given already stands for all its keys. */
const firstKey = ({ prefix = "", delimiter, startAfter, cursor }: Listing): string | undefined => {
  const behind = [startAfter, cursor === undefined ? undefined : readCursor(cursor)].flatMap(text => {
    if (text === undefined || text === "") return []
    const isPrefix = delimiter !== undefined && commonPrefix(text, prefix, delimiter) === text
    return [isPrefix ? successorOf(text) : after(text)]
  })
  if (behind.includes(undefined)) return undefined
  return behind.reduce<string>((first, next) => later(first, next ?? first), prefix)
}

/** Greater than any key, because it has more bytes of the highest kind. The index is read no further than this. */
export const ABOVE_ALL = "\u{10ffff}".repeat(OBJECT_KEY_BYTES_MAX / 4 + 1)

const query = (bucketId: string, { prefix = "", delimiter, limit }: Listing, from: string) => {
  const below = successorOf(prefix) ?? ABOVE_ALL
  const next = delimiter === undefined ? undefined : successorOf(delimiter)
  if (delimiter !== undefined && next === undefined)
    throw fault("invalid_parameter", { reason: "delimiter is made of the highest of all characters" })
  // One more than asked for tells whether that is all.
  const values = [bucketId, prefix, from, below, delimiter ?? null, next ?? null, limit + 1]
  return { ...LIST, values }
}

export const listObjects = async (
  db: Queries,
  projectId: string,
  bucket: string,
  listing: Listing,
): Promise<ListedObjects> => {
  const from = firstKey(listing)
  const { id, versioning } = await findBucketId(db, projectId, bucket)
  if (from === undefined) return { objects: [], prefixes: [], cursor: null }

  const { rows } = await db.query<Entry>(query(id, listing, from))
  const entries = rows.slice(0, listing.limit)
  const last = entries.at(-1)
  return {
    objects: entries.flatMap(entry =>
      entry.common_prefix === null ? [toObject(bucket, entry, versioning)] : [],
    ),
    prefixes: entries.flatMap(({ common_prefix }) => common_prefix ?? []),
    cursor:
      last && rows.length > entries.length
        ? cursorOf(last.common_prefix === null ? last.key : last.common_prefix)
        : null,
  }
}
