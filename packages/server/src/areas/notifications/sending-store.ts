import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Preferences } from "./rules.ts"
import type { DeliveryRow, MessageRow, NewEntry } from "./store.ts"

/** How long a `dedupe_key` is remembered. */
export const DEDUPE_MS = 24 * 3_600_000

export interface DedupeKey {
  readonly organizationId: string
  /** The project, or the organization where none was named. */
  readonly ownerId: string
  readonly key: string
}

/** What a sending writes, in the transaction that makes it necessary. */
export const sendingStore = (db: Db) => ({
  /**
   * Takes the key, and gives undefined; or gives the result of the sending that has it. Waits for one that is under way
   * with the same key.
   */
  async takeKey({ organizationId, ownerId, key }: DedupeKey, now: Date): Promise<unknown> {
    const taken = await db
      .insertInto("notifications.dedupe_keys")
      .values({
        ...{ organization_id: organizationId, owner_id: ownerId, dedupe_key: key },
        ...{ result: JSON.stringify({}), created_at: now },
      })
      .onConflict(conflict =>
        conflict
          .columns(["organization_id", "owner_id", "dedupe_key"])
          .doUpdateSet({ created_at: now })
          .where("notifications.dedupe_keys.created_at", "<=", new Date(now.getTime() - DEDUPE_MS)),
      )
      .returning("dedupe_key")
      .executeTakeFirst()
    if (taken) return undefined
    const known = await db
      .selectFrom("notifications.dedupe_keys")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("dedupe_key", "=", key)
      .select("result")
      .executeTakeFirst()
    return known?.result
  },

  keepResult: async ({ organizationId, ownerId, key }: DedupeKey, result: object) => {
    await db
      .updateTable("notifications.dedupe_keys")
      .set({ result: JSON.stringify(result) })
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("dedupe_key", "=", key)
      .execute()
  },

  async preferences(
    organizationId: string,
    userIds: readonly string[],
  ): Promise<ReadonlyMap<string, Preferences>> {
    const rows = await db
      .selectFrom("notifications.preferences")
      .where("organization_id", "=", organizationId)
      .where("user_id", "=", sql<string>`ANY(${userIds}::uuid[])`)
      .select(["user_id", "preferences"])
      .execute()
    return new Map(rows.map(({ user_id, preferences }) => [user_id, preferences as unknown as Preferences]))
  },

  /**
   * Gives each inbox its next number, and locks it until the transaction ends. In the order of the ids, so that two
   * sendings to the same people wait for each other and never deadlock.
   */
  async nextSeqs(organizationId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { rows } = await sql<{ user_id: string; last_seq: number }>`
      INSERT INTO notifications.inboxes (organization_id, user_id, last_seq)
      SELECT ${organizationId}, user_id, 1 FROM unnest(${userIds}::uuid[]) AS given (user_id) ORDER BY user_id
      ON CONFLICT (organization_id, user_id) DO UPDATE SET last_seq = inboxes.last_seq + 1
      RETURNING user_id, last_seq`.execute(db)
    return new Map(rows.map(({ user_id, last_seq }) => [user_id, last_seq]))
  },

  /** Puts away the unread ones that a new one takes the place of. */
  collapse: async (
    organizationId: string,
    userIds: readonly string[],
    collapseKey: string,
    projectId: string | null,
    now: Date,
  ) => {
    await db
      .updateTable("notifications.entries")
      .set({ archived_at: now })
      .where("organization_id", "=", organizationId)
      .where("user_id", "=", sql<string>`ANY(${userIds}::uuid[])`)
      .where("collapse_key", "=", collapseKey)
      .where("project_id", projectId === null ? "is" : "=", projectId)
      .where("read_at", "is", null)
      .where("archived_at", "is", null)
      .execute()
  },

  insert: async (message: MessageRow, entries: readonly NewEntry[]) => {
    const data = JSON.stringify(message.data)
    await db
      .insertInto("notifications.messages")
      .values({ ...message, data })
      .execute()
    const { organization_id, id, project_id, collapse_key, created_at, expires_at } = message
    await sql`
      INSERT INTO notifications.entries
        (organization_id, user_id, id, seq, project_id, collapse_key, in_app, created_at, expires_at)
      SELECT ${organization_id}, user_id, ${id}, seq, ${project_id}, ${collapse_key}, in_app,
        ${created_at}, ${expires_at}
      FROM unnest(
        ${entries.map(({ userId }) => userId)}::uuid[],
        ${entries.map(({ seq }) => seq)}::bigint[],
        ${entries.map(({ inApp }) => inApp)}::boolean[]
      ) AS given (user_id, seq, in_app)`.execute(db)
  },

  /** Devices that take messages. */
  devices: (organizationId: string, userIds: readonly string[]): Promise<{ id: string; user_id: string }[]> =>
    db
      .selectFrom("notifications.devices")
      .where("organization_id", "=", organizationId)
      .where("user_id", "=", sql<string>`ANY(${userIds}::uuid[])`)
      .where("invalidated_at", "is", null)
      .select(["id", "user_id"])
      .execute(),

  insertDeliveries: async (rows: readonly DeliveryRow[]) => {
    if (rows.length === 0) return
    await sql`
      INSERT INTO notifications.deliveries
      SELECT * FROM jsonb_populate_recordset(NULL::notifications.deliveries, ${JSON.stringify(rows)}::jsonb)`.execute(
      db,
    )
  },

  /** Those of the ids who are members, and so have an address. */
  people: async (organizationId: string, ids: readonly string[]): Promise<ReadonlySet<string>> => {
    const rows = await db
      .selectFrom("core.members")
      .where("organization_id", "=", organizationId)
      .where("user_id", "=", sql<string>`ANY(${ids}::uuid[])`)
      .select("user_id")
      .execute()
    return new Set(rows.map(({ user_id }) => user_id))
  },

  owners: async (organizationId: string): Promise<string[]> => {
    const rows = await db
      .selectFrom("core.members")
      .where("organization_id", "=", organizationId)
      .where("role", "=", "owner")
      .select("user_id")
      .execute()
    return rows.map(({ user_id }) => user_id)
  },

  members: async (organizationId: string): Promise<string[]> => {
    const rows = await db
      .selectFrom("core.members")
      .where("organization_id", "=", organizationId)
      .select("user_id")
      .execute()
    return rows.map(({ user_id }) => user_id)
  },
})
