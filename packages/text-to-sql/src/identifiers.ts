import type { Table } from "./catalog.ts"

const PLAIN = /^[a-z_][a-z0-9_]*$/

/** Quotes only what would mean something else bare. */
export const quoteIdentifier = (name: string, reserved: ReadonlySet<string>): string =>
  PLAIN.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`

/** A backslash is an ordinary character while standard_conforming_strings is on; E'' says so whatever the setting. */
export const quoteLiteral = (text: string): string => {
  const doubled = text.replaceAll("'", "''")
  return text.includes("\\") ? `E'${doubled.replaceAll("\\", "\\\\")}'` : `'${doubled}'`
}

export const qualifiedSql = (table: Table, reserved: ReadonlySet<string>): string =>
  `${quoteIdentifier(table.schema, reserved)}.${quoteIdentifier(table.name, reserved)}`

export const tableSql = (table: Table, reserved: ReadonlySet<string>): string =>
  table.visible ? quoteIdentifier(table.name, reserved) : qualifiedSql(table, reserved)
