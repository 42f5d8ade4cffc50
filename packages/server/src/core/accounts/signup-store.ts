import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import { timeOfMails } from "../credentials/mail-times.ts"
import { SIGNUP_ATTEMPTS_MAX } from "./rules.ts"

export type SignupRow = Tables["core.signups"]

const LOCK = "core.signups"

/** Rows of core.signups. */
export const signupStore = (db: Db) => ({
  /** Serializes sign-ups until the transaction ends, so that concurrent ones cannot exceed the limits. */
  lock: (): Promise<unknown> => sql`SELECT pg_advisory_xact_lock(hashtextextended(${LOCK}, 0))`.execute(db),

  timeOf: timeOfMails(db, "core.signups"),

  insert: (row: SignupRow): Promise<unknown> => db.insertInto("core.signups").values(row).execute(),

  find: (id: string): Promise<SignupRow | undefined> =>
    db.selectFrom("core.signups").selectAll().where("id", "=", id).executeTakeFirst(),

  setToken: (id: string, token_hash: Buffer): Promise<unknown> =>
    db.updateTable("core.signups").set({ token_hash }).where("id", "=", id).execute(),

  /** The open sign-up of a token. One more attempt is counted, before the password is checked. */
  attempt: (tokenHash: Buffer, now: Date): Promise<SignupRow | undefined> =>
    db
      .updateTable("core.signups")
      .set(eb => ({ attempts: eb("attempts", "+", 1) }))
      .where("token_hash", "=", tokenHash)
      .where("password_hash", "is not", null)
      .where("expires_at", ">", now)
      .where("attempts", "<", SIGNUP_ATTEMPTS_MAX)
      .returningAll()
      .executeTakeFirst(),

  /** Ends a sign-up; false when it has ended already. */
  async end(id: string): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable("core.signups")
      .set({ password_hash: null, token_hash: null })
      .where("id", "=", id)
      .where("password_hash", "is not", null)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  },

  forget: (before: Date): Promise<unknown> =>
    db.deleteFrom("core.signups").where("created_at", "<", before).execute(),
})
