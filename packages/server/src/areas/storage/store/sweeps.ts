/** What the area's own workers read and write, across tenants. */
import { sql } from "kysely"
import type { Database } from "../../../kernel/db/database.ts"
import type { BlobCondition } from "../../../ports/blob/port.ts"

export const sweepStore = ({ db, transaction }: Database) => ({
  /** Blobs that nobody refers to since before `before`. */
  released: (before: Date, limit: number) =>
    db
      .selectFrom("storage.blobs")
      .select(["project_id", "address"])
      .where("refs", "=", 0)
      .where("released_at", "<", before)
      .orderBy("released_at")
      .limit(limit)
      .execute(),

  /** Removes the file and then the row, which stays locked meanwhile; false when somebody refers to it again. */
  collect: (projectId: string, address: string, remove: () => Promise<void>): Promise<boolean> =>
    transaction(async tx => {
      const row = await tx
        .selectFrom("storage.blobs")
        .select("refs")
        .where("project_id", "=", projectId)
        .where("address", "=", address)
        .forUpdate()
        .skipLocked()
        .executeTakeFirst()
      if (row?.refs !== 0) return false
      await remove()
      await tx
        .deleteFrom("storage.blobs")
        .where("project_id", "=", projectId)
        .where("address", "=", address)
        .execute()
      return true
    }),

  oldestVerified: (limit: number) =>
    db
      .selectFrom("storage.blobs")
      .select(["project_id", "address", "bytes"])
      .orderBy("verified_at")
      .limit(limit)
      .execute(),

  async verified(projectId: string, address: string, condition: BlobCondition, now: Date): Promise<void> {
    await db
      .updateTable("storage.blobs")
      .set({ condition, verified_at: now })
      .where("project_id", "=", projectId)
      .where("address", "=", address)
      .execute()
  },

  async countDamaged(): Promise<number> {
    const { count } = await db
      .selectFrom("storage.blobs")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("condition", "<>", "intact")
      .where("refs", ">", 0)
      .executeTakeFirstOrThrow()
    return count
  },

  expiredUploads: (now: Date, limit: number) =>
    db
      .selectFrom("storage.uploads")
      .select(["id", "project_id"])
      .where("expires_at", "<=", now)
      .orderBy("expires_at")
      .limit(limit)
      .execute(),

  /** Buckets of projects that were deleted before `before`. */
  orphanedBuckets: (before: Date, limit: number) =>
    db
      .selectFrom("storage.buckets as bucket")
      .innerJoin("core.projects as project", "project.id", "bucket.project_id")
      .select(["bucket.project_id", "bucket.name"])
      .where("project.deleted_at", "<", before)
      .limit(limit)
      .execute(),

  /** Removes some objects and versions of the bucket; how many. */
  async purge(projectId: string, bucket: string, limit: number, now: Date): Promise<number> {
    const { rows } = await sql<{ purged: number }>`
      SELECT storage.purge(${projectId}, ${bucket}, ${limit}, ${now}) AS purged`.execute(db)
    return rows[0]?.purged ?? 0
  },

  deleteBucket: async (projectId: string, name: string, now: Date) => {
    await sql`SELECT storage.delete_bucket(${projectId}, ${name}, ${now})`.execute(db)
  },

  async levels() {
    const { rows } = await sql<{ organization_id: string; project_id: string; bytes: number }>`
      SELECT organization_id, project_id, sum(size_bytes + upload_bytes)::bigint AS bytes
      FROM storage.occupied GROUP BY organization_id, project_id
      HAVING sum(size_bytes + upload_bytes) > 0`.execute(db)
    return rows
  },

  /** True for the one process that does it this time. */
  async takeChore(name: string, now: Date, everyMs: number): Promise<boolean> {
    const { rows } = await sql`
      INSERT INTO storage.chores AS chore (name, done_at) VALUES (${name}, ${now})
      ON CONFLICT (name) DO UPDATE SET done_at = excluded.done_at
      WHERE chore.done_at <= ${new Date(now.getTime() - everyMs)}
      RETURNING name`.execute(db)
    return rows.length > 0
  },

  forgetSigningKeys: async (before: Date) => {
    await db.deleteFrom("storage.signing_keys").where("created_at", "<", before).execute()
  },
})
