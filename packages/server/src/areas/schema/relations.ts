import { type Client, inspect, LOCK_NOT_AVAILABLE, rowsOf, sqlState } from "./inspection.ts"
import { ofExtension, visibleSchema } from "./visible.ts"

export type RelationType = "table" | "partitioned_table" | "foreign_table" | "view" | "materialized_view"

export interface Relation {
  readonly id: number
  readonly schema: string
  readonly name: string
  readonly type: RelationType
  readonly rls_enabled: boolean
  readonly rls_forced: boolean
  readonly bytes: number | null
  readonly size: string | null
  readonly live_rows_estimate: number
  readonly dead_rows_estimate: number
  readonly comment: string | null
  readonly is_updatable: boolean
  readonly partition_of: { schema: string; name: string } | null
  readonly partition_count: number
  readonly primary_keys: { schema: string; table_name: string; name: string; table_id: number }[]
}

export interface RelationFilter {
  readonly schema?: string | undefined
  readonly includeExtensions?: boolean | undefined
  readonly includePartitions?: boolean | undefined
  /** Only these, by oid. */
  readonly ids?: readonly number[] | undefined
  readonly rowsMax: number
}

/**
 * Whether what takes a lock on the relation is asked too: its size, expressions, and
 * whether a view takes writes. Another session may
 * be rewriting the table; the rest of the catalog is readable all the same.
 */
export type Depth = "locking" | "lockless"

/** Which relations, as the body of a query that gives their oids in order of schema and name. */
const chosen = `
  SELECT c.oid
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE c.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']::"char"[])
    AND ${visibleSchema}
    AND ($1::text IS NULL OR n.nspname = $1)
    AND ($2::boolean OR NOT ${ofExtension("pg_class", "c.oid")})
    AND ($3::boolean OR NOT c.relispartition)
    AND ($4::oid[] IS NULL OR c.oid = ANY ($4))
  ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
  LIMIT $5`

const measured = `
  CASE
    WHEN NOT $6::boolean THEN CASE WHEN c.relkind = ANY (ARRAY['f', 'v']::"char"[]) THEN 0 END
    WHEN c.relkind = 'p' THEN
      (SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM pg_partition_tree(c.oid))
    ELSE pg_total_relation_size(c.oid)
  END`

const primaryKeys = `
  SELECT json_agg(
    json_build_object('schema', n.nspname, 'table_name', c.relname, 'name', a.attname, 'table_id', c.oid::bigint)
    ORDER BY k.position)
  FROM pg_index AS i
    CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.attnum
  WHERE i.indrelid = c.oid AND i.indisprimary AND k.position <= i.indnkeyatts`

/** Statistics are lost with a crash; then the estimate of the last ANALYZE is better than none. */
const liveRows = `
  CASE WHEN pg_stat_get_live_tuples(c.oid) > 0 THEN pg_stat_get_live_tuples(c.oid)
    ELSE greatest(c.reltuples, 0)::bigint END`

const statement = `
  SELECT c.oid::bigint AS id, n.nspname AS schema, c.relname AS name,
    CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned_table' WHEN 'f' THEN 'foreign_table'
      WHEN 'v' THEN 'view' ELSE 'materialized_view' END AS type,
    c.relrowsecurity AS rls_enabled, c.relforcerowsecurity AS rls_forced,
    m.bytes, pg_size_pretty(m.bytes) AS size,
    ${liveRows} AS live_rows_estimate,
    pg_stat_get_dead_tuples(c.oid) AS dead_rows_estimate,
    obj_description(c.oid, 'pg_class') AS comment,
    CASE WHEN c.relkind = ANY (ARRAY['r', 'p']::"char"[]) THEN true WHEN c.relkind = 'm' OR NOT $6::boolean THEN false
      -- INSERT, UPDATE and DELETE: bits 3, 2 and 4.
      ELSE pg_relation_is_updatable(c.oid, false) & 28 = 28 END AS is_updatable,
    (SELECT json_build_object('schema', pn.nspname, 'name', p.relname)
      FROM pg_inherits AS h JOIN pg_class AS p ON p.oid = h.inhparent JOIN pg_namespace AS pn ON pn.oid = p.relnamespace
      WHERE c.relispartition AND h.inhrelid = c.oid LIMIT 1) AS partition_of,
    CASE WHEN c.relkind = 'p' THEN (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = c.oid) ELSE 0 END
      AS partition_count,
    coalesce((${primaryKeys}), '[]') AS primary_keys
  FROM (${chosen}) AS chosen
    JOIN pg_class AS c ON c.oid = chosen.oid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (SELECT ${measured} AS bytes) AS m
  ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"`

/** Tables and views, at most one more than `rowsMax`, by which the caller sees that there are more. */
export const relationsOf = (client: Client, filter: RelationFilter, depth: Depth): Promise<Relation[]> =>
  rowsOf(client, statement, [
    filter.schema ?? null,
    filter.includeExtensions ?? false,
    filter.includePartitions ?? false,
    filter.ids ?? null,
    filter.rowsMax + 1,
    depth === "locking",
  ])

/** Does the work with what takes locks, and when a lock is not to be had, without. */
export const inspectAtDepth = async <Result>(
  client: Client,
  work: (depth: Depth) => Promise<Result>,
): Promise<Result> => {
  try {
    return await inspect(client, () => work("locking"))
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
    return await inspect(client, () => work("lockless"))
  }
}
