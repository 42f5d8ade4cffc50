import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ClientRow = Tables["oauth.clients"]
export type AuthorizationRow = Tables["oauth.authorizations"]
export type GrantRow = Tables["oauth.grants"]

/** A connection as people see it. */
export interface ConnectionRow extends GrantRow {
  readonly email: string | null
  readonly last_used_at: Date | null
}

/** Rows of oauth.clients. They belong to the installation, as a client knows of no organization before a person consents. */
export const clientStore = (db: Db) => ({
  insert: (row: ClientRow): Promise<unknown> => db.insertInto("oauth.clients").values(row).execute(),

  find: (id: string): Promise<ClientRow | undefined> =>
    db.selectFrom("oauth.clients").selectAll().where("id", "=", id).executeTakeFirst(),

  /** Of a metadata document that was read again. */
  async replace({ id, created_at, ...facts }: ClientRow): Promise<void> {
    await db
      .insertInto("oauth.clients")
      .values({ id, created_at, ...facts })
      .onConflict(conflict => conflict.column("id").doUpdateSet(facts))
      .execute()
  },

  /** Deletes clients that were made before then and that nobody connected. */
  async forget(before: Date): Promise<void> {
    await db
      .deleteFrom("oauth.clients as client")
      .where("created_at", "<", before)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom("oauth.grants as grant")
              .select("grant.id")
              .whereRef("grant.client_id", "=", "client.id"),
          ),
        ),
      )
      .execute()
  },
})

/** Rows of oauth.authorizations. They belong to nobody until a person decides; whoever decides is named in the row. */
export const authorizationStore = (db: Db) => {
  const pending = (id: string, now: Date) =>
    db
      .selectFrom("oauth.authorizations")
      .selectAll()
      .where("id", "=", id)
      .where("status", "=", "pending")
      .where("expires_at", ">", now)

  return {
    insert: (row: AuthorizationRow): Promise<unknown> =>
      db.insertInto("oauth.authorizations").values(row).execute(),

    /** One that waits for a decision. */
    findPending: (id: string, now: Date): Promise<AuthorizationRow | undefined> =>
      pending(id, now).executeTakeFirst(),

    /** The same, locked until the transaction ends: of two decisions one finds it. */
    lockPending: (id: string, now: Date): Promise<AuthorizationRow | undefined> =>
      pending(id, now).forUpdate().executeTakeFirst(),

    /** By its code or device code, locked until the transaction ends. */
    lockBySecret: (hash: Buffer): Promise<AuthorizationRow | undefined> =>
      db
        .selectFrom("oauth.authorizations")
        .selectAll()
        .where("secret_hash", "=", hash)
        .forUpdate()
        .executeTakeFirst(),

    /** The authorization of a device that waits for a decision, by the code that the person enters. */
    findByUserCode: (code: string, now: Date): Promise<AuthorizationRow | undefined> =>
      db
        .selectFrom("oauth.authorizations")
        .selectAll()
        .where("user_code", "=", code)
        .where("status", "=", "pending")
        .where("expires_at", ">", now)
        .executeTakeFirst(),

    update: (id: string, change: Partial<AuthorizationRow>): Promise<unknown> =>
      db.updateTable("oauth.authorizations").set(change).where("id", "=", id).execute(),

    async forget(before: Date): Promise<void> {
      await db.deleteFrom("oauth.authorizations").where("expires_at", "<", before).execute()
    },
  }
}

/** Rows of oauth.grants and oauth.grant_keys. */
export const grantStore = (db: Db) => {
  const live = (organizationId: string, now: Date) =>
    db
      .selectFrom("oauth.grants as grant")
      .where("grant.organization_id", "=", organizationId)
      .where("grant.revoked_at", "is", null)
      .where("grant.expires_at", ">", now)
      // Whoever revokes the key of a connection has ended it.
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom("oauth.grant_keys as held")
              .innerJoin("core.api_keys as key", "key.id", "held.key_id")
              .select("key.id")
              .whereRef("held.grant_id", "=", "grant.id")
              .where("key.revoked_at", "is not", null),
          ),
        ),
      )

  return {
    insert: (row: GrantRow): Promise<unknown> => db.insertInto("oauth.grants").values(row).execute(),

    addKey: (grant_id: string, key_id: string): Promise<unknown> =>
      db.insertInto("oauth.grant_keys").values({ grant_id, key_id }).execute(),

    /** By the id that its tokens carry, locked until the transaction ends; undefined once it was revoked. */
    lock: (id: string): Promise<GrantRow | undefined> =>
      db
        .selectFrom("oauth.grants")
        .selectAll()
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .forUpdate()
        .executeTakeFirst(),

    find: (id: string): Promise<GrantRow | undefined> =>
      db.selectFrom("oauth.grants").selectAll().where("id", "=", id).executeTakeFirst(),

    /** The grant of an access token. */
    ofKey: (keyId: string): Promise<GrantRow | undefined> =>
      db
        .selectFrom("oauth.grants as grant")
        .innerJoin("oauth.grant_keys as held", "held.grant_id", "grant.id")
        .selectAll("grant")
        .where("held.key_id", "=", keyId)
        .executeTakeFirst(),

    async keysOf(grantId: string): Promise<string[]> {
      const rows = await db
        .selectFrom("oauth.grant_keys")
        .select("key_id")
        .where("grant_id", "=", grantId)
        .execute()
      return rows.map(({ key_id }) => key_id)
    },

    update: (organizationId: string, id: string, change: Partial<GrantRow>): Promise<unknown> =>
      db
        .updateTable("oauth.grants")
        .set(change)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute(),

    /** Names that begin so among the connections that were not revoked. */
    async namesLike(organizationId: string, name: string): Promise<Set<string>> {
      const rows = await db
        .selectFrom("oauth.grants")
        .select("name")
        .where("organization_id", "=", organizationId)
        .where("revoked_at", "is", null)
        .where(sql<boolean>`starts_with(lower(name), ${name.toLowerCase()})`)
        .execute()
      return new Set(rows.map(row => row.name.toLowerCase()))
    },

    /** `userId`: whose connections alone; null: all. */
    async list(
      organizationId: string,
      filter: Slice & { readonly userId: string | null; readonly now: Date },
    ): Promise<{ rows: ConnectionRow[]; total: number }> {
      return listRows(
        live(organizationId, filter.now)
          .$if(filter.userId !== null, query => query.where("grant.user_id", "=", filter.userId as string))
          .leftJoin("core.users as user", "user.id", "grant.user_id")
          .selectAll("grant")
          .select("user.email")
          .select(eb =>
            eb
              .selectFrom("oauth.grant_keys as held")
              .innerJoin("core.api_keys as key", "key.id", "held.key_id")
              .select(key => key.fn.max("key.last_used_at").as("at"))
              .whereRef("held.grant_id", "=", "grant.id")
              .as("last_used_at"),
          )
          .orderBy("grant.created_at", "desc")
          .orderBy("grant.id", "desc"),
        filter,
      )
    },

    /** The connection of that name, locked until the transaction ends. */
    lockByName: (organizationId: string, name: string): Promise<GrantRow | undefined> =>
      db
        .selectFrom("oauth.grants")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("revoked_at", "is", null)
        .where(sql<boolean>`lower(name) = lower(${name})`)
        .forUpdate()
        .executeTakeFirst(),
  }
}
