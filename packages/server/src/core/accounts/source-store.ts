import type { Db } from "../../kernel/db/database.ts"

const NOBODY = "00000000-0000-0000-0000-000000000000"

/** Rows of core.login_sources. */
export const sourceStore = (db: Db) => ({
  /** Runs without a user too, so that an address without an account takes as long. */
  async isKnown(userId: string | undefined, source: string): Promise<boolean> {
    const row = await db
      .selectFrom("core.login_sources")
      .select("source")
      .where("user_id", "=", userId ?? NOBODY)
      .where("source", "=", source)
      .executeTakeFirst()
    return row !== undefined
  },

  add: async (user_id: string, source: string, seen_at: Date) => {
    await db
      .insertInto("core.login_sources")
      .values({ user_id, source, seen_at })
      .onConflict(conflict => conflict.columns(["user_id", "source"]).doUpdateSet({ seen_at }))
      .execute()
  },

  forget: async (before: Date) => {
    await db.deleteFrom("core.login_sources").where("seen_at", "<", before).execute()
  },
})
