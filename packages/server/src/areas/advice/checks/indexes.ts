import { columnsOf, INDEXES, TABLES } from "../catalog.ts"
import { check, inBytes } from "../findings.ts"

const unindexedForeignKey = check<{
  table: string
  constraint: string
  columns: string
  referenced: string
  partitioned: boolean
  rows: number
}>({
  name: "unindexed_foreign_key",
  title: "Foreign key without an index",
  level: "WARN",
  categories: ["PERFORMANCE"],
  description:
    "Every delete or key change in the referenced table reads the whole referencing table, and joins along the key are slow.",
  sql: `SELECT own.name AS table, quote_ident(key.conname) AS constraint, referenced.name AS referenced,
      ${columnsOf("key.conrelid", "key.conkey")} AS columns, own.relkind = 'p' AS partitioned,
      own.reltuples::bigint AS rows
    FROM pg_constraint AS key
    JOIN ${TABLES} AS own ON own.oid = key.conrelid
    JOIN ${TABLES} AS referenced ON referenced.oid = key.confrelid
    WHERE key.contype = 'f' AND key.conparentid = 0
      AND greatest(own.reltuples, pg_stat_get_live_tuples(own.oid)) >= $1::bigint
      AND NOT EXISTS (
        SELECT FROM pg_index AS index
        JOIN pg_class AS class ON class.oid = index.indexrelid
        JOIN pg_am AS access ON access.oid = class.relam
        WHERE index.indrelid = key.conrelid AND index.indisvalid AND index.indpred IS NULL
          AND access.amname IN ('btree', 'hash')
          AND (index.indkey::int2[])[0:cardinality(key.conkey) - 1] @> key.conkey)
    ORDER BY own.reltuples DESC, 1, 2`,
  parameters: limits => [limits.foreignKeyRowsMin],
  found: row => ({
    key: `${row.table}.${row.constraint}`,
    detail: `${row.constraint} of ${row.table} (${row.columns}) references ${row.referenced} and has no index that begins with its columns.`,
    remediation: `CREATE INDEX${row.partitioned ? "" : " CONCURRENTLY"} ON ${row.table} (${row.columns});`,
    metadata: row,
  }),
})

const dropOf = (index: string) => `DROP INDEX CONCURRENTLY ${index};`

const unusedIndex = check<{ index: string; table: string; bytes: number; table_scans: number }>({
  name: "unused_index",
  title: "Index that no query uses",
  level: "INFO",
  categories: ["PERFORMANCE"],
  description: "Every write keeps the index up to date, and no query has read it since statistics are kept.",
  sql: `SELECT index.name AS index, index.table_name AS table, pg_relation_size(index.indexrelid) AS bytes,
      coalesce(pg_stat_get_numscans(index.indrelid), 0) + (
        SELECT coalesce(sum(pg_stat_get_numscans(other.indexrelid)), 0)
        FROM pg_index AS other WHERE other.indrelid = index.indrelid) AS table_scans
    FROM ${INDEXES} AS index
    WHERE index.indisvalid AND NOT index.indisunique AND NOT index.is_constraint AND index.index_kind = 'i'
      AND NOT index.is_attached AND pg_stat_get_numscans(index.indexrelid) = 0
      AND pg_relation_size(index.indexrelid) >= $1::bigint
      AND coalesce(pg_stat_get_numscans(index.indrelid), 0) + (
        SELECT coalesce(sum(pg_stat_get_numscans(other.indexrelid)), 0)
        FROM pg_index AS other WHERE other.indrelid = index.indrelid) >= $2::bigint
    ORDER BY bytes DESC, 1`,
  parameters: limits => [limits.unusedIndexBytesMin, limits.unusedIndexTableScansMin],
  found: row => ({
    key: row.index,
    detail: `${row.index} (${inBytes(row.bytes)}) was never read, while its table ${row.table} was read ${row.table_scans} times.`,
    remediation: `${dropOf(row.index)} Keep it if a rare but important query needs it.`,
    metadata: row,
  }),
})

/** What makes two indexes answer the same conditions, apart from their columns. */
const SAME_TERMS = `drop.indrelid = keep.indrelid AND drop.indexrelid <> keep.indexrelid
      AND drop.amname = keep.amname AND drop.indisvalid AND keep.indisvalid
      AND NOT drop.is_constraint AND NOT drop.is_attached AND drop.index_kind = 'i'
      AND coalesce(pg_get_expr(drop.indpred, drop.indrelid), '') = coalesce(pg_get_expr(keep.indpred, keep.indrelid), '')`

const duplicateIndex = check<{ index: string; same_as: string; table: string; bytes: number }>({
  name: "duplicate_index",
  title: "Index that exists twice",
  level: "WARN",
  categories: ["PERFORMANCE"],
  description: "Two indexes of a table are the same; one of them only costs space and slows writes.",
  sql: `SELECT DISTINCT ON (drop.name) drop.name AS index, keep.name AS same_as, drop.table_name AS table,
      pg_relation_size(drop.indexrelid) AS bytes
    FROM ${INDEXES} AS drop
    JOIN ${INDEXES} AS keep ON ${SAME_TERMS}
      AND drop.indkey::text = keep.indkey::text AND drop.indnkeyatts = keep.indnkeyatts
      AND drop.indclass::text = keep.indclass::text AND drop.indcollation::text = keep.indcollation::text
      AND drop.indoption::text = keep.indoption::text
      AND coalesce(pg_get_expr(drop.indexprs, drop.indrelid), '') = coalesce(pg_get_expr(keep.indexprs, keep.indrelid), '')
    WHERE (NOT drop.indisunique OR (keep.indisunique AND drop.indnullsnotdistinct = keep.indnullsnotdistinct
        AND drop.indimmediate = keep.indimmediate))
      AND (keep.is_constraint, keep.indisunique, -keep.indexrelid::bigint)
        > (drop.is_constraint, drop.indisunique, -drop.indexrelid::bigint)
    ORDER BY drop.name, keep.is_constraint DESC, keep.indisunique DESC, keep.indexrelid`,
  found: row => ({
    key: row.index,
    detail: `${row.index} (${inBytes(row.bytes)}) of ${row.table} is the same as ${row.same_as}.`,
    remediation: dropOf(row.index),
    metadata: row,
  }),
})

const redundantIndex = check<{ index: string; covered_by: string; table: string; bytes: number }>({
  name: "redundant_index",
  title: "Index that another one contains",
  level: "INFO",
  categories: ["PERFORMANCE"],
  description: "Another index begins with the same columns, so it serves the same queries.",
  sql: `SELECT DISTINCT ON (drop.name) drop.name AS index, keep.name AS covered_by, drop.table_name AS table,
      pg_relation_size(drop.indexrelid) AS bytes
    FROM ${INDEXES} AS drop
    JOIN ${INDEXES} AS keep ON ${SAME_TERMS}
      AND drop.amname = 'btree' AND NOT drop.indisunique AND drop.indexprs IS NULL AND keep.indexprs IS NULL
      AND drop.indnatts = drop.indnkeyatts AND keep.indnkeyatts > drop.indnkeyatts
      AND (keep.indkey::int2[])[0:drop.indnkeyatts - 1] = (drop.indkey::int2[])[0:drop.indnkeyatts - 1]
      AND (keep.indclass::oid[])[0:drop.indnkeyatts - 1] = (drop.indclass::oid[])[0:drop.indnkeyatts - 1]
      AND (keep.indcollation::oid[])[0:drop.indnkeyatts - 1] = (drop.indcollation::oid[])[0:drop.indnkeyatts - 1]
      AND (keep.indoption::int2[])[0:drop.indnkeyatts - 1] = (drop.indoption::int2[])[0:drop.indnkeyatts - 1]
    ORDER BY drop.name, keep.indnkeyatts, keep.indexrelid`,
  found: row => ({
    key: row.index,
    detail: `${row.index} (${inBytes(row.bytes)}) of ${row.table} holds the first columns of ${row.covered_by}.`,
    remediation: `${dropOf(row.index)} Keep it if it is much smaller and read much more often.`,
    metadata: row,
  }),
})

const invalidIndex = check<{ index: string; table: string }>({
  name: "invalid_index",
  title: "Index that was not finished",
  level: "ERROR",
  categories: ["PERFORMANCE", "RELIABILITY"],
  description:
    "CREATE or REINDEX INDEX CONCURRENTLY failed part-way. No query uses the index, and writes may still pay for it.",
  sql: `SELECT index.name AS index, index.table_name AS table
    FROM ${INDEXES} AS index
    WHERE NOT (index.indisvalid AND index.indisready AND index.indislive) AND index.index_kind = 'i'
      AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS build WHERE build.relid = index.indrelid)
    ORDER BY 1`,
  found: row => ({
    key: row.index,
    detail: `${row.index} of ${row.table} is invalid.`,
    remediation: `REINDEX INDEX CONCURRENTLY ${row.index}; or, if it is not wanted, ${dropOf(row.index)}`,
    metadata: row,
  }),
})

export const indexChecks = [unindexedForeignKey, unusedIndex, duplicateIndex, redundantIndex, invalidIndex]
