import type { Meter } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"

/** Rows of core.usage, read. Writing is the meters' alone. */
export const usageStore = (db: Db) => ({
  /** Of the calendar month in UTC. */
  async ofMonth(organizationId: string, metric: Meter, now: Date): Promise<number> {
    const { quantity } = await db
      .selectFrom("core.usage")
      .select(eb => eb.fn.coalesce(eb.fn.sum<number>("quantity"), eb.lit(0)).as("quantity"))
      .where("organization_id", "=", organizationId)
      .where("metric", "=", metric)
      .where("day", ">=", `${now.toISOString().slice(0, 7)}-01`)
      .executeTakeFirstOrThrow()
    return quantity
  },

  async ofDay(organizationId: string, metric: Meter, now: Date): Promise<number> {
    const { quantity } = await db
      .selectFrom("core.usage")
      .select(eb => eb.fn.coalesce(eb.fn.sum<number>("quantity"), eb.lit(0)).as("quantity"))
      .where("organization_id", "=", organizationId)
      .where("metric", "=", metric)
      .where("day", "=", now.toISOString().slice(0, 10))
      .executeTakeFirstOrThrow()
    return quantity
  },
})
