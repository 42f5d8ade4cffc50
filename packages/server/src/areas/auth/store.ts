import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type UserRow = Selectable<Tables["auth.users"]>
export type SessionRow = Tables["auth.sessions"]

const NOBODY = "00000000-0000-0000-0000-000000000000"

/** Rows of auth.users and auth.sources. */
export const userStore = (db: Db, projectId: string) => {
  const own = () => db.selectFrom("auth.users").where("project_id", "=", projectId)

  return {
    insert: (row: UserRow): Promise<unknown> =>
      db
        .insertInto("auth.users")
        .values({
          ...row,
          user_metadata: JSON.stringify(row.user_metadata),
          app_metadata: JSON.stringify(row.app_metadata),
        })
        .execute(),

    find: (id: string): Promise<UserRow | undefined> =>
      own().where("id", "=", id).selectAll().executeTakeFirst(),

    /** The row, locked until the transaction ends. */
    findForUpdate: (id: string): Promise<UserRow | undefined> =>
      own().where("id", "=", id).selectAll().forNoKeyUpdate().executeTakeFirst(),

    findByEmail: (email: string): Promise<UserRow | undefined> =>
      own().where(sql`lower(email)`, "=", sql`lower(${email})`).selectAll().executeTakeFirst(),

    update: async (
      id: string,
      { user_metadata, app_metadata, ...change }: Partial<UserRow>,
    ): Promise<void> => {
      await db
        .updateTable("auth.users")
        .set({
          ...change,
          ...(user_metadata !== undefined && { user_metadata: JSON.stringify(user_metadata) }),
          ...(app_metadata !== undefined && { app_metadata: JSON.stringify(app_metadata) }),
        })
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    /** Writes those that are new. Says which: the others have an id or an address that is taken. */
    async insertNew(rows: readonly UserRow[]): Promise<ReadonlySet<string>> {
      if (rows.length === 0) return new Set()
      const inserted = await db
        .insertInto("auth.users")
        .values(
          rows.map(row => ({
            ...row,
            user_metadata: JSON.stringify(row.user_metadata),
            app_metadata: JSON.stringify(row.app_metadata),
          })),
        )
        .onConflict(conflict => conflict.doNothing())
        .returning("id")
        .execute()
      return new Set(inserted.map(({ id }) => id))
    },

    /** Users with one of the ids or of the addresses, which are in lower case. */
    listTaken: (ids: readonly string[], emails: readonly string[]) =>
      own()
        .where(({ or, eb }) =>
          or([
            eb("id", "=", sql<string>`any(${[...ids]}::uuid[])`),
            eb(sql`lower(email)`, "=", sql`any(${[...emails]}::text[])`),
          ]),
        )
        .select(["id", sql<string | null>`lower(email)`.as("email")])
        .execute(),

    /** A user with a hash that another system made, if the project has one. */
    findImported: (): Promise<UserRow | undefined> =>
      own()
        .where(sql<boolean>`password_hash like 'svc:box%'`)
        .selectAll()
        .orderBy("id")
        .limit(1)
        .executeTakeFirst(),

    delete: (id: string): Promise<unknown> =>
      db.deleteFrom("auth.users").where("project_id", "=", projectId).where("id", "=", id).execute(),

    list: (email: string | undefined, slice: Slice) =>
      listRows(
        own()
          .$if(email !== undefined, query =>
            query.where(sql<boolean>`position(lower(${email ?? ""}) in lower(email)) > 0`),
          )
          .selectAll()
          .orderBy("created_at", "desc")
          .orderBy("id", "desc"),
        slice,
      ),

    /** Runs without a user too, so that an address without one takes as long. */
    async isKnownSource(userId: string | undefined, source: string): Promise<boolean> {
      const row = await db
        .selectFrom("auth.sources")
        .where("project_id", "=", projectId)
        .where("user_id", "=", userId ?? NOBODY)
        .where("source", "=", source)
        .select("source")
        .executeTakeFirst()
      return row !== undefined
    },

    addSource: (user_id: string, source: string, seen_at: Date): Promise<unknown> =>
      db
        .insertInto("auth.sources")
        .values({ project_id: projectId, user_id, source, seen_at })
        .onConflict(conflict => conflict.columns(["user_id", "source"]).doUpdateSet({ seen_at }))
        .execute(),
  }
}

/** Rows of auth.sessions. */
export const sessionStore = (db: Db, projectId: string) => {
  const remove = (userId: string) =>
    db.deleteFrom("auth.sessions").where("project_id", "=", projectId).where("user_id", "=", userId)

  return {
    insert: (row: SessionRow): Promise<unknown> => db.insertInto("auth.sessions").values(row).execute(),

    findForUpdate: (id: string): Promise<SessionRow | undefined> =>
      db
        .selectFrom("auth.sessions")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .selectAll()
        .forUpdate()
        .executeTakeFirst(),

    /** Last used first. */
    list: (userId: string): Promise<SessionRow[]> =>
      db
        .selectFrom("auth.sessions")
        .where("project_id", "=", projectId)
        .where("user_id", "=", userId)
        .selectAll()
        .orderBy("numbered_at", "desc")
        .orderBy("id", "desc")
        .execute(),

    update: (id: string, change: Partial<SessionRow>): Promise<unknown> =>
      db
        .updateTable("auth.sessions")
        .set(change)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute(),

    async delete(userId: string, id: string): Promise<boolean> {
      const { numDeletedRows } = await remove(userId).where("id", "=", id).executeTakeFirst()
      return numDeletedRows > 0n
    },

    deleteAll: (userId: string): Promise<unknown> => remove(userId).execute(),

    deleteOthers: (userId: string, keptId: string): Promise<unknown> =>
      remove(userId).where("id", "!=", keptId).execute(),

    /** Keeps the `kept` sessions used last. */
    deleteSurplus: (userId: string, kept: number): Promise<unknown> =>
      remove(userId)
        .where("id", "in", surplus =>
          surplus
            .selectFrom("auth.sessions")
            .select("id")
            .where("user_id", "=", userId)
            .orderBy("numbered_at", "desc")
            .orderBy("id", "desc")
            .offset(kept),
        )
        .execute(),
  }
}
