import { TABLES } from "../catalog.ts"
import { check, inPercent } from "../findings.ts"

const ALMOST_ALL = 0.9

const weight = (share: number) => (share >= ALMOST_ALL ? "ERROR" : "WARN")

const LARGEST_OF_TYPE = `CASE attribute.atttypid WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647
      ELSE 9223372036854775807 END`

const sequence = check<{
  sequence: string
  table: string | null
  column: string | null
  last_value: string
  largest: string
  share: number
}>({
  name: "sequence_near_max",
  title: "Sequence near its end",
  level: "WARN",
  categories: ["CAPACITY", "RELIABILITY"],
  description:
    "When the sequence, or the column it fills, has reached its largest value, every insert fails.",
  sql: `SELECT format('%I.%I', counter.schemaname, counter.sequencename) AS sequence, owning.table, owning.column,
      counter.last_value::text AS last_value, least(counter.max_value, owning.largest)::text AS largest,
      counter.last_value::float8 / least(counter.max_value, owning.largest) AS share
    FROM pg_sequences AS counter
    LEFT JOIN LATERAL (
      SELECT own.name AS table, quote_ident(attribute.attname) AS column, ${LARGEST_OF_TYPE} AS largest
      FROM pg_depend AS link
      JOIN ${TABLES} AS own ON own.oid = link.refobjid
      JOIN pg_attribute AS attribute ON attribute.attrelid = own.oid AND attribute.attnum = link.refobjsubid
      WHERE link.classid = 'pg_class'::regclass AND link.refclassid = 'pg_class'::regclass
        AND link.objid = format('%I.%I', counter.schemaname, counter.sequencename)::regclass
        AND link.deptype IN ('a', 'i')
      LIMIT 1
    ) AS owning ON true
    WHERE counter.increment_by > 0 AND NOT counter.cycle AND counter.last_value IS NOT NULL
      AND counter.schemaname NOT LIKE 'pg\\_%' AND counter.schemaname <> 'svc_internal'
      AND counter.last_value::float8 >= least(counter.max_value, owning.largest) * $1::float8
    ORDER BY share DESC, 1`,
  parameters: limits => [limits.sequenceShare],
  found: row => ({
    key: row.sequence,
    level: weight(row.share),
    detail: `${row.sequence} is at ${row.last_value} of ${row.largest} (${inPercent(row.share)})${row.table ? ` and fills ${row.table}.${row.column}` : ""}.`,
    remediation: row.table
      ? `ALTER TABLE ${row.table} ALTER COLUMN ${row.column} TYPE bigint; ALTER SEQUENCE ${row.sequence} AS bigint; Foreign keys to the column have to follow. The table is rewritten under a lock.`
      : `ALTER SEQUENCE ${row.sequence} AS bigint MAXVALUE 9223372036854775807;`,
    metadata: row,
  }),
})

/** Keys that the application gives itself; those from a sequence are judged by the sequence. */
const integerKey = check<{
  table: string
  column: string
  type: string
  largest_seen: string
  largest: string
  share: number
}>({
  name: "integer_key_near_max",
  title: "Integer key near its end",
  level: "WARN",
  categories: ["CAPACITY", "RELIABILITY"],
  description: "When the values of the primary key have reached the largest of their type, inserts fail.",
  sql: `SELECT *, largest_seen::float8 / largest::float8 AS share
    FROM (
      SELECT own.name AS table, quote_ident(attribute.attname) AS column, format_type(attribute.atttypid, NULL) AS type,
        (SELECT max(bound::bigint) FROM unnest(known.histogram_bounds::text::text[]) AS bound)::text AS largest_seen,
        (${LARGEST_OF_TYPE})::text AS largest
      FROM pg_constraint AS key
      JOIN ${TABLES} AS own ON own.oid = key.conrelid
      JOIN pg_attribute AS attribute ON attribute.attrelid = own.oid AND attribute.attnum = key.conkey[1]
      JOIN pg_stats AS known ON known.schemaname = own.nspname AND known.tablename = own.relname
        AND known.attname = attribute.attname
      WHERE key.contype = 'p' AND cardinality(key.conkey) = 1
        AND attribute.atttypid IN ('int2'::regtype, 'int4'::regtype)
        AND NOT EXISTS (SELECT FROM pg_depend AS link WHERE link.classid = 'pg_class'::regclass
          AND link.refclassid = 'pg_class'::regclass AND link.refobjid = own.oid
          AND link.refobjsubid = attribute.attnum AND link.deptype IN ('a', 'i')
          AND EXISTS (SELECT FROM pg_class AS class WHERE class.oid = link.objid AND class.relkind = 'S'))
    ) AS seen
    WHERE largest_seen::float8 >= largest::float8 * $1::float8
    ORDER BY share DESC, 1`,
  parameters: limits => [limits.sequenceShare],
  found: row => ({
    key: `${row.table}.${row.column}`,
    level: weight(row.share),
    detail: `${row.table}.${row.column} (${row.type}) has reached ${row.largest_seen} of ${row.largest} (${inPercent(row.share)}).`,
    remediation: `ALTER TABLE ${row.table} ALTER COLUMN ${row.column} TYPE bigint; Foreign keys to the column have to follow. The table is rewritten under a lock.`,
    metadata: row,
  }),
})

/** From here on PostgreSQL refuses writes within days on a busy database. */
const URGENT_AGE = 1_200_000_000

const ages = (column: string, ageOf: string) => `SELECT datname AS database, ${ageOf}(${column}) AS age
    FROM pg_database WHERE datallowconn AND ${ageOf}(${column}) >= $1::bigint ORDER BY 2 DESC, 1`

const ageFound = (what: string) => (row: { database: string; age: number }) => ({
  key: row.database,
  level: row.age >= URGENT_AGE ? ("ERROR" as const) : ("WARN" as const),
  detail: `The oldest ${what} of database ${row.database} is ${row.age} old; at about 2,100,000,000 writes stop.`,
  remediation:
    "VACUUM (FREEZE); in that database, after ending old transactions. Autovacuum does it when nothing holds it up.",
  metadata: row,
})

const transactionAge = check<{ database: string; age: number }>({
  name: "transaction_id_age",
  title: "Old transaction ids",
  level: "WARN",
  categories: ["RELIABILITY"],
  description: "Transaction ids are reused; rows must be frozen before theirs comes round again.",
  sql: ages("datfrozenxid", "age"),
  parameters: limits => [limits.transactionAge],
  found: ageFound("transaction id"),
})

const multixactAge = check<{ database: string; age: number }>({
  name: "multixact_id_age",
  title: "Old multixact ids",
  level: "WARN",
  categories: ["RELIABILITY"],
  description:
    "Ids of row locks shared by several transactions are reused, and must be cleaned away before that.",
  sql: ages("datminmxid", "mxid_age"),
  parameters: limits => [limits.multixactAge],
  found: ageFound("multixact id"),
})

export const counterChecks = [sequence, integerKey, transactionAge, multixactAge]
