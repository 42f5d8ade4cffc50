/** Holds a statement against the database it was written for, and runs it within bounds. */
import type pg from "pg"
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

/** Why a text is not one statement that only reads; undefined where it is one. */
export type CheckReadOnly = (sql: string) => Promise<string | undefined>

/** What the types of a result are called, and how their values, as PostgreSQL writes them, become JSON. */
export interface ResultTypes {
  read(
    client: pg.ClientBase,
    oids: readonly number[],
  ): Promise<(oid: number) => { readonly name: string; toJson(text: string): unknown }>
}

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

const run = async (client: pg.ClientBase, sql: string, resultTypes: ResultTypes): Promise<Outcome> => {
  await client.query("SAVEPOINT planned")
  try {
    await client.query(`SET LOCAL statement_timeout = ${RUN_TIMEOUT_MS}`)
    const { fields, rows, truncated } = await fetchRows(client, sql)
    const typeOf = await resultTypes.read(
      client,
      fields.map(({ dataTypeID }) => dataTypeID),
    )
    const names = uniqueNames(fields)
    const types = fields.map(({ dataTypeID }) => typeOf(dataTypeID))
    const convert = (value: string | null, index: number) =>
      value === null ? null : (types[index]?.toJson(value) ?? value)
    return {
      valid: true,
      result: {
        columns: types.map(({ name }, index) => ({ name: names[index] ?? "", type: name })),
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
 * Checks that the statement only reads, then has the server plan it in a read-only transaction, and runs it there when
 * the types for its result are given. Give it a session of the reader role.
 */
export const check = async (options: {
  client: pg.ClientBase
  checkReadOnly: CheckReadOnly
  sql: string
  resultTypes: ResultTypes | undefined
  planTimeoutMs: number
}): Promise<Outcome> => {
  const { client, checkReadOnly, sql, resultTypes, planTimeoutMs } = options
  const reason = await checkReadOnly(sql)
  if (reason !== undefined) return { valid: false, reason }
  return await inReadOnly(client, planTimeoutMs, async () => {
    try {
      await client.query(`EXPLAIN ${sql}`)
    } catch (error) {
      return { valid: false, reason: messageOf(error) }
    }
    return resultTypes ? await run(client, sql, resultTypes) : { valid: true }
  })
}
