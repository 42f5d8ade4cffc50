import type { Db } from "../../kernel/db/database.ts"
import { accountHash } from "../credentials/failure-store.ts"

const ROWS_MAX = 1000

/** What the core keeps of one person, across its tables. */
export const personStore = (db: Db, userId: string) => ({
  /** Newest first. */
  networks: () =>
    db
      .selectFrom("core.login_sources")
      .select(["source", "seen_at"])
      .where("user_id", "=", userId)
      .orderBy("seen_at", "desc")
      .limit(ROWS_MAX)
      .execute(),

  organizations: () =>
    db
      .selectFrom("core.members as member")
      .innerJoin("core.organizations as organization", "organization.id", "member.organization_id")
      .select(["organization.id", "organization.name", "member.role"])
      .where("member.user_id", "=", userId)
      .where("organization.deleted_at", "is", null)
      .orderBy("organization.id")
      .execute(),

  /** Newest first. */
  keys: () =>
    db
      .selectFrom("core.api_keys")
      .select(["id", "organization_id", "name", "prefix", "created_at"])
      .where("created_by", "=", userId)
      .orderBy("created_at", "desc")
      .orderBy("id", "desc")
      .limit(ROWS_MAX)
      .execute(),

  /** The person and all that is kept of the address; sessions, factors and sign-ins that wait go with the row. */
  async delete(email: string): Promise<void> {
    const account = accountHash(email)
    for (const table of ["core.signups", "core.password_resets", "core.login_failures"] as const)
      await db.deleteFrom(table).where("account", "=", account).execute()
    await db.deleteFrom("core.users").where("id", "=", userId).execute()
  },
})
