import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { Site } from "./offers.ts"

export type DomainRow = Omit<Selectable<Tables["domains.domains"]>, "site"> & { readonly site: Site | null }

const stored = <Row extends Partial<DomainRow>>({ site, ...row }: Row) => ({
  ...row,
  ...(site !== undefined && { site: site === null ? null : JSON.stringify(site) }),
})

/** Rows of domains.domains. Every statement of a call names the project. */
export const domainStore = (db: Db) => {
  const own = (projectId: string) => db.selectFrom("domains.domains").where("project_id", "=", projectId)

  return {
    insert: async (row: DomainRow): Promise<void> => {
      await db.insertInto("domains.domains").values(stored(row)).execute()
    },

    find: async (projectId: string, id: string): Promise<DomainRow | undefined> =>
      (await own(projectId).where("id", "=", id).selectAll().executeTakeFirst()) as DomainRow | undefined,

    findForUpdate: async (projectId: string, id: string): Promise<DomainRow | undefined> =>
      (await own(projectId).where("id", "=", id).selectAll().forUpdate().executeTakeFirst()) as
        | DomainRow
        | undefined,

    async list(projectId: string, slice: Slice) {
      const query = own(projectId).selectAll().orderBy("created_at", "desc").orderBy("id", "desc")
      const { rows, total } = await listRows(query, slice)
      return { rows: rows as unknown as DomainRow[], total }
    },

    /** How many the organization has; holds a lock that keeps others from adding one until the transaction ends. */
    async countToCreate(organizationId: string): Promise<number> {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`domains.created:${organizationId}`}, 0))`.execute(
        db,
      )
      return countRows(
        db
          .selectFrom("domains.domains as domain")
          .innerJoin("core.projects as project", "project.id", "domain.project_id")
          .where("domain.organization_id", "=", organizationId)
          .where("project.deleted_at", "is", null),
      )
    },

    update: async (projectId: string, id: string, change: Partial<DomainRow>): Promise<void> => {
      await db
        .updateTable("domains.domains")
        .set(stored(change))
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    delete: async (projectId: string, id: string): Promise<void> => {
      await db
        .deleteFrom("domains.domains")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    /** Whoever decides about a name takes turns, until their transactions end. */
    lockName: async (domain: string): Promise<void> => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`domains.name:${domain}`}, 0))`.execute(db)
    },

    /** Who has the name, whichever project it is; `isLive` is false where that was deleted. */
    findHolder: async (domain: string): Promise<(DomainRow & { readonly isLive: boolean }) | undefined> =>
      (await db
        .selectFrom("domains.domains as domain")
        .innerJoin("core.projects as project", "project.id", "domain.project_id")
        .innerJoin("core.organizations as organization", "organization.id", "domain.organization_id")
        .where("domain.domain", "=", domain)
        .where("domain.status", "=", "active")
        .selectAll("domain")
        .select(sql<boolean>`project.deleted_at IS NULL AND organization.deleted_at IS NULL`.as("isLive"))
        .executeTakeFirst()) as (DomainRow & { readonly isLive: boolean }) | undefined,
  }
}

const PAGE = 1_000

/** What the data plane reads: of all tenants, because requests name none. */
export const routeStore = (db: Db) => {
  const live = () =>
    db
      .selectFrom("domains.domains as domain")
      .innerJoin("core.projects as project", "project.id", "domain.project_id")
      .innerJoin("core.organizations as organization", "organization.id", "domain.organization_id")
      .where("domain.status", "=", "active")
      .where("project.deleted_at", "is", null)
      .where("organization.deleted_at", "is", null)
      .selectAll("domain")
      .orderBy("domain.id")

  return {
    find: async (id: string): Promise<DomainRow | undefined> =>
      (await live().where("domain.id", "=", id).executeTakeFirst()) as DomainRow | undefined,

    async *all(): AsyncGenerator<DomainRow[]> {
      for (let after = ""; ; ) {
        const rows = (await live()
          .$if(after !== "", query => query.where("domain.id", ">", after))
          .limit(PAGE)
          .execute()) as unknown as DomainRow[]
        yield rows
        const last = rows.at(-1)
        if (!last || rows.length < PAGE) return
        after = last.id
      }
    },
  }
}
