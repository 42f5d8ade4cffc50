import { isFault } from "../../../kernel/fault.ts"
import type { Offer } from "../../../kernel/offer.ts"
import type { TableReader } from "../../databases/offers.ts"
import type { Item } from "../documents.ts"
import type { SourceRecord } from "../store.ts"
import type { DatabaseConfig } from "./config.ts"
import { type ReadSource, SourceProblem } from "./reading.ts"

const ROWS = 200

const splitName = (table: string): [schema: string, name: string] => {
  const dot = table.indexOf(".")
  return dot < 0 ? ["public", table] : [table.slice(0, dot), table.slice(dot + 1)]
}

const columnsOf = ({ fields }: SourceRecord, { title, url, metadata = [] }: DatabaseConfig): string[] => [
  ...new Set([
    ...fields.map(({ path }) => path),
    ...metadata,
    ...[title, url].filter(name => name !== undefined),
  ]),
]

const text = (value: unknown): string | null =>
  typeof value === "string" || typeof value === "number" ? String(value) : null

const toItem = (
  { key, values }: { key: readonly string[]; values: Readonly<Record<string, unknown>> },
  { title, url, metadata = [] }: DatabaseConfig,
): Item => ({
  id: key.length === 1 ? (key[0] ?? "") : JSON.stringify(key),
  title: (title !== undefined && text(values[title])) || "",
  url: (url !== undefined && text(values[url])) || null,
  metadata: Object.fromEntries(metadata.map(name => [name, values[name] ?? null])),
  record: values,
})

/** SQLSTATEs of what only the owner can mend: names that do not exist, rights that are missing, odd data. */
const OWNERS_ERRORS = /^(42|22|3F)/

const explain = (error: unknown): unknown => {
  if (isFault(error, "database_not_found")) return new SourceProblem("there is no such database or branch")
  if (isFault(error, "table_not_found"))
    return new SourceProblem("there is no such table, or it has no primary key")
  const { code, message } = error as { code?: unknown; message?: string }
  return typeof code === "string" && OWNERS_ERRORS.test(code)
    ? new SourceProblem(`the database answered: ${message}`)
    : error
}

export const readDatabase =
  (tables: Offer<TableReader>): ReadSource =>
  async (source, cursor, signal) => {
    const reader = await tables.get()
    if (!reader) throw new Error("the databases area has not started")
    const config = source.config as unknown as DatabaseConfig
    const [schema, table] = splitName(config.table)
    const where = {
      organizationId: source.organization_id,
      projectId: source.project_id,
      databaseId: config.database_id,
      branchId: config.branch_id,
    }
    const query = { schema, table, columns: columnsOf(source, config), limit: ROWS }
    const after: string[] | null = cursor === null ? null : JSON.parse(cursor)
    const { rows } = await reader.read(where, { ...query, after }, signal).catch(error => {
      throw explain(error)
    })
    const last = rows.at(-1)
    return {
      items: rows.map(row => toItem(row, config)),
      next: last && rows.length === ROWS ? JSON.stringify(last.key) : null,
    }
  }
