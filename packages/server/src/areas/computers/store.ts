import { type Insertable, type Selectable, sql, type Updateable } from "kysely"
import type { WorkloadOwner } from "../../core/workloads/lookup.ts"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ComputerRow = Selectable<Tables["computers.computers"]>

/** Rows of computers.computers, as callers see and change them. */
export const computerStore = (db: Db) => {
  const owned = ({ organizationId, ownerId }: WorkloadOwner) =>
    db
      .selectFrom("computers.computers")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)

  return {
    /** Undefined when its owner has one of this name. */
    insert: async (row: Insertable<Tables["computers.computers"]>): Promise<ComputerRow | undefined> =>
      await db
        .insertInto("computers.computers")
        .values(row)
        .onConflict(conflict => conflict.columns(["organization_id", "owner_id", "name"]).doNothing())
        .returningAll()
        .executeTakeFirst(),

    find: (owner: WorkloadOwner, id: string): Promise<ComputerRow | undefined> =>
      owned(owner).selectAll().where("id", "=", id).executeTakeFirst(),

    /** For a change that depends on what is there. */
    lock: (owner: WorkloadOwner, id: string): Promise<ComputerRow | undefined> =>
      owned(owner).selectAll().where("id", "=", id).forNoKeyUpdate().executeTakeFirst(),

    findByName: (owner: WorkloadOwner, name: string): Promise<ComputerRow | undefined> =>
      owned(owner).selectAll().where("name", "=", name).executeTakeFirst(),

    list: (owner: WorkloadOwner, slice: Slice) =>
      listRows(owned(owner).selectAll().orderBy("created_at", "desc").orderBy("id", "desc"), slice),

    async count(organizationId: string): Promise<number> {
      const { total } = await db
        .selectFrom("computers.computers")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("organization_id", "=", organizationId)
        .executeTakeFirstOrThrow()
      return total
    },

    /** Changes one; undefined when it is gone, or in none of the states where they are given. */
    async update(
      organizationId: string,
      id: string,
      changes: Updateable<Tables["computers.computers"]>,
      from?: readonly ComputerRow["status"][],
    ): Promise<ComputerRow | undefined> {
      const one = db
        .updateTable("computers.computers")
        .set(changes)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
      const chosen = from ? one.where("status", "in", from) : one
      return await chosen.returningAll().executeTakeFirst()
    },

    delete: async (
      { organizationId, ownerId }: WorkloadOwner,
      id: string,
    ): Promise<ComputerRow | undefined> =>
      await db
        .deleteFrom("computers.computers")
        .where("organization_id", "=", organizationId)
        .where("owner_id", "=", ownerId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst(),

    /** An address that no computer has, in 10.64.0.0/10. Addresses come round again after four million. */
    async nextAddress(): Promise<string> {
      for (;;) {
        const { rows } = await sql<{ address: string; taken: boolean }>`
          WITH next AS (SELECT host('10.64.0.0'::inet + nextval('computers.addresses')) AS address)
          SELECT address, EXISTS (SELECT FROM computers.computers WHERE private_ip = address) AS taken FROM next
        `.execute(db)
        const [next] = rows
        if (next && !next.taken) return next.address
      }
    },
  }
}

/** The same rows as hosts see them: of all tenants, by where their disks are. */
export const hostedComputers = (db: Db) => {
  const of = (hostId: string) => db.selectFrom("computers.computers").where("host_id", "=", hostId)

  return {
    /** Says of those that ran on these hosts that they do not, for now. */
    lose: async (hostIds: readonly string[], now: Date): Promise<ComputerRow[]> =>
      await db
        .updateTable("computers.computers")
        .set({
          ...{ status: "STOPPED", status_reason: "its host is gone", host_lost: true },
          ...{ stopped_at: now, updated_at: now },
        })
        .where("host_id", "in", hostIds)
        .where("status", "in", ["CREATING", "RUNNING"])
        .returningAll()
        .execute(),

    /** What should run here: what did, and what others took for lost meanwhile. */
    shouldRun: (hostId: string): Promise<ComputerRow[]> =>
      of(hostId)
        .selectAll()
        .where(eb => eb.or([eb("status", "in", ["CREATING", "RUNNING"]), eb("host_lost", "=", true)]))
        .orderBy("created_at")
        .execute(),

    async ids(hostId: string): Promise<string[]> {
      const rows = await of(hostId).select("id").execute()
      return rows.map(({ id }) => id)
    },

    async imageDigests(hostId: string): Promise<string[]> {
      const rows = await of(hostId).select("image_digest").distinct().execute()
      return rows.flatMap(({ image_digest }) => image_digest ?? [])
    },

    disks: (hostId: string) =>
      of(hostId)
        .select(({ fn }) => ["organization_id", "project_id", fn.sum<number>("disk_gb").as("disk_gb")])
        .groupBy(["organization_id", "project_id"])
        .execute(),
  }
}
