import { SEARCH_RUN_ERRORS_MAX } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

export type RunStatus = "queued" | "running" | "succeeded" | "failed"

export interface RunError {
  readonly document_id: string
  readonly message: string
}

export interface RunRecord {
  readonly project_id: string
  readonly id: string
  readonly source_id: string
  readonly status: RunStatus
  readonly cursor: string | null
  readonly attempt: number
  readonly seen: number
  readonly written: number
  readonly unchanged: number
  readonly failed: number
  readonly removed: number
  readonly errors: RunError[]
  readonly error: string | null
  readonly created_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

export interface Progress {
  readonly cursor: string | null
  readonly seen: number
  readonly written: number
  readonly unchanged: number
  readonly removed: number
  readonly errors: readonly RunError[]
}

const BEGIN_ATTEMPTS = 3

/** Readings of sources. Every statement of a call names the project first. */
export const runStore = (db: Db) => {
  const all = (projectId: string) =>
    db.selectFrom("search.runs").selectAll().where("project_id", "=", projectId)

  const own = (projectId: string, id: string, sourceId: string) =>
    db
      .updateTable("search.runs")
      .where("project_id", "=", projectId)
      .where("id", "=", id)
      .where("source_id", "=", sourceId)
      .where("status", "in", ["queued", "running"])

  return {
    /** The unfinished run of the source: this one, or the one that there was. Undefined when the source is gone. */
    async begin(
      projectId: string,
      id: string,
      sourceId: string,
      now: Date,
    ): Promise<(RunRecord & { isNew: boolean }) | undefined> {
      // One that stood in the way may have finished before it is read.
      for (let attempt = 0; attempt < BEGIN_ATTEMPTS; attempt++) {
        const { numAffectedRows = 0n } = await sql`
          INSERT INTO search.runs (project_id, id, source_id, status, created_at)
          SELECT project_id, ${id}, id, 'queued', ${now} FROM search.sources
          WHERE project_id = ${projectId} AND id = ${sourceId} AND deleted_at IS NULL FOR KEY SHARE
          ON CONFLICT DO NOTHING`.execute(db)
        const run = await all(projectId)
          .where("source_id", "=", sourceId)
          .where("status", "in", ["queued", "running"])
          .executeTakeFirst()
        if (run) return { ...(run as RunRecord), isNew: numAffectedRows > 0n }
      }
      return undefined
    },

    find: async (projectId: string, id: string): Promise<RunRecord[]> =>
      (await all(projectId).where("id", "=", id).orderBy("source_id").execute()) as RunRecord[],

    async list(projectId: string, sourceId: string, { limit, offset }: { limit: number; offset: number }) {
      const rows = await all(projectId)
        .where("source_id", "=", sourceId)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await db
        .selectFrom("search.runs")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("project_id", "=", projectId)
        .where("source_id", "=", sourceId)
        .executeTakeFirstOrThrow()
      return { rows: rows as RunRecord[], total }
    },

    /** Takes the run over from whoever worked on it; undefined when it is finished or gone. */
    async take(projectId: string, id: string, sourceId: string, now: Date): Promise<RunRecord | undefined> {
      const row = await own(projectId, id, sourceId)
        .set({
          status: "running",
          attempt: sql`attempt + 1`,
          started_at: sql`coalesce(started_at, ${now})`,
        })
        .returningAll()
        .executeTakeFirst()
      return row as RunRecord | undefined
    },

    /** False when another took the run over. */
    async advance(
      run: RunRecord,
      { cursor, seen, written, unchanged, removed, errors }: Progress,
    ): Promise<boolean> {
      const { numUpdatedRows } = await own(run.project_id, run.id, run.source_id)
        .set({
          cursor,
          seen: sql`seen + ${seen}`,
          written: sql`written + ${written}`,
          unchanged: sql`unchanged + ${unchanged}`,
          removed: sql`removed + ${removed}`,
          failed: sql`failed + ${errors.length}`,
          errors: sql`jsonb_path_query_array(errors || ${JSON.stringify(errors)}::jsonb, ${`$[0 to ${SEARCH_RUN_ERRORS_MAX - 1}]`}::jsonpath)`,
        })
        .where("attempt", "=", run.attempt)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },

    finish: async (run: RunRecord, status: "succeeded" | "failed", error: string | null, now: Date) => {
      await own(run.project_id, run.id, run.source_id)
        .set({ status, error, finished_at: now })
        .where("attempt", "=", run.attempt)
        .execute()
    },

    /** The latest of a source stay. */
    prune: async (projectId: string, sourceId: string, kept: number) => {
      await db
        .deleteFrom("search.runs")
        .where("project_id", "=", projectId)
        .where("source_id", "=", sourceId)
        .where("status", "in", ["succeeded", "failed"])
        .where(
          "id",
          "in",
          db
            .selectFrom("search.runs")
            .select("id")
            .where("project_id", "=", projectId)
            .where("source_id", "=", sourceId)
            .orderBy("created_at", "desc")
            .offset(kept),
        )
        .execute()
    },
  }
}
