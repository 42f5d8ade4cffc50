/** What a question can be about: tables, columns and keys, read as the reader role and bounded in number. */
import type { ClientBase } from "pg"
import { ask } from "./asking.ts"

export type Category = "number" | "text" | "date" | "boolean" | "enum" | "other"

export interface Column {
  readonly name: string
  /** As PostgreSQL writes it: `numeric(10,2)`. */
  readonly type: string
  readonly category: Category
  readonly notNull: boolean
  readonly labels: readonly string[]
  readonly comment: string | null
}

export interface ForeignKey {
  /** Indexes into the catalog's tables. */
  readonly from: number
  readonly to: number
  readonly columns: readonly string[]
  readonly targets: readonly string[]
}

export interface Table {
  readonly index: number
  readonly schema: string
  readonly name: string
  /** Found without its schema's name. */
  readonly visible: boolean
  readonly columns: readonly Column[]
  readonly primaryKey: readonly string[]
  readonly comment: string | null
  readonly bytes: number
}

export interface Catalog {
  readonly tables: readonly Table[]
  readonly keys: readonly ForeignKey[]
  /** Words that must be quoted as identifiers in this version. */
  readonly reserved: ReadonlySet<string>
  /** More tables exist than were read. */
  readonly truncated: boolean
}

const TABLES_MAX = 400
const COLUMNS_MAX = 6000

const tablesSql = `
  SELECT c.oid::int8::text AS oid, n.nspname AS schema, c.relname AS name,
         array_position($2::text[], n.nspname::text) AS place,
         left(obj_description(c.oid, 'pg_class'), 200) AS comment,
         CASE WHEN c.relkind IN ('v', 'f') THEN -1 ELSE pg_relation_size(c.oid) END::float8 AS bytes
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'svc_internal') AND n.nspname !~ '^pg_'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    AND ($1::text[] IS NULL OR c.relname = ANY ($1) OR n.nspname || '.' || c.relname = ANY ($1))
  ORDER BY place NULLS LAST, c.oid LIMIT ${TABLES_MAX + 1}`

const columnsSql = `
  SELECT a.attrelid::int8::text AS oid, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
         b.typtype AS kind, b.typcategory AS category, b.typname AS base, a.attnotnull AS not_null,
         left(col_description(a.attrelid, a.attnum), 200) AS comment,
         CASE WHEN b.typtype = 'e' THEN
           (SELECT array_agg(enumlabel::text ORDER BY enumsortorder) FROM (
             SELECT * FROM pg_enum WHERE enumtypid = b.oid ORDER BY enumsortorder LIMIT 100) e)
         END AS labels,
         EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary
                 AND a.attnum = ANY (i.indkey::int2[])) AS is_key
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
  WHERE a.attrelid = ANY ($1::int8[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY array_position($1::int8[], a.attrelid::int8), a.attnum LIMIT ${COLUMNS_MAX}`

const keysSql = `
  SELECT conrelid::int8::text AS source, confrelid::int8::text AS target,
         (SELECT array_agg(attname::text ORDER BY k.n) FROM unnest(conkey) WITH ORDINALITY k(num, n)
          JOIN pg_attribute ON attrelid = conrelid AND attnum = k.num) AS columns,
         (SELECT array_agg(attname::text ORDER BY k.n) FROM unnest(confkey) WITH ORDINALITY k(num, n)
          JOIN pg_attribute ON attrelid = confrelid AND attnum = k.num) AS targets
  FROM pg_constraint WHERE contype = 'f' AND conparentid = 0
    AND conrelid = ANY ($1::int8[]::oid[]) AND confrelid = ANY ($1::int8[]::oid[])
  ORDER BY conrelid, conname LIMIT 2000`

interface ColumnRow {
  oid: string
  name: string
  type: string
  kind: string
  category: string
  base: string
  not_null: boolean
  comment: string | null
  labels: string[] | null
  is_key: boolean
}

const categoryOf = ({ kind, category, base }: ColumnRow): Category => {
  if (kind === "e") return "enum"
  if (base === "date" || base === "timestamp" || base === "timestamptz") return "date"
  if (category === "N" && !/^reg|^oid$/.test(base)) return "number"
  if (category === "B") return "boolean"
  return category === "S" ? "text" : "other"
}

const columnOf = (row: ColumnRow): Column => ({
  name: row.name,
  type: row.type,
  category: categoryOf(row),
  notNull: row.not_null,
  labels: row.labels ?? [],
  comment: row.comment,
})

interface TableRow {
  oid: string
  schema: string
  name: string
  /** Where its schema stands on the search path, from 1; null when it does not. */
  place: number | null
  comment: string | null
  bytes: number
}

/**
 * Reads in the session's current transaction, whose search path it narrows so that nothing a tenant defined is called.
 * `only` narrows to named tables, with or without schema.
 */
export const readCatalog = async (client: ClientBase, only: readonly string[] = []): Promise<Catalog> => {
  const [path] = await ask<{ schemas: string[] }>(
    client,
    "SELECT pg_catalog.current_schemas(false)::text[] AS schemas",
  )
  await ask(client, "SET LOCAL search_path = pg_catalog")
  const found = await ask<TableRow>(client, tablesSql, [only.length > 0 ? only : null, path?.schemas ?? []])
  const rows = found.slice(0, TABLES_MAX)
  const oids = rows.map(({ oid }) => oid)
  const columns = Map.groupBy(await ask<ColumnRow>(client, columnsSql, [oids]), ({ oid }) => oid)
  type KeyRow = { source: string; target: string; columns: string[]; targets: string[] }
  const keys = await ask<KeyRow>(client, keysSql, [oids])
  const reserved = await ask<{ word: string }>(
    client,
    "SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'",
  )
  const first = new Map(rows.toReversed().map(({ oid, name }) => [name, oid]))
  return {
    tables: rows.map(({ oid, place, ...row }, index) => ({
      ...row,
      index,
      visible: place !== null && first.get(row.name) === oid,
      columns: (columns.get(oid) ?? []).map(columnOf),
      primaryKey: (columns.get(oid) ?? []).filter(each => each.is_key).map(each => each.name),
    })),
    keys: keys.map(key => ({
      from: oids.indexOf(key.source),
      to: oids.indexOf(key.target),
      columns: key.columns,
      targets: key.targets,
    })),
    reserved: new Set(reserved.map(({ word }) => word)),
    truncated: found.length > TABLES_MAX,
  }
}

export const columnNamed = (table: Table, name: string): Column | undefined =>
  table.columns.find(column => column.name === name)

/** The columns that tell a person which row it is; the primary key when nothing else does. */
export const labelOf = (table: Table): readonly Column[] => {
  const named = (...names: string[]) => {
    const columns = names.map(name => columnNamed(table, name))
    return columns.every(column => column !== undefined) ? columns : undefined
  }
  const own = table.name.replace(/s$/, "")
  const found =
    named("name") ??
    named("full_name") ??
    named("first_name", "last_name") ??
    named("title") ??
    named("label") ??
    named(`${own}_name`) ??
    named("display_name") ??
    named("username") ??
    named("code") ??
    named("email")
  if (found) return found
  const byEnd = table.columns.find(({ name, category }) => category === "text" && /name$|title$/i.test(name))
  if (byEnd) return [byEnd]
  const keys = table.primaryKey.flatMap(name => columnNamed(table, name) ?? [])
  const text = table.columns.find(({ category, notNull }) => category === "text" && notNull)
  if (keys.length === 1 && text && keys[0] !== text) return [...keys, text]
  return keys.length > 0 ? keys : table.columns.slice(0, 1)
}
