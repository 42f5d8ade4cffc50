/** Results as the API gives them. */
import type { areas, Output } from "@svc/contract"
import type { Fault } from "../../kernel/fault.ts"
import type { Field } from "../../services/postgres/pipeline.ts"
import type { Executed } from "./executor.ts"
import { commandOf, type Normalize } from "./normalize.ts"
import { converterOf, type Types } from "./pg-types.ts"

export type SqlResult = Omit<Output<typeof areas.sql.specs.execute>, "request_id">

export const columnsOf = (fields: readonly Field[], types: Types): SqlResult["columns"] =>
  fields.map(({ name, dataTypeID, tableID, columnID }) => ({
    name,
    type: types.get(dataTypeID).name,
    data_type_id: dataTypeID,
    table_id: tableID,
    column_id: columnID,
  }))

/** The keys of a row as an object: a name that occurs again gets a number, so that no value is lost. */
export const keysOf = (names: readonly string[]): string[] => {
  const taken = new Set(names)
  const used = new Set<string>()
  return names.map(name => {
    let key = name
    for (let count = 2; used.has(key); count += 1) {
      const numbered = `${name}_${count}`
      if (!taken.has(numbered) || used.has(numbered)) key = numbered
    }
    used.add(key)
    return key
  })
}

type Row = unknown[] | Record<string, unknown>

/** How rows of text become the rows of an answer. */
export const createRowWriter = (
  fields: readonly Field[],
  types: Types,
  arrayMode: boolean,
): ((texts: readonly (string | null)[]) => Row) => {
  const convert = fields.map(({ dataTypeID }) => converterOf(types, dataTypeID))
  const value = (text: string | null, at: number) => (text === null ? null : convert[at]?.(text))
  if (arrayMode) return texts => texts.map(value)
  const keys = keysOf(fields.map(({ name }) => name))
  // An object's own prototype cannot be named as a key.
  const isPlain = !keys.includes("__proto__")
  return texts => {
    const row: Record<string, unknown> = isPlain ? {} : Object.create(null)
    for (const [at, key] of keys.entries()) row[key] = value(texts[at] ?? null, at)
    return row
  }
}

const round = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000

export const metaOf = (
  { durationMs, wakeMs }: Pick<Executed, "durationMs" | "wakeMs">,
  queryId: string,
  branchId: string,
): SqlResult["meta"] => ({
  duration_ms: round(durationMs),
  wake_ms: round(wakeMs),
  rows_read: null,
  query_id: queryId,
  branch_id: branchId,
})

export const toResult = (
  sql: string,
  executed: Executed,
  options: { types: Types; arrayMode: boolean; normalize: Normalize; branchId: string },
): SqlResult => {
  const { result } = executed
  const { types, arrayMode, normalize, branchId } = options
  return {
    columns: columnsOf(result.fields, types),
    rows: result.rows.map(createRowWriter(result.fields, types, arrayMode)),
    row_count: result.rowCount,
    command: result.command ?? (result.truncated ? commandOf(sql) : null),
    truncated: result.truncated,
    meta: metaOf(executed, normalize(sql).queryId, branchId),
  }
}

/** A refusal inside an answer that is otherwise a success. */
export const toFailure = ({ publicCode, message, details }: Fault) => ({
  code: publicCode,
  error: message,
  ...(details.body?.details !== undefined && { details: details.body.details as Record<string, unknown> }),
})
