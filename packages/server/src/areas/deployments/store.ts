import type { Insertable, Selectable, Updateable } from "kysely"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

type DeploymentTable = Tables["deployments.deployments"]
export type VersionRow = Selectable<Tables["deployments.versions"]>
/** A deployment with the version that runs, or is to run. */
export type DeploymentRow = Omit<Selectable<DeploymentTable>, "labels"> &
  Omit<VersionRow, "organization_id" | "deployment_id" | "number"> & {
    readonly labels: Readonly<Record<string, string>>
  }

export interface Owner {
  readonly organizationId: string
  readonly projectId: string
}
export type Of = Pick<DeploymentRow, "id" | "organization_id">

const VERSION_COLUMNS = [
  ...(["version_id", "version_status", "version_reason", "kind", "image", "image_digest"] as const),
  ...(["command", "args", "env", "env_names", "ports", "vcpus", "memory_mb", "restart_policy"] as const),
  ...(["max_retries", "health_port", "health_path", "health_interval_seconds"] as const),
  ...(["health_timeout_seconds", "health_grace_seconds", "unhealthy_threshold", "deployed_at"] as const),
] as const

const reading = (db: Db) => {
  /** Of projects and organizations that were not deleted. */
  const living = () =>
    db
      .selectFrom("deployments.deployments as deployments")
      .innerJoin("core.projects as projects", "projects.id", "deployments.project_id")
      .innerJoin("core.organizations as organizations", "organizations.id", "deployments.organization_id")
      .where("projects.deleted_at", "is", null)
      .where("organizations.deleted_at", "is", null)
      .innerJoin("deployments.versions as versions", join =>
        join
          .onRef("versions.deployment_id", "=", "deployments.id")
          .onRef("versions.number", "=", "deployments.version"),
      )
      .selectAll("deployments")
      .select(VERSION_COLUMNS.map(column => `versions.${column}` as const))
      .$castTo<DeploymentRow>()

  const owned = ({ organizationId, projectId }: Owner) =>
    living()
      .where("deployments.organization_id", "=", organizationId)
      .where("deployments.project_id", "=", projectId)

  const own = ({ id, organization_id }: Of) =>
    db
      .selectFrom("deployments.versions")
      .where("organization_id", "=", organization_id)
      .where("deployment_id", "=", id)
      .selectAll()

  return {
    count: ({ organizationId, projectId }: Owner): Promise<number> =>
      countRows(
        db
          .selectFrom("deployments.deployments")
          .where("organization_id", "=", organizationId)
          .where("project_id", "=", projectId),
      ),

    /** `ref` is an id or a name, never what could be both. */
    find: (owner: Owner, column: "id" | "name", ref: string): Promise<DeploymentRow | undefined> =>
      owned(owner).where(`deployments.${column}`, "=", ref).executeTakeFirst(),

    /** Changes of one deployment happen one after the other. */
    async findForUpdate(
      owner: Owner,
      column: "id" | "name",
      ref: string,
    ): Promise<DeploymentRow | undefined> {
      const locked = await db
        .selectFrom("deployments.deployments")
        .select("id")
        .where("organization_id", "=", owner.organizationId)
        .where("project_id", "=", owner.projectId)
        .where(column, "=", ref)
        .forNoKeyUpdate()
        .executeTakeFirst()
      return locked && owned(owner).where("deployments.id", "=", locked.id).executeTakeFirst()
    },

    list: (owner: Owner, slice: Slice) =>
      listRows(
        owned(owner).orderBy("deployments.created_at", "desc").orderBy("deployments.id", "desc"),
        slice,
      ),

    /** Whose host name is known may be asked for by anybody. */
    findByLabel: (label: string): Promise<DeploymentRow | undefined> =>
      living().where("deployments.host_label", "=", label).executeTakeFirst(),

    /** What a host is to run. */
    listOf: (hostId: string): Promise<DeploymentRow[]> =>
      living().where("deployments.host_id", "=", hostId).orderBy("deployments.created_at").execute(),

    listVersions: (of: Of, slice: Slice) => listRows(own(of).orderBy("number", "desc"), slice),

    findVersion: (of: Of, number: number): Promise<VersionRow | undefined> =>
      own(of).where("number", "=", number).executeTakeFirst(),

    listDigests: async (): Promise<string[]> => {
      const rows = await db
        .selectFrom("deployments.versions")
        .select("image_digest")
        .distinct()
        .where("image_digest", "is not", null)
        .execute()
      return rows.flatMap(({ image_digest }) => image_digest ?? [])
    },
  }
}

const writing = (db: Db) => ({
  /** Instances that other deployments of the project may have; those who ask for more wait for each other. */
  async lockInstances({ organizationId, projectId }: Owner, exceptId: string | undefined): Promise<number> {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`deployments.instances:${projectId}`}, 0))`.execute(
      db,
    )
    const { most } = await db
      .selectFrom("deployments.deployments")
      .select(sql<number>`coalesce(sum(max_instances), 0)::int`.as("most"))
      .where("organization_id", "=", organizationId)
      .where("project_id", "=", projectId)
      .where("min_instances", ">", 0)
      .$if(exceptId !== undefined, query => query.where("id", "!=", exceptId ?? ""))
      .executeTakeFirstOrThrow()
    return most
  },

  insert: async (row: Insertable<DeploymentTable>) => {
    await db.insertInto("deployments.deployments").values(row).execute()
  },

  update: async ({ organization_id, id }: Of, change: Updateable<DeploymentTable>) => {
    await db
      .updateTable("deployments.deployments")
      .set(change)
      .where("organization_id", "=", organization_id)
      .where("id", "=", id)
      .execute()
  },

  /** False where something else is to run by now. */
  async updateCurrent(
    { organization_id, id, generation, min_instances }: DeploymentRow,
    change: Updateable<DeploymentTable>,
  ): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable("deployments.deployments")
      .set(change)
      .where("organization_id", "=", organization_id)
      .where("id", "=", id)
      .where("generation", "=", generation)
      .where("min_instances", "=", min_instances)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  },

  async delete({ organization_id, id }: Of) {
    await db
      .deleteFrom("deployments.instances")
      .where("organization_id", "=", organization_id)
      .where("deployment_id", "=", id)
      .execute()
    await db
      .deleteFrom("deployments.deployments")
      .where("organization_id", "=", organization_id)
      .where("id", "=", id)
      .execute()
  },

  insertVersion: async (row: VersionRow) => {
    await db.insertInto("deployments.versions").values(row).execute()
  },

  /** Forgets what is older than those that are kept. */
  async prune({ organization_id, id }: Of, before: number, kept: readonly number[]) {
    await db
      .deleteFrom("deployments.versions")
      .where("organization_id", "=", organization_id)
      .where("deployment_id", "=", id)
      .where("number", "<", before)
      .where("number", "not in", [0, ...kept])
      .execute()
  },

  /** The version runs what its image stood for when it was first started. */
  pinDigest: async ({ organization_id, version_id }: VersionRow, image_digest: string) => {
    await db
      .updateTable("deployments.versions")
      .set({ image_digest })
      .where("organization_id", "=", organization_id)
      .where("version_id", "=", version_id)
      .where("image_digest", "is", null)
      .execute()
  },

  /** A version that has been ready stays one that has been. */
  setVersionStatus: async (of: Of, number: number, status: "READY" | "FAILED", reason: string | null) => {
    await db
      .updateTable("deployments.versions")
      .set({ version_status: status, version_reason: reason })
      .where("organization_id", "=", of.organization_id)
      .where("deployment_id", "=", of.id)
      .where("number", "=", number)
      .where("version_status", "!=", "READY")
      .execute()
  },

  /** Takes what nobody runs, or a host that is gone. */
  async claim(hostId: string, gone: readonly string[]) {
    await db
      .updateTable("deployments.deployments")
      .set({ host_id: hostId, ready_instances: 0 })
      .where(({ eb, or }) =>
        or([eb("host_id", "is", null), ...(gone.length > 0 ? [eb("host_id", "in", [...gone])] : [])]),
      )
      .execute()
  },

  /** Of projects and organizations that were deleted. */
  async removeOrphans(): Promise<void> {
    await sql`
      DELETE FROM deployments.deployments AS d USING core.projects AS p, core.organizations AS o
      WHERE p.id = d.project_id AND o.id = d.organization_id AND (p.deleted_at IS NOT NULL OR o.deleted_at IS NOT NULL)`.execute(
      db,
    )
  },
})

/** Rows of deployments.deployments and versions. */
export const deploymentStore = (db: Db) => ({ ...reading(db), ...writing(db) })
