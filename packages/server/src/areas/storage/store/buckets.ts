/** Rows of storage.buckets and what they hold together. Every statement names the project first. */
import { sql } from "kysely"
import { type Db, isUniqueViolation } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { newId } from "../../../kernel/id.ts"
import type { BucketRecord, Place, Tags, VersioningSetting } from "../object-store.ts"
import { bucketNotFound } from "./objects.ts"
import { type BucketRow, toBucket } from "./rows.ts"

const COUNTED = sql`
  SELECT bucket.project_id, bucket.name, bucket.is_public, bucket.holds_public_name, bucket.created_at,
    bucket.versioning, bucket.tags, bucket.settings,
    coalesce(sum(counted.object_count), 0)::bigint AS object_count,
    coalesce(sum(counted.size_bytes), 0)::bigint AS size_bytes
  FROM storage.buckets AS bucket LEFT JOIN storage.counts AS counted ON counted.bucket_id = bucket.id`

export interface ProjectUsage {
  readonly buckets: number
  readonly objects: number
  readonly size_bytes: number
  readonly upload_bytes: number
  readonly damaged_blobs: number
}

export interface NewBucket {
  readonly name: string
  readonly isPublic: boolean
  /** `off` when left out. */
  readonly versioning?: "enabled" | undefined
  readonly now: Date
}

export const bucketStore = (db: Db) => ({
  async create(place: Place, bucket: NewBucket): Promise<BucketRecord> {
    const row = {
      id: newId(),
      organization_id: place.organization.id,
      project_id: place.projectId,
      name: bucket.name,
      is_public: bucket.isPublic,
      versioning: bucket.versioning ?? ("off" as const),
      tags: "{}",
      settings: "{}",
      created_at: bucket.now,
    }
    try {
      const inserted = db.insertInto("storage.buckets").values(row).returning("holds_public_name")
      const { holds_public_name } = await inserted.executeTakeFirstOrThrow()
      return toBucket({ ...row, tags: {}, settings: {}, holds_public_name, object_count: 0, size_bytes: 0 })
    } catch (error) {
      if (isUniqueViolation(error)) throw fault("name_taken", { resource: "bucket", name: bucket.name })
      throw error
    }
  },

  async find(projectId: string, name: string): Promise<BucketRecord> {
    const { rows } = await sql<BucketRow>`${COUNTED}
      WHERE bucket.project_id = ${projectId} AND bucket.name = ${name} GROUP BY bucket.id`.execute(db)
    if (!rows[0]) throw bucketNotFound(name)
    return toBucket(rows[0])
  },

  async list(
    projectId: string,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<{ rows: BucketRecord[]; total: number }> {
    const { rows } = await sql<BucketRow>`${COUNTED}
      WHERE bucket.project_id = ${projectId} GROUP BY bucket.id
      ORDER BY bucket.name LIMIT ${limit} OFFSET ${offset}`.execute(db)
    const { total } = await db
      .selectFrom("storage.buckets")
      .select(({ fn }) => fn.countAll<number>().as("total"))
      .where("project_id", "=", projectId)
      .executeTakeFirstOrThrow()
    return { rows: rows.map(toBucket), total }
  },

  /** The project whose open bucket answers to the name alone. */
  async projectOfPublicName(name: string): Promise<string | undefined> {
    const row = await db
      .selectFrom("storage.buckets")
      .select("project_id")
      .where("name", "=", name)
      .where("holds_public_name", "=", true)
      .executeTakeFirst()
    return row?.project_id
  },

  async setPublic(projectId: string, name: string, isPublic: boolean): Promise<void> {
    const { numUpdatedRows } = await db
      .updateTable("storage.buckets")
      .set({ is_public: isPublic })
      .where("project_id", "=", projectId)
      .where("name", "=", name)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw bucketNotFound(name)
  },

  /** Under the lock of the bucket: who puts something into it does so before or after. */
  async setVersioning(projectId: string, name: string, versioning: VersioningSetting): Promise<void> {
    const { numAffectedRows = 0n } = await sql`
      WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(storage.bucket_lock(${projectId}, ${name})))
      UPDATE storage.buckets AS bucket SET versioning = ${versioning}
      FROM locked WHERE bucket.project_id = ${projectId} AND bucket.name = ${name}`.execute(db)
    if (numAffectedRows === 0n) throw bucketNotFound(name)
  },

  async setTags(projectId: string, name: string, tags: Tags): Promise<void> {
    const { numUpdatedRows } = await db
      .updateTable("storage.buckets")
      .set({ tags: JSON.stringify(tags) })
      .where("project_id", "=", projectId)
      .where("name", "=", name)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw bucketNotFound(name)
  },

  async remove(projectId: string, name: string, now: Date): Promise<void> {
    const { rows } = await sql<{ outcome: string }>`
      SELECT storage.delete_bucket(${projectId}, ${name}, ${now}) AS outcome`.execute(db)
    if (rows[0]?.outcome === "no_bucket") throw bucketNotFound(name)
    if (rows[0]?.outcome === "not_empty") throw fault("bucket_not_empty", { name })
  },

  async usage(projectId: string): Promise<ProjectUsage> {
    const { rows } = await sql<ProjectUsage>`
      SELECT
        (SELECT count(*) FROM storage.buckets WHERE project_id = ${projectId}) AS buckets,
        (SELECT coalesce(sum(object_count), 0)::bigint FROM storage.counts WHERE project_id = ${projectId}) AS objects,
        coalesce(sum(size_bytes), 0)::bigint AS size_bytes,
        coalesce(sum(upload_bytes), 0)::bigint AS upload_bytes,
        (SELECT count(*) FROM storage.blobs WHERE project_id = ${projectId} AND condition <> 'intact' AND refs > 0)
          AS damaged_blobs
      FROM storage.occupied WHERE project_id = ${projectId}`.execute(db)
    return rows[0] ?? { buckets: 0, objects: 0, size_bytes: 0, upload_bytes: 0, damaged_blobs: 0 }
  },

  /** Objects and uploads under way, in all projects. */
  async bytesOf(organizationId: string): Promise<number> {
    const { rows } = await sql<{ bytes: number }>`
      SELECT coalesce(sum(size_bytes + upload_bytes), 0)::bigint AS bytes
      FROM storage.occupied WHERE organization_id = ${organizationId}`.execute(db)
    return rows[0]?.bytes ?? 0
  },
})

export type BucketStore = ReturnType<typeof bucketStore>
