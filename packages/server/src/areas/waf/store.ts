import { WAF_EVENTS_KEPT, type WafAction, type WafMatch, type WafTarget } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type RuleRow = Omit<Tables["waf.rules"], "match" | "targets" | "action"> & {
  readonly match: WafMatch
  readonly targets: WafTarget[]
  readonly action: WafAction
}
export type EventRow = Tables["waf.events"]
export type CounterName = "requests" | "blocked" | "logged" | "allowed" | "limited" | "match" | "dropped"
export interface CounterRow {
  readonly project_id: string
  readonly slot: Date
  readonly name: CounterName
  readonly subject: string
  count: number
}

/** Rows of waf.rules, waf.events and waf.counters, as calls see them. Every statement names the project. */
export const wafStore = (db: Db) => {
  const own = (projectId: string) => db.selectFrom("waf.rules").where("project_id", "=", projectId)

  return {
    async list(projectId: string, slice: Slice) {
      const query = own(projectId).selectAll().orderBy("priority").orderBy("id")
      const { rows, total } = await listRows(query, slice)
      return { rows: rows as RuleRow[], total }
    },

    /** How many the project has; holds a lock that keeps others from adding one until the transaction ends. */
    countToCreate: async (projectId: string): Promise<number> => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`waf.rules:${projectId}`}, 0))`.execute(db)
      return countRows(own(projectId))
    },

    insert: async (row: RuleRow) => {
      await db.insertInto("waf.rules").values(row).execute()
    },

    findForUpdate: async (projectId: string, id: string) =>
      (await own(projectId).where("id", "=", id).selectAll().forUpdate().executeTakeFirst()) as
        | RuleRow
        | undefined,

    replace: async ({ project_id, id, ...row }: RuleRow) => {
      await db
        .updateTable("waf.rules")
        .set(row)
        .where("project_id", "=", project_id)
        .where("id", "=", id)
        .execute()
    },

    delete: async (projectId: string, id: string) =>
      (await db
        .deleteFrom("waf.rules")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst()) as RuleRow | undefined,

    /** Newest first, older than the one of the cursor. */
    events: (projectId: string, cursor: string | undefined, limit: number): Promise<EventRow[]> =>
      db
        .selectFrom("waf.events")
        .where("project_id", "=", projectId)
        .$if(cursor !== undefined, query => query.where("id", "<", cursor ?? ""))
        .selectAll()
        .orderBy("id", "desc")
        .limit(limit)
        .execute(),

    async counts(projectId: string, since: Date) {
      const rows = await db
        .selectFrom("waf.counters")
        .where("project_id", "=", projectId)
        .where("slot", ">", since)
        .groupBy(["name", "subject"])
        .select(["name", "subject", sql<string>`sum(count)`.as("total")])
        .execute()
      return rows.map(({ name, subject, total }) => ({ name, subject, count: Number(total) }))
    },
  }
}

const PRUNE_STEP = 5_000

/** What the data plane reads and writes: of all tenants, because requests name none. */
export const wafRecords = (db: Db) => ({
  rules: async (projectId: string) =>
    (await db
      .selectFrom("waf.rules")
      .where("project_id", "=", projectId)
      .where("enabled", "=", true)
      .selectAll()
      .orderBy("priority")
      .orderBy("id")
      .execute()) as RuleRow[],

  insertEvents: async (rows: readonly EventRow[]) => {
    await db
      .insertInto("waf.events")
      .values([...rows])
      // A write whose success was not heard of is tried again.
      .onConflict(conflict => conflict.column("id").doNothing())
      .execute()
  },

  addCounts: async (rows: readonly CounterRow[]) => {
    // In one order, so that two processes never wait for each other.
    const values = [...rows].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    for (let at = 0; at < values.length; at += PRUNE_STEP)
      await db
        .insertInto("waf.counters")
        .values(values.slice(at, at + PRUNE_STEP))
        .onConflict(conflict =>
          conflict
            .columns(["project_id", "slot", "name", "subject"])
            .doUpdateSet({ count: sql`waf.counters.count + excluded.count` }),
        )
        .execute()
  },

  /** Removes what is too old or too much, in short steps. */
  async prune(nowMs: number, eventDays: number, countersMs: number): Promise<void> {
    const old = sql`SELECT id FROM waf.events
      WHERE created_at < ${new Date(nowMs - eventDays * 86_400_000)} LIMIT ${PRUNE_STEP}`
    await inSteps(db, old)
    const { rows } = await sql<{ project_id: string }>`SELECT DISTINCT project_id FROM waf.counters
      WHERE name = 'match' OR name = 'limited'`.execute(db)
    for (const { project_id } of rows)
      await inSteps(
        db,
        sql`SELECT id FROM waf.events WHERE project_id = ${project_id}
          ORDER BY id DESC LIMIT ${PRUNE_STEP} OFFSET ${WAF_EVENTS_KEPT}`,
      )
    await db
      .deleteFrom("waf.counters")
      .where("slot", "<", new Date(nowMs - countersMs))
      .execute()
  },
})

const keyOf = ({ project_id, slot, name, subject }: CounterRow): string =>
  `${project_id} ${slot.getTime()} ${name} ${subject}`

const inSteps = async (db: Db, chosen: ReturnType<typeof sql>): Promise<void> => {
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      DELETE FROM waf.events WHERE id = ANY(ARRAY(${chosen}))`.execute(db)
    if (numAffectedRows < PRUNE_STEP) return
  }
}
