import type { Insertable, Selectable, Updateable } from "kysely"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { Code } from "./code.ts"

type FunctionTable = Tables["functions.functions"]
export type FunctionRow = Selectable<FunctionTable>
export type VersionRow = Tables["functions.versions"]

/** A function with the version that is invoked, and what its code weighs. */
export type DeployedRow = FunctionRow &
  Omit<VersionRow, "organization_id" | "function_id" | "version" | "created_at"> & {
    readonly size_bytes: number
  }

export interface Owner {
  readonly organizationId: string
  readonly projectId: string
}

interface Slice {
  readonly limit: number
  readonly offset: number
}

const VERSION_COLUMNS = [
  "versions.runtime",
  "versions.handler",
  "versions.code_sha256",
  "versions.memory_mb",
  "versions.timeout_seconds",
  "versions.vcpus",
  "versions.env",
  "versions.env_names",
  "versions.concurrency",
  "versions.min_instances",
  "versions.image",
  "versions.image_digest",
] as const

/** Rows of functions.functions, functions.versions and functions.codes. */
export const functionStore = (db: Db) => {
  /** Of projects and organizations that were not deleted. */
  const deployed = () =>
    db
      .selectFrom("functions.functions as functions")
      .innerJoin("core.projects as projects", "projects.id", "functions.project_id")
      .innerJoin("core.organizations as organizations", "organizations.id", "functions.organization_id")
      .where("projects.deleted_at", "is", null)
      .where("organizations.deleted_at", "is", null)
      .innerJoin("functions.versions as versions", join =>
        join
          .onRef("versions.function_id", "=", "functions.id")
          .onRef("versions.version", "=", "functions.version"),
      )
      .innerJoin("functions.codes as codes", join =>
        join
          .onRef("codes.organization_id", "=", "versions.organization_id")
          .onRef("codes.sha256", "=", "versions.code_sha256"),
      )
      .selectAll("functions")
      .select([...VERSION_COLUMNS, "codes.size_bytes"])

  const owned = ({ organizationId, projectId }: Owner) =>
    deployed()
      .where("functions.organization_id", "=", organizationId)
      .where("functions.project_id", "=", projectId)

  const count = async ({ organizationId, projectId }: Owner): Promise<number> => {
    const { total } = await db
      .selectFrom("functions.functions")
      .select(({ fn }) => fn.countAll<number>().as("total"))
      .where("organization_id", "=", organizationId)
      .where("project_id", "=", projectId)
      .executeTakeFirstOrThrow()
    return total
  }

  return {
    count,

    /** `ref` is an id or a name, never what could be both. */
    find: (owner: Owner, column: "id" | "name", ref: string): Promise<DeployedRow | undefined> =>
      owned(owner).where(`functions.${column}`, "=", ref).executeTakeFirst(),

    /** Whose id is public may be asked for by anybody. */
    findPublic: (id: string): Promise<DeployedRow | undefined> =>
      deployed().where("functions.id", "=", id).where("functions.is_public", "=", true).executeTakeFirst(),

    findById: (organizationId: string, id: string): Promise<DeployedRow | undefined> =>
      deployed()
        .where("functions.organization_id", "=", organizationId)
        .where("functions.id", "=", id)
        .executeTakeFirst(),

    /** Deployments of one function happen one after the other. */
    async findForUpdate(owner: Owner, column: "id" | "name", ref: string): Promise<DeployedRow | undefined> {
      const locked = await db
        .selectFrom("functions.functions")
        .select("id")
        .where("organization_id", "=", owner.organizationId)
        .where("project_id", "=", owner.projectId)
        .where(column, "=", ref)
        .forNoKeyUpdate()
        .executeTakeFirst()
      return locked && owned(owner).where("functions.id", "=", locked.id).executeTakeFirst()
    },

    async list(owner: Owner, { limit, offset }: Slice): Promise<{ rows: DeployedRow[]; total: number }> {
      const rows = await owned(owner)
        .orderBy("functions.created_at", "desc")
        .orderBy("functions.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: await count(owner) }
    },

    insert: async (row: Insertable<FunctionTable>) => {
      await db.insertInto("functions.functions").values(row).execute()
    },

    update: async ({ id, organization_id }: FunctionRow, changes: Updateable<FunctionTable>) => {
      await db
        .updateTable("functions.functions")
        .set(changes)
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    delete: async ({ id, organization_id }: FunctionRow) => {
      await db
        .deleteFrom("functions.functions")
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    insertVersion: async (row: Insertable<VersionRow>) => {
      await db.insertInto("functions.versions").values(row).execute()
    },

    async listVersions({ id, organization_id }: FunctionRow, { limit, offset }: Slice) {
      const versions = db
        .selectFrom("functions.versions as versions")
        .where("versions.organization_id", "=", organization_id)
        .where("versions.function_id", "=", id)
      const rows = await versions
        .innerJoin("functions.codes as codes", join =>
          join
            .onRef("codes.organization_id", "=", "versions.organization_id")
            .onRef("codes.sha256", "=", "versions.code_sha256"),
        )
        .selectAll("versions")
        .select("codes.size_bytes")
        .orderBy("versions.version", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await versions
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return { rows, total }
    },

    dropVersions: async ({ id, organization_id }: FunctionRow, upTo: number) => {
      await db
        .deleteFrom("functions.versions")
        .where("organization_id", "=", organization_id)
        .where("function_id", "=", id)
        .where("version", "<=", upTo)
        .execute()
    },

    /** Touches what is there already, so that a sweep under way leaves it. */
    insertCode: async (organization_id: string, { sha256, pack, sizeBytes, files }: Code, now: Date) => {
      await db
        .insertInto("functions.codes")
        .values({ organization_id, sha256, pack, size_bytes: sizeBytes, files, created_at: now })
        .onConflict(conflict =>
          conflict.columns(["organization_id", "sha256"]).doUpdateSet({ created_at: now }),
        )
        .execute()
    },

    async readDigest({ id, version, organization_id }: DeployedRow): Promise<string | null> {
      const row = await db
        .selectFrom("functions.versions")
        .select("image_digest")
        .where("organization_id", "=", organization_id)
        .where("function_id", "=", id)
        .where("version", "=", version)
        .executeTakeFirst()
      return row?.image_digest ?? null
    },

    pinDigest: async ({ id, version, organization_id }: DeployedRow, image_digest: string) => {
      await db
        .updateTable("functions.versions")
        .set({ image_digest })
        .where("organization_id", "=", organization_id)
        .where("function_id", "=", id)
        .where("version", "=", version)
        .where("image_digest", "is", null)
        .execute()
    },

    /** Of the images that functions run now. */
    async listDigests(): Promise<string[]> {
      const rows = await deployed()
        .where("versions.image_digest", "is not", null)
        .clearSelect()
        .select("versions.image_digest")
        .distinct()
        .execute()
      return rows.flatMap(({ image_digest }) => image_digest ?? [])
    },

    async readCode(organizationId: string, sha256: string): Promise<Buffer> {
      const { pack } = await db
        .selectFrom("functions.codes")
        .select("pack")
        .where("organization_id", "=", organizationId)
        .where("sha256", "=", sha256)
        .executeTakeFirstOrThrow()
      return pack
    },

    /** What the functions of a project keep beside that one; others who ask wait for the end of the transaction. */
    async lockKept({ organizationId, projectId }: Owner, exceptId: string | undefined): Promise<number> {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`functions.kept:${projectId}`}, 0))`.execute(
        db,
      )
      const rows = await owned({ organizationId, projectId })
        .where("versions.min_instances", ">", 0)
        .execute()
      return rows.reduce((sum, { id, min_instances }) => sum + (id === exceptId ? 0 : min_instances), 0)
    },

    /** Those that keep instances while nothing is invoked, the one that was called last first. */
    listKept: (max: number) =>
      deployed()
        .where("versions.min_instances", ">", 0)
        .select("organizations.plan")
        .orderBy("functions.last_invoked_at", order => order.desc().nullsLast())
        .orderBy("functions.id")
        .limit(max)
        .execute(),

    /** Functions of projects and organizations that were deleted. */
    async listOrphans(max: number): Promise<string[]> {
      const rows = await db
        .selectFrom("functions.functions as functions")
        .select("functions.id")
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("core.projects as projects")
                .innerJoin(
                  "core.organizations as organizations",
                  "organizations.id",
                  "projects.organization_id",
                )
                .whereRef("projects.id", "=", "functions.project_id")
                .where("projects.deleted_at", "is", null)
                .where("organizations.deleted_at", "is", null)
                .select("projects.id"),
            ),
          ),
        )
        .limit(max)
        .execute()
      return rows.map(({ id }) => id)
    },

    deleteOrphans: async (ids: readonly string[]) => {
      await db.deleteFrom("functions.functions").where("id", "in", ids).execute()
    },

    noteInvoked: async ({ id, organization_id }: FunctionRow, at: Date) => {
      await db
        .updateTable("functions.functions")
        .set({ invocation_count: sql<number>`invocation_count + 1`, last_invoked_at: at })
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    /** Only while that version is the one that is invoked. */
    async noteLoaded(id: string, version: number, problem: string | null) {
      await db
        .updateTable("functions.functions")
        .set({ status: problem === null ? "ACTIVE" : "FAILED", status_reason: problem })
        .where("id", "=", id)
        .where("version", "=", version)
        .where(sql<boolean>`status_reason IS DISTINCT FROM ${problem}`)
        .execute()
    },
  }
}
