import { createHash } from "node:crypto"
import { sql } from "kysely"
import { MAILED_CODE_TRIES_MAX } from "../../core/credentials/mailed-tokens.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type MailRow = Tables["auth.mails"]

/** What mails and failures of an address are counted by. */
export const endUserHash = (projectId: string, email: string): Buffer =>
  createHash("sha256")
    .update(JSON.stringify([projectId, email.toLowerCase()]))
    .digest()

export const findMail = (db: Db, id: string): Promise<MailRow | undefined> =>
  db.selectFrom("auth.mails").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()

/** Rows of auth.mails. */
export const mailStore = (db: Db, projectId: string) => {
  const used = () =>
    db
      .updateTable("auth.mails")
      .set({ token_hash: null, code_hash: null })
      .where("project_id", "=", projectId)
      .where("user_id", "is not", null)

  return {
    /** Serializes mails of an address, and of a place, until the transaction ends, so that they cannot exceed the limits. */
    async lock({ account, source }: Pick<MailRow, "account" | "source">): Promise<void> {
      for (const name of [`auth.mails:${account.toString("hex")}`, `auth.mails:${projectId}:${source}`])
        await sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db)
    },

    /** The time of the `count`-th newest mail of the kind since then. */
    timeOf:
      (kind: string) =>
      async (
        count: number,
        { account, source }: { readonly account?: Buffer; readonly source?: string },
        since: Date,
      ): Promise<Date | undefined> => {
        let query = db
          .selectFrom("auth.mails")
          .where("project_id", "=", projectId)
          .where("kind", "=", kind)
          .where("created_at", ">", since)
        if (account) query = query.where("account", "=", account)
        if (source !== undefined) query = query.where("source", "=", source)
        const row = await query
          .select("created_at")
          .orderBy("created_at", "desc")
          .offset(count - 1)
          .limit(1)
          .executeTakeFirst()
        return row?.created_at
      },

    insert: (row: MailRow): Promise<unknown> => db.insertInto("auth.mails").values(row).execute(),

    update: (id: string, change: Partial<MailRow>): Promise<unknown> =>
      db
        .updateTable("auth.mails")
        .set(change)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute(),

    /** Uses the mail of a token up; of several requests one gets it. */
    useToken: (kinds: readonly string[], tokenHash: Buffer, now: Date): Promise<MailRow | undefined> =>
      used()
        .where("token_hash", "=", tokenHash)
        .where("kind", "in", kinds)
        .where("expires_at", ">", now)
        .returningAll()
        .executeTakeFirst(),

    /** The same of a mail whose code was right. */
    useCode: ({ id, code_hash }: MailRow): Promise<MailRow | undefined> =>
      used().where("id", "=", id).where("code_hash", "=", code_hash).returningAll().executeTakeFirst(),

    /** The last mail of the address that has a code. One more try is counted, before the code is checked. */
    tryCode: (kinds: readonly string[], account: Buffer, now: Date): Promise<MailRow | undefined> =>
      db
        .updateTable("auth.mails")
        .set(eb => ({ tries: eb("tries", "+", 1) }))
        .where("project_id", "=", projectId)
        .where("id", "=", last =>
          last
            .selectFrom("auth.mails")
            .select("id")
            .where("project_id", "=", projectId)
            .where("account", "=", account)
            .where("kind", "in", kinds)
            .where("code_hash", "is not", null)
            .where("expires_at", ">", now)
            .orderBy("created_at", "desc")
            .orderBy("id", "desc")
            .limit(1),
        )
        .where("tries", "<", MAILED_CODE_TRIES_MAX)
        .returningAll()
        .executeTakeFirst(),

    /** Ends all mails of a user, those that are not sent yet too; the rows stay, because limits count them. */
    endAll: (userId: string): Promise<unknown> =>
      used().set({ user_id: null }).where("user_id", "=", userId).execute(),
  }
}
