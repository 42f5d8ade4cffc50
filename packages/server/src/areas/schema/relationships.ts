import { type Client, rowsOf } from "./inspection.ts"
import { visibleSchema } from "./visible.ts"

export interface Relationship {
  readonly id: number
  readonly constraint_name: string
  readonly position: number
  readonly source_schema: string
  readonly source_table_name: string
  readonly source_column_name: string
  readonly target_table_schema: string
  readonly target_table_name: string
  readonly target_column_name: string
  readonly on_update: string
  readonly on_delete: string
  readonly is_temporal: boolean
  readonly is_enforced: boolean
}

const action = (column: string): string => `
  CASE ${column} WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE'
    WHEN 'n' THEN 'SET NULL' ELSE 'SET DEFAULT' END`

/**
 * Columns that only PostgreSQL 18 has are read through JSON, where they are null on 16 and 17. What PostgreSQL derives for
 * partitions has a parent and is left out.
 */
const statement = `
  SELECT con.oid::bigint AS id, con.conname AS constraint_name, k.position,
    n.nspname AS source_schema, c.relname AS source_table_name, a.attname AS source_column_name,
    tn.nspname AS target_table_schema, tc.relname AS target_table_name, ta.attname AS target_column_name,
    ${action("con.confupdtype")} AS on_update, ${action("con.confdeltype")} AS on_delete,
    coalesce((to_jsonb(con) ->> 'conperiod')::boolean, false) AS is_temporal,
    coalesce((to_jsonb(con) ->> 'conenforced')::boolean, true) AS is_enforced
  FROM pg_constraint AS con
    CROSS JOIN LATERAL unnest(con.conkey, con.confkey) WITH ORDINALITY AS k (source, target, position)
    JOIN pg_class AS c ON c.oid = con.conrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_attribute AS a ON a.attrelid = con.conrelid AND a.attnum = k.source
    JOIN pg_class AS tc ON tc.oid = con.confrelid
    JOIN pg_namespace AS tn ON tn.oid = tc.relnamespace
    JOIN pg_attribute AS ta ON ta.attrelid = con.confrelid AND ta.attnum = k.target
  WHERE con.contype = 'f' AND con.conparentid = 0 AND ${visibleSchema}
    AND ($1::text IS NULL OR $1 = n.nspname OR $1 = tn.nspname)
    AND ($2::oid IS NULL OR con.conrelid = $2 OR con.confrelid = $2)
  ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", con.conname COLLATE "C", k.position
  LIMIT $3`

/** Foreign keys from or to the schema or table, a row for each pair of columns; at most one more than `rowsMax`. */
export const relationshipsOf = (
  client: Client,
  of: {
    readonly schema?: string | undefined
    readonly tableId?: number | undefined
    readonly rowsMax: number
  },
): Promise<Relationship[]> =>
  rowsOf(client, statement, [of.schema ?? null, of.tableId ?? null, of.rowsMax + 1])
