import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { Of } from "./store.ts"

export type InstanceRow = Tables["deployments.instances"]

/** Rows of deployments.instances. */
export const instanceStore = (db: Db) => ({
  put: async (row: InstanceRow) => {
    const { id, organization_id: _, ...rest } = row
    await db
      .insertInto("deployments.instances")
      .values(row)
      .onConflict(conflict => conflict.column("id").doUpdateSet(rest))
      .execute()
  },

  list: ({ id, organization_id }: Of, since: Date, slice: Slice) =>
    listRows(
      db
        .selectFrom("deployments.instances")
        .selectAll()
        .where("organization_id", "=", organization_id)
        .where("deployment_id", "=", id)
        .where(({ eb, or }) => or([eb("stopped_at", "is", null), eb("stopped_at", ">", since)]))
        .orderBy("started_at", "desc")
        .orderBy("id", "desc"),
      slice,
    ),

  /** What ran there has ended with it. */
  async endOf(hostIds: readonly string[], reason: string, at: Date) {
    if (hostIds.length === 0) return
    await db
      .updateTable("deployments.instances")
      .set({ status: "STOPPED", status_reason: reason, stopped_at: at, in_flight_requests: 0 })
      .where("host_id", "in", [...hostIds])
      .where("stopped_at", "is", null)
      .execute()
  },

  async prune(stoppedBefore: Date) {
    await db.deleteFrom("deployments.instances").where("stopped_at", "<", stoppedBefore).execute()
    await sql`
      DELETE FROM deployments.instances AS i WHERE i.stopped_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM deployments.deployments AS d WHERE d.id = i.deployment_id)`.execute(db)
  },
})
