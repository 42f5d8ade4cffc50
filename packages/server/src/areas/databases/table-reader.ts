import type pg from "pg"
import { parseJson } from "../../kernel/exact-json.ts"
import { fault } from "../../kernel/fault.ts"
import type { Sessions } from "../../services/postgres/sessions.ts"
import type { Directory } from "./directory.ts"
import type { TablePage, TableQuery, TableReader } from "./offers.ts"

const STATEMENT_TIMEOUT_MS = 30_000

interface KeyColumn {
  readonly name: string
  readonly type: string
}

const KEY = `
  SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k(number, place)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
  WHERE i.indisprimary AND n.nspname = $1 AND c.relname = $2
  ORDER BY k.place`

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const readKey = async (client: pg.PoolClient, { schema, table }: TableQuery): Promise<KeyColumn[]> => {
  const { rows } = await client.query<{ name: string; type: string }>(KEY, [schema, table])
  if (rows.length === 0) throw fault("table_not_found")
  return rows
}

/** One page in the order of the primary key, which continues where the one before ended. */
const readPage = async (client: pg.PoolClient, query: TableQuery): Promise<TablePage> => {
  const key = await readKey(client, query)
  const names = key.map(({ name }) => quoted(name)).join(", ")
  const values = [...(query.after ?? [])]
  const after =
    values.length === key.length
      ? `WHERE (${names}) > (${key.map(({ type }, n) => `$${n + 1}::text::${type}`).join(", ")})`
      : ""
  const columns = query.columns.map((name, n) => `pg_catalog.to_json(${quoted(name)})::text AS v${n}`)
  const { rows } = await client.query<Record<string, string | null>>(
    `SELECT ${[...key.map(({ name }, n) => `${quoted(name)}::text AS k${n}`), ...columns].join(", ")}
     FROM ${quoted(query.schema)}.${quoted(query.table)} ${after} ORDER BY ${names} LIMIT ${Math.floor(query.limit)}`,
    values,
  )
  return {
    rows: rows.map(row => ({
      key: key.map((_, n) => row[`k${n}`] ?? ""),
      values: Object.fromEntries(
        query.columns.map((name, n) => [name, parseJson(row[`v${n}`] ?? "null")] as const),
      ),
    })),
  }
}

/** Reads tables of a project's databases for other areas, as the role that may write nothing. */
export const createTableReader = (needs: { directory: Directory; sessions: Sessions }): TableReader => ({
  async read({ organizationId, projectId, databaseId, branchId }, query, signal) {
    const target = await needs.directory.find({ organizationId, projectId, databaseId, branchId })
    if (!target) throw fault("database_not_found")
    const read = async ({ client }: { client: pg.PoolClient }) => {
      await client.query("BEGIN READ ONLY")
      await client.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
      const page = await readPage(client, query)
      await client.query("ROLLBACK")
      return page
    }
    return needs.sessions.use(target, "reader", read, { signal })
  },
})
