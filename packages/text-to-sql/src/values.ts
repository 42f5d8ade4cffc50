/**
 * Which stored values a question names. Only phrases of the question itself are looked for, so that no other value of
 * the database is ever read.
 */
import type { ClientBase } from "pg"
import { ask } from "./asking.ts"
import { type Catalog, type Column, columnNamed, type Table } from "./catalog.ts"
import { qualifiedSql, quoteIdentifier } from "./identifiers.ts"
import { isSilent, singularOf, type Token } from "./words.ts"

export interface StoredValue {
  readonly table: Table
  readonly column: Column
  readonly value: string
}

/** By the phrase that names it: lower case, with blanks for underscores, hyphens and apostrophes. */
export type Values = ReadonlyMap<string, readonly StoredValue[]>

const PHRASES_MAX = 250
const PHRASE_WORDS_MAX = 4
const COLUMNS_MAX = 64
/** Tables are scanned, smallest first, up to this sum; for larger ones the planner's statistics have common values. */
const SCANNED_BYTES_MAX = 4 * 1024 * 1024

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[_\-'’\s]+/g, " ")
    .trim()

const withLast = (words: readonly string[], last: string): string => [...words.slice(0, -1), last].join(" ")

/** The forms by which a run of tokens may name a value: as written, and with its last word in the singular. */
export const formsOf = (tokens: readonly Token[]): string[] => {
  const words = tokens.map(({ kind, surface, text }) =>
    plain(kind === "quoted" || kind === "number" ? surface : text),
  )
  const last = words.at(-1) ?? ""
  return [...new Set([words.join(" "), withLast(words, singularOf(last))])]
}

const phrasesOf = (tokens: readonly Token[]): string[] => {
  const phrases = new Set<string>()
  for (let length = 1; length <= PHRASE_WORDS_MAX; length++) {
    for (let at = 0; at + length <= tokens.length; at++) {
      const run = tokens.slice(at, at + length)
      if (run.every(token => isSilent(token) || token.kind === "symbol")) continue
      for (const form of formsOf(run)) if (phrases.size < PHRASES_MAX) phrases.add(form)
    }
  }
  return [...phrases]
}

const statisticsSql = `
  SELECT s.schemaname::text AS schema, s.tablename::text AS table, s.attname::text AS column, v AS value
  FROM pg_stats s, unnest(s.most_common_vals::text::text[]) v
  WHERE s.schemaname = ANY ($2) AND length(v) <= 100
    AND lower(regexp_replace(v, '[-_''’[:space:]]+', ' ', 'g')) = ANY ($1) LIMIT 100`

interface Source {
  readonly table: Table
  readonly column: Column
}

const probeSql = (catalog: Catalog, sources: readonly Source[]): string =>
  sources
    .map(({ table, column }, index) => {
      const name = quoteIdentifier(column.name, catalog.reserved)
      return (
        `(SELECT DISTINCT ${index} AS source, ${name}::text AS value FROM ${qualifiedSql(table, catalog.reserved)} ` +
        `WHERE length(${name}::text) <= 100 AND ` +
        `lower(translate(${name}::text, '-_''’', '    ')) = ANY ($1) LIMIT 5)`
      )
    })
    .join(" UNION ALL ")

const enumValues = (catalog: Catalog): StoredValue[] =>
  catalog.tables.flatMap(table =>
    table.columns.flatMap(column => column.labels.map(value => ({ table, column, value }))),
  )

/** Inside a transaction; a failure or a slow table costs the answers of that query and nothing else. */
const attempt = async <Row>(
  client: ClientBase,
  timeoutMs: number,
  run: () => Promise<readonly Row[]>,
): Promise<readonly Row[]> => {
  await client.query(`SAVEPOINT probe; SET LOCAL statement_timeout = ${timeoutMs}`)
  try {
    const rows = await run()
    await client.query("RELEASE SAVEPOINT probe")
    return rows
  } catch {
    await client.query("ROLLBACK TO SAVEPOINT probe")
    return []
  }
}

export const readValues = async (
  client: ClientBase,
  catalog: Catalog,
  tokens: readonly Token[],
  timeoutMs: number,
): Promise<Values> => {
  const phrases = phrasesOf(tokens)
  const texts = catalog.tables.flatMap(table =>
    table.columns.flatMap(column => (column.category === "text" ? [{ table, column }] : [])),
  )
  let left = SCANNED_BYTES_MAX
  const scanned = texts
    .filter(({ table }) => table.bytes >= 0)
    .sort((a, b) => a.table.bytes - b.table.bytes)
    .slice(0, COLUMNS_MAX)
    .filter(({ table }) => {
      left -= table.bytes
      return left >= 0
    })
  const found: StoredValue[] = enumValues(catalog)
  if (scanned.length > 0) {
    const sql = probeSql(catalog, scanned)
    const rows = await attempt(client, timeoutMs, () =>
      ask<{ source: number; value: string }>(client, sql, [phrases]),
    )
    for (const { source, value } of rows) {
      const origin = scanned[source]
      if (origin) found.push({ ...origin, value })
    }
  }
  if (scanned.length < texts.length) {
    const schemas = [...new Set(catalog.tables.map(({ schema }) => schema))]
    type Row = { schema: string; table: string; column: string; value: string }
    const rows = await attempt(client, timeoutMs, () => ask<Row>(client, statisticsSql, [phrases, schemas]))
    for (const row of rows) {
      const table = catalog.tables.find(({ schema, name }) => schema === row.schema && name === row.table)
      const column = table && columnNamed(table, row.column)
      const known = scanned.some(each => each.column === column)
      if (table && column?.category === "text" && !known) found.push({ table, column, value: row.value })
    }
  }
  return Map.groupBy(found, ({ value }) => plain(value))
}
