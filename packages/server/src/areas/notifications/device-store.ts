import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
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

    list: (of: DevicesOf, slice: Slice): Promise<{ rows: DeviceRow[]; total: number }> =>
      listRows(own(of).selectAll().orderBy("created_at", "desc").orderBy("id", "desc"), slice),

    count: (of: DevicesOf): Promise<number> => countRows(own(of)),

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
