import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type FactorRow = Tables["auth.factors"]
export type WaitingRow = Tables["auth.waiting"]

/** The factor of a sign-in whose project is not known yet. */
export const findFactor = (db: Db, id: string): Promise<FactorRow | undefined> =>
  db.selectFrom("auth.factors").selectAll().where("id", "=", id).executeTakeFirst()

/** The sign-in that a token names; the project is what the token tells. */
export const findWaiting = (db: Db, tokenHash: Buffer): Promise<WaitingRow | undefined> =>
  db.selectFrom("auth.waiting").selectAll().where("token_hash", "=", tokenHash).executeTakeFirst()

/** The last sign-in of a user from a place. */
export const findWaitingFrom = (
  db: Db,
  { project_id, user_id }: Pick<FactorRow, "project_id" | "user_id">,
  source: string,
): Promise<WaitingRow | undefined> =>
  db
    .selectFrom("auth.waiting")
    .selectAll()
    .where("project_id", "=", project_id)
    .where("user_id", "=", user_id)
    .where("source", "=", source)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst()

/** Rows of auth.factors, auth.recovery_codes and auth.waiting. */
export const factorStore = (db: Db, projectId: string) => {
  const remove = (userId: string) =>
    db.deleteFrom("auth.factors").where("project_id", "=", projectId).where("user_id", "=", userId)

  return {
    /** Oldest first. */
    list: (userId: string): Promise<FactorRow[]> =>
      db
        .selectFrom("auth.factors")
        .selectAll()
        .where("project_id", "=", projectId)
        .where("user_id", "=", userId)
        .orderBy("created_at")
        .orderBy("id")
        .execute(),

    listOf: (userIds: readonly string[]): Promise<FactorRow[]> =>
      userIds.length === 0
        ? Promise.resolve([])
        : db
            .selectFrom("auth.factors")
            .selectAll()
            .where("project_id", "=", projectId)
            .where("user_id", "in", userIds)
            .orderBy("created_at")
            .orderBy("id")
            .execute(),

    insert: (row: FactorRow): Promise<unknown> => db.insertInto("auth.factors").values(row).execute(),

    verify: (id: string): Promise<unknown> =>
      db
        .updateTable("auth.factors")
        .set({ status: "verified" })
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute(),

    /** One conditional update: of two requests with one code, one gets true (RFC 6238, 5.2). */
    async acceptStep(id: string, step: number): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable("auth.factors")
        .set({ last_used_step: step })
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .where(eb => eb.or([eb("last_used_step", "is", null), eb("last_used_step", "<", step)]))
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },

    delete: (userId: string, id: string): Promise<unknown> => remove(userId).where("id", "=", id).execute(),

    /** All factors and recovery codes. */
    async deleteAll(userId: string): Promise<void> {
      await remove(userId).execute()
      await this.setRecoveryCodes(userId, [])
    },

    async setRecoveryCodes(user_id: string, hashes: readonly Buffer[]): Promise<void> {
      await db
        .deleteFrom("auth.recovery_codes")
        .where("project_id", "=", projectId)
        .where("user_id", "=", user_id)
        .execute()
      if (hashes.length === 0) return
      const rows = hashes.map(code_hash => ({ project_id: projectId, user_id, code_hash }))
      await db.insertInto("auth.recovery_codes").values(rows).execute()
    },

    async useRecoveryCode(userId: string, codeHash: Buffer): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("auth.recovery_codes")
        .where("project_id", "=", projectId)
        .where("user_id", "=", userId)
        .where("code_hash", "=", codeHash)
        .executeTakeFirst()
      return numDeletedRows > 0n
    },

    wait: (row: WaitingRow): Promise<unknown> => db.insertInto("auth.waiting").values(row).execute(),

    /** Ends a waiting sign-in; of several requests one gets true. */
    async endWaiting(id: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("auth.waiting")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .executeTakeFirst()
      return numDeletedRows > 0n
    },

    endAllWaiting: (userId: string): Promise<unknown> =>
      db
        .deleteFrom("auth.waiting")
        .where("project_id", "=", projectId)
        .where("user_id", "=", userId)
        .execute(),
  }
}
