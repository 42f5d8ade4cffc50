import type { Db } from "../../../kernel/db/database.ts"

/** What the quota reads, of the project whose volume it has measured. */
export const diskStore = (db: Db) => ({
  /** The active databases of a project, with the plan of its organization. */
  databasesOf: (organizationId: string, projectId: string) =>
    db
      .selectFrom("databases.databases as database")
      .innerJoin("core.organizations as organization", "organization.id", "database.organization_id")
      .select(["database.id", "database.name", "database.storage_state", "organization.plan"])
      .where("database.organization_id", "=", organizationId)
      .where("database.project_id", "=", projectId)
      .where("database.state", "=", "active")
      .execute(),

  volumesOf: (organizationId: string, databaseIds: readonly string[]) =>
    db
      .selectFrom("databases.volumes")
      .select([
        "id",
        "database_id",
        "pg_version",
        "isolation",
        "data_size_bytes",
        "history_size_bytes",
        "read_only",
      ])
      .where("organization_id", "=", organizationId)
      .where("database_id", "in", [...databaseIds])
      .where("state", "=", "ready")
      .execute(),

  findVolume: (organizationId: string, id: string) =>
    db
      .selectFrom("databases.volumes")
      .select(["data_size_bytes", "physical_size_bytes", "history_size_bytes", "logical_size_bytes"])
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .executeTakeFirst(),

  onlyDropFrees: async (organizationId: string, databaseId: string): Promise<boolean> => {
    const row = await db
      .selectFrom("databases.databases")
      .select("only_drop_frees")
      .where("organization_id", "=", organizationId)
      .where("id", "=", databaseId)
      .executeTakeFirst()
    return row?.only_drop_frees ?? false
  },

  /** Projects with a database that is over its limit, or near: a plan may have changed, or a branch gone. */
  projectsNearLimit: (limit: number) =>
    db
      .selectFrom("databases.databases")
      .select(["organization_id", "project_id"])
      .distinct()
      .where("state", "=", "active")
      .where("storage_state", "<>", "ok")
      .limit(limit)
      .execute(),
})

export type MeasuredDatabase = Awaited<ReturnType<ReturnType<typeof diskStore>["databasesOf"]>>[number]
export type MeasuredVolume = Awaited<ReturnType<ReturnType<typeof diskStore>["volumesOf"]>>[number]
