import { columnsOf, INDEXES, TABLES } from "../catalog.ts"
import { check, inBytes, inPercent } from "../findings.ts"

const noPrimaryKey = check<{ table: string; candidate: string | null; columns: string | null }>({
  name: "no_primary_key",
  title: "Table without a primary key",
  level: "WARN",
  categories: ["RELIABILITY", "PERFORMANCE"],
  description: "Its rows cannot be told apart: logical replication, upserts and many tools need a key.",
  sql: `SELECT own.name AS table, quote_ident(fit.index_relname) AS candidate, fit.columns
    FROM ${TABLES} AS own
    LEFT JOIN LATERAL (
      SELECT index.index_relname, ${columnsOf("index.indrelid", "index.indkey::int2[]")} AS columns
      FROM ${INDEXES} AS index
      WHERE index.indrelid = own.oid AND index.indisunique AND index.indisvalid AND index.indimmediate
        AND NOT index.is_constraint AND index.indpred IS NULL AND index.indexprs IS NULL
        AND index.indnatts = index.indnkeyatts AND own.relkind = 'r'
        AND NOT EXISTS (SELECT FROM pg_attribute AS attribute WHERE attribute.attrelid = own.oid
          AND attribute.attnum = ANY (index.indkey::int2[]) AND NOT attribute.attnotnull)
      ORDER BY index.indnatts, index.indexrelid LIMIT 1
    ) AS fit ON true
    WHERE NOT own.relispartition
      AND NOT EXISTS (SELECT FROM pg_constraint AS key WHERE key.conrelid = own.oid AND key.contype = 'p')
    ORDER BY 1`,
  found: row => ({
    key: row.table,
    detail: `${row.table} has no primary key.`,
    remediation: row.candidate
      ? `ALTER TABLE ${row.table} ADD PRIMARY KEY USING INDEX ${row.candidate}; its columns (${row.columns}) are unique and never null.`
      : `ALTER TABLE ${row.table} ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY; or make a key of columns that are unique.`,
    metadata: row,
  }),
})

const deadRows = check<{ table: string; dead_rows: number; live_rows: number; vacuumed_at: string | null }>({
  name: "dead_rows",
  title: "Many dead rows",
  level: "WARN",
  categories: ["PERFORMANCE"],
  description: "Updated and deleted rows are still in the table; every scan reads past them.",
  sql: `SELECT own.name AS table, pg_stat_get_dead_tuples(own.oid) AS dead_rows,
      pg_stat_get_live_tuples(own.oid) AS live_rows,
      greatest(pg_stat_get_last_vacuum_time(own.oid), pg_stat_get_last_autovacuum_time(own.oid)) AS vacuumed_at
    FROM ${TABLES} AS own
    WHERE pg_stat_get_dead_tuples(own.oid) >= $1::bigint
      AND pg_stat_get_dead_tuples(own.oid)
        >= $2::float8 * (pg_stat_get_dead_tuples(own.oid) + pg_stat_get_live_tuples(own.oid))
      AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS vacuum WHERE vacuum.relid = own.oid)
    ORDER BY dead_rows DESC, 1`,
  parameters: limits => [limits.deadRowsMin, limits.deadRowsShare],
  found: row => ({
    key: row.table,
    detail: `${row.table} holds ${row.dead_rows} dead rows beside ${row.live_rows} live ones.`,
    remediation: `VACUUM (ANALYZE) ${row.table}; If it comes back, look for transactions that stay open for long, or let autovacuum look sooner: ALTER TABLE ${row.table} SET (autovacuum_vacuum_scale_factor = 0.05);`,
    metadata: row,
  }),
})

/**
 * Pages that the rows need by their average width, next to the pages there are. 24 bytes head a page; a row has a head
 * of 24 bytes and a pointer of 4, and begins at a multiple of 8.
 */
const bloat = check<{ table: string; bytes: number; needed_bytes: number }>({
  name: "table_bloat",
  title: "Table far larger than its rows",
  level: "WARN",
  categories: ["PERFORMANCE", "CAPACITY"],
  description: "Most of the table is free space that VACUUM keeps for later rows and does not give back.",
  sql: `SELECT name AS table, pages * block AS bytes, needed * block AS needed_bytes
    FROM (
      SELECT own.name, own.relpages::bigint AS pages, setting.block,
        ceil(own.reltuples * (28 + 8 * ceil(width.bytes / 8.0)) / (setting.block - 24)
          * 100 / coalesce(substring(array_to_string(own.reloptions, ' ') FROM 'fillfactor=([0-9]+)')::int, 100))::bigint AS needed
      FROM ${TABLES} AS own
      CROSS JOIN (SELECT current_setting('block_size')::int AS block) AS setting
      JOIN LATERAL (
        SELECT sum(statistic.stawidth * (1 - statistic.stanullfrac)) AS bytes, count(*) AS columns
        FROM pg_catalog.pg_stats AS readable
        JOIN LATERAL (SELECT readable.avg_width AS stawidth, readable.null_frac AS stanullfrac) AS statistic ON true
        WHERE readable.schemaname = own.nspname AND readable.tablename = own.relname AND NOT readable.inherited
      ) AS width ON width.columns = (
        SELECT count(*) FROM pg_attribute AS attribute
        WHERE attribute.attrelid = own.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped)
      WHERE own.relkind = 'r' AND own.reltuples >= 0
    ) AS size
    WHERE (pages - needed) * block >= $1::bigint AND needed < pages * (1 - $2::float8)
    ORDER BY (pages - needed) DESC, 1`,
  parameters: limits => [limits.bloatBytesMin, limits.bloatShare],
  found: row => ({
    key: row.table,
    detail: `${row.table} takes ${inBytes(row.bytes)}, of which its rows need about ${inBytes(row.needed_bytes)} (${inPercent(row.needed_bytes / row.bytes)}).`,
    remediation: `VACUUM FULL ${row.table}; gives the space back. It locks the table while it copies it, so choose a quiet time.`,
    metadata: row,
  }),
})

const neverAnalyzed = check<{ table: string; live_rows: number }>({
  name: "never_analyzed",
  title: "Table that was never analysed",
  level: "WARN",
  categories: ["PERFORMANCE"],
  description: "The planner knows nothing of the values in the table and guesses.",
  sql: `SELECT own.name AS table, pg_stat_get_live_tuples(own.oid) AS live_rows
    FROM ${TABLES} AS own
    WHERE own.relkind = 'r' AND pg_stat_get_live_tuples(own.oid) >= $1::bigint
      AND pg_stat_get_last_analyze_time(own.oid) IS NULL AND pg_stat_get_last_autoanalyze_time(own.oid) IS NULL
      AND NOT EXISTS (SELECT FROM pg_stats AS known
        WHERE known.schemaname = own.nspname AND known.tablename = own.relname)
    ORDER BY live_rows DESC, 1`,
  parameters: limits => [limits.analyzeRowsMin],
  found: row => ({
    key: row.table,
    detail: `${row.table} has about ${row.live_rows} rows and was never analysed.`,
    remediation: `ANALYZE ${row.table};`,
    metadata: row,
  }),
})

const autovacuumDisabled = check<{ table: string }>({
  name: "autovacuum_disabled",
  title: "Autovacuum is switched off for a table",
  level: "WARN",
  categories: ["PERFORMANCE", "RELIABILITY"],
  description: "Dead rows stay and the planner's statistics grow old until somebody runs VACUUM.",
  sql: `SELECT own.name AS table FROM ${TABLES} AS own
    WHERE EXISTS (SELECT FROM unnest(own.reloptions) AS option
      WHERE lower(option) IN ('autovacuum_enabled=false', 'autovacuum_enabled=off', 'autovacuum_enabled=0', 'autovacuum_enabled=no'))
    ORDER BY 1`,
  found: row => ({
    key: row.table,
    detail: `Autovacuum leaves ${row.table} alone.`,
    remediation: `ALTER TABLE ${row.table} RESET (autovacuum_enabled);`,
    metadata: row,
  }),
})

const unloggedTable = check<{ table: string }>({
  name: "unlogged_table",
  title: "Unlogged table",
  level: "INFO",
  categories: ["RELIABILITY"],
  description: "An unlogged table is empty after a crash, and in every branch and restore.",
  sql: `SELECT own.name AS table FROM ${TABLES} AS own WHERE own.relpersistence = 'u' ORDER BY 1`,
  found: row => ({
    key: row.table,
    detail: `${row.table} is unlogged.`,
    remediation: `ALTER TABLE ${row.table} SET LOGGED; unless it holds nothing but a cache.`,
    metadata: row,
  }),
})

const columnsOfType = (condition: string) => `SELECT own.name AS table,
      string_agg(format('%I', attribute.attname), ', ' ORDER BY attribute.attnum) AS columns
    FROM ${TABLES} AS own
    JOIN pg_attribute AS attribute ON attribute.attrelid = own.oid
    WHERE NOT own.relispartition AND attribute.attnum > 0 AND NOT attribute.attisdropped AND ${condition}
    GROUP BY own.name ORDER BY 1`

const alterEach = (table: string, columns: string, type: string) =>
  columns
    .split(", ")
    .map(column => `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE ${type};`)
    .join(" ")

const paddedText = check<{ table: string; columns: string }>({
  name: "char_column",
  title: "Column of type char(n)",
  level: "INFO",
  categories: ["PERFORMANCE"],
  description:
    "char(n) pads every value with blanks, which take space and surprise comparisons; it is never faster.",
  sql: columnsOfType("attribute.atttypid = 'bpchar'::regtype"),
  found: row => ({
    key: `${row.table}(${row.columns})`,
    detail: `${row.table} has char(n) columns: ${row.columns}.`,
    remediation: alterEach(row.table, row.columns, "text"),
    metadata: row,
  }),
})

const zonelessTime = check<{ table: string; columns: string }>({
  name: "timestamp_without_time_zone",
  title: "Column of type timestamp without time zone",
  level: "INFO",
  categories: ["RELIABILITY"],
  description: "Such a value does not say which moment it means; that depends on who reads it.",
  sql: columnsOfType("attribute.atttypid = 'timestamp'::regtype"),
  found: row => ({
    key: `${row.table}(${row.columns})`,
    detail: `${row.table} has columns of type timestamp: ${row.columns}.`,
    remediation: `If the values are in UTC: SET timezone = 'UTC'; ${alterEach(row.table, row.columns, "timestamptz")}`,
    metadata: row,
  }),
})

export const tableChecks = [
  noPrimaryKey,
  deadRows,
  bloat,
  neverAnalyzed,
  autovacuumDisabled,
  unloggedTable,
  paddedText,
  zonelessTime,
]
