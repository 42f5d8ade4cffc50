import { type Client, rowsOf } from "./inspection.ts"
import { ofExtension, visibleSchema } from "./visible.ts"

export interface UserType {
  readonly id: number
  readonly name: string
  readonly schema: string
  readonly format: string
  readonly kind: "enum" | "domain" | "composite" | "range" | "multirange" | "base"
  readonly base_type: string | null
  readonly enums: string[]
  readonly attributes: { name: string; type: string }[]
  readonly comment: string | null
}

const kind = `
  CASE t.typtype WHEN 'e' THEN 'enum' WHEN 'd' THEN 'domain' WHEN 'c' THEN 'composite' WHEN 'r' THEN 'range'
    WHEN 'm' THEN 'multirange' ELSE 'base' END`

const baseType = `
  CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
    WHEN 'r' THEN (SELECT format_type(r.rngsubtype, NULL) FROM pg_range AS r WHERE r.rngtypid = t.oid)
    WHEN 'm' THEN (SELECT format_type(r.rngtypid, NULL) FROM pg_range AS r WHERE r.rngmultitypid = t.oid) END`

const enumLabels = `
  SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = t.oid`

const attributes = `
  SELECT json_agg(
    json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum)
  FROM pg_attribute AS a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped`

/** Types that somebody made: not the row types of tables, nor the array that every type has. */
const statement = `
  SELECT t.oid::bigint AS id, t.typname AS name, n.nspname AS schema, format_type(t.oid, NULL) AS format,
    ${kind} AS kind, ${baseType} AS base_type,
    coalesce((${enumLabels}), '[]') AS enums, coalesce((${attributes}), '[]') AS attributes,
    obj_description(t.oid, 'pg_type') AS comment
  FROM pg_type AS t
    JOIN pg_namespace AS n ON n.oid = t.typnamespace
    LEFT JOIN pg_class AS c ON c.oid = t.typrelid
  WHERE (t.typrelid = 0 OR c.relkind = 'c') AND t.typisdefined AND ${visibleSchema}
    AND NOT EXISTS (SELECT FROM pg_type AS e WHERE e.typarray = t.oid)
    AND ($1::text IS NULL OR n.nspname = $1)
    AND ($2::boolean OR NOT ${ofExtension("pg_type", "t.oid")}
      AND NOT coalesce(${ofExtension("pg_class", "t.typrelid")}, false))
  ORDER BY n.nspname COLLATE "C", t.typname COLLATE "C"
  LIMIT $3`

/** At most one more than `rowsMax`. */
export const typesOf = (
  client: Client,
  of: {
    readonly schema?: string | undefined
    readonly includeExtensions?: boolean | undefined
    readonly rowsMax: number
  },
): Promise<UserType[]> =>
  rowsOf(client, statement, [of.schema ?? null, of.includeExtensions ?? false, of.rowsMax + 1])
