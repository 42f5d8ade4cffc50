import { type Selectable, sql } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"

export type DomainRow = Selectable<Tables["email.domains"]>

/** Rows of email.domains. Every statement of a call names the organization. */
export const domainStore = (db: Db) => {
  const own = (organizationId: string) =>
    db.selectFrom("email.domains").where("organization_id", "=", organizationId)

  return {
    /** False where the organization has the domain already. */
    async insert(row: DomainRow): Promise<boolean> {
      const inserted = await db
        .insertInto("email.domains")
        .values({ ...row, findings: JSON.stringify(row.findings) })
        .onConflict(conflict => conflict.columns(["organization_id", "domain"]).doNothing())
        .returning("id")
        .executeTakeFirst()
      return inserted !== undefined
    },

    find: (organizationId: string, id: string): Promise<DomainRow | undefined> =>
      own(organizationId).where("id", "=", id).selectAll().executeTakeFirst(),

    findForUpdate: (organizationId: string, id: string): Promise<DomainRow | undefined> =>
      own(organizationId).where("id", "=", id).selectAll().forUpdate().executeTakeFirst(),

    async list(
      organizationId: string,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<{ rows: DomainRow[]; total: number }> {
      const rows = await own(organizationId)
        .selectAll()
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: await this.count(organizationId) }
    },

    async count(organizationId: string): Promise<number> {
      const { total } = await own(organizationId)
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return total
    },

    async update(organizationId: string, id: string, change: Partial<DomainRow>): Promise<void> {
      await db
        .updateTable("email.domains")
        .set({
          ...change,
          ...(change.findings !== undefined && { findings: JSON.stringify(change.findings) }),
        })
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    delete: (organizationId: string, id: string): Promise<DomainRow | undefined> =>
      db
        .deleteFrom("email.domains")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst(),

    /** Whoever asks about the owner of a domain takes turns, until their transactions end. */
    lockName: async (domain: string) => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`email.domain:${domain}`}, 0))`.execute(db)
    },

    /** Whether an organization other than this one has proven that it owns the domain. */
    async isOthers(organizationId: string, domain: string): Promise<boolean> {
      const row = await db
        .selectFrom("email.domains")
        .select("id")
        .where("organization_id", "!=", organizationId)
        .where("domain", "=", domain)
        .where("ownership_proven", "=", true)
        .executeTakeFirst()
      return row !== undefined
    },

    findVerified: (organizationId: string, domain: string): Promise<DomainRow | undefined> =>
      own(organizationId)
        .where("domain", "=", domain)
        .where("status", "=", "verified")
        .where("ownership_proven", "=", true)
        .selectAll()
        .executeTakeFirst(),
  }
}
