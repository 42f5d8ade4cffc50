import type { Insertable, Selectable } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { GitProviderName } from "../../ports/git/port.ts"

export type IntegrationRow = Selectable<Tables["integrations.integrations"]>
export type NewIntegration = Insertable<Tables["integrations.integrations"]>
export type CredentialsRow = Tables["integrations.credentials"]
export type InstallationRow = Selectable<Tables["integrations.installations"]>
type NewInstallation = Insertable<Tables["integrations.installations"]>

export interface Owner {
  readonly organizationId: string
  readonly projectId: string
}

export interface IntegrationWithEvent extends IntegrationRow {
  readonly event_type: string | null
  readonly event_ref: string | null
  readonly event_commit: string | null
  readonly event_build_id: string | null
}

/** Rows of integrations.integrations. Every statement of a call names the tenant. */
export const integrationStore = (db: Db) => {
  const own = ({ organizationId, projectId }: Owner) =>
    db
      .selectFrom("integrations.integrations as integration")
      .where("integration.organization_id", "=", organizationId)
      .where("integration.project_id", "=", projectId)

  const shown = (owner: Owner) =>
    own(owner)
      .leftJoin("integrations.events as event", "event.id", "integration.last_event_id")
      .selectAll("integration")
      .select([
        ...(["event.type as event_type", "event.ref as event_ref"] as const),
        ...(["event.commit as event_commit", "event.build_id as event_build_id"] as const),
      ])

  /** Those of projects that still exist. */
  const alive = () =>
    db
      .selectFrom("integrations.integrations as integration")
      .innerJoin("core.projects as project", "project.id", "integration.project_id")
      .innerJoin("core.organizations as organization", "organization.id", "integration.organization_id")
      .where("project.deleted_at", "is", null)
      .where("organization.deleted_at", "is", null)

  return {
    insert: async (row: NewIntegration) => {
      await db.insertInto("integrations.integrations").values(row).execute()
    },

    find: (owner: Owner, id: string): Promise<IntegrationWithEvent | undefined> =>
      shown(owner).where("integration.id", "=", id).executeTakeFirst(),

    list: (owner: Owner, slice: Slice): Promise<{ rows: IntegrationWithEvent[]; total: number }> =>
      listRows(
        shown(owner).orderBy("integration.created_at", "desc").orderBy("integration.id", "desc"),
        slice,
      ),

    count: (owner: Owner): Promise<number> => countRows(own(owner)),

    /** The row, locked until the transaction ends: what happens to one integration takes turns. */
    findForUpdate: (organizationId: string, id: string): Promise<IntegrationRow | undefined> =>
      db
        .selectFrom("integrations.integrations")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .forUpdate()
        .executeTakeFirst(),

    /** Of an organization, and of a project that still exists. */
    findAlive: (organizationId: string, id: string): Promise<IntegrationRow | undefined> =>
      alive()
        .where("integration.organization_id", "=", organizationId)
        .where("integration.id", "=", id)
        .selectAll("integration")
        .executeTakeFirst(),

    /** By the id alone: for a provider's delivery, which names nothing else and is verified next. */
    findForDelivery: (id: string): Promise<IntegrationRow | undefined> =>
      alive().where("integration.id", "=", id).selectAll("integration").executeTakeFirst(),

    /** Ids after that one, of integrations whose repository can be looked at. */
    pollable: (
      after: string,
      now: Date,
      limit: number,
    ): Promise<{ id: string; organization_id: string; provider: string }[]> =>
      alive()
        .where("integration.status", "!=", "paused")
        .where("integration.id", ">", after)
        .where(({ eb, or }) =>
          or([eb("integration.poll_after", "is", null), eb("integration.poll_after", "<=", now)]),
        )
        .where(({ eb, or, exists, selectFrom }) =>
          or([
            eb("integration.installation_id", "is not", null),
            exists(
              selectFrom("integrations.credentials as credentials")
                .select("credentials.kind")
                .whereRef("credentials.project_id", "=", "integration.project_id")
                .whereRef("credentials.provider", "=", "integration.provider")
                .where("credentials.kind", "=", "token"),
            ),
          ]),
        )
        .select(["integration.id", "integration.organization_id", "integration.provider"])
        .orderBy("integration.id")
        .limit(limit)
        .execute(),

    update: async (organizationId: string, id: string, changes: Partial<NewIntegration>) => {
      await db
        .updateTable("integrations.integrations")
        .set(changes)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    /** False where there is none. */
    async delete({ organizationId, projectId }: Owner, id: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("integrations.integrations")
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .executeTakeFirst()
      return numDeletedRows > 0n
    },

    /** Everything of projects that were deleted. */
    async deleteOrphans() {
      for (const table of ["integrations", "credentials", "installations"] as const) {
        await db
          .deleteFrom(`integrations.${table}`)
          .where("project_id", "in", gone =>
            gone.selectFrom("core.projects").select("id").where("deleted_at", "is not", null),
          )
          .execute()
      }
    },
  }
}

/** Rows of integrations.credentials and integrations.installations: what a project opens providers with. */
export const accountStore = (db: Db) => {
  const installationsOf = ({ organizationId, projectId }: Owner) =>
    db
      .selectFrom("integrations.installations")
      .where("organization_id", "=", organizationId)
      .where("project_id", "=", projectId)

  return {
    find: (
      { organizationId, projectId }: Owner,
      provider: GitProviderName,
    ): Promise<CredentialsRow | undefined> =>
      db
        .selectFrom("integrations.credentials")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .where("provider", "=", provider)
        .executeTakeFirst(),

    list: ({ organizationId, projectId }: Owner): Promise<CredentialsRow[]> =>
      db
        .selectFrom("integrations.credentials")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .orderBy("provider")
        .execute(),

    put: async (row: CredentialsRow) => {
      const { organization_id: _, project_id: __, provider: ___, created_at: ____, ...changes } = row
      await db
        .insertInto("integrations.credentials")
        .values(row)
        .onConflict(conflict => conflict.columns(["project_id", "provider"]).doUpdateSet(changes))
        .execute()
    },

    /** False where there are none. */
    async delete({ organizationId, projectId }: Owner, provider: GitProviderName): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("integrations.credentials")
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .where("provider", "=", provider)
        .executeTakeFirst()
      return numDeletedRows > 0n
    },

    putInstallation: async (row: NewInstallation) => {
      const { organization_id: _, project_id: __, installation_id: ___, created_at: ____, ...changes } = row
      await db
        .insertInto("integrations.installations")
        .values(row)
        .onConflict(conflict => conflict.columns(["project_id", "installation_id"]).doUpdateSet(changes))
        .execute()
    },

    findInstallation: (owner: Owner, id: number): Promise<InstallationRow | undefined> =>
      installationsOf(owner).selectAll().where("installation_id", "=", id).executeTakeFirst(),

    installations: (owner: Owner, slice: Slice): Promise<{ rows: InstallationRow[]; total: number }> =>
      listRows(
        installationsOf(owner).selectAll().orderBy("created_at", "desc").orderBy("installation_id", "desc"),
        slice,
      ),

    /** One, or all of the project; false where there was none. */
    async deleteInstallations({ organizationId, projectId }: Owner, id?: number): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("integrations.installations")
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .$if(id !== undefined, query => query.where("installation_id", "=", id ?? 0))
        .executeTakeFirst()
      return numDeletedRows > 0n
    },
  }
}
