import type pg from "pg"
import { rowsAsJson } from "../inspect.ts"
import type { TableUse } from "./usage.ts"

export interface RelationColumn {
  readonly name: string
  readonly quoted: string
  readonly type: string
  /** pg_type.typcategory: `A` array, `N` numeric, `S` string, `R` range, …. */
  readonly category: string
  readonly not_null: boolean
  /** As in pg_stats: below zero it is a share of the rows; null when never analysed. */
  readonly n_distinct: number | null
  readonly null_share: number | null
  readonly width_bytes: number | null
  readonly common_values: readonly string[] | null
  readonly common_shares: readonly number[] | null
  /** Values that split the others into equal parts. */
  readonly bounds: readonly string[] | null
}

export interface RelationIndex {
  readonly columns: readonly string[]
  readonly method: string
  readonly partial: boolean
  readonly expression: boolean
}

export interface Relation {
  readonly schema: string
  readonly relation: string
  /** Quoted, with its schema. */
  readonly name: string
  /** PostgreSQL cannot build its indexes concurrently. */
  readonly partitioned: boolean
  readonly rows: number
  readonly bytes: number
  readonly columns: readonly RelationColumn[]
  readonly indexes: readonly RelationIndex[]
}

const SQL = `SELECT namespace.nspname AS schema, class.relname AS relation,
    format('%I.%I', namespace.nspname, class.relname) AS name,
    class.relkind = 'p' AS partitioned, greatest(class.reltuples, pg_stat_get_live_tuples(class.oid))::bigint AS rows,
    CASE class.relkind WHEN 'p' THEN (
        SELECT sum(pg_relation_size(part.relid)) FROM pg_partition_tree(class.oid) AS part WHERE part.isleaf)
      ELSE pg_relation_size(class.oid) END AS bytes,
    (SELECT json_agg(json_build_object('name', attribute.attname, 'quoted', quote_ident(attribute.attname),
        'type', format_type(attribute.atttypid, NULL), 'category', type.typcategory, 'not_null', attribute.attnotnull,
        'n_distinct', known.n_distinct, 'null_share', known.null_frac, 'width_bytes', known.avg_width,
        'common_values', known.most_common_vals::text::text[], 'common_shares', known.most_common_freqs,
        'bounds', known.histogram_bounds::text::text[]) ORDER BY attribute.attnum)
      FROM pg_attribute AS attribute
      JOIN pg_type AS type ON type.oid = attribute.atttypid
      LEFT JOIN pg_stats AS known ON known.schemaname = namespace.nspname AND known.tablename = class.relname
        AND known.attname = attribute.attname AND known.inherited = (class.relkind = 'p')
      WHERE attribute.attrelid = class.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped) AS columns,
    coalesce((SELECT json_agg(json_build_object('method', access.amname, 'partial', index.indpred IS NOT NULL,
        'expression', index.indexprs IS NOT NULL,
        'columns', (SELECT coalesce(json_agg(attribute.attname ORDER BY place.position), '[]')
          FROM unnest(index.indkey::int2[]) WITH ORDINALITY AS place(number, position)
          JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid AND attribute.attnum = place.number
          WHERE place.position <= index.indnkeyatts)))
      FROM pg_index AS index
      JOIN pg_class AS index_class ON index_class.oid = index.indexrelid
      JOIN pg_am AS access ON access.oid = index_class.relam
      WHERE index.indrelid = class.oid AND index.indisvalid), '[]') AS indexes
  FROM pg_class AS class
  JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
  WHERE class.relkind IN ('r', 'p', 'm') AND namespace.nspname = $1 AND class.relname = $2
    AND namespace.nspname NOT IN ('pg_catalog', 'information_schema', 'svc_internal')`

/** Reads what the catalog and the statistics know of tables, each once. `schemas` is the tenant's search path. */
export const createRelations = (client: pg.ClientBase, schemas: readonly string[]) => {
  const known = new Map<string, Promise<Relation | undefined>>()

  const read = async (schema: string, relation: string) =>
    (await rowsAsJson<Relation>(client, SQL, [schema, relation]))[0]

  const find = async ({ schema, relation }: TableUse): Promise<Relation | undefined> => {
    for (const candidate of schema === undefined ? schemas : [schema]) {
      const found = await read(candidate, relation)
      if (found) return found
    }
    return undefined
  }

  return (table: TableUse): Promise<Relation | undefined> => {
    const key = JSON.stringify([table.schema, table.relation])
    const found = known.get(key) ?? find(table)
    known.set(key, found)
    return found
  }
}

export type Relations = ReturnType<typeof createRelations>

/** Among how many rows one value is found, on average. */
export const distinctValues = ({ n_distinct: distinct }: RelationColumn, rows: number): number => {
  if (distinct === null) return Math.max(1, rows / 10)
  return distinct < 0 ? Math.max(1, -distinct * rows) : Math.max(1, distinct)
}

/** The share of rows that hold the value; undefined when the statistics do not tell. */
export const shareOf = (column: RelationColumn, value: string): number | undefined => {
  const at = column.common_values?.indexOf(value) ?? -1
  return at < 0 ? undefined : column.common_shares?.[at]
}
