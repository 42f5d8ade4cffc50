import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import { timeOfMails } from "../credentials/mail-times.ts"

export type ResetRow = Tables["core.password_resets"]

const LOCK = "core.password_resets"

/** Rows of core.password_resets. */
export const resetStore = (db: Db) => ({
  /** Serializes requests until the transaction ends, so that concurrent ones cannot exceed the limits. */
  lock: (): Promise<unknown> => sql`SELECT pg_advisory_xact_lock(hashtextextended(${LOCK}, 0))`.execute(db),

  timeOf: timeOfMails(db, "core.password_resets"),

  insert: (row: ResetRow): Promise<unknown> => db.insertInto("core.password_resets").values(row).execute(),

  find: (id: string): Promise<ResetRow | undefined> =>
    db.selectFrom("core.password_resets").selectAll().where("id", "=", id).executeTakeFirst(),

  /** False when the reset has ended. */
  async setToken(id: string, token_hash: Buffer): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable("core.password_resets")
      .set({ token_hash })
      .where("id", "=", id)
      .where("is_open", "=", true)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  },

  /** The open reset of a token. */
  findOpen: (tokenHash: Buffer, now: Date): Promise<ResetRow | undefined> =>
    db
      .selectFrom("core.password_resets")
      .selectAll()
      .where("token_hash", "=", tokenHash)
      .where("is_open", "=", true)
      .where("expires_at", ">", now)
      .executeTakeFirst(),

  /** Ends one reset; false when it has ended already. */
  async end(id: string): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable("core.password_resets")
      .set({ is_open: false, token_hash: null })
      .where("id", "=", id)
      .where("is_open", "=", true)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  },

  /** Ends all resets of an address, those whose mail is still on its way too. */
  endAll: (account: Buffer): Promise<unknown> =>
    db
      .updateTable("core.password_resets")
      .set({ is_open: false, token_hash: null })
      .where("account", "=", account)
      .where("is_open", "=", true)
      .execute(),

  forget: (before: Date): Promise<unknown> =>
    db.deleteFrom("core.password_resets").where("created_at", "<", before).execute(),
})
