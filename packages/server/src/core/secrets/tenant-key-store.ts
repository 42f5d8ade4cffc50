import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type TenantKeyRow = Tables["encryption.keys"]
export type KeyState = "active" | "retired" | "destroyed"

export interface Paging {
  readonly limit: number
  readonly offset: number
}

/** What is true of all keys of a tenant together. */
export interface Ring {
  readonly tenantId: string
  /** The version that encrypts; 0 before the first use. */
  readonly current: number
  /** The least version that users' ciphertexts may have. */
  readonly minDecryption: number
  readonly erased: boolean
}

/** Rows of encryption.keys. */
export const tenantKeyStore = (db: Db) => {
  const keys = (tenantId: string) => db.selectFrom("encryption.keys").where("tenant_id", "=", tenantId)

  return {
    async ring(tenantId: string): Promise<Ring> {
      const { current, least, erased } = await keys(tenantId)
        .select(eb => [
          eb.fn.max("version").as("current"),
          eb.fn.min("version").filterWhere("state", "=", "active").as("least"),
          sql<boolean | null>`bool_or(state = 'destroyed')`.as("erased"),
        ])
        .executeTakeFirstOrThrow()
      return { tenantId, current: current ?? 0, minDecryption: least ?? 1, erased: erased ?? false }
    },

    find: (tenantId: string, version: number): Promise<TenantKeyRow | undefined> =>
      keys(tenantId).selectAll().where("version", "=", version).executeTakeFirst(),

    async list(
      tenantId: string,
      { limit, offset }: Paging,
    ): Promise<{ rows: TenantKeyRow[]; total: number }> {
      const { total } = await keys(tenantId)
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      const rows = await keys(tenantId)
        .selectAll()
        .orderBy("version", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total }
    },

    /** Changes of one tenant's keys take turns on its first row, until their transactions end. */
    lock: async (tenantId: string): Promise<void> => {
      await keys(tenantId).select("version").where("version", "=", 1).forUpdate().execute()
    },

    /** Nothing happens when the tenant has this version. */
    insert: async (row: TenantKeyRow): Promise<void> => {
      await db
        .insertInto("encryption.keys")
        .values(row)
        .onConflict(conflict => conflict.doNothing())
        .execute()
    },

    /** Adds to the uses of a key, and tells how many are reserved now; undefined when it would be more than `max`. */
    async reserve(tenantId: string, version: number, uses: number, max: number): Promise<number | undefined> {
      const row = await db
        .updateTable("encryption.keys")
        .set(eb => ({ uses_reserved: eb("uses_reserved", "+", uses) }))
        .where("tenant_id", "=", tenantId)
        .where("version", "=", version)
        .where("uses_reserved", "<=", max - uses)
        .returning("uses_reserved")
        .executeTakeFirst()
      return row?.uses_reserved
    },

    setMinDecryption: async (tenantId: string, version: number): Promise<void> => {
      await db
        .updateTable("encryption.keys")
        .set({ state: sql<KeyState>`CASE WHEN version < ${version} THEN 'retired' ELSE 'active' END` })
        .where("tenant_id", "=", tenantId)
        .where("state", "<>", "destroyed")
        .execute()
    },

    /** Leaves at least one row, so that no first key is created afterwards. */
    async destroy(tenantId: string, now: Date): Promise<void> {
      const tombstone = { state: "destroyed", wrapped_key: null } as const
      await db
        .insertInto("encryption.keys")
        .values({ tenant_id: tenantId, version: 1, uses_reserved: 0, created_at: now, ...tombstone })
        .onConflict(conflict => conflict.columns(["tenant_id", "version"]).doUpdateSet(tombstone))
        .execute()
      await db.updateTable("encryption.keys").set(tombstone).where("tenant_id", "=", tenantId).execute()
    },

    /** Keys of all tenants whose wrapped text begins otherwise, in order, from after the given one. */
    wrappedOtherwise: (
      beginning: string,
      after: Pick<TenantKeyRow, "tenant_id" | "version">,
      limit: number,
    ) =>
      db
        .selectFrom("encryption.keys")
        .select(["tenant_id", "version", "wrapped_key"])
        .where(sql<boolean>`NOT starts_with(wrapped_key, ${beginning})`)
        .where(sql<boolean>`(tenant_id, version) > (${after.tenant_id}, ${after.version})`)
        .orderBy("tenant_id")
        .orderBy("version")
        .limit(limit)
        .execute(),

    /** Does nothing when the wrapped text has changed meanwhile. */
    rewrap: async (
      { tenant_id, version, wrapped_key }: Pick<TenantKeyRow, "tenant_id" | "version" | "wrapped_key">,
      wrapped: string,
    ): Promise<void> => {
      await db
        .updateTable("encryption.keys")
        .set({ wrapped_key: wrapped })
        .where("tenant_id", "=", tenant_id)
        .where("version", "=", version)
        .where("wrapped_key", "=", wrapped_key)
        .execute()
    },
  }
}
