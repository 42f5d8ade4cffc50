import { createHash } from "node:crypto"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

const NOBODY = "00000000-0000-0000-0000-000000000000"
/** Guesses of all the places that an account was never signed in from count together. */
export const ELSEWHERE = ""

/** What failures are counted by: addresses without an account are counted like those that have one. */
export const accountHash = (email: string): Buffer =>
  createHash("sha256").update(email.toLowerCase()).digest()

export interface Failures {
  readonly account: Buffer
  readonly source: string
}

/** Rows of core.login_failures and core.login_sources. */
export const failureStore = (db: Db) => ({
  /**
   * Counts one more failure and sets the rest that it brings: `lockSeconds[n - 1]` after n in a row, and the last entry
   * after more. False, and nothing is counted, while it rests.
   */
  async count({ account, source }: Failures, lockSeconds: readonly (number | null)[], now: Date) {
    const restAfter = (failures: ReturnType<typeof sql>) =>
      sql`${now}::timestamptz + make_interval(secs => (${lockSeconds}::int[])[least(${failures}, ${lockSeconds.length}::int)])`
    const { rows } = await sql`
      INSERT INTO core.login_failures AS known (account, source, failures, locked_until, updated_at)
      VALUES (${account}, ${source}, 1, ${restAfter(sql`1`)}, ${now})
      ON CONFLICT (account, source) DO UPDATE SET
        failures = known.failures + 1,
        locked_until = ${restAfter(sql`known.failures + 1`)},
        updated_at = ${now}
      WHERE known.locked_until IS NULL OR known.locked_until <= ${now}
      RETURNING account`.execute(db)
    return rows.length > 0
  },

  /** Takes back a failure that was counted for an attempt that was not checked. */
  takeBack: async ({ account, source }: Failures) => {
    await db
      .updateTable("core.login_failures")
      .set(eb => ({ failures: eb("failures", "-", 1), locked_until: null }))
      .where("account", "=", account)
      .where("source", "=", source)
      .where("failures", ">", 0)
      .execute()
  },

  async lockedUntil({ account, source }: Failures): Promise<Date | null> {
    const row = await db
      .selectFrom("core.login_failures")
      .select("locked_until")
      .where("account", "=", account)
      .where("source", "=", source)
      .executeTakeFirst()
    return row?.locked_until ?? null
  },

  clear: async ({ account, source }: Failures) => {
    await db
      .deleteFrom("core.login_failures")
      .where("account", "=", account)
      .where("source", "=", source)
      .execute()
  },

  /** Runs without a user too, so that an address without an account takes as long. */
  async isKnownSource(userId: string | undefined, source: string): Promise<boolean> {
    const row = await db
      .selectFrom("core.login_sources")
      .select("source")
      .where("user_id", "=", userId ?? NOBODY)
      .where("source", "=", source)
      .executeTakeFirst()
    return row !== undefined
  },

  addSource: async (user_id: string, source: string, seen_at: Date) => {
    await db
      .insertInto("core.login_sources")
      .values({ user_id, source, seen_at })
      .onConflict(conflict => conflict.columns(["user_id", "source"]).doUpdateSet({ seen_at }))
      .execute()
  },

  forget: async (failuresBefore: Date, sourcesBefore: Date, now: Date) => {
    await db
      .deleteFrom("core.login_failures")
      .where("updated_at", "<", failuresBefore)
      .where(eb => eb.or([eb("locked_until", "is", null), eb("locked_until", "<=", now)]))
      .execute()
    await db.deleteFrom("core.login_sources").where("seen_at", "<", sourcesBefore).execute()
  },
})
