/** Types of the tables, as Kysely wants them, read from a freshly migrated database. */
import type pg from "pg"

interface Column {
  table_schema: string
  table_name: string
  column_name: string
  udt_name: string
  nullable: boolean
  has_default: boolean
}

/** What `pg` gives back for a type, and what it takes where that is wider. */
const SELECTED: Readonly<Record<string, string>> = {
  uuid: "string",
  text: "string",
  bool: "boolean",
  int2: "number",
  int4: "number",
  int8: "number",
  float4: "number",
  float8: "number",
  bytea: "Buffer",
  date: "string",
  timestamptz: "Date",
  json: "Json",
  jsonb: "Json",
  tsvector: "string",
}

const typeOf = ({ udt_name }: Column): string => {
  const item = udt_name.startsWith("_") ? udt_name.slice(1) : udt_name
  const type = SELECTED[item]
  if (!type)
    throw new Error(`no TypeScript type for the column type ${udt_name}: add it to tools/gen-tables.ts`)
  return udt_name.startsWith("_") ? `${type}[]` : type
}

const renderColumn = (column: Column): string => {
  const base = typeOf(column)
  const nullable = column.nullable ? `${base} | null` : base
  if (base === "Json") return `ColumnType<unknown, string${column.nullable ? " | null" : ""}>`
  return column.has_default ? `Generated<${nullable}>` : nullable
}

const COLUMNS = `
  SELECT c.table_schema, c.table_name, c.column_name, c.udt_name,
         c.is_nullable = 'YES' AS nullable, c.column_default IS NOT NULL AS has_default
  FROM information_schema.columns c
  JOIN information_schema.tables t USING (table_schema, table_name)
  WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
  ORDER BY c.table_schema, c.table_name, c.ordinal_position`

export const renderTables = async (client: pg.Client): Promise<string> => {
  const { rows } = await client.query<Column>(COLUMNS)
  const tables = Map.groupBy(rows, row => `${row.table_schema}.${row.table_name}`)
  const lines = [...tables].map(([name, columns]) => {
    const fields = columns.map(column => `    ${column.column_name}: ${renderColumn(column)}`)
    return `  "${name}": {\n${fields.join("\n")}\n  }`
  })
  return `// Made by \`npm run gen\` from the migrated database.
import type { ColumnType, Generated } from "kysely"

export interface Tables {
${lines.join("\n")}
}
`
}
