/** Rows of builds. Every statement of a request names the project first. */
import type { BuildStatus } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"

export interface BuildRow {
  readonly organization_id: string
  readonly project_id: string
  readonly id: string
  readonly status: BuildStatus
  readonly status_reason: string | null
  readonly source: "git" | "upload"
  readonly repository: string | null
  readonly branch: string | null
  readonly commit_sha: string | null
  readonly context_path: string | null
  readonly auth_token: string | null
  readonly image_repository: string
  readonly image_tag: string
  readonly image_digest: string | null
  readonly image_size_bytes: number | null
  readonly dockerfile_path: string | null
  readonly build_args: string
  readonly build_args_shown: Readonly<Record<string, string>>
  readonly target: string | null
  readonly no_cache: boolean
  readonly timeout_seconds: number
  readonly cached_steps: number
  readonly total_steps: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

export interface LineRow {
  readonly number: number
  readonly at: Date
  readonly step: number
  readonly stream: "stdout" | "stderr" | "system"
  readonly message: string
}

export type BuildChange = Partial<
  Pick<
    BuildRow,
    | "status"
    | "status_reason"
    | "branch"
    | "commit_sha"
    | "auth_token"
    | "image_digest"
    | "image_size_bytes"
    | "cached_steps"
    | "total_steps"
    | "started_at"
    | "finished_at"
  >
>

export const UNFINISHED = ["QUEUED", "WORKING"] as const satisfies readonly BuildStatus[]
const PRUNED_AT_ONCE = 500

export const buildStore = (db: Db) => {
  const own = (projectId: string) => db.selectFrom("builds.builds").where("project_id", "=", projectId)

  return {
    async insert({ build_args_shown, ...row }: BuildRow): Promise<void> {
      await db
        .insertInto("builds.builds")
        .values({ ...row, build_args_shown: JSON.stringify(build_args_shown) })
        .execute()
    },

    find: (projectId: string, id: string): Promise<BuildRow | undefined> =>
      own(projectId).where("id", "=", id).selectAll().$castTo<BuildRow>().executeTakeFirst(),

    list: (
      projectId: string,
      status: string | undefined,
      slice: Slice,
    ): Promise<{ rows: BuildRow[]; total: number }> => {
      const query = status === undefined ? own(projectId) : own(projectId).where("status", "=", status)
      return listRows(
        query.selectAll().orderBy("created_at", "desc").orderBy("id", "desc").$castTo<BuildRow>(),
        slice,
      )
    },

    async countUnfinished(projectId: string): Promise<number> {
      const { count } = await own(projectId)
        .where("status", "in", UNFINISHED)
        .select(eb => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow()
      return Number(count)
    },

    /** False where the build is over or gone. */
    async advance(projectId: string, id: string, change: BuildChange, now: Date): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable("builds.builds")
        .set({ ...change, updated_at: now })
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .where("status", "in", UNFINISHED)
        .executeTakeFirst()
      return numUpdatedRows > 0
    },

    async addUpload(projectId: string, buildId: string, blob: string): Promise<void> {
      await db
        .insertInto("builds.uploads")
        .values({ project_id: projectId, build_id: buildId, blob })
        .execute()
    },

    findUpload: (projectId: string, buildId: string): Promise<{ blob: string } | undefined> =>
      db
        .selectFrom("builds.uploads")
        .select("blob")
        .where("project_id", "=", projectId)
        .where("build_id", "=", buildId)
        .executeTakeFirst(),

    async removeUpload(projectId: string, buildId: string): Promise<void> {
      await db
        .deleteFrom("builds.uploads")
        .where("project_id", "=", projectId)
        .where("build_id", "=", buildId)
        .execute()
    },

    async addLines(projectId: string, buildId: string, lines: readonly LineRow[]): Promise<void> {
      await db
        .insertInto("builds.lines")
        .values(lines.map(line => ({ ...line, project_id: projectId, build_id: buildId })))
        .execute()
    },

    listLines: (projectId: string, buildId: string, after: number, limit: number): Promise<LineRow[]> =>
      db
        .selectFrom("builds.lines")
        .select(["number", "at", "step", "stream", "message"])
        .where("project_id", "=", projectId)
        .where("build_id", "=", buildId)
        .where("number", ">", after)
        .orderBy("number")
        .limit(limit)
        .$castTo<LineRow>()
        .execute(),

    async lastLine(projectId: string, buildId: string): Promise<number> {
      const { last } = await db
        .selectFrom("builds.lines")
        .where("project_id", "=", projectId)
        .where("build_id", "=", buildId)
        .select(eb => eb.fn.max("number").as("last"))
        .executeTakeFirstOrThrow()
      return last ?? 0
    },
  }
}

/** Of all projects: those that are older than they are kept, and those of projects that are gone. */
export const pruneBuilds = async (db: Db, before: Date): Promise<void> => {
  await sql`
    DELETE FROM builds.builds WHERE (project_id, id) IN (
      SELECT project_id, id FROM builds.builds AS build
      WHERE created_at < ${before}
        OR NOT EXISTS (
          SELECT FROM core.projects AS project
          WHERE project.id = build.project_id AND project.deleted_at IS NULL)
      LIMIT ${PRUNED_AT_ONCE})`.execute(db)
}
