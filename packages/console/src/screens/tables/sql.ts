/** Statements of the table browser: what is read, and what staged edits do. Values travel as parameters. */
import { quoteName } from "../sql/statements.ts"

export interface Statement {
  readonly sql: string
  readonly params: readonly unknown[]
}

export interface Column {
  readonly name: string
  readonly full_type: string
  readonly is_nullable: boolean
  readonly is_updatable: boolean
  readonly default_value?: unknown
  readonly is_generated?: boolean
  readonly identity_generation?: string | null
}

export interface Table {
  readonly schema: string
  readonly name: string
  readonly type: string
  readonly columns: readonly Column[]
  readonly primary_keys: readonly { readonly name: string }[]
  readonly live_rows_estimate: number
  readonly relationships: readonly {
    readonly source_schema: string
    readonly source_table_name: string
    readonly source_column_name: string
    readonly target_table_schema: string
    readonly target_table_name: string
    readonly target_column_name: string
  }[]
}

export const operators = {
  "=": "is",
  "<>": "is not",
  ">": "above",
  "<": "below",
  contains: "contains",
  null: "is null",
  "not null": "is not null",
} as const
export type Operator = keyof typeof operators

export interface Filter {
  readonly column: string
  readonly operator: Operator
  readonly value: string
}

export interface Sort {
  readonly column: string
  readonly isDown: boolean
}

const LIKE = /[\\%_]/g

export const nameOf = ({ schema, name }: Pick<Table, "schema" | "name">): string =>
  `${quoteName(schema)}.${quoteName(name)}`

const typeOf = ({ columns }: Table, name: string): string =>
  columns.find(column => column.name === name)?.full_type ?? "text"

const conditionOf = (table: Table, { column, operator, value }: Filter, params: unknown[]): string => {
  const name = quoteName(column)
  if (operator === "null" || operator === "not null") return `${name} IS ${operator.toUpperCase()}`
  if (operator === "contains") {
    params.push(`%${value.replace(LIKE, "\\$&")}%`)
    return `${name}::text ILIKE $${params.length}`
  }
  params.push(value)
  return `${name} ${operator} CAST($${params.length}::text AS ${typeOf(table, column)})`
}

export const selectOf = (
  table: Table,
  {
    filters,
    sort,
    limit,
    offset,
  }: {
    readonly filters: readonly Filter[]
    readonly sort: Sort | undefined
    readonly limit: number
    readonly offset: number
  },
): Statement => {
  const params: unknown[] = []
  const where = filters.map(filter => conditionOf(table, filter, params)).join(" AND ")
  const keys = table.primary_keys.map(({ name }) => quoteName(name))
  // Pages must not overlap, so rows that sort alike stand in the order of their key.
  const order = [...(sort ? [`${quoteName(sort.column)}${sort.isDown ? " DESC" : ""}`] : []), ...keys]
  const sql = [
    `SELECT ${table.columns.map(({ name }) => quoteName(name)).join(", ")} FROM ${nameOf(table)}`,
    ...(where ? [`WHERE ${where}`] : []),
    ...(order.length > 0 ? [`ORDER BY ${order.join(", ")}`] : []),
    `LIMIT ${limit} OFFSET ${offset}`,
  ].join(" ")
  return { sql, params }
}

/** Values by column, as they were read or typed; null is null. */
export type Row = Readonly<Record<string, unknown>>

export type Edit =
  | { readonly kind: "insert"; readonly values: Row }
  | { readonly kind: "update"; readonly key: Row; readonly values: Row }
  | { readonly kind: "delete"; readonly key: Row }

export const keyOf = ({ primary_keys }: Table, row: Row): Row | undefined =>
  primary_keys.length === 0
    ? undefined
    : Object.fromEntries(primary_keys.map(({ name }) => [name, row[name]] as const))

/** As text, which PostgreSQL reads as the column's type: no number loses digits on the way. */
const textOf = (value: unknown): string | null => {
  if (value === null || value === undefined) return null
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

export const statementOf = (table: Table, edit: Edit): Statement => {
  const params: unknown[] = []
  const cast = (name: string, value: unknown): string => {
    params.push(textOf(value))
    return `CAST($${params.length}::text AS ${typeOf(table, name)})`
  }
  const whereOf = (key: Row) =>
    Object.entries(key)
      .map(([name, value]) => `${quoteName(name)} = ${cast(name, value)}`)
      .join(" AND ")
  if (edit.kind === "delete")
    return { sql: `DELETE FROM ${nameOf(table)} WHERE ${whereOf(edit.key)}`, params }
  const entries = Object.entries(edit.values)
  if (edit.kind === "update") {
    const set = entries.map(([name, value]) => `${quoteName(name)} = ${cast(name, value)}`).join(", ")
    return { sql: `UPDATE ${nameOf(table)} SET ${set} WHERE ${whereOf(edit.key)}`, params }
  }
  if (entries.length === 0) return { sql: `INSERT INTO ${nameOf(table)} DEFAULT VALUES`, params }
  const names = entries.map(([name]) => quoteName(name)).join(", ")
  return {
    sql: `INSERT INTO ${nameOf(table)} (${names}) VALUES (${entries.map(([name, value]) => cast(name, value)).join(", ")})`,
    params,
  }
}

/** For reading: with the values in their places. What runs has parameters. */
export const readable = ({ sql, params }: Statement): string =>
  sql.replaceAll(/CAST\(\$(\d+)::text AS [^()]*(?:\([^()]*\))?[^()]*\)/g, (_, number: string) => {
    const value = params[Number(number) - 1]
    return value === null ? "NULL" : `'${String(value).replaceAll("'", "''")}'`
  })

const OPERATORS = Object.keys(operators)

/** From an address, which anybody may have written. */
export const parseFilters = (text: string | null, { columns }: Table): readonly Filter[] => {
  try {
    const given: unknown = JSON.parse(text ?? "[]")
    if (!Array.isArray(given)) return []
    return given.flatMap(([column, operator, value = ""]: readonly string[]) =>
      columns.some(({ name }) => name === column) && OPERATORS.includes(operator ?? "")
        ? [{ column: column ?? "", operator: operator as Operator, value: String(value) }]
        : [],
    )
  } catch {
    return []
  }
}

export const writeFilters = (filters: readonly Filter[]): string | null =>
  filters.length === 0
    ? null
    : JSON.stringify(filters.map(({ column, operator, value }) => [column, operator, value]))
