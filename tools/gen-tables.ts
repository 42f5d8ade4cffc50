/** Types of the tables, as Kysely wants them, read from a freshly migrated database. */
import { dirname, join, relative } from "node:path"
import type pg from "pg"
import type { MigrationSource } from "../packages/server/src/kernel/db/migrate.ts"

const KERNEL_TABLES = "packages/server/src/kernel/db/tables.gen.ts"

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

const renderTable = ([name, columns]: readonly [string, readonly Column[]]): string => {
  const fields = columns.map(column => `    ${column.column_name}: ${renderColumn(column)}`)
  return `  "${name}": {\n${fields.join("\n")}\n  }`
}

const HEAD = "// Made by `npm run gen` from the migrated database.\n"

/** The kernel declares the interface; every other file adds the tables of its own schema to it. */
const renderFile = (file: string, lines: string): string => {
  const types = ["ColumnType", "Generated"].filter(type => lines.includes(`${type}<`))
  const imports = types.length > 0 ? `import type { ${types.join(", ")} } from "kysely"\n\n` : "export {}\n\n"
  if (file === KERNEL_TABLES) return `${HEAD}${imports}export interface Tables {\n${lines}\n}\n`
  const kernel = relative(dirname(file), KERNEL_TABLES)
  const indented = lines.replaceAll(/^/gm, "  ")
  return `${HEAD}${imports}declare module "${kernel}" {\n  interface Tables {\n${indented}\n  }\n}\n`
}

/** By file: each lies beside the migrations that make its tables. */
export const renderTables = async (
  client: pg.Client,
  sources: readonly MigrationSource[],
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await client.query<Column>(COLUMNS)
  const files = Map.groupBy(sources, ({ folder }) => join(relative(".", dirname(folder)), "tables.gen.ts"))
  return new Map(
    [...files].map(([file, ofFile]) => {
      const schemas = new Set(ofFile.map(({ schema }) => schema))
      const columns = rows.filter(({ table_schema }) => schemas.has(table_schema))
      const tables = Map.groupBy(columns, row => `${row.table_schema}.${row.table_name}`)
      return [file, renderFile(file, [...tables].map(renderTable).join("\n"))] as const
    }),
  )
}
