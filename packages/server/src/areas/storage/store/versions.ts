/** Rows of storage.versions, and of storage.objects as the newest of them. Every statement names the project first. */
import { fault } from "../../../kernel/fault.ts"
import type {
  Conditions,
  ListedVersions,
  NamedVersion,
  NumberedPart,
  ObjectRecord,
  RemovedVersion,
  Tags,
  VersionListing,
} from "../object-store.ts"
import type { CannedAcl } from "../rules/acl.ts"
import { successorOf } from "../rules/names.ts"
import {
  ABOVE_ALL,
  after,
  commonPrefix,
  conditionValues,
  type FoundObject,
  type FoundRow,
  findBucketId,
  judge,
  type ObjectName,
  objectNotFound,
  partsOfBlobs,
  type Queries,
  toFound,
} from "./objects.ts"
import { OBJECT_COLUMNS, type ObjectRow, shownVersion, toObject } from "./rows.ts"

interface ObjectVersion extends ObjectName {
  readonly version: string
}

/** The version that is called `null` has no id. A statement for each of both, because an index serves both. */
const isVersion = (version: string) => (version === "null" ? "version_id IS NULL" : "version_id = $4")

const valuesOf = ({ projectId, bucket, key, version }: ObjectVersion) => [
  ...[projectId, bucket, key],
  ...(version === "null" ? [] : [version]),
]

const VERSION_COLUMNS = `${OBJECT_COLUMNS}, o.addresses, o.sizes, o.parts, o.is_marker`

const findText = (version: string) => `SELECT bucket.id AS bucket_id, bucket.is_public, bucket.versioning,
    ${VERSION_COLUMNS}, NULL AS marker_id
  FROM storage.buckets AS bucket LEFT JOIN LATERAL (
    SELECT c.*, false AS is_marker FROM storage.objects AS c
    WHERE c.bucket_id = bucket.id AND c.key = $3 AND c.${isVersion(version)}
    UNION ALL
    SELECT v.* FROM storage.versions AS v
    WHERE v.bucket_id = bucket.id AND v.key = $3 AND v.${isVersion(version)}
  ) AS o ON true
  WHERE bucket.project_id = $1 AND bucket.name = $2`

/** Throws `bucket_not_found` or `object_not_found`, the latter for a delete marker too. */
export const findVersion = async (
  db: Queries,
  named: ObjectVersion,
): Promise<FoundObject & { readonly numbered: readonly NumberedPart[] }> => {
  const { rows } = await db.query<
    FoundRow & { readonly parts: readonly NumberedPart[] | null; readonly is_marker: boolean | null }
  >({ text: findText(named.version), values: valuesOf(named) })
  const [row] = rows
  if (row?.is_marker) throw objectNotFound(named.key, named.version)
  const found = toFound(row, named.bucket, named.key)
  return { ...found, numbered: row?.parts ?? partsOfBlobs(found) }
}

interface Removal {
  readonly outcome: string
  readonly key: string
  readonly version_id: string | null
  readonly is_marker: boolean
  readonly was_there: boolean
}

/** At most 1,000, all or none. */
export const deleteObjects = async (
  db: Queries,
  remove: {
    readonly projectId: string
    readonly bucket: string
    readonly named: readonly NamedVersion[]
    readonly now: Date
    readonly conditions?: Conditions | undefined
  },
): Promise<RemovedVersion[]> => {
  const { projectId, bucket, named, now, conditions } = remove
  const { rows } = await db.query<Removal>({
    name: "storage-delete",
    text: "SELECT * FROM storage.delete_objects($1, $2, $3, $4, $5, $6, $7, $8)",
    values: [
      ...[projectId, bucket, named.map(({ key }) => key), named.map(({ version }) => version ?? null)],
      ...[now, ...conditionValues(conditions)],
    ],
  })
  judge(rows[0]?.outcome, bucket)
  return rows.map(row => ({
    key: row.key,
    versionId: row.version_id,
    isMarker: row.is_marker,
    wasThere: row.was_there,
  }))
}

/** The tags or the list of an object or a version take the place of those that it had. Throws `object_not_found`. */
export const changeVersion = async (
  db: Queries,
  { version, ...name }: ObjectName & { readonly version: string | undefined },
  to: { readonly tags: Tags } | { readonly acl: CannedAcl },
): Promise<ObjectRecord> => {
  const [column, value] =
    "tags" in to ? (["tags", JSON.stringify(to.tags)] as const) : (["acl", to.acl] as const)
  const { projectId, bucket, key } = name
  const { id, versioning } = await findBucketId(db, projectId, bucket)
  const which = version === undefined ? "" : `AND o.${isVersion(version)}`
  const values = [id, key, value, ...(version === undefined || version === "null" ? [] : [version])]
  const change = (table: string, more: string) =>
    db.query<ObjectRow>(
      `UPDATE ${table} AS o SET ${column} = $3 WHERE o.bucket_id = $1 AND o.key = $2 ${which} ${more}
      RETURNING ${OBJECT_COLUMNS}`,
      values,
    )
  const current = (await change("storage.objects", "")).rows[0]
  const row =
    current ??
    (version === undefined ? undefined : (await change("storage.versions", "AND NOT o.is_marker")).rows[0])
  if (!row) throw objectNotFound(key, null)
  return toObject(bucket, row, versioning)
}

type VersionRow =
  | { readonly common_prefix: string }
  | (ObjectRow & {
      readonly common_prefix: null
      readonly age: string | number
      readonly is_marker: boolean
      readonly is_latest: boolean
    })

/** Names a place in the order of versions, which stays where it is when the version itself is deleted. */
const markerOf = (versionId: string | null, age: string | number): string => `${versionId ?? "null"}.${age}`

/** Also takes the id of a version, as long as there is one. */
const ageOf = async (db: Queries, bucketId: string, key: string, marker: string): Promise<string> => {
  const known = /^[\da-z]+\.(-?\d{1,18})$/.exec(marker)?.[1]
  if (known !== undefined) return known
  const is = marker === "null" ? "version_id IS NULL" : "version_id = $3"
  const { rows } = await db.query<{ age: string }>(
    `SELECT age FROM storage.objects WHERE bucket_id = $1 AND key = $2 AND ${is}
    UNION ALL SELECT age FROM storage.versions WHERE bucket_id = $1 AND key = $2 AND ${is}`,
    [bucketId, key, ...(marker === "null" ? [] : [marker])],
  )
  if (!rows[0]) throw fault("invalid_parameter", { reason: "the marker names no version of that key" })
  return String(rows[0].age)
}

/** Where the list begins: a key, and the age behind which its versions begin. */
const startOf = async (
  db: Queries,
  bucketId: string,
  { prefix = "", delimiter, after: behind }: VersionListing,
): Promise<{ readonly from: string; readonly age: string | null } | undefined> => {
  if (behind === undefined || Buffer.compare(Buffer.from(behind.key), Buffer.from(prefix)) < 0)
    return { from: prefix, age: null }
  const { key, marker } = behind
  if (marker !== undefined) return { from: key, age: await ageOf(db, bucketId, key, marker) }
  // A common prefix that was given already stands for all its keys.
  const isPrefix = delimiter !== undefined && commonPrefix(key, prefix, delimiter) === key
  const from = isPrefix ? successorOf(key) : after(key)
  return from === undefined ? undefined : { from, age: null }
}

export const listVersions = async (
  db: Queries,
  projectId: string,
  bucket: string,
  listing: VersionListing,
): Promise<ListedVersions> => {
  const { prefix = "", delimiter, limit } = listing
  const { id, versioning } = await findBucketId(db, projectId, bucket)
  const start = await startOf(db, id, listing)
  if (!start) return { versions: [], prefixes: [], next: null }
  const next = delimiter === undefined ? undefined : successorOf(delimiter)
  if (delimiter !== undefined && next === undefined)
    throw fault("invalid_parameter", { reason: "delimiter is made of the highest of all characters" })
  const { rows } = await db.query<VersionRow>({
    name: "storage-list-versions",
    text: "SELECT * FROM storage.list_versions($1, $2, $3, $4, $5, $6, $7, $8)",
    values: [
      ...[id, prefix, start.from, start.age, successorOf(prefix) ?? ABOVE_ALL],
      // One more than asked for tells whether that is all.
      ...[delimiter ?? null, next ?? null, limit + 1],
    ],
  })
  const entries = rows.slice(0, limit)
  const last = entries.at(-1)
  const nextOf = (row: VersionRow) =>
    row.common_prefix === null
      ? { key: row.key, marker: markerOf(row.version_id, row.age) }
      : { key: row.common_prefix }
  return {
    versions: entries.flatMap(row =>
      row.common_prefix === null
        ? {
            object: {
              ...toObject(bucket, row, versioning),
              versionId: shownVersion("enabled", row.version_id),
            },
            isMarker: row.is_marker,
            isLatest: row.is_latest,
          }
        : [],
    ),
    prefixes: entries.flatMap(({ common_prefix }) => common_prefix ?? []),
    next: last && rows.length > entries.length ? nextOf(last) : null,
  }
}
