import type { areas, Input } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type SourceType = Input<(typeof areas.search.specs)["upsertSource"]>["type"]
export type Language = NonNullable<Input<(typeof areas.search.specs)["upsertSource"]>["language"]>

type SourceRow = Tables["search.sources"]

export interface SourceRecord {
  readonly id: string
  readonly organization_id: string
  readonly project_id: string
  readonly name: string
  readonly type: SourceType
  readonly config: Readonly<Record<string, unknown>>
  readonly fields: { readonly path: string; readonly weight: number }[]
  readonly language: Language
  readonly schedule_seconds: number | null
  readonly enabled: boolean
  readonly document_count: number
  readonly last_run_at: Date | null
  readonly last_error: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** With how its latest run is; null when it was never read. */
export type SourceView = SourceRecord & { readonly run_status: string | null }

const columns = [
  ...(["id", "organization_id", "project_id", "name", "type", "config", "fields", "language"] as const),
  ...(["schedule_seconds", "enabled", "document_count", "last_run_at", "last_error"] as const),
  ...(["created_at", "updated_at"] as const),
] as const

export type NewSource = Pick<SourceRow, "id" | "organization_id" | "project_id"> & SourceChanges

export interface SourceChanges {
  readonly name: string
  readonly type: SourceType
  readonly config: Readonly<Record<string, unknown>>
  readonly fields: SourceRecord["fields"]
  readonly language: Language
  readonly schedule_seconds: number | null
  readonly enabled: boolean
}

const stored = ({ config, fields, ...rest }: SourceChanges) => ({
  ...rest,
  config: JSON.stringify(config),
  fields: JSON.stringify(fields),
})

/** Sources of a project. Every statement names the project first; a deleted one is none. */
export const sourceStore = (db: Db) => {
  const live = (projectId: string) =>
    db
      .selectFrom("search.sources as source")
      .where("source.project_id", "=", projectId)
      .where("source.deleted_at", "is", null)

  const views = (projectId: string) =>
    live(projectId)
      .select(columns.map(column => `source.${column}` as const))
      .select(({ selectFrom }) =>
        selectFrom("search.runs as run")
          .select("run.status")
          .where("run.project_id", "=", projectId)
          .whereRef("run.source_id", "=", "source.id")
          .orderBy("run.created_at", "desc")
          .limit(1)
          .as("run_status"),
      )

  return {
    find: async (projectId: string, id: string) =>
      (await views(projectId).where("source.id", "=", id).executeTakeFirst()) as SourceView | undefined,

    /** The source, which nobody changes before this transaction ends; undefined once it is deleted. */
    findForUpdate: async (projectId: string, id: string) =>
      (await live(projectId)
        .select(columns.map(column => `source.${column}` as const))
        .where("source.id", "=", id)
        .forNoKeyUpdate()
        .executeTakeFirst()) as SourceRecord | undefined,

    findByName: async (projectId: string, name: string) =>
      (await views(projectId).where("source.name", "=", name).executeTakeFirst()) as SourceView | undefined,

    async list(projectId: string, { limit, offset }: { limit: number; offset: number }) {
      const rows = await views(projectId)
        .orderBy("source.created_at", "desc")
        .orderBy("source.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows: rows as SourceView[], total: await this.count(projectId) }
    },

    async count(projectId: string): Promise<number> {
      const { count } = await live(projectId)
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow()
      return count
    },

    /** Those that a run of everything reads. */
    readable: async (projectId: string) =>
      (await views(projectId)
        .where("source.enabled", "=", true)
        .where("source.type", "<>", "inline")
        .orderBy("source.created_at")
        .execute()) as SourceView[],

    insert: async (source: NewSource, now: Date) => {
      const { id, organization_id, project_id, ...changes } = source
      await db
        .insertInto("search.sources")
        .values({
          ...{ id, organization_id, project_id, ...stored(changes) },
          ...{ document_count: 0, last_run_at: null, last_error: null, deleted_at: null },
          ...{ created_at: now, updated_at: now },
        })
        .execute()
    },

    update: async (projectId: string, id: string, changes: SourceChanges, now: Date) => {
      await db
        .updateTable("search.sources")
        .set({ ...stored(changes), updated_at: now })
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    /** False when there is no such source. */
    async markDeleted(projectId: string, id: string, now: Date): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable("search.sources")
        .set({ deleted_at: now })
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .where("deleted_at", "is", null)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },

    deletedIds: async (projectId: string): Promise<string[]> =>
      (
        await db
          .selectFrom("search.sources")
          .select("id")
          .where("project_id", "=", projectId)
          .where("deleted_at", "is not", null)
          .execute()
      ).map(({ id }) => id),

    forget: async (projectId: string, id: string) => {
      await db
        .deleteFrom("search.sources")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .where("deleted_at", "is not", null)
        .execute()
    },

    addDocuments: async (projectId: string, id: string, count: number) => {
      await db
        .updateTable("search.sources")
        .set({ document_count: sql`document_count + ${count}` })
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    ran: async (
      projectId: string,
      id: string,
      changes: Partial<Pick<SourceRow, "last_run_at" | "last_error">>,
    ) => {
      await db
        .updateTable("search.sources")
        .set(changes)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    stats: (projectId: string) =>
      live(projectId)
        .select(({ fn, selectFrom }) => [
          fn.countAll<number>().as("sources"),
          sql<number>`coalesce(sum(source.document_count), 0)::bigint`.as("documents"),
          fn.max("source.last_run_at").as("last_ingest_at"),
          selectFrom("search.runs as run")
            .select(({ fn }) => fn.countAll<number>().as("count"))
            .where("run.project_id", "=", projectId)
            .where("run.status", "in", ["queued", "running"])
            .as("pending"),
        ])
        .executeTakeFirstOrThrow(),
  }
}

/** Sources of all projects, for what the platform does by itself. */
export const allSources = (db: Db) => ({
  due: (now: Date, limit: number) =>
    db
      .selectFrom("search.sources")
      .select(["id", "project_id", "organization_id"])
      .where("schedule_seconds", "is not", null)
      .where("enabled", "=", true)
      .where("type", "<>", "inline")
      .where("deleted_at", "is", null)
      .where(({ or, eb }) =>
        or([
          eb("last_run_at", "is", null),
          eb("last_run_at", "<=", sql<Date>`${now}::timestamptz - make_interval(secs => schedule_seconds)`),
        ]),
      )
      .orderBy("last_run_at", order => order.asc().nullsFirst())
      .limit(limit)
      .execute(),

  /** Of projects that were deleted. */
  orphaned: (limit: number) =>
    db
      .selectFrom("search.sources as source")
      .innerJoin("core.projects as project", "project.id", "source.project_id")
      .innerJoin("core.organizations as organization", "organization.id", "source.organization_id")
      .select(["source.id", "source.project_id", "source.organization_id"])
      .where("source.deleted_at", "is", null)
      .where(({ or, eb }) =>
        or([eb("project.deleted_at", "is not", null), eb("organization.deleted_at", "is not", null)]),
      )
      .limit(limit)
      .execute(),
})
