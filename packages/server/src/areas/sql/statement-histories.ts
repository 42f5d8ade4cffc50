import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { StatementHistory, StatementLog } from "./offers.ts"

/** The busiest statements are compared; those beyond have too few calls to tell anything. */
const STATEMENTS_MAX = 500

export const createStatementLog = (db: Db): StatementLog => ({
  async histories(target, { baselineFrom, from, to }, callsMin) {
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
