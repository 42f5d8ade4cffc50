/** What carrying out lifecycle rules reads across tenants, in pages by an index, and how it deletes. */
import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { Database, Tx } from "../../../kernel/db/database.ts"
import { deletedData } from "../object-events.ts"
import type { NamedVersion, Tags, Versioning } from "../object-store.ts"
import type { Judged, KeyRange, LifecycleRule } from "../rules/lifecycle.ts"
import { ABOVE_ALL, after } from "./objects.ts"
import { queriesOn } from "./transaction.ts"
import { deleteObjects } from "./versions.ts"

const LOWEST_AGE = "-9223372036854775808"
const LOWEST_ID = "00000000-0000-0000-0000-000000000000"

export interface RuledBucket {
  readonly id: string
  readonly organization_id: string
  readonly project_id: string
  readonly name: string
  readonly versioning: Versioning
  readonly lifecycle: readonly LifecycleRule[]
}

interface ObjectRow {
  readonly key: string
  readonly size: string | number
  readonly tags: Tags
  readonly last_modified: Date
}

interface VersionRow extends ObjectRow {
  readonly age: string | number
  readonly version_id: string | null
  readonly is_marker: boolean
  /** Of the object of that key. */
  readonly current_modified: Date | null
}

export interface FoundVersion extends Judged {
  readonly age: string
  readonly version: string
  readonly isMarker: boolean
  readonly currentModified: Date | null
}

const toJudged = ({ key, size, tags, last_modified }: ObjectRow): Judged => ({
  ...{ key, size: Number(size), tags },
  lastModified: last_modified,
})

const BUCKET_COLUMNS =
  "id, organization_id, project_id, name, versioning, settings -> 'lifecycle' AS lifecycle"

const objectPage = `SELECT key, size, tags, last_modified FROM storage.objects
  WHERE bucket_id = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4`

const versionPage = `SELECT v.key, v.size, v.tags, v.last_modified, v.age, v.version_id, v.is_marker,
    o.last_modified AS current_modified
  FROM storage.versions AS v LEFT JOIN storage.objects AS o ON o.bucket_id = v.bucket_id AND o.key = v.key
  WHERE v.bucket_id = $1 AND (v.key, v.age) > ($2, $3::bigint) AND v.key < $4
  ORDER BY v.key, v.age LIMIT $5`

const uploadPage = `SELECT id, key, created_at FROM storage.uploads
  WHERE bucket_id = $1 AND (key, id) > ($2, $3::uuid) AND key < $4 AND completed IS NULL
  ORDER BY key, id LIMIT $5`

/** Those of the named versions that are still there and no object; a marker only while nothing is behind it. */
const stillVersions = `SELECT v.key, coalesce(v.version_id, 'null') AS version
  FROM unnest($2::text[], $3::bigint[]) AS named (key, age)
  JOIN storage.versions AS v ON v.bucket_id = $1 AND v.key = named.key AND v.age = named.age
  WHERE NOT $4 OR NOT EXISTS (
    SELECT FROM storage.versions AS other WHERE other.bucket_id = $1 AND other.key = v.key AND other.age <> v.age
    UNION ALL SELECT FROM storage.objects AS o WHERE o.bucket_id = $1 AND o.key = v.key
  )`

/** Whoever deletes locks the bucket and then the keys, in the order in which users' deletions do. */
const lockKeys = `SELECT storage.lock_key($1, named.key)
  FROM (SELECT DISTINCT key FROM unnest($2::text[]) AS given (key) ORDER BY 1) AS named`

const lockObjects = `SELECT key, size, tags, last_modified FROM storage.objects
  WHERE bucket_id = $1 AND key = ANY ($2) ORDER BY key COLLATE "default" FOR UPDATE`

export const lifecycleStore = (needs: {
  readonly database: Database
  readonly platformEvents: PlatformEvents
}) => {
  const { database, platformEvents } = needs
  const { pool } = database

  /** False when the rules are not any more those by which it was chosen what to delete. */
  const deleting = (
    bucket: RuledBucket,
    keys: readonly string[],
    now: Date,
    choose: (tx: Tx) => Promise<readonly NamedVersion[]>,
  ): Promise<boolean> =>
    database.transaction(async tx => {
      const { id, organization_id, project_id, name, lifecycle, versioning } = bucket
      const db = queriesOn(tx)
      await db.query("SELECT pg_advisory_xact_lock_shared(storage.bucket_lock($1, $2))", [project_id, name])
      const { rows } = await db.query<RuledBucket>(
        `SELECT ${BUCKET_COLUMNS} FROM storage.buckets WHERE project_id = $1 AND id = $2`,
        [project_id, id],
      )
      const [found] = rows
      const isSame =
        found?.versioning === versioning && JSON.stringify(found.lifecycle) === JSON.stringify(lifecycle)
      if (!isSame) return false
      if (versioning !== "off") await db.query(lockKeys, [id, keys])
      const named = await choose(tx)
      if (named.length === 0) return true
      const removed = await deleteObjects(db, { projectId: project_id, bucket: name, named, now })
      const told = deletedData(name, removed)
      const type = "storage.object.deleted" as const
      const of = { organizationId: organization_id, projectId: project_id, type }
      await platformEvents.emit(tx, ...told.map(data => ({ ...of, data })))
      return true
    })

  return {
    async buckets(afterId: string | undefined, limit: number): Promise<RuledBucket[]> {
      const { rows } = await pool.query<RuledBucket>(
        `SELECT ${BUCKET_COLUMNS} FROM storage.buckets
        WHERE settings ? 'lifecycle' AND id > $1 ORDER BY id LIMIT $2`,
        [afterId ?? LOWEST_ID, limit],
      )
      return rows
    },

    async find({ project_id, id }: RuledBucket): Promise<RuledBucket | undefined> {
      const { rows } = await pool.query<RuledBucket>(
        `SELECT ${BUCKET_COLUMNS} FROM storage.buckets
        WHERE project_id = $1 AND id = $2 AND settings ? 'lifecycle'`,
        [project_id, id],
      )
      return rows[0]
    },

    async objects(bucket: RuledBucket, range: KeyRange, afterKey: string | undefined, limit: number) {
      const from = afterKey === undefined ? range.from : after(afterKey)
      const values = [bucket.id, from, range.below ?? ABOVE_ALL, limit]
      return (await pool.query<ObjectRow>(objectPage, values)).rows.map(toJudged)
    },

    async versions(
      bucket: RuledBucket,
      range: KeyRange,
      last: FoundVersion | undefined,
      limit: number,
    ): Promise<FoundVersion[]> {
      const { rows } = await pool.query<VersionRow>(versionPage, [
        ...[bucket.id, last?.key ?? range.from, last?.age ?? LOWEST_AGE, range.below ?? ABOVE_ALL, limit],
      ])
      return rows.map(row => ({
        ...toJudged(row),
        ...{ age: String(row.age), version: row.version_id ?? "null", isMarker: row.is_marker },
        currentModified: row.current_modified,
      }))
    },

    async uploads(
      bucket: RuledBucket,
      range: KeyRange,
      last: { readonly key: string; readonly id: string } | undefined,
      limit: number,
    ) {
      const { rows } = await pool.query<{ id: string; key: string; created_at: Date }>(uploadPage, [
        ...[bucket.id, last?.key ?? range.from, last?.id ?? LOWEST_ID, range.below ?? ABOVE_ALL, limit],
      ])
      return rows.map(({ id, key, created_at }) => ({ id, key, createdAt: created_at }))
    },

    /** Judges them again once nobody else can change them. */
    deleteObjects: (
      bucket: RuledBucket,
      keys: readonly string[],
      now: Date,
      isOver: (object: Judged) => boolean,
    ) =>
      deleting(bucket, keys, now, async tx => {
        const { rows } = await queriesOn(tx).query<ObjectRow>(lockObjects, [bucket.id, keys])
        return rows.map(toJudged).filter(isOver)
      }),

    deleteVersions: (
      bucket: RuledBucket,
      versions: readonly FoundVersion[],
      kind: "markers" | "older",
      now: Date,
    ) => {
      const keys = versions.map(({ key }) => key)
      return deleting(bucket, keys, now, async tx => {
        const ages = versions.map(({ age }) => age)
        const values = [bucket.id, keys, ages, kind === "markers"]
        return (await queriesOn(tx).query<{ key: string; version: string }>(stillVersions, values)).rows
      })
    },
  }
}
