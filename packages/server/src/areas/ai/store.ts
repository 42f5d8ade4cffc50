import type { Selectable } from "kysely"
import type { UpstreamModel } from "../../core/ai/upstream-record.ts"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type UpstreamRow = Omit<Selectable<Tables["ai.upstreams"]>, "models"> & {
  readonly models: readonly UpstreamModel[]
}

/** JSON columns are written as text. */
const written = <Row extends Partial<UpstreamRow>>({ models, ...row }: Row) => ({
  ...row,
  ...(models && { models: JSON.stringify(models) }),
})

/** Rows of ai.upstreams. Every statement names the organization first. */
export const upstreamStore = (db: Db, organizationId: string) => {
  const own = () => db.selectFrom("ai.upstreams").where("organization_id", "=", organizationId)
  return {
    insert: async ({ models, ...row }: UpstreamRow) => {
      const values = { ...row, organization_id: organizationId, models: JSON.stringify(models) }
      await db.insertInto("ai.upstreams").values(values).execute()
    },

    find: (id: string): Promise<UpstreamRow | undefined> =>
      own().where("id", "=", id).selectAll().$castTo<UpstreamRow>().executeTakeFirst(),

    /** The row, locked until the transaction ends. */
    findForUpdate: (id: string): Promise<UpstreamRow | undefined> =>
      own().where("id", "=", id).selectAll().forUpdate().$castTo<UpstreamRow>().executeTakeFirst(),

    list: (slice: Slice): Promise<{ rows: UpstreamRow[]; total: number }> =>
      listRows(
        own().selectAll().orderBy("created_at", "desc").orderBy("id", "desc").$castTo<UpstreamRow>(),
        slice,
      ),

    enabled: (): Promise<UpstreamRow[]> =>
      own()
        .where("enabled", "=", true)
        .selectAll()
        .orderBy("priority")
        .orderBy("created_at")
        .$castTo<UpstreamRow>()
        .execute(),

    update: async (id: string, change: Partial<UpstreamRow>) => {
      await db
        .updateTable("ai.upstreams")
        .set(written(change))
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    delete: async (id: string): Promise<boolean> => {
      const { numDeletedRows } = await db
        .deleteFrom("ai.upstreams")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .executeTakeFirst()
      return numDeletedRows > 0
    },
  }
}

/** Limits of ai.accounts; its counters are changed by functions of the schema alone. */
export const accountStore = (db: Db, organizationId: string) => ({
  find: () =>
    db
      .selectFrom("ai.accounts")
      .select(["monthly_limit_micros", "month", "spent_nanos", "reserved_nanos"])
      .where("organization_id", "=", organizationId)
      .executeTakeFirst(),

  setLimit: async (monthly_limit_micros: number | null, now: Date) => {
    const day = now.toISOString().slice(0, 10)
    const counters = {
      month: `${day.slice(0, 7)}-01`,
      spent_nanos: 0,
      reserved_nanos: 0,
      day,
      day_requests: 0,
    }
    await db
      .insertInto("ai.accounts")
      .values({ organization_id: organizationId, monthly_limit_micros, ...counters })
      .onConflict(conflict => conflict.column("organization_id").doUpdateSet({ monthly_limit_micros }))
      .execute()
  },
})
