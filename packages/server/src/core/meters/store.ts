import type { Meter } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

/** Days of the calendar in UTC, as `2026-11-01`; the last one is not among them. */
export interface Days {
  readonly from: string
  readonly to: string
}

export interface UsageRow {
  readonly day: string
  readonly metric: string
  readonly key_id: string
  readonly project_id: string
  readonly quantity: number
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** The days of the calendar month in UTC that a moment is in. */
export const monthOf = (at: Date): Days => ({
  from: dayOf(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)),
  to: dayOf(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)),
})

/** Keeps the list of an IN from being empty, which is not SQL. */
const NO_KEY = "00000000-0000-0000-0000-000000000000"

const errors = sql<number>`coalesce(sum(requests) FILTER (WHERE status >= 400), 0)::int8`.as("errors")

/** Rows of core.usage and core.key_requests, read. Writing is the meters' alone. */
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

  /** All metrics of an organization from one day on and before another, as `2026-11-01`. */
  async metricsOfDays(organizationId: string, { from, to }: Days): Promise<ReadonlyMap<string, number>> {
    const rows = await db
      .selectFrom("core.usage")
      .select(["metric", eb => eb.fn.sum<number>("quantity").as("quantity")])
      .where("organization_id", "=", organizationId)
      .where("day", ">=", from)
      .where("day", "<", to)
      .groupBy("metric")
      .execute()
    return new Map(rows.map(({ metric, quantity }) => [metric, quantity]))
  },

  /** All metrics of an organization in the calendar month in UTC. */
  metricsOfMonth(organizationId: string, now: Date): Promise<ReadonlyMap<string, number>> {
    return this.metricsOfDays(organizationId, monthOf(now))
  },

  /** Metrics of one key. */
  async metricsOfKey(organizationId: string, keyId: string, { from, to }: Days) {
    return db
      .selectFrom("core.usage")
      .select(["metric", eb => eb.fn.sum<number>("quantity").as("quantity")])
      .where("organization_id", "=", organizationId)
      .where("key_id", "=", keyId)
      .where("day", ">=", from)
      .where("day", "<", to)
      .groupBy("metric")
      .orderBy("metric")
      .execute()
  },

  /** Requests by area of these keys, or of all keys. */
  requestsByArea(organizationId: string, { from, to }: Days, keyIds?: readonly string[]) {
    return db
      .selectFrom("core.key_requests")
      .select(["key_id", "area", sql<number>`sum(requests)::int8`.as("requests"), errors])
      .where("organization_id", "=", organizationId)
      .where("day", ">=", from)
      .where("day", "<", to)
      .$if(keyIds !== undefined, query => query.where("key_id", "in", [...(keyIds ?? []), NO_KEY]))
      .groupBy(["key_id", "area"])
      .orderBy("area")
      .execute()
  },

  /** Requests of one key by day, area and status. */
  requestsOfKey(organizationId: string, keyId: string, { from, to }: Days) {
    return db
      .selectFrom("core.key_requests")
      .select(["day", "area", "status", "requests"])
      .where("organization_id", "=", organizationId)
      .where("key_id", "=", keyId)
      .where("day", ">=", from)
      .where("day", "<", to)
      .orderBy("day")
      .orderBy("area")
      .orderBy("status")
      .execute()
  },

  /** The stored rows in their order, those that follow one of them. */
  rowsAfter(organizationId: string, { from, to }: Days, after: UsageRow | undefined, limit: number) {
    return db
      .selectFrom("core.usage")
      .select(["day", "metric", "key_id", "project_id", "quantity"])
      .where("organization_id", "=", organizationId)
      .where("day", ">=", from)
      .where("day", "<", to)
      .$if(after !== undefined, query =>
        query.where(
          sql<boolean>`(day, metric, key_id, project_id) > (${after?.day}::date, ${after?.metric},
            ${after?.key_id}::uuid, ${after?.project_id}::uuid)`,
        ),
      )
      .orderBy("day")
      .orderBy("metric")
      .orderBy("key_id")
      .orderBy("project_id")
      .limit(limit)
      .execute()
  },
})
