import type { Insertable, Selectable } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type SandboxRow = Selectable<Tables["sandboxes.sandboxes"]>

const PRUNED_AT_ONCE = 1_000

/** Statements on sandboxes.sandboxes beside those that all workloads share. */
export const sandboxStore = (db: Db) => ({
  insert: async (row: Insertable<Tables["sandboxes.sandboxes"]>): Promise<SandboxRow> =>
    await db.insertInto("sandboxes.sandboxes").values(row).returningAll().executeTakeFirstOrThrow(),

  /** Where a sandbox is; its id is proof enough that one was told of it. */
  hostOf: async (id: string): Promise<string | undefined> =>
    (await db.selectFrom("sandboxes.sandboxes").select("host_id").where("id", "=", id).executeTakeFirst())
      ?.host_id,

  /** Deletes the rows of ephemeral ones that ended before. */
  async prune(before: Date): Promise<void> {
    for (;;) {
      const { numDeletedRows } = await db
        .deleteFrom("sandboxes.sandboxes")
        .where("id", "in", eb =>
          eb
            .selectFrom("sandboxes.sandboxes")
            .select("id")
            .where("kind", "=", "ephemeral")
            .where("status", "in", ["STOPPED", "FAILED"])
            .where("stopped_at", "<", before)
            .limit(PRUNED_AT_ONCE),
        )
        .executeTakeFirstOrThrow()
      if (numDeletedRows < PRUNED_AT_ONCE) return
    }
  },
})
