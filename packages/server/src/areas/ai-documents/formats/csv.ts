/** RFC 4180, in UTF-8 with the mark by which Excel knows it. */
import type { DocumentTree } from "../making/blocks.ts"
import { numberOf, sheetsOf } from "./sheets.ts"

const BYTE_ORDER_MARK = "\ufeff"
/** A spreadsheet would take such a text for a formula. The apostrophe says that it is none. */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/

const ofCell = (text: string): string => {
  const safe = FORMULA.test(text) && numberOf(text) === undefined ? `'${text}` : text
  return /[",\r\n]|^\s|\s$|^$/.test(safe) && safe !== "" ? `"${safe.replaceAll('"', '""')}"` : safe
}

const ofRow = (cells: readonly string[]): string => cells.map(ofCell).join(",")

/** Of a document with tables these alone, an empty line between two; else its lines. */
export const toCsv = (tree: DocumentTree): string => {
  const sheets = sheetsOf(tree)
  const tables = sheets.filter(({ header }) => header !== null)
  const parts = (tables.length > 0 ? tables : sheets).map(({ header, rows }) =>
    [...(header ? [header] : []), ...rows].map(ofRow).join("\r\n"),
  )
  return `${BYTE_ORDER_MARK}${parts.join("\r\n\r\n")}\r\n`
}
