import { sql } from "kysely"
import type { Target } from "../../core/postgres/target.ts"
import type { Db } from "../../kernel/db/database.ts"

/** What the log says of one statement, in the window and before it. */
export interface StatementHistory {
  readonly query_id: string
  readonly sql: string
  readonly calls: number
  readonly errors: number
  readonly p95_ms: number | null
  readonly last_sqlstate: string | null
  readonly baseline_calls: number
  readonly baseline_errors: number
  readonly baseline_p95_ms: number | null
}

export interface HistoryWindow {
  readonly baselineFrom: Date
  readonly from: Date
  readonly to: Date
}

/** The busiest statements are compared; those beyond have too few calls to tell anything. */
const STATEMENTS_MAX = 500

/** Reads databases.query_log, which the sql area writes. */
export const adviceStore = (db: Db) => ({
  async histories(
    target: Pick<Target, "organizationId" | "databaseId" | "branchId">,
    { baselineFrom, from, to }: HistoryWindow,
    callsMin: { readonly window: number; readonly baseline: number },
  ): Promise<StatementHistory[]> {
    const { rows } = await sql<StatementHistory>`
      SELECT query_id, min(sql) AS sql,
        (count(*) FILTER (WHERE started_at >= ${from}))::integer AS calls,
        (count(*) FILTER (WHERE started_at >= ${from} AND sqlstate IS NOT NULL))::integer AS errors,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)
          FILTER (WHERE started_at >= ${from} AND sqlstate IS NULL) AS p95_ms,
        (array_agg(sqlstate ORDER BY started_at DESC)
          FILTER (WHERE started_at >= ${from} AND sqlstate IS NOT NULL))[1] AS last_sqlstate,
        (count(*) FILTER (WHERE started_at < ${from}))::integer AS baseline_calls,
        (count(*) FILTER (WHERE started_at < ${from} AND sqlstate IS NOT NULL))::integer AS baseline_errors,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)
          FILTER (WHERE started_at < ${from} AND sqlstate IS NULL) AS baseline_p95_ms
      FROM databases.query_log
      WHERE tenant_id = ${target.organizationId} AND database_id = ${target.databaseId}
        AND branch_id = ${target.branchId}
        AND started_at >= ${baselineFrom} AND started_at < ${to}
      GROUP BY query_id
      HAVING count(*) FILTER (WHERE started_at >= ${from}) >= ${callsMin.window}
        AND count(*) FILTER (WHERE started_at < ${from}) >= ${callsMin.baseline}
      ORDER BY count(*) FILTER (WHERE started_at >= ${from}) DESC
      LIMIT ${STATEMENTS_MAX}`.execute(db)
    return rows
  },
})
