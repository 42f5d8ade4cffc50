import type pg from "pg"
import type { PgVersion } from "../../ports/engine/port.ts"

/** Reads in a transaction that can write nothing, where no name but PostgreSQL's own is found unqualified. */
export interface Inspection {
  readonly version: PgVersion
  /**
   * The rows of a SELECT, with values as JSON has them. A bigint that may pass 2^53 has to be cast to text there.
   * A failing statement leaves the inspection usable.
   */
  rows<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>
}

const STATEMENT_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MS = 1_000

/** Sends through the extended protocol, which takes one statement only. */
export const send = (
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[] = [],
): Promise<pg.QueryResult> => {
  const query: pg.QueryConfig & { queryMode: "extended" } = {
    text,
    values: [...values],
    queryMode: "extended",
  }
  return client.query(query)
}

/** Runs `act` so that its failure leaves the transaction as it was. */
export const withSavepoint = async <Result>(
  client: pg.ClientBase,
  act: () => Promise<Result>,
): Promise<Result> => {
  await client.query("SAVEPOINT svc_attempt")
  try {
    const result = await act()
    await client.query("RELEASE SAVEPOINT svc_attempt")
    return result
  } catch (error) {
    await client.query("ROLLBACK TO SAVEPOINT svc_attempt")
    throw error
  }
}

/**
 * The rows of a SELECT as JSON. PostgreSQL makes the JSON, so the answer does not depend on how the connection reads
 * types. Everything is qualified, because the caller's search path may be a tenant's.
 */
export const rowsAsJson = async <Row>(
  client: pg.ClientBase,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> => {
  const text = `SELECT coalesce(pg_catalog.json_agg(pg_catalog.row_to_json(entry)), '[]')::pg_catalog.text AS rows
    FROM (${sql}) AS entry`
  const { rows } = await send(client, text, parameters)
  return JSON.parse((rows[0] as { rows: string }).rows) as Row[]
}

export const inspect = async <Result>(
  client: pg.ClientBase,
  version: PgVersion,
  work: (inspection: Inspection) => Promise<Result>,
): Promise<Result> => {
  await client.query("BEGIN READ ONLY")
  await client.query(
    `SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS};
     SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'`,
  )
  const result = await work({
    version,
    rows: (sql, parameters) => withSavepoint(client, () => rowsAsJson(client, sql, parameters)),
  })
  await client.query("ROLLBACK")
  return result
}
