import type { Db } from "../../kernel/db/database.ts"
import type { TimeOfMail } from "./mail-limits.ts"

/** Tables whose rows are mails that anybody can have sent. */
type MailTable = "core.signups" | "core.password_resets"

/** What `checkMailLimits` asks, of the rows of a table. */
export const timeOfMails =
  (db: Db, table: MailTable): TimeOfMail =>
  async (count, { account, source }, since) => {
    let query = db.selectFrom(table).select("created_at").where("created_at", ">", since)
    if (account) query = query.where("account", "=", account)
    if (source !== undefined) query = query.where("source", "=", source)
    const row = await query
      .orderBy("created_at", "desc")
      .offset(count - 1)
      .limit(1)
      .executeTakeFirst()
    return row?.created_at
  }
