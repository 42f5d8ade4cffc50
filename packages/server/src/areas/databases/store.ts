import { type RawBuilder, type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type DatabaseRow = Selectable<Tables["databases.databases"]>
export type BranchRow = Tables["databases.branches"]
export type VolumeRow = Selectable<Tables["databases.volumes"]>

export type DatabaseRecord = DatabaseRow & SizeRow

interface SizeRow {
  logical_size_bytes: number
  physical_size_bytes: number
  history_size_bytes: number
  volume_id: string
  plan: string
  used_bytes: number
  history_bytes: number
  project_used_bytes: number
}

export type BranchRecord = BranchRow & Pick<VolumeRow, "logical_size_bytes" | "pg_version" | "isolation">

/** Bytes of volumes in use. */
const sumOf = (column: "data_size_bytes" | "history_size_bytes", ofDatabase: RawBuilder<boolean>) =>
  sql<number>`(SELECT coalesce(sum(volume.${sql.ref(column)}), 0)::bigint FROM databases.volumes volume
    WHERE volume.state = 'ready' AND ${ofDatabase})`

/** Rows of databases.databases, databases.branches and databases.volumes. Every statement of a call names the tenant. */
export const databaseStore = (db: Db) => {
  const records = (organizationId: string) =>
    db
      .selectFrom("databases.databases as database")
      .innerJoin("databases.branches as branch", "branch.id", "database.default_branch_id")
      .innerJoin("databases.volumes as volume", "volume.id", "branch.volume_id")
      .selectAll("database")
      .select([
        "volume.id as volume_id",
        "volume.logical_size_bytes",
        "volume.physical_size_bytes",
        "volume.history_size_bytes",
      ])
      .select(({ selectFrom, ref }) => [
        selectFrom("core.organizations")
          .select("plan")
          .whereRef("id", "=", ref("database.organization_id"))
          .$asScalar()
          .$notNull()
          .as("plan"),
        sumOf("data_size_bytes", sql<boolean>`volume.database_id = database.id`).as("used_bytes"),
        sumOf("history_size_bytes", sql<boolean>`volume.database_id = database.id`).as("history_bytes"),
        sumOf(
          "data_size_bytes",
          sql<boolean>`volume.database_id IN (SELECT other.id FROM databases.databases other
            WHERE other.project_id = database.project_id AND other.state = 'active')`,
        ).as("project_used_bytes"),
      ])
      .where("database.organization_id", "=", organizationId)

  const branchRecords = (organizationId: string) =>
    db
      .selectFrom("databases.branches as branch")
      .innerJoin("databases.volumes as volume", "volume.id", "branch.volume_id")
      .selectAll("branch")
      .select(["volume.logical_size_bytes", "volume.pg_version", "volume.isolation"])
      .where("branch.organization_id", "=", organizationId)

  return {
    insertDatabase: async (row: DatabaseRow) => {
      await db.insertInto("databases.databases").values(row).execute()
    },
    insertBranch: async (row: BranchRow) => {
      await db.insertInto("databases.branches").values(row).execute()
    },
    insertVolume: async (row: VolumeRow) => {
      await db.insertInto("databases.volumes").values(row).execute()
    },

    find: (organizationId: string, projectId: string, id: string): Promise<DatabaseRecord | undefined> =>
      records(organizationId)
        .where("database.project_id", "=", projectId)
        .where("database.id", "=", id)
        .where("database.state", "in", ["active", "deleted"])
        .executeTakeFirst(),

    findDefault: (organizationId: string, projectId: string): Promise<DatabaseRecord | undefined> =>
      records(organizationId)
        .where("database.project_id", "=", projectId)
        .where("database.is_default", "=", true)
        .where("database.state", "in", ["creating", "active"])
        .executeTakeFirst(),

    /** The project's default database that was deleted last and can still be restored. */
    findDeletedDefault: (organizationId: string, projectId: string): Promise<DatabaseRow | undefined> =>
      db
        .selectFrom("databases.databases")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .where("is_default", "=", true)
        .where("state", "=", "deleted")
        .orderBy("deleted_at", "desc")
        .executeTakeFirst(),

    async list(
      organizationId: string,
      projectId: string,
      { includeDeleted, limit, offset }: { includeDeleted: boolean; limit: number; offset: number },
    ): Promise<{ rows: DatabaseRecord[]; total: number }> {
      const states = includeDeleted ? ["active", "deleted"] : ["active"]
      const rows = await records(organizationId)
        .where("database.project_id", "=", projectId)
        .where("database.state", "in", states)
        .orderBy("database.created_at", "desc")
        .orderBy("database.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await db
        .selectFrom("databases.databases")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .where("state", "in", states)
        .executeTakeFirstOrThrow()
      return { rows, total }
    },

    /** False when the database is not in that state any more. */
    async updateDatabase(
      organizationId: string,
      id: string,
      states: readonly string[],
      changes: Partial<DatabaseRow>,
    ): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable("databases.databases")
        .set(changes)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .where("state", "in", [...states])
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },

    deleteDatabase: async (organizationId: string, id: string) => {
      await db
        .deleteFrom("databases.branches")
        .where("organization_id", "=", organizationId)
        .where("database_id", "=", id)
        .execute()
      await db
        .deleteFrom("databases.databases")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    findBranch: (organizationId: string, databaseId: string, id: string): Promise<BranchRecord | undefined> =>
      branchRecords(organizationId)
        .where("branch.database_id", "=", databaseId)
        .where("branch.id", "=", id)
        .executeTakeFirst(),

    async listBranches(
      organizationId: string,
      databaseId: string,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<{ rows: BranchRecord[]; total: number }> {
      const rows = await branchRecords(organizationId)
        .where("branch.database_id", "=", databaseId)
        .where("branch.state", "=", "ready")
        .orderBy("branch.created_at", "desc")
        .orderBy("branch.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await db
        .selectFrom("databases.branches")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("organization_id", "=", organizationId)
        .where("database_id", "=", databaseId)
        .where("state", "=", "ready")
        .executeTakeFirstOrThrow()
      return { rows, total }
    },

    branchesOf: (organizationId: string, databaseId: string): Promise<BranchRecord[]> =>
      branchRecords(organizationId).where("branch.database_id", "=", databaseId).execute(),

    hasChildren: async (organizationId: string, id: string): Promise<boolean> =>
      (await db
        .selectFrom("databases.branches")
        .select("id")
        .where("organization_id", "=", organizationId)
        .where("parent_id", "=", id)
        .limit(1)
        .executeTakeFirst()) !== undefined,

    updateBranch: async (organizationId: string, id: string, changes: Partial<BranchRow>) => {
      await db
        .updateTable("databases.branches")
        .set(changes)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    deleteBranch: async (organizationId: string, id: string) => {
      await db
        .deleteFrom("databases.branches")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    updateVolume: async (organizationId: string, id: string, changes: Partial<VolumeRow>) => {
      await db
        .updateTable("databases.volumes")
        .set(changes)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    deleteVolume: async (organizationId: string, id: string) => {
      await db
        .deleteFrom("databases.volumes")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },
  }
}
