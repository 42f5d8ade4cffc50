import type { Db } from "../../kernel/db/database.ts"
import type { DeviceRow } from "./payloads.ts"

export interface DevicesOf {
  readonly organizationId: string
  readonly userId: string
}

/** Rows of notifications.devices. */
export const deviceStore = (db: Db) => {
  const own = ({ organizationId, userId }: DevicesOf) =>
    db
      .selectFrom("notifications.devices")
      .where("organization_id", "=", organizationId)
      .where("user_id", "=", userId)

  return {
    /** The same token is the same device, and belongs to whom it was given for last. */
    upsert: (row: DeviceRow): Promise<DeviceRow> => {
      const { id: _, created_at: __, last_success_at: ___, ...change } = row
      return db
        .insertInto("notifications.devices")
        .values(row)
        .onConflict(conflict =>
          conflict.columns(["organization_id", "provider", "token_hash"]).doUpdateSet(change),
        )
        .returningAll()
        .executeTakeFirstOrThrow()
    },

    async list(
      of: DevicesOf,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<{ rows: DeviceRow[]; total: number }> {
      const rows = await own(of)
        .selectAll()
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: await this.count(of) }
    },

    async count(of: DevicesOf): Promise<number> {
      const { total } = await own(of)
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return total
    },

    delete: ({ organizationId, userId }: DevicesOf, id: string): Promise<DeviceRow | undefined> =>
      db
        .deleteFrom("notifications.devices")
        .where("organization_id", "=", organizationId)
        .where("user_id", "=", userId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst(),
  }
}
