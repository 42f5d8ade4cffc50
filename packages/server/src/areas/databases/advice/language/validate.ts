/** Holds a statement against the database it was written for, and runs it within bounds. */
import type pg from "pg"
import { isFault } from "../../../../kernel/fault.ts"
import type { Guard } from "../../sql/guard.ts"
import { converterOf, type TypeCatalog } from "../../sql/pg-types.ts"
import { inReadOnly } from "./asking.ts"

export interface QueryResult {
  readonly columns: { readonly name: string; readonly type: string }[]
  readonly rows: Record<string, unknown>[]
  readonly row_count: number
  readonly truncated: boolean
}

export type Outcome =
  | {
      readonly valid: true
      readonly result?: QueryResult
      readonly failure?: string
      readonly timedOut?: true
    }
  | { readonly valid: false; readonly reason: string }

export const RUN_TIMEOUT_MS = 10_000
export const ROWS_MAX = 100
const ROWS_AT_ONCE = 20
/** Of the values as text; past it the rows that were read are the result. */
const RESULT_BYTES_MAX = 1024 * 1024

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

const raw = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig

/** Only a SELECT can be declared a cursor, so whatever else got here is refused by the server too. */
const fetchRows = async (client: pg.ClientBase, sql: string) => {
  await client.query(`DECLARE answer NO SCROLL CURSOR FOR ${sql}`)
  const rows: (string | null)[][] = []
  let fields: pg.FieldDef[] = []
  let bytes = 0
  for (;;) {
    const text = `FETCH ${Math.min(ROWS_AT_ONCE, ROWS_MAX + 1 - rows.length)} FROM answer`
    const page = await client.query<(string | null)[]>({ text, rowMode: "array", types: raw })
    fields = page.fields
    for (const row of page.rows) {
      bytes += row.reduce((sum, value) => sum + Buffer.byteLength(value ?? ""), 0)
      if (rows.length >= ROWS_MAX || bytes > RESULT_BYTES_MAX) return { fields, rows, truncated: true }
      rows.push(row)
    }
    if (page.rows.length < ROWS_AT_ONCE) return { fields, rows, truncated: false }
  }
}

const uniqueNames = (fields: readonly pg.FieldDef[]): string[] => {
  const used = new Map<string, number>()
  return fields.map(({ name }) => {
    const count = (used.get(name) ?? 0) + 1
    used.set(name, count)
    return count === 1 ? name : `${name}_${count}`
  })
}

const run = async (
  client: pg.ClientBase,
  sql: string,
  types: TypeCatalog,
  volumeId: string,
): Promise<Outcome> => {
  await client.query("SAVEPOINT planned")
  try {
    await client.query(`SET LOCAL statement_timeout = ${RUN_TIMEOUT_MS}`)
    const { fields, rows, truncated } = await fetchRows(client, sql)
    await types.load(
      volumeId,
      client,
      fields.map(({ dataTypeID }) => dataTypeID),
    )
    const known = types.of(volumeId)
    const names = uniqueNames(fields)
    const converters = fields.map(({ dataTypeID }) => converterOf(known, dataTypeID))
    const convert = (value: string | null, index: number) =>
      value === null ? null : (converters[index]?.(value) ?? value)
    return {
      valid: true,
      result: {
        columns: fields.map(({ dataTypeID }, index) => ({
          name: names[index] ?? "",
          type: known.get(dataTypeID).name,
        })),
        rows: rows.map(row =>
          Object.fromEntries(row.map((value, index) => [names[index] ?? "", convert(value, index)])),
        ),
        row_count: rows.length,
        truncated,
      },
    }
  } catch (error) {
    if (codeOf(error) === "57014") return { valid: true, timedOut: true }
    return { valid: true, failure: messageOf(error) }
  } finally {
    await client.query("ROLLBACK TO SAVEPOINT planned")
  }
}

/**
 * Judges the statement by PostgreSQL's grammar, then has the server plan it in a read-only transaction, and runs it
 * there when asked to. Give it a session of the reader role.
 */
export const check = async (options: {
  client: pg.ClientBase
  guard: Guard
  types: TypeCatalog
  volumeId: string
  sql: string
  execute: boolean
  planTimeoutMs: number
}): Promise<Outcome> => {
  const { client, guard, types, volumeId, sql, execute, planTimeoutMs } = options
  try {
    await guard.check(sql, "request")
  } catch (error) {
    if (!isFault(error, "invalid_sql")) throw error
    return { valid: false, reason: error.message }
  }
  return await inReadOnly(client, planTimeoutMs, async () => {
    try {
      await client.query(`EXPLAIN ${sql}`)
    } catch (error) {
      return { valid: false, reason: messageOf(error) }
    }
    return execute ? await run(client, sql, types, volumeId) : { valid: true }
  })
}
