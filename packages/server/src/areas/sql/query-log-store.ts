import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

export interface QueryLogRow {
  readonly id: string
  readonly tenant_id: string
  readonly project_id: string
  readonly database_id: string
  readonly branch_id: string
  readonly query_id: string
  readonly sql: string
  readonly command: string | null
  readonly sqlstate: string | null
  readonly error: string | null
  readonly rows: number | null
  readonly duration_ms: number
  readonly wake_ms: number
  readonly started_at: Date
  readonly source: "http" | "wire"
  readonly key_id: string | null
  readonly user_name: string | null
  readonly application_name: string | null
  readonly client_addr: string | null
  readonly read_only: boolean
  readonly request_id: string | null
}

const COLUMNS: readonly (readonly [keyof QueryLogRow, string])[] = [
  ["id", "uuid"],
  ["tenant_id", "uuid"],
  ["project_id", "uuid"],
  ["database_id", "uuid"],
  ["branch_id", "uuid"],
  ["query_id", "text"],
  ["sql", "text"],
  ["command", "text"],
  ["sqlstate", "text"],
  ["error", "text"],
  ["rows", "bigint"],
  ["duration_ms", "float8"],
  ["wake_ms", "float8"],
  ["started_at", "timestamptz"],
  ["source", "text"],
  ["key_id", "uuid"],
  ["user_name", "text"],
  ["application_name", "text"],
  ["client_addr", "text"],
  ["read_only", "boolean"],
  ["request_id", "text"],
]

const columnList = sql.join(COLUMNS.map(([name]) => sql.ref(name)))

export const queryLogStore = (db: Db) => ({
  async insert(rows: readonly QueryLogRow[]) {
    const values = COLUMNS.map(([name, type]) => sql`${rows.map(row => row[name])}::${sql.raw(type)}[]`)
    await sql`INSERT INTO databases.query_log (${columnList}) SELECT * FROM unnest(${sql.join(values)})`.execute(
      db,
    )
  },

  async list(filter: {
    tenantId: string
    projectId: string
    databaseId: string | undefined
    branchId: string | undefined
    limit: number
  }): Promise<QueryLogRow[]> {
    const { tenantId, projectId, databaseId, branchId, limit } = filter
    const { rows } = await sql<QueryLogRow>`
      SELECT ${columnList} FROM databases.query_log
      WHERE tenant_id = ${tenantId} AND project_id = ${projectId}
        ${databaseId === undefined ? sql`` : sql`AND database_id = ${databaseId}`}
        ${branchId === undefined ? sql`` : sql`AND branch_id = ${branchId}`}
      ORDER BY started_at DESC, id DESC LIMIT ${limit}`.execute(db)
    return rows
  },

  /** Deletes what is older than `before`, and of each tenant what is beyond the newest `rowsMax`. Returns how many. */
  async prune(before: Date, rowsMax: number, deletedMax: number): Promise<number> {
    const old = await sql`
      DELETE FROM databases.query_log WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM databases.query_log WHERE started_at < ${before} LIMIT ${deletedMax}))`.execute(db)
    const surplus = await sql`
      DELETE FROM databases.query_log WHERE ctid = ANY (ARRAY(
        SELECT entry.ctid
        FROM (SELECT tenant_id FROM databases.query_log GROUP BY tenant_id HAVING count(*) > ${rowsMax}) AS tenant
        CROSS JOIN LATERAL (
          SELECT started_at FROM databases.query_log
          WHERE tenant_id = tenant.tenant_id ORDER BY started_at DESC OFFSET ${rowsMax} LIMIT 1) AS oldest
        JOIN databases.query_log AS entry
          ON entry.tenant_id = tenant.tenant_id AND entry.started_at <= oldest.started_at
        LIMIT ${deletedMax}))`.execute(db)
    return Number(old.numAffectedRows ?? 0) + Number(surplus.numAffectedRows ?? 0)
  },
})
