import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type InvitationRow = Tables["core.invitations"]

/** Rows of core.invitations. */
export const invitationStore = (db: Db) => {
  const all = (organizationId: string) =>
    db.selectFrom("core.invitations").selectAll().where("organization_id", "=", organizationId)

  return {
    insert: (row: InvitationRow): Promise<unknown> => db.insertInto("core.invitations").values(row).execute(),

    findByTokenHash: (hash: Buffer): Promise<InvitationRow | undefined> =>
      db.selectFrom("core.invitations").selectAll().where("token_hash", "=", hash).executeTakeFirst(),

    find: (organizationId: string, id: string): Promise<InvitationRow | undefined> =>
      all(organizationId).where("id", "=", id).executeTakeFirst(),

    async list(
      organizationId: string,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<{ rows: InvitationRow[]; total: number }> {
      const { total } = await all(organizationId)
        .clearSelect()
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      const rows = await all(organizationId)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total }
    },

    async countPending(organizationId: string, now: Date): Promise<number> {
      const { count } = await all(organizationId)
        .clearSelect()
        .select(eb => eb.fn.countAll<number>().as("count"))
        .where("accepted_at", "is", null)
        .where("revoked_at", "is", null)
        .where("expires_at", ">", now)
        .executeTakeFirstOrThrow()
      return count
    },

    listOpenOfMaker: (organizationId: string, userId: string, now: Date): Promise<InvitationRow[]> =>
      all(organizationId)
        .where("invited_by", "=", userId)
        .where("accepted_at", "is", null)
        .where("revoked_at", "is", null)
        .where("expires_at", ">", now)
        .execute(),

    /** Withdraws what is still open for this address, so that one person never holds two invitations. */
    revokeOpenFor: (organizationId: string, email: string, now: Date): Promise<unknown> =>
      db
        .updateTable("core.invitations")
        .set({ revoked_at: now })
        .where("organization_id", "=", organizationId)
        .where(sql`lower(email)`, "=", sql`lower(${email})`)
        .where("accepted_at", "is", null)
        .where("revoked_at", "is", null)
        .execute(),

    /** Takes the invitation, once: false when it was taken, withdrawn or too old. */
    async accept(organizationId: string, id: string, now: Date): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable("core.invitations")
        .set({ accepted_at: now })
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .where("accepted_at", "is", null)
        .where("revoked_at", "is", null)
        .where("expires_at", ">", now)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },

    revoke: (organizationId: string, id: string, now: Date): Promise<unknown> =>
      db
        .updateTable("core.invitations")
        .set({ revoked_at: now })
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute(),
  }
}
