import { type Insertable, type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { WorkloadOwner } from "../../services/workloads/lookup.ts"

export type ComputerRow = Selectable<Tables["computers.computers"]>

/** Statements on computers.computers beside those that all workloads share. */
export const computerStore = (db: Db) => ({
  /** Undefined when its owner has one of this name. */
  insert: async (row: Insertable<Tables["computers.computers"]>): Promise<ComputerRow | undefined> =>
    await db
      .insertInto("computers.computers")
      .values(row)
      .onConflict(conflict => conflict.columns(["organization_id", "owner_id", "name"]).doNothing())
      .returningAll()
      .executeTakeFirst(),

  findByName: ({ organizationId, ownerId }: WorkloadOwner, name: string): Promise<ComputerRow | undefined> =>
    db
      .selectFrom("computers.computers")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("name", "=", name)
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
})
