import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ProjectRow = Tables["core.projects"]

export interface ProjectRecord extends ProjectRow {
  publishable_key_id: string | null
}

/** Rows of core.projects. A deleted project is in none of the answers, nor is one of a deleted organization. */
export const projectStore = (db: Db) => {
  const live = (organizationId: string) =>
    db
      .selectFrom("core.projects as project")
      .innerJoin("core.organizations as organization", "organization.id", "project.organization_id")
      .where("project.organization_id", "=", organizationId)
      .where("project.deleted_at", "is", null)
      .where("organization.deleted_at", "is", null)

  const records = (organizationId: string) =>
    live(organizationId)
      .selectAll("project")
      .select(eb =>
        eb
          .selectFrom("core.api_keys as key")
          .select("key.id")
          .whereRef("key.project_id", "=", "project.id")
          .where("key.type", "=", "publishable")
          .where("key.revoked_at", "is", null)
          .where("key.grace_expires_at", "is", null)
          .orderBy("key.created_at", "desc")
          .orderBy("key.id", "desc")
          .limit(1)
          .as("publishable_key_id"),
      )

  return {
    /** False when another project of the organization has the slug; throws when one has the name. */
    async insert(row: ProjectRow): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("core.projects")
        .values(row)
        .onConflict(conflict =>
          conflict.columns(["organization_id", "slug"]).where("deleted_at", "is", null).doNothing(),
        )
        .executeTakeFirstOrThrow()
      return numInsertedOrUpdatedRows === 1n
    },

    find: (organizationId: string, id: string): Promise<ProjectRecord | undefined> =>
      records(organizationId).where("project.id", "=", id).executeTakeFirst(),

    /** `ids`: the projects that the reader may see; null: all. */
    async list(
      organizationId: string,
      { ids, limit, offset }: { ids: ReadonlySet<string> | null; limit: number; offset: number },
    ): Promise<{ rows: ProjectRecord[]; total: number }> {
      const visible = ids ? sql<boolean>`project.id = ANY(${[...ids]}::uuid[])` : sql<boolean>`true`
      const { total } = await live(organizationId)
        .where(visible)
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      const rows = await records(organizationId)
        .where(visible)
        .orderBy("project.created_at", "desc")
        .orderBy("project.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total }
    },

    async count(organizationId: string): Promise<number> {
      const { count } = await live(organizationId)
        .select(eb => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow()
      return count
    },

    /** How many of these are projects of the organization. */
    async countAmong(organizationId: string, ids: readonly string[]): Promise<number> {
      const { count } = await live(organizationId)
        .where(sql<boolean>`project.id = ANY(${ids}::uuid[])`)
        .select(eb => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow()
      return count
    },

    update: (organizationId: string, id: string, change: Partial<ProjectRow>): Promise<unknown> =>
      db
        .updateTable("core.projects")
        .set(change)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute(),
  }
}
