import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type FactorRow = Tables["core.account_factors"]
export type WaitingRow = Tables["core.account_waiting"]

const wereAny = ({ numDeletedRows }: { readonly numDeletedRows: bigint }): boolean => numDeletedRows > 0n

/** Rows of core.account_factors and core.account_recovery_codes of one person. */
export const factorStore = (db: Db, userId: string) => ({
  /** Oldest first. */
  list: (): Promise<FactorRow[]> =>
    db
      .selectFrom("core.account_factors")
      .selectAll()
      .where("user_id", "=", userId)
      .orderBy("created_at")
      .orderBy("id")
      .execute(),

  insert: (row: Omit<FactorRow, "user_id">): Promise<unknown> =>
    db
      .insertInto("core.account_factors")
      .values({ ...row, user_id: userId })
      .execute(),

  verify: (id: string): Promise<unknown> =>
    db
      .updateTable("core.account_factors")
      .set({ status: "verified" })
      .where("user_id", "=", userId)
      .where("id", "=", id)
      .execute(),

  /** One conditional update: of two requests with one code, one gets true (RFC 6238, 5.2). */
  async acceptStep(id: string, step: number): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable("core.account_factors")
      .set({ last_used_step: step })
      .where("user_id", "=", userId)
      .where("id", "=", id)
      .where(eb => eb.or([eb("last_used_step", "is", null), eb("last_used_step", "<", step)]))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  },

  delete: async (id: string): Promise<boolean> =>
    wereAny(
      await db
        .deleteFrom("core.account_factors")
        .where("user_id", "=", userId)
        .where("id", "=", id)
        .executeTakeFirst(),
    ),

  async setRecoveryCodes(hashes: readonly Buffer[]): Promise<void> {
    await db.deleteFrom("core.account_recovery_codes").where("user_id", "=", userId).execute()
    if (hashes.length === 0) return
    const rows = hashes.map(code_hash => ({ user_id: userId, code_hash }))
    await db.insertInto("core.account_recovery_codes").values(rows).execute()
  },

  async countRecoveryCodes(): Promise<number> {
    const { count } = await db
      .selectFrom("core.account_recovery_codes")
      .select(sql<string>`count(*)`.as("count"))
      .where("user_id", "=", userId)
      .executeTakeFirstOrThrow()
    return Number(count)
  },

  useRecoveryCode: async (codeHash: Buffer): Promise<boolean> =>
    wereAny(
      await db
        .deleteFrom("core.account_recovery_codes")
        .where("user_id", "=", userId)
        .where("code_hash", "=", codeHash)
        .executeTakeFirst(),
    ),
})

/** Rows of core.account_waiting. */
export const waitingStore = (db: Db) => ({
  insert: (row: WaitingRow): Promise<unknown> => db.insertInto("core.account_waiting").values(row).execute(),

  find: (tokenHash: Buffer): Promise<WaitingRow | undefined> =>
    db.selectFrom("core.account_waiting").selectAll().where("token_hash", "=", tokenHash).executeTakeFirst(),

  /** Ends a waiting sign-in; of several requests one gets true. */
  end: async (id: string): Promise<boolean> =>
    wereAny(await db.deleteFrom("core.account_waiting").where("id", "=", id).executeTakeFirst()),

  endAll: (userId: string): Promise<unknown> =>
    db.deleteFrom("core.account_waiting").where("user_id", "=", userId).execute(),
})

/** Deletes what was begun before then and not completed. */
export const forgetUnfinished = async (db: Db, before: Date, now: Date): Promise<void> => {
  await db.deleteFrom("core.account_waiting").where("expires_at", "<", now).execute()
  await db
    .deleteFrom("core.account_factors")
    .where("status", "=", "unverified")
    .where("created_at", "<", before)
    .execute()
}
