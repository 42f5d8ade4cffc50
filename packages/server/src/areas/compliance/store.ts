import type { Db } from "../../kernel/db/database.ts"

/** Kept short: a reply names a hundred of them. */
const FOUND_MAX = 1_000
/** Keeps the list of an IN from being empty, which is not SQL. */
const NOBODY = "00000000-0000-0000-0000-000000000000"

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

/** Members of an organization, and who was one. */
export const memberStore = (db: Db) => ({
  /** The ids and addresses of members that an id or an address names; what names nobody stays as it is. */
  async identify<S extends { organizationId: string; ids: readonly string[]; emails: readonly string[] }>(
    subject: S,
  ): Promise<S> {
    const { organizationId, ids, emails } = subject
    const found = await db
      .selectFrom("core.members as member")
      .innerJoin("core.users as user", "user.id", "member.user_id")
      .select(["user.id", "user.email"])
      .where("member.organization_id", "=", organizationId)
      .where(eb =>
        eb.or([
          eb("user.id", "in", [...ids, NOBODY]),
          eb(eb.fn<string>("lower", ["user.email"]), "in", [...emails, ""]),
        ]),
      )
      .execute()
    return {
      ...subject,
      ids: [...new Set([...ids, ...found.map(({ id }) => id)])],
      emails: [...new Set([...emails, ...found.map(({ email }) => email.toLowerCase())])],
    }
  },

  async hasMember(organizationId: string, ids: readonly string[]): Promise<boolean> {
    const found = await db
      .selectFrom("core.members")
      .select("user_id")
      .where("organization_id", "=", organizationId)
      .where("user_id", "in", [...ids, NOBODY])
      .limit(1)
      .execute()
    return found.length > 0
  },
})
