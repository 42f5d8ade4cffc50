import type { Selectable } from "kysely"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ProviderRow = Selectable<Tables["auth.providers"]>
export type IdentityRow = Selectable<Tables["auth.identities"]>
export type ProviderSignInRow = Selectable<Tables["auth.provider_sign_ins"]>

/** The sign-in that a provider answers; the project is what the state tells. Of several answers one gets it. */
export const takeState = (db: Db, stateHash: Buffer): Promise<ProviderSignInRow | undefined> =>
  db
    .updateTable("auth.provider_sign_ins")
    .set({ state_hash: null })
    .where("state_hash", "=", stateHash)
    .returningAll()
    .executeTakeFirst()

/** Rows of auth.providers and auth.provider_sign_ins. */
export const providerStore = (db: Db, projectId: string) => {
  const own = () => db.selectFrom("auth.providers").where("project_id", "=", projectId)

  return {
    list: (): Promise<ProviderRow[]> => own().selectAll().orderBy("name").execute(),

    find: (name: string): Promise<ProviderRow | undefined> =>
      own().where("name", "=", name).selectAll().executeTakeFirst(),

    async put(row: ProviderRow): Promise<void> {
      const { project_id: _, name: __, created_at: ___, ...change } = row
      await db
        .insertInto("auth.providers")
        .values(row)
        .onConflict(conflict => conflict.columns(["project_id", "name"]).doUpdateSet(change))
        .execute()
    },

    async delete(name: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("auth.providers")
        .where("project_id", "=", projectId)
        .where("name", "=", name)
        .executeTakeFirst()
      return numDeletedRows > 0n
    },

    begin: (row: ProviderSignInRow): Promise<unknown> =>
      db.insertInto("auth.provider_sign_ins").values(row).execute(),

    /** Ends the sign-ins of a provider that wait. */
    endAll: (name: string): Promise<unknown> =>
      db
        .deleteFrom("auth.provider_sign_ins")
        .where("project_id", "=", projectId)
        .where("provider", "=", name)
        .execute(),

    answer: (
      id: string,
      change: Pick<ProviderSignInRow, "code_hash" | "identity" | "expires_at">,
    ): Promise<unknown> =>
      db
        .updateTable("auth.provider_sign_ins")
        .set(change)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute(),

    /** Uses a code up; of several requests one gets it. */
    takeCode: (codeHash: Buffer): Promise<ProviderSignInRow | undefined> =>
      db
        .deleteFrom("auth.provider_sign_ins")
        .where("project_id", "=", projectId)
        .where("code_hash", "=", codeHash)
        .returningAll()
        .executeTakeFirst(),
  }
}

type IdentityKey = Pick<IdentityRow, "provider" | "issuer" | "subject">

/** Rows of auth.identities. */
export const identityStore = (db: Db, projectId: string) => {
  const own = () => db.selectFrom("auth.identities").where("project_id", "=", projectId)

  return {
    /** The identity, which nobody else can link until the transaction ends. */
    async findForUpdate({ provider, issuer, subject }: IdentityKey): Promise<IdentityRow | undefined> {
      const name = `auth.identities:${JSON.stringify([projectId, provider, issuer, subject])}`
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db)
      return own()
        .where("provider", "=", provider)
        .where("issuer", "=", issuer)
        .where("subject", "=", subject)
        .selectAll()
        .executeTakeFirst()
    },

    list: (userId: string): Promise<IdentityRow[]> =>
      own().where("user_id", "=", userId).selectAll().orderBy("created_at").orderBy("id").execute(),

    insert: (row: IdentityRow): Promise<unknown> => db.insertInto("auth.identities").values(row).execute(),

    update: (id: string, change: Partial<IdentityRow>): Promise<unknown> =>
      db
        .updateTable("auth.identities")
        .set(change)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute(),

    delete: (id: string): Promise<unknown> =>
      db.deleteFrom("auth.identities").where("project_id", "=", projectId).where("id", "=", id).execute(),
  }
}
