import { createHash } from "node:crypto"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

/** Guesses of all the places that an account was never signed in from count together. */
export const ELSEWHERE = ""

/** What failures are counted by: addresses without an account are counted like those that have one. */
export const accountHash = (email: string): Buffer =>
  createHash("sha256").update(email.toLowerCase()).digest()

/** The same of whatever else can be guessed: `kind` and `owner` keep the counts of different secrets apart. */
export const guessedHash = (kind: string, owner: string): Buffer =>
  createHash("sha256")
    .update(JSON.stringify([kind, owner.toLowerCase()]))
    .digest()

export interface Failures {
  readonly account: Buffer
  readonly source: string
}

/** The only thing that counts failed attempts: of accounts, of end users, and of second factors. */
export interface FailureStore {
  /**
   * Counts one more failure and sets the rest that it brings: `lockSeconds[n - 1]` after n in a row, and the last entry
   * after more. False, and nothing is counted, while it rests.
   */
  count(failures: Failures, lockSeconds: readonly (number | null)[], now: Date): Promise<boolean>
  /** Takes back a failure that was counted for an attempt that was not checked. */
  takeBack(failures: Failures): Promise<void>
  lockedUntil(failures: Failures): Promise<Date | null>
  clear(failures: Failures): Promise<void>
  /** Clears the counts of every place. */
  clearAll(account: Buffer): Promise<void>
}

/** Rows of core.login_failures. */
export const failureStore = (db: Db): FailureStore => ({
  async count({ account, source }, lockSeconds, now) {
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

  takeBack: async ({ account, source }) => {
    await db
      .updateTable("core.login_failures")
      .set(eb => ({ failures: eb("failures", "-", 1), locked_until: null }))
      .where("account", "=", account)
      .where("source", "=", source)
      .where("failures", ">", 0)
      .execute()
  },

  async lockedUntil({ account, source }) {
    const row = await db
      .selectFrom("core.login_failures")
      .select("locked_until")
      .where("account", "=", account)
      .where("source", "=", source)
      .executeTakeFirst()
    return row?.locked_until ?? null
  },

  clear: async ({ account, source }) => {
    await db
      .deleteFrom("core.login_failures")
      .where("account", "=", account)
      .where("source", "=", source)
      .execute()
  },

  clearAll: async account => {
    await db.deleteFrom("core.login_failures").where("account", "=", account).execute()
  },
})

/** Deletes counts without a failure since then; those that rest stay. */
export const forgetFailures = async (db: Db, before: Date, now: Date): Promise<void> => {
  await db
    .deleteFrom("core.login_failures")
    .where("updated_at", "<", before)
    .where(eb => eb.or([eb("locked_until", "is", null), eb("locked_until", "<=", now)]))
    .execute()
}
