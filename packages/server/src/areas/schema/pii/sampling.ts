import pg from "pg"
import { type Client, inspect, rowsOf, textRowsOf } from "../inspection.ts"
import { ofExtension, visibleSchema } from "../visible.ts"
import type { TypeFamily } from "./entities.ts"

/** A column as far as it matters for what its values are. */
export interface CandidateColumn {
  readonly name: string
  readonly full_type: string
  /** The base type's name, of an array that of its elements; null where it is not one of PostgreSQL's own. */
  readonly base: string | null
  readonly family: TypeFamily
  readonly is_array: boolean
  readonly is_domain: boolean
  readonly is_foreign_key: boolean
  readonly enums: readonly string[]
}

export interface CandidateTable {
  readonly id: number
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly rls_enabled: boolean
  readonly columns: CandidateColumn[]
}

/** Values of one column, those of arrays one by one; of JSON objects by key. */
export interface Sample {
  readonly rows: number
  readonly values: ReadonlyMap<string, readonly string[]>
  readonly keyed: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>
}

/** A twentieth of a megabyte of pages, spread over the table, is enough to see what it is about. */
const PAGES_MAX = 48
const PAGE_BYTES = 8192
const ROWS_MAX = 120
const CELLS_MAX = 6_000
const CELL_CHARS_MAX = 200
/** A text may name somebody further on. */
const TEXT_CHARS_MAX = 1_000
/** Larger values are files or documents, and would have to be fetched from elsewhere on disk. */
const CELL_BYTES_MAX = 8192
const ELEMENTS_MAX = 8
const KEYS_MAX = 30
const STATEMENT_TIMEOUT_MS = 1_500
const LOCK_TIMEOUT_MS = 200
const SEPARATOR = "\u001f"

const family = `
  CASE
    WHEN b.typtype = 'e' THEN 'enum'
    WHEN b.typname = 'citext' AND ${ofExtension("pg_type", "b.oid")} THEN 'text'
    WHEN b.typname = ANY (ARRAY['geometry', 'geography']) OR b.oid = 'point'::regtype THEN 'point'
    WHEN bn.nspname <> 'pg_catalog' THEN 'other'
    WHEN b.typname = ANY (ARRAY['text', 'varchar', 'bpchar']) THEN 'text'
    WHEN b.typname = ANY (ARRAY['int2', 'int4', 'int8']) THEN 'integer'
    WHEN b.typname = ANY (ARRAY['numeric', 'float4', 'float8']) THEN 'decimal'
    WHEN b.typname = ANY (ARRAY['timestamp', 'timestamptz']) THEN 'timestamp'
    WHEN b.typname = 'inet' THEN 'net'
    WHEN b.typname = ANY (ARRAY['macaddr', 'macaddr8']) THEN 'mac'
    WHEN b.typname = ANY (ARRAY['json', 'jsonb']) THEN 'json'
    WHEN b.typname = 'bytea' THEN 'bytes'
    WHEN b.typname = ANY (ARRAY['date', 'uuid']) THEN b.typname::text
    ELSE 'other'
  END`

const columns = `
  SELECT json_agg(json_build_object(
    'name', a.attname, 'full_type', format_type(a.atttypid, a.atttypmod),
    'base', CASE WHEN bn.nspname = 'pg_catalog' OR b.typname = 'citext' THEN b.typname END,
    'family', ${family},
    'is_array', root.element <> 0, 'is_domain', t.typtype = 'd',
    'is_foreign_key', EXISTS (SELECT FROM pg_constraint AS f
      WHERE f.conrelid = c.oid AND f.contype = 'f' AND a.attnum = ANY (f.conkey)),
    'enums', coalesce((SELECT json_agg(e.enumlabel) FROM
      (SELECT enumlabel FROM pg_enum WHERE enumtypid = b.oid ORDER BY enumsortorder LIMIT 50) AS e), '[]')
    ) ORDER BY a.attnum)
  FROM pg_attribute AS a
    JOIN pg_type AS t ON t.oid = a.atttypid
    CROSS JOIN LATERAL (
      WITH RECURSIVE step (oid, base, element) AS (
        SELECT t.oid, t.typbasetype, CASE WHEN t.typlen = -1 THEN t.typelem ELSE 0::oid END
        UNION ALL
        SELECT s.oid, s.typbasetype, CASE WHEN s.typlen = -1 THEN s.typelem ELSE 0::oid END
        FROM step JOIN pg_type AS s ON s.oid = step.base WHERE step.base <> 0
      )
      SELECT oid, element FROM step WHERE base = 0
    ) AS root
    JOIN pg_type AS b ON b.oid = CASE WHEN root.element <> 0 THEN root.element ELSE root.oid END
    JOIN pg_namespace AS bn ON bn.oid = b.typnamespace
  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped`

const tables = `
  SELECT c.oid::bigint AS id, n.nspname AS schema, c.relname AS name, c.relkind AS kind,
    c.relrowsecurity AS rls_enabled, coalesce((${columns}), '[]') AS columns
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE c.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']::"char"[]) AND NOT c.relispartition AND ${visibleSchema}
    AND ($1::text IS NULL OR n.nspname = $1)
    AND NOT ${ofExtension("pg_class", "c.oid")}
  ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
  LIMIT $2`

/** Tables and views with what is to be known of their columns; at most one more than `rowsMax`. */
export const candidateTables = (
  client: Client,
  of: { readonly schema?: string | undefined; readonly rowsMax: number },
): Promise<CandidateTable[]> => rowsOf(client, tables, [of.schema ?? null, of.rowsMax + 1])

const SAMPLED_FAMILIES: ReadonlySet<TypeFamily> = new Set([
  "text",
  "integer",
  "decimal",
  "date",
  "net",
  "json",
])

/**
 * Only types of PostgreSQL's own (and citext) are read: turning another type into text could call a function that the
 * tenant gave it.
 */
const isSampled = ({ base, family, is_array, is_domain }: CandidateColumn): boolean => {
  if (base === null || !SAMPLED_FAMILIES.has(family)) return false
  return is_array ? family === "text" && base !== "citext" && !is_domain : true
}

/** Views would run the tenant's functions, and foreign tables another server's. */
export const isSampledTable = ({ kind, rls_enabled, columns }: CandidateTable): boolean =>
  ["r", "p", "m"].includes(kind) && !rls_enabled && columns.some(isSampled)

const cell = (column: CandidateColumn): string => {
  const name = pg.escapeIdentifier(column.name)
  const guarded = (expression: string) =>
    `CASE WHEN pg_column_size(${name}) <= ${CELL_BYTES_MAX} THEN ${expression} END`
  if (column.is_array) {
    const joined = `array_to_string((${name})[1:${ELEMENTS_MAX}], chr(31))`
    return guarded(`left(${joined}, ${CELL_CHARS_MAX * 2})`)
  }
  if (column.family === "text") return guarded(`left(${name}::text, ${TEXT_CHARS_MAX})`)
  if (column.family !== "json") return guarded(`left(${name}::text, ${CELL_CHARS_MAX})`)
  const prefix = column.base === "jsonb" ? "jsonb" : "json"
  const object = `CASE WHEN ${prefix}_typeof(${name}) = 'object' THEN ${name} END`
  return guarded(`(
    SELECT json_object_agg(left(e.key, 64), left(e.value, ${CELL_CHARS_MAX}))::text
    FROM (SELECT key, value FROM ${prefix}_each_text(${object}) LIMIT ${KEYS_MAX}) AS e)`)
}

/** Pages are chosen by a fixed seed, so that the same data gives the same answer. */
const sampleStatement = (table: CandidateTable, columns: readonly CandidateColumn[]): string => {
  const relation = `${pg.escapeIdentifier(table.schema)}.${pg.escapeIdentifier(table.name)}`
  // Tables that inherit are listed by themselves; a partitioned table has no rows but its partitions'.
  const from = table.kind === "p" ? relation : `ONLY ${relation}`
  return `SELECT ${columns.map(cell).join(", ")} FROM ${from} TABLESAMPLE system ((
      SELECT least(100, ${100 * PAGES_MAX * PAGE_BYTES}.0 / greatest(sum(pg_relation_size(p.relid)), 1))
      FROM (SELECT $1::oid AS relid UNION SELECT relid FROM pg_partition_tree($1::oid)) AS p
    )) REPEATABLE (1) LIMIT $2`
}

const collect = (
  rows: readonly (readonly (string | null)[])[],
  columns: readonly CandidateColumn[],
): Sample => {
  const values = new Map<string, string[]>()
  const keyed = new Map<string, Map<string, string[]>>()
  const add = (into: Map<string, string[]>, name: string, more: readonly string[]) => {
    const kept = more.map(value => value.trim()).filter(value => value !== "")
    const known = into.get(name)
    if (known) known.push(...kept)
    else into.set(name, kept)
  }
  columns.forEach((column, index) => {
    const cells = rows.map(row => row[index]).filter(text => typeof text === "string")
    if (column.family !== "json") {
      add(values, column.name, column.is_array ? cells.flatMap(text => text.split(SEPARATOR)) : cells)
      return
    }
    const byKey = new Map<string, string[]>()
    for (const text of cells)
      for (const [key, value] of Object.entries<string | null>(JSON.parse(text)))
        add(byKey, key, value === null ? [] : [value])
    keyed.set(column.name, byKey)
  })
  return { rows: rows.length, values, keyed }
}

/**
 * A few rows of the table, from pages all over it. Undefined when the table cannot be read now: it is locked, gone, or one
 * of its values cannot be computed. PostgreSQL's message may quote a value, so it goes nowhere.
 */
export const sampleTable = async (client: Client, table: CandidateTable): Promise<Sample | undefined> => {
  const columns = table.columns.filter(isSampled)
  const rowsMax = Math.max(1, Math.min(ROWS_MAX, Math.floor(CELLS_MAX / columns.length)))
  const limits = { statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: LOCK_TIMEOUT_MS }
  try {
    return await inspect(
      client,
      async () =>
        collect(await textRowsOf(client, sampleStatement(table, columns), [table.id, rowsMax]), columns),
      limits,
    )
  } catch (error) {
    // An error of PostgreSQL's has a code; a connection that broke is the whole scan's end.
    if (typeof (error as { severity?: string }).severity !== "string" || isFatal(error)) {
      throw new Error("a sample could not be read: the connection to the database ended")
    }
    return undefined
  }
}

const isFatal = (error: unknown): boolean => (error as { severity?: string }).severity !== "ERROR"
