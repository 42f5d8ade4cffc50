import { type Client, rowsOf } from "./inspection.ts"
import { ofExtension, visibleSchema } from "./visible.ts"

export interface Column {
  readonly id: string
  readonly table_id: number
  readonly schema: string
  readonly table: string
  readonly ordinal_position: number
  readonly name: string
  readonly default_value: string | null
  readonly data_type: string
  readonly format: string
  readonly full_type: string
  readonly is_identity: boolean
  readonly identity_generation: "ALWAYS" | "BY DEFAULT" | null
  readonly is_generated: boolean
  readonly generation: "STORED" | "VIRTUAL" | null
  readonly is_nullable: boolean
  readonly is_updatable: boolean
  readonly is_unique: boolean
  readonly enums: string[]
  readonly comment: string | null
}

const uniqueAlone = `
  EXISTS (SELECT FROM pg_index AS i
    WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
      AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)`

/** As information_schema.columns names a type: a domain by what it restricts. */
const standardType = `
  CASE WHEN b.typelem <> 0 AND b.typsubscript = 'array_subscript_handler'::regproc THEN 'ARRAY'
    WHEN bn.nspname = 'pg_catalog' THEN format_type(b.oid, NULL)
    ELSE 'USER-DEFINED' END`

const enumLabels = `
  SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum AS e
  WHERE e.enumtypid = CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN b.typelem ELSE b.oid END`

const selected = `
  SELECT c.oid::bigint || '.' || a.attnum AS id, c.oid::bigint AS table_id, n.nspname AS schema,
    c.relname AS table, a.attnum AS ordinal_position, a.attname AS name,
    -- Writing an expression down takes a lock on its table.
    CASE WHEN $1::boolean THEN pg_get_expr(ad.adbin, ad.adrelid) END AS default_value,
    ${standardType} AS data_type, t.typname AS format, format_type(a.atttypid, a.atttypmod) AS full_type,
    a.attidentity <> '' AS is_identity,
    CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity_generation,
    a.attgenerated <> '' AS is_generated,
    CASE a.attgenerated WHEN 's' THEN 'STORED' WHEN 'v' THEN 'VIRTUAL' END AS generation,
    NOT (a.attnotnull OR t.typtype = 'd' AND t.typnotnull) AS is_nullable,
    CASE WHEN a.attgenerated <> '' OR c.relkind = 'm' THEN false
      WHEN c.relkind = ANY (ARRAY['r', 'p']::"char"[]) THEN true
      WHEN NOT $1::boolean THEN false
      ELSE pg_column_is_updatable(c.oid, a.attnum, false) END AS is_updatable,
    ${uniqueAlone} AS is_unique,
    coalesce((${enumLabels}), '[]') AS enums,
    col_description(c.oid, a.attnum) AS comment`

const sources = `
  FROM pg_attribute AS a
    JOIN pg_class AS c ON c.oid = a.attrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_type AS t ON t.oid = a.atttypid
    -- A domain may restrict a domain; pg_type knows the next one only, so each step is looked up.
    CROSS JOIN LATERAL (
      WITH RECURSIVE step (oid, base) AS (
        SELECT t.oid, t.typbasetype
        UNION ALL
        SELECT s.oid, s.typbasetype FROM step JOIN pg_type AS s ON s.oid = step.base WHERE step.base <> 0
      )
      SELECT oid FROM step WHERE base = 0
    ) AS root
    JOIN pg_type AS b ON b.oid = root.oid
    JOIN pg_namespace AS bn ON bn.oid = b.typnamespace
    LEFT JOIN pg_attrdef AS ad ON ad.adrelid = a.attrelid AND ad.adnum = a.attnum`

const ofTables = `${selected} ${sources}
  WHERE a.attrelid = ANY ($2::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
  LIMIT $3`

/** Columns of the relations, at most one more than `rowsMax`. */
export const columnsOf = (
  client: Client,
  of: { readonly ids: readonly number[]; readonly locking: boolean; readonly rowsMax: number },
): Promise<Column[]> => rowsOf(client, ofTables, [of.locking, of.ids, of.rowsMax + 1])

const bare = (expression: string) => `replace(lower(${expression}), '_', '')`

const searched = `${selected} ${sources}
  WHERE c.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']::"char"[]) AND a.attnum > 0 AND NOT a.attisdropped
    AND ${visibleSchema}
    AND ($2::text IS NULL OR n.nspname = $2)
    AND ($3::boolean OR NOT ${ofExtension("pg_class", "c.oid")})
    AND ($4::boolean OR NOT c.relispartition)
    AND NOT EXISTS (SELECT FROM unnest($5::text[]) AS w (word) WHERE strpos(${bare("a.attname")}, w.word) = 0)
    AND NOT EXISTS (SELECT FROM unnest($6::text[]) AS w (word)
      WHERE strpos(${bare("n.nspname || '.' || c.relname")}, w.word) = 0)
  ORDER BY
    CASE ${bare("a.attname")} WHEN array_to_string($5::text[], '') THEN 0 ELSE 1 END,
    CASE WHEN cardinality($5::text[]) > 0 THEN length(a.attname) END,
    n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
  LIMIT $7`

const words = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .map(word => word.replaceAll("_", ""))
    .filter(word => word !== "")

export interface ColumnSearch {
  /** Words of the column's name; before a dot, those of its table's. */
  readonly term: string
  readonly schema?: string | undefined
  readonly includeExtensions?: boolean | undefined
  readonly includePartitions?: boolean | undefined
  readonly locking: boolean
  readonly rowsMax: number
}

/** Columns by a part of their name, closest first; at most one more than `rowsMax`. */
export const searchColumns = (client: Client, wanted: ColumnSearch): Promise<Column[]> => {
  const dot = wanted.term.lastIndexOf(".")
  return rowsOf(client, searched, [
    wanted.locking,
    wanted.schema ?? null,
    wanted.includeExtensions ?? false,
    wanted.includePartitions ?? false,
    words(wanted.term.slice(dot + 1)),
    words(wanted.term.slice(0, Math.max(dot, 0))),
    wanted.rowsMax + 1,
  ])
}
