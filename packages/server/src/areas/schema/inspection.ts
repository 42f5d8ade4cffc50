import type pg from "pg"
import { fault } from "../../kernel/fault.ts"
import type { Sessions } from "../../services/postgres/sessions.ts"
import type { Target } from "../../services/postgres/target.ts"

/** What reading catalogs and samples needs of a connection. */
export type Client = Pick<pg.ClientBase, "query">

const STATEMENT_TIMEOUT_MS = 15_000
/** Another session may hold a table for as long as it likes; sizes are not worth waiting for. */
const LOCK_TIMEOUT_MS = 1_000

const QUERY_CANCELED = "57014"
export const LOCK_NOT_AVAILABLE = "55P03"

export const sqlState = (error: unknown): string | undefined =>
  error instanceof Error ? (error as Error & { code?: string }).code : undefined

/** Everything as PostgreSQL writes it, whatever the pool is set to. */
const asText = { getTypeParser: () => (value: unknown) => value } as pg.CustomTypesConfig

/**
 * Whoever owns the database may set a search path, a role or formats for all its sessions, and define functions and
 * operators of any name. These settings come first, as statements that look nothing up.
 */
const begin = (options: { statementTimeoutMs: number; lockTimeoutMs: number }): string =>
  [
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL ROLE NONE",
    `SET LOCAL statement_timeout = ${options.statementTimeoutMs}`,
    `SET LOCAL lock_timeout = ${options.lockTimeoutMs}`,
    // A policy calls functions of the tenant's. With this, reading a table that has one is an error instead.
    "SET LOCAL row_security = off",
    "SET LOCAL datestyle = ISO",
    "SET LOCAL max_parallel_workers_per_gather = 0",
  ].join("; ")

/** Runs `work` in a transaction that writes nothing and calls nothing that a tenant defined. */
export const inspect = async <Result>(
  client: Client,
  work: () => Promise<Result>,
  options: { readonly statementTimeoutMs?: number; readonly lockTimeoutMs?: number } = {},
): Promise<Result> => {
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS, lockTimeoutMs = LOCK_TIMEOUT_MS } = options
  await client.query(begin({ statementTimeoutMs, lockTimeoutMs }))
  try {
    return await work()
  } finally {
    await client.query("ROLLBACK")
  }
}

/** The rows of a statement, each an object. PostgreSQL writes them as one JSON text, so its types need no parsers here. */
export const rowsOf = async <Row>(
  client: Client,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row[]> => {
  const text = `SELECT coalesce(json_agg(row_to_json(r)), '[]') AS rows FROM (${statement}) AS r`
  const { rows } = await client.query<{ rows: string }>({ text, values: [...values], types: asText })
  return JSON.parse(rows[0]?.rows ?? "[]")
}

/** Rows as arrays of texts, for statements whose columns depend on a table. */
export const textRowsOf = async (
  client: Client,
  text: string,
  values: readonly unknown[],
): Promise<(string | null)[][]> => {
  const { rows } = await client.query<(string | null)[]>({
    text,
    values: [...values],
    types: asText,
    rowMode: "array",
  })
  return rows
}

/** Lends a reader's session, and says a statement's time limit in words a caller knows. */
export const inspecting = async <Result>(
  sessions: Sessions,
  target: Target,
  signal: AbortSignal,
  work: (client: Client) => Promise<Result>,
): Promise<Result> => {
  try {
    return await sessions.use(target, "reader", ({ client }) => work(client), { signal })
  } catch (error) {
    if (sqlState(error) !== QUERY_CANCELED) throw error
    throw fault("query_timeout", { seconds: STATEMENT_TIMEOUT_MS / 1000 }, { internal: error })
  }
}
