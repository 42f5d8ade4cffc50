import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type InstanceRow = Tables["run_services.instances"]
export type FiguresRow = Tables["run_services.figures"]

export interface ServiceOf {
  readonly id: string
  readonly organization_id: string
}

/** Rows of run_services.instances and figures. */
export const instanceStore = (db: Db) => ({
  put: async (row: InstanceRow) => {
    const { id, organization_id: _, ...rest } = row
    await db
      .insertInto("run_services.instances")
      .values(row)
      .onConflict(conflict => conflict.column("id").doUpdateSet(rest))
      .execute()
  },

  list: ({ id, organization_id }: ServiceOf, since: Date, slice: Slice) =>
    listRows(
      db
        .selectFrom("run_services.instances as instances")
        .innerJoin("run_services.revisions as revisions", "revisions.revision_id", "instances.revision_id")
        .where("instances.organization_id", "=", organization_id)
        .where("instances.service_id", "=", id)
        .where(({ eb, or }) =>
          or([eb("instances.stopped_at", "is", null), eb("instances.stopped_at", ">", since)]),
        )
        .selectAll("instances")
        .select(["revisions.number", "revisions.port"])
        .orderBy("instances.started_at", "desc")
        .orderBy("instances.id", "desc"),
      slice,
    ),

  listRunning: ({ id, organization_id }: ServiceOf): Promise<InstanceRow[]> =>
    db
      .selectFrom("run_services.instances")
      .selectAll()
      .where("organization_id", "=", organization_id)
      .where("service_id", "=", id)
      .where("stopped_at", "is", null)
      .execute(),

  /** What ran there has ended with it. */
  async endOf(hostIds: readonly string[], reason: string, at: Date) {
    if (hostIds.length === 0) return
    await db
      .updateTable("run_services.instances")
      .set({ status: "STOPPED", status_reason: reason, stopped_at: at, in_flight_requests: 0 })
      .where("host_id", "in", [...hostIds])
      .where("stopped_at", "is", null)
      .execute()
  },

  putFigures: async (row: FiguresRow) => {
    const { requests, errors, latencies } = row
    await db
      .insertInto("run_services.figures")
      .values(row)
      .onConflict(conflict =>
        conflict.columns(["service_id", "at", "host_id"]).doUpdateSet({ requests, errors, latencies }),
      )
      .execute()
  },

  listFigures: ({ id, organization_id }: ServiceOf, since: Date): Promise<FiguresRow[]> =>
    db
      .selectFrom("run_services.figures")
      .selectAll()
      .where("organization_id", "=", organization_id)
      .where("service_id", "=", id)
      .where("at", ">=", since)
      .execute(),

  async prune(stoppedBefore: Date, figuresBefore: Date) {
    await db.deleteFrom("run_services.instances").where("stopped_at", "<", stoppedBefore).execute()
    await db.deleteFrom("run_services.figures").where("at", "<", figuresBefore).execute()
    await sql`
      DELETE FROM run_services.instances AS i WHERE i.stopped_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM run_services.services AS s WHERE s.id = i.service_id)`.execute(db)
  },
})
