import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type UserRow = Omit<Selectable<Tables["core.users"]>, "failed_logins" | "locked_until">
export type SessionRow = Tables["core.sessions"]

export interface SessionWithUser extends SessionRow {
  user_email: string
  user_name: string
}

const USER = ["id", "email", "name", "password_hash", "mfa_enabled", "created_at"] as const

/** Rows of core.users and core.sessions. */
export const accountStore = (db: Db) => ({
  insertUser: (row: Omit<UserRow, "mfa_enabled">): Promise<unknown> =>
    db.insertInto("core.users").values(row).execute(),

  findUser: (id: string): Promise<UserRow | undefined> =>
    db.selectFrom("core.users").select(USER).where("id", "=", id).executeTakeFirst(),

  findUserByEmail: (email: string): Promise<UserRow | undefined> =>
    db
      .selectFrom("core.users")
      .select(USER)
      .where(sql`lower(email)`, "=", sql`lower(${email})`)
      .executeTakeFirst(),

  /** Locked until the transaction ends. */
  findUserForUpdate: (id: string): Promise<UserRow | undefined> =>
    db.selectFrom("core.users").select(USER).where("id", "=", id).forNoKeyUpdate().executeTakeFirst(),

  updateUser: (id: string, change: Partial<UserRow>): Promise<unknown> =>
    db.updateTable("core.users").set(change).where("id", "=", id).execute(),

  /** The row as it is now, locked until the transaction ends; undefined when the password is no longer the one that was proved. */
  findWithPassword: ({ id, password_hash }: UserRow): Promise<UserRow | undefined> =>
    db
      .selectFrom("core.users")
      .select(USER)
      .where("id", "=", id)
      .where("password_hash", "=", password_hash)
      .forNoKeyUpdate()
      .executeTakeFirst(),

  insertSession: (row: SessionRow): Promise<unknown> => db.insertInto("core.sessions").values(row).execute(),

  findSession: (tokenHash: Buffer): Promise<SessionWithUser | undefined> =>
    db
      .selectFrom("core.sessions as session")
      .innerJoin("core.users as user", "user.id", "session.user_id")
      .selectAll("session")
      .select(["user.email as user_email", "user.name as user_name"])
      .where("session.token_hash", "=", tokenHash)
      .executeTakeFirst(),

  /** The user's sessions, the one used last first. */
  listSessions: (userId: string): Promise<SessionRow[]> =>
    db
      .selectFrom("core.sessions")
      .selectAll()
      .where("user_id", "=", userId)
      .orderBy("last_used_at", "desc")
      .orderBy("id", "desc")
      .execute(),

  updateSession: (id: string, change: Partial<SessionRow>): Promise<unknown> =>
    db.updateTable("core.sessions").set(change).where("id", "=", id).execute(),

  async deleteSession(userId: string, id: string): Promise<boolean> {
    const { numDeletedRows } = await db
      .deleteFrom("core.sessions")
      .where("user_id", "=", userId)
      .where("id", "=", id)
      .executeTakeFirst()
    return numDeletedRows > 0n
  },

  deleteOtherSessions: (userId: string, keptId: string): Promise<unknown> =>
    db.deleteFrom("core.sessions").where("user_id", "=", userId).where("id", "!=", keptId).execute(),

  deleteSessions: (userId: string): Promise<unknown> =>
    db.deleteFrom("core.sessions").where("user_id", "=", userId).execute(),

  /** Keeps the `kept` sessions used last. */
  deleteSurplusSessions: (userId: string, kept: number): Promise<unknown> =>
    db
      .deleteFrom("core.sessions")
      .where("id", "in", surplus =>
        surplus
          .selectFrom("core.sessions")
          .select("id")
          .where("user_id", "=", userId)
          .orderBy("last_used_at", "desc")
          .orderBy("id", "desc")
          .offset(kept),
      )
      .execute(),

  deleteSessionsEndedBy: (now: Date, idleSince: Date): Promise<unknown> =>
    db
      .deleteFrom("core.sessions")
      .where(eb => eb.or([eb("expires_at", "<=", now), eb("last_used_at", "<=", idleSince)]))
      .execute(),
})
