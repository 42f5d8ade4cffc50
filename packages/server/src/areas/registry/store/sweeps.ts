/** What the collector reads and writes, across tenants. */
import { sql } from "kysely"
import type { BlobName } from "../../../core/blob-keepers.ts"
import type { Database } from "../../../kernel/db/database.ts"

export interface ReleasedStore {
  readonly project_id: string
  readonly store_id: string
}

/** Each statement takes `limit` rows at most, and tells how many; rows that others hold are left for the next time. */
export const sweepStore = ({ db, transaction }: Database) => {
  const count = (result: { readonly numAffectedRows?: bigint }) => Number(result.numAffectedRows ?? 0n)
  return {
    endUploads: (before: Date, now: Date, limit: number) =>
      transaction(async tx =>
        count(
          await sql`
            WITH ended AS (
              DELETE FROM registry.uploads WHERE (project_id, id) IN (
                SELECT project_id, id FROM registry.uploads WHERE touched_at < ${before}
                ORDER BY touched_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
              RETURNING project_id, id)
            INSERT INTO registry.garbage (project_id, store_id, released_at)
            SELECT project_id, id, ${now} FROM ended ON CONFLICT DO NOTHING`.execute(tx),
        ),
      ),

    /**
     * Blobs leave repositories where no manifest names them. A manifest that is pushed at the same time changes the rows of its
     * blobs, so that they are looked at again here, or finds them gone and is refused.
     */
    unlink: async (before: Date, limit: number) =>
      count(
        await sql`
          DELETE FROM registry.repository_blobs WHERE (project_id, repository_id, digest) IN (
            SELECT project_id, repository_id, digest FROM registry.repository_blobs AS link
            WHERE touched_at < ${before} AND NOT EXISTS (
              SELECT FROM registry.manifest_blobs AS named
              WHERE named.project_id = link.project_id AND named.repository_id = link.repository_id
                AND named.digest = link.digest)
            ORDER BY touched_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`.execute(db),
      ),

    /** Blobs that no repository has. Whoever adds or mounts one meanwhile waits for its row, or holds it. */
    releaseBlobs: (before: Date, now: Date, limit: number) =>
      transaction(async tx =>
        count(
          await sql`
            WITH gone AS (
              DELETE FROM registry.blobs WHERE (project_id, digest) IN (
                SELECT project_id, digest FROM registry.blobs AS blob
                WHERE touched_at < ${before} AND NOT EXISTS (
                  SELECT FROM registry.repository_blobs AS link
                  WHERE link.project_id = blob.project_id AND link.digest = blob.digest)
                ORDER BY touched_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
              RETURNING project_id, store_id)
            INSERT INTO registry.garbage (project_id, store_id, released_at)
            SELECT project_id, store_id, ${now} FROM gone ON CONFLICT DO NOTHING`.execute(tx),
        ),
      ),

    /** Repositories with nothing in them. */
    dropRepositories: async (before: Date, limit: number) =>
      count(
        await sql`
          DELETE FROM registry.repositories WHERE (project_id, id) IN (
            SELECT project_id, id FROM registry.repositories AS repository
            WHERE created_at < ${before}
              AND NOT EXISTS (SELECT FROM registry.manifests AS each
                WHERE each.project_id = repository.project_id AND each.repository_id = repository.id)
              AND NOT EXISTS (SELECT FROM registry.repository_blobs AS each
                WHERE each.project_id = repository.project_id AND each.repository_id = repository.id)
              AND NOT EXISTS (SELECT FROM registry.uploads AS each
                WHERE each.project_id = repository.project_id AND each.repository_id = repository.id)
            LIMIT ${limit} FOR UPDATE SKIP LOCKED)`.execute(db),
      ),

    /** Of projects that were deleted before: manifests go, and what they named follows like everything that nobody names. */
    forgetProjects: async (before: Date, limit: number) =>
      count(
        await sql`
          DELETE FROM registry.manifests WHERE (project_id, repository_id, digest) IN (
            SELECT manifest.project_id, manifest.repository_id, manifest.digest
            FROM core.projects AS project
            JOIN registry.manifests AS manifest ON manifest.project_id = project.id
            WHERE project.deleted_at < ${before} LIMIT ${limit})`.execute(db),
      ),

    released: async (before: Date, limit: number): Promise<ReleasedStore[]> =>
      await db
        .selectFrom("registry.garbage")
        .select(["project_id", "store_id"])
        .where("released_at", "<", before)
        .orderBy("released_at")
        .limit(limit)
        .execute(),

    filesOf: async ({ project_id, store_id }: ReleasedStore): Promise<BlobName[]> => {
      const rows = await db
        .selectFrom("registry.pieces")
        .select("address")
        .where("project_id", "=", project_id)
        .where("store_id", "=", store_id)
        .execute()
      return rows.map(({ address }) => ({ owner: store_id, address }))
    },

    /** Once its files are gone. */
    forget: ({ project_id, store_id }: ReleasedStore) =>
      transaction(async tx => {
        for (const table of ["registry.pieces", "registry.garbage"] as const)
          await tx
            .deleteFrom(table)
            .where("project_id", "=", project_id)
            .where("store_id", "=", store_id)
            .execute()
      }),
  }
}
