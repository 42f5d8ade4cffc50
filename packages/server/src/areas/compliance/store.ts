import type { Db } from "../../kernel/db/database.ts"

/** Kept short: a reply names a hundred of them. */
const FOUND_MAX = 1_000

/** Keys and members, as checks look at them. */
export const accessStore = (db: Db) => {
  /** Keys with a secret to keep, which still work. */
  const live = (organizationId: string, now: Date) =>
    db
      .selectFrom("core.api_keys")
      .select("id")
      .where("organization_id", "=", organizationId)
      .where("type", "<>", "publishable")
      .where("revoked_at", "is", null)
      .where(eb => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", now)]))
      .where(eb => eb.or([eb("grace_expires_at", "is", null), eb("grace_expires_at", ">", now)]))
      .orderBy("created_at")
      .orderBy("id")
      .limit(FOUND_MAX)

  return {
    endlessKeys: (organizationId: string, now: Date) =>
      live(organizationId, now)
        .where("expires_at", "is", null)
        .where("grace_expires_at", "is", null)
        .execute(),

    unusedKeys: (organizationId: string, now: Date, since: Date) =>
      live(organizationId, now)
        .where("created_at", "<", since)
        .where(eb => eb.or([eb("last_used_at", "is", null), eb("last_used_at", "<", since)]))
        .execute(),

    fullAccessKeys: (organizationId: string, now: Date) =>
      live(organizationId, now).where("type", "=", "full_access").execute(),

    async countOwners(organizationId: string): Promise<number> {
      const { owners } = await db
        .selectFrom("core.members")
        .select(eb => eb.fn.countAll<number>().as("owners"))
        .where("organization_id", "=", organizationId)
        .where("role", "=", "owner")
        .executeTakeFirstOrThrow()
      return owners
    },
  }
}

export type AccessStore = ReturnType<typeof accessStore>
