/** Replies as people read them: tables, key and value lines; and as programs do: the exact JSON. */
import { isExactNumber } from "@svc/sdk"
import type { Writer } from "./terminal.ts"

const GAP = "  "
const CELL_WIDTH_MAX = 60
const CELL_WIDTH_MIN = 8

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isExactNumber(value)

/** Stored text must not send control sequences to the reader's terminal. */
export const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, character => {
    if (character === "\n") return "\\n"
    if (character === "\t") return "\\t"
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`
  })

/** The same JSON value, in characters that no terminal acts upon. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(
    /[\u007f-\u009f]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

/** One JSON document, or nothing where the reply had no body. */
export const printJson = (value: unknown, out: Writer): void => {
  if (value !== undefined) out.line(toJson(value))
}

/** Notes about what is not shown go to `err`, so that `out` holds the reply alone. */
export const printReply = (value: unknown, out: Writer, err: Writer, wide = false): void => {
  if (value === undefined) err.line("done")
  else if (Array.isArray(value)) printList(value, out, err, wide)
  else if (isFields(value)) printObject(value, out, err, wide)
  else out.line(textOf(value))
}

const printObject = (value: Fields, out: Writer, err: Writer, wide: boolean): void => {
  const { list, others } = splitList(value)
  if (!list) {
    printFields(value, out)
    return
  }
  printList(list, out, err, wide)
  noteOthers(list, others, err)
}

/** An object that is about its one list, as pages and `{sandboxes, total}` are. */
const splitList = (value: Fields): { list?: readonly unknown[]; others: Fields } => {
  const lists = Object.entries(value).filter(([, field]) => Array.isArray(field))
  const [first] = lists
  const others = Object.entries(value).filter(([, field]) => !Array.isArray(field))
  if (!first || lists.length > 1 || others.some(([, field]) => isFields(field))) return { others: value }
  const isPage = others.every(([name]) => ["total", "limit", "offset", "cursor"].includes(name))
  return isPage
    ? { list: first[1] as readonly unknown[], others: Object.fromEntries(others) }
    : { others: value }
}

const noteOthers = (list: readonly unknown[], { total, offset, cursor }: Fields, err: Writer): void => {
  const shown = Number(offset ?? 0) + list.length
  if (typeof total === "number" && total > shown)
    err.line(`${shown} of ${total}; --offset ${shown} shows more`)
  if (typeof cursor === "string") err.line(`--cursor ${printable(cursor)} shows more`)
}

const printList = (list: readonly unknown[], out: Writer, err: Writer, wide: boolean): void => {
  if (list.length === 0) err.line("none")
  else if (list.every(isFields)) printTable(list, out, err, wide)
  else for (const item of list) out.line(textOf(item))
}

/** Columns that a list shows unless all are asked for. */
const COLUMNS_MAX = 7
/** What people look for first in a list; the rest is filled up with the columns that come first. */
const SOUGHT = [
  ...["name", "id", "status", "state", "event_type", "type", "kind", "url", "domain", "email", "subject"],
  ...["runtime", "pg_version", "active", "enabled", "vcpus", "memory_mb", "disk_gb", "next_run_at"],
  ...["expires_at", "created_at"],
]

/** So many columns that a line of them can be read, in the order of the rows' own fields. */
const handful = (names: readonly string[]): readonly string[] => {
  if (names.length <= COLUMNS_MAX) return names
  const sought = SOUGHT.filter(name => names.includes(name))
  const others = names.filter(name => !name.endsWith("_id"))
  const chosen = new Set([...new Set([...sought, ...others])].slice(0, COLUMNS_MAX))
  return names.filter(name => chosen.has(name))
}

export const printTable = (rows: readonly Fields[], out: Writer, err: Writer, wide = false): void => {
  const all = [...new Set(rows.flatMap(row => Object.keys(row)))].filter(name =>
    rows.some(row => textOf(row[name]) !== ""),
  )
  const names = wide ? all : handful(all)
  const columns = names
    .map(name => ({ name, cells: rows.map(row => shorten(textOf(row[name]))) }))
    .map(column => ({ ...column, width: Math.max(...[column.name, ...column.cells].map(widthOf)) }))
  const shown = fitting(columns, out.columns)
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => cell.padEnd(shown[index]?.width ?? 0))
      .join(GAP)
      .trimEnd()

  out.line(line(shown.map(({ name }) => name)))
  for (const index of rows.keys()) out.line(line(shown.map(({ cells }) => cells[index] ?? "")))
  const hidden = all.filter(name => !shown.some(column => column.name === name))
  const how = names.length < all.length ? "--wide and --json show" : "--json shows"
  if (hidden.length > 0) err.line(`not shown: ${hidden.join(", ")} (${how} all)`)
}

/** The first columns that the screen has room for; all where there is no screen. */
const fitting = <Column extends { width: number }>(
  columns: readonly Column[],
  screen: number | undefined,
): readonly Column[] => {
  if (screen === undefined) return columns
  let used = 0
  const end = columns.findIndex(({ width }) => {
    used += width + GAP.length
    return used - GAP.length > screen
  })
  return end < 0 ? columns : columns.slice(0, Math.max(1, end))
}

const widthOf = (text: string): number => Math.max(text.length, CELL_WIDTH_MIN)

const shorten = (text: string): string =>
  text.length > CELL_WIDTH_MAX ? `${text.slice(0, CELL_WIDTH_MAX - 1)}…` : text

/** One line for each field; the fields of an inner object as `key.name`. */
export const printFields = (fields: Fields, out: Writer): void => {
  const lines = flatten(fields)
  const width = Math.max(0, ...lines.map(([name]) => name.length))
  for (const [name, text] of lines) out.line(`${name.padEnd(width)}${GAP}${text}`.trimEnd())
}

const flatten = (fields: Fields, prefix = ""): readonly (readonly [string, string])[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    isFields(value) && Object.keys(value).length > 0
      ? flatten(value, `${prefix}${name}.`)
      : [[printable(`${prefix}${name}`), textOf(value)] as const],
  )

/** A value on one line. */
const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  if (typeof value === "string") return printable(value)
  if (Array.isArray(value) && value.every(item => typeof item === "string"))
    return printable(value.join(", "))
  return printable(JSON.stringify(value))
}
