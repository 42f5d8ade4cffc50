import type { Insertable, Selectable, Updateable } from "kysely"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { Share } from "./traffic.ts"

type ServiceTable = Tables["run_services.services"]
export type RevisionRow = Selectable<Tables["run_services.revisions"]>
/** A service with its newest revision. */
export type ServiceRow = Omit<Selectable<ServiceTable>, "traffic" | "labels"> &
  Omit<RevisionRow, "organization_id" | "service_id" | "number"> & {
    readonly traffic: readonly Share[]
    readonly labels: Readonly<Record<string, string>>
  }

export interface Owner {
  readonly organizationId: string
  readonly projectId: string
}

const REVISION_COLUMNS = [
  ...(["revision_id", "status", "status_reason", "image", "image_digest", "files_sha256"] as const),
  ...(["files_size_bytes", "command", "args", "env", "env_names", "port", "vcpus", "memory_mb"] as const),
  ...(["concurrency", "timeout_seconds", "idle_timeout_seconds", "health_path"] as const),
  ...(["health_interval_seconds", "health_timeout_seconds", "health_grace_seconds"] as const),
  ...(["unhealthy_threshold", "deployed_at"] as const),
] as const

/** Rows of run_services.services, revisions and files. */
export const serviceStore = (db: Db) => {
  /** Of projects and organizations that were not deleted. */
  const living = () =>
    db
      .selectFrom("run_services.services as services")
      .innerJoin("core.projects as projects", "projects.id", "services.project_id")
      .innerJoin("core.organizations as organizations", "organizations.id", "services.organization_id")
      .where("projects.deleted_at", "is", null)
      .where("organizations.deleted_at", "is", null)
      .innerJoin("run_services.revisions as revisions", join =>
        join
          .onRef("revisions.service_id", "=", "services.id")
          .onRef("revisions.number", "=", "services.revision"),
      )
      .selectAll("services")
      .select(REVISION_COLUMNS.map(column => `revisions.${column}` as const))
      .$castTo<ServiceRow>()

  const owned = ({ organizationId, projectId }: Owner) =>
    living()
      .where("services.organization_id", "=", organizationId)
      .where("services.project_id", "=", projectId)

  const own = ({ id, organization_id }: Pick<ServiceRow, "id" | "organization_id">) =>
    db
      .selectFrom("run_services.revisions")
      .where("organization_id", "=", organization_id)
      .where("service_id", "=", id)
      .selectAll()

  return {
    async count({ organizationId, projectId }: Owner): Promise<number> {
      return countRows(
        db
          .selectFrom("run_services.services")
          .where("organization_id", "=", organizationId)
          .where("project_id", "=", projectId),
      )
    },

    /** `ref` is an id or a name, never what could be both. */
    find: (owner: Owner, column: "id" | "name", ref: string): Promise<ServiceRow | undefined> =>
      owned(owner).where(`services.${column}`, "=", ref).executeTakeFirst(),

    /** Changes of one service happen one after the other. */
    async findForUpdate(owner: Owner, column: "id" | "name", ref: string): Promise<ServiceRow | undefined> {
      const locked = await db
        .selectFrom("run_services.services")
        .select("id")
        .where("organization_id", "=", owner.organizationId)
        .where("project_id", "=", owner.projectId)
        .where(column, "=", ref)
        .forNoKeyUpdate()
        .executeTakeFirst()
      return locked && owned(owner).where("services.id", "=", locked.id).executeTakeFirst()
    },

    list: (owner: Owner, slice: Slice) =>
      listRows(owned(owner).orderBy("services.created_at", "desc").orderBy("services.id", "desc"), slice),

    /** Whose host name is known may be asked for by anybody. */
    findByLabel: (label: string): Promise<ServiceRow | undefined> =>
      living().where("services.host_label", "=", label).executeTakeFirst(),

    findById: (organizationId: string, id: string): Promise<ServiceRow | undefined> =>
      living()
        .where("services.organization_id", "=", organizationId)
        .where("services.id", "=", id)
        .executeTakeFirst(),

    /** What runs here goes on only for these. */
    listByIds: (ids: readonly string[]): Promise<ServiceRow[]> =>
      living()
        .where("services.id", "in", [...ids])
        .execute(),

    listKept: (max: number): Promise<ServiceRow[]> =>
      living().where("services.min_instances", ">", 0).orderBy("services.created_at").limit(max).execute(),

    /** Instances that other services of the project keep; those who ask for more wait for each other. */
    async lockKept({ organizationId, projectId }: Owner, exceptId: string | undefined): Promise<number> {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`run_services.kept:${projectId}`}, 0))`.execute(
        db,
      )
      const { kept } = await db
        .selectFrom("run_services.services")
        .select(sql<number>`coalesce(sum(min_instances), 0)::int`.as("kept"))
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .$if(exceptId !== undefined, query => query.where("id", "!=", exceptId ?? ""))
        .executeTakeFirstOrThrow()
      return kept
    },

    insert: async (row: Insertable<ServiceTable>) => {
      await db.insertInto("run_services.services").values(row).execute()
    },

    update: async (
      { organization_id, id }: Pick<ServiceRow, "organization_id" | "id">,
      change: Updateable<ServiceTable>,
    ) => {
      await db
        .updateTable("run_services.services")
        .set(change)
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    async delete({ organization_id, id }: Pick<ServiceRow, "organization_id" | "id">) {
      for (const table of ["run_services.instances", "run_services.figures"] as const)
        await db
          .deleteFrom(table)
          .where("organization_id", "=", organization_id)
          .where("service_id", "=", id)
          .execute()
      await db
        .deleteFrom("run_services.services")
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    insertRevision: async (row: RevisionRow) => {
      await db.insertInto("run_services.revisions").values(row).execute()
    },

    listRevisions: (of: Pick<ServiceRow, "id" | "organization_id">, slice: Slice) =>
      listRows(own(of).orderBy("number", "desc"), slice),

    findRevisions: (of: Pick<ServiceRow, "id" | "organization_id">, numbers: Iterable<number>) =>
      own(of)
        .where("number", "in", [...numbers])
        .execute(),

    findRevision: (
      of: Pick<ServiceRow, "id" | "organization_id">,
      column: "number" | "revision_id",
      ref: number | string,
    ) => own(of).where(column, "=", ref).executeTakeFirst(),

    /** Forgets what is older than those that are kept, and files that no revision has. */
    async prune({ organization_id, id }: ServiceRow, before: number, kept: Iterable<number>) {
      await db
        .deleteFrom("run_services.revisions")
        .where("organization_id", "=", organization_id)
        .where("service_id", "=", id)
        .where("number", "<", before)
        .where("number", "not in", [0, ...kept])
        .execute()
      await sql`
        DELETE FROM run_services.files AS f WHERE f.organization_id = ${organization_id} AND f.service_id = ${id}
        AND NOT EXISTS (SELECT FROM run_services.revisions AS r WHERE r.service_id = ${id} AND r.files_sha256 = f.sha256)`.execute(
        db,
      )
    },

    insertFiles: async (row: Tables["run_services.files"]) => {
      await db
        .insertInto("run_services.files")
        .values(row)
        .onConflict(conflict => conflict.doNothing())
        .execute()
    },

    async readFiles(organizationId: string, serviceId: string, sha256: string): Promise<Buffer> {
      const { pack } = await db
        .selectFrom("run_services.files")
        .select("pack")
        .where("organization_id", "=", organizationId)
        .where("service_id", "=", serviceId)
        .where("sha256", "=", sha256)
        .executeTakeFirstOrThrow()
      return pack
    },

    /** The revision runs what its image stood for when it was first started. */
    pinDigest: async ({ organization_id, revision_id }: RevisionRow, image_digest: string) => {
      await db
        .updateTable("run_services.revisions")
        .set({ image_digest })
        .where("organization_id", "=", organization_id)
        .where("revision_id", "=", revision_id)
        .where("image_digest", "is", null)
        .execute()
    },

    listDigests: async (): Promise<string[]> => {
      const rows = await db
        .selectFrom("run_services.revisions")
        .select("image_digest")
        .distinct()
        .where("image_digest", "is not", null)
        .execute()
      return rows.flatMap(({ image_digest }) => image_digest ?? [])
    },

    /** False where it was so already, or is gone. */
    async setStatus(
      organizationId: string,
      revisionId: string,
      status: "READY" | "FAILED",
      reason: string | null,
    ): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable("run_services.revisions")
        .set({ status, status_reason: reason })
        .where("organization_id", "=", organizationId)
        .where("revision_id", "=", revisionId)
        .where("status", "!=", status)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },

    async noteReady(organizationId: string, serviceId: string, revisionId: string) {
      await sql`
        UPDATE run_services.services AS s SET ready_revision = greatest(s.ready_revision, r.number)
        FROM run_services.revisions AS r
        WHERE s.organization_id = ${organizationId} AND s.id = ${serviceId} AND r.revision_id = ${revisionId}
          AND r.service_id = s.id`.execute(db)
    },

    /** Of projects and organizations that were deleted. */
    async removeOrphans(): Promise<void> {
      await sql`
        DELETE FROM run_services.services AS s USING core.projects AS p, core.organizations AS o
        WHERE p.id = s.project_id AND o.id = s.organization_id AND (p.deleted_at IS NOT NULL OR o.deleted_at IS NOT NULL)`.execute(
        db,
      )
    },
  }
}
