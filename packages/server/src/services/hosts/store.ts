import { type Insertable, type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type HostRow = Selectable<Tables["core.hosts"]>
export type PeerRow = Pick<
  HostRow,
  | "id"
  | "url"
  | "driver"
  | "isolation"
  | "memory_bytes"
  | "memory_reserved_bytes"
  | "workloads_max"
  | "workloads"
>

/** Rows of core.hosts. They are the operator's: no tenant has one. */
export const hostStore = (db: Db) => ({
  async put(row: Insertable<Tables["core.hosts"]>): Promise<void> {
    const { id: _, ...changes } = row
    await db
      .insertInto("core.hosts")
      .values(row)
      .onConflict(conflict => conflict.column("id").doUpdateSet(changes))
      .execute()
  },

  /** Says that the host is there, and gives whether others had taken it for gone. */
  async see(
    id: string,
    use: Pick<HostRow, "seen_at" | "memory_reserved_bytes" | "workloads">,
  ): Promise<boolean> {
    const { rows } = await sql<{ lost_at: Date | null }>`
      UPDATE core.hosts host
      SET seen_at = ${use.seen_at}, workloads = ${use.workloads},
        memory_reserved_bytes = ${use.memory_reserved_bytes}, lost_at = NULL
      FROM (SELECT id, lost_at FROM core.hosts WHERE id = ${id} FOR UPDATE) before
      WHERE host.id = before.id
      RETURNING before.lost_at`.execute(db)
    return rows.some(({ lost_at }) => lost_at !== null)
  },

  /** Takes hosts for gone that have said nothing since then. */
  async lose(ownId: string, since: Date, now: Date): Promise<void> {
    await db
      .updateTable("core.hosts")
      .set({ lost_at: now })
      .where("id", "!=", ownId)
      .where("seen_at", "<", since)
      .where("lost_at", "is", null)
      .execute()
  },

  /** Other hosts that are there and can be reached. */
  peers: (ownId: string): Promise<PeerRow[]> =>
    db
      .selectFrom("core.hosts")
      .select(["id", "url", "driver", "isolation", "memory_bytes", "memory_reserved_bytes"])
      .select(["workloads_max", "workloads"])
      .where("id", "!=", ownId)
      .where("lost_at", "is", null)
      .where("url", "is not", null)
      .execute(),

  async gone(ownId: string): Promise<string[]> {
    const rows = await db
      .selectFrom("core.hosts")
      .select("id")
      .where("id", "!=", ownId)
      .where("lost_at", "is not", null)
      .execute()
    return rows.map(({ id }) => id)
  },
})
