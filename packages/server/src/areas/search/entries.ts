import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

/** What the index holds, by hash. Every statement names the project and the source. */
export const entryStore = (db: Db) => {
  const of = (projectId: string, sourceId: string) =>
    db.selectFrom("search.entries").where("project_id", "=", projectId).where("source_id", "=", sourceId)

  const deleteFrom = (projectId: string, sourceId: string) =>
    db.deleteFrom("search.entries").where("project_id", "=", projectId).where("source_id", "=", sourceId)

  return {
    async hashes(projectId: string, sourceId: string, ids: readonly string[]): Promise<Map<string, Buffer>> {
      const rows = await of(projectId, sourceId)
        .select(["document_id", "hash"])
        .where("document_id", "=", sql<string>`any(${ids}::text[])`)
        .execute()
      return new Map(rows.map(({ document_id, hash }) => [document_id, hash]))
    },

    /** In one statement, however many. Hashes are given in hexadecimal. */
    save: async (
      projectId: string,
      sourceId: string,
      runId: string | null,
      entries: readonly { readonly id: string; readonly hash: Buffer }[],
    ) => {
      await sql`
        INSERT INTO search.entries AS e (project_id, source_id, document_id, hash, run_id)
        SELECT ${projectId}, ${sourceId}, id, decode(hash, 'hex'), ${runId}
        FROM unnest(${entries.map(({ id }) => id)}::text[], ${entries.map(({ hash }) => hash.toString("hex"))}::text[])
          AS given(id, hash)
        ON CONFLICT (project_id, source_id, document_id) DO UPDATE SET hash = excluded.hash, run_id = excluded.run_id
      `.execute(db)
    },

    /** These are still there, though they could not be read. */
    keep: async (projectId: string, sourceId: string, runId: string, ids: readonly string[]) => {
      await db
        .updateTable("search.entries")
        .set({ run_id: runId })
        .where("project_id", "=", projectId)
        .where("source_id", "=", sourceId)
        .where("document_id", "=", sql<string>`any(${ids}::text[])`)
        .execute()
    },

    unseen: async (projectId: string, sourceId: string, runId: string, limit: number): Promise<string[]> =>
      (
        await of(projectId, sourceId)
          .select("document_id")
          .where("run_id", "is distinct from", runId)
          .limit(limit)
          .execute()
      ).map(({ document_id }) => document_id),

    async delete(projectId: string, sourceId: string, ids: readonly string[]): Promise<number> {
      const { numDeletedRows } = await deleteFrom(projectId, sourceId)
        .where("document_id", "=", sql<string>`any(${ids}::text[])`)
        .executeTakeFirst()
      return Number(numDeletedRows)
    },

    deleteAll: async (projectId: string, sourceId: string) => {
      await deleteFrom(projectId, sourceId).execute()
    },
  }
}
