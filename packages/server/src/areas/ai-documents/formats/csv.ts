/** RFC 4180, in UTF-8 with the mark by which Excel knows it. */
import { csvRow } from "../../../kernel/csv.ts"
import type { DocumentTree } from "../making/blocks.ts"
import { numberOf, sheetsOf } from "./sheets.ts"

const BYTE_ORDER_MARK = "\ufeff"
const isNumber = (text: string): boolean => numberOf(text) !== undefined

/** Of a document with tables these alone, an empty line between two; else its lines. */
export const toCsv = (tree: DocumentTree): string => {
  const sheets = sheetsOf(tree)
  const tables = sheets.filter(({ header }) => header !== null)
  const parts = (tables.length > 0 ? tables : sheets).map(({ header, rows }) =>
    [...(header ? [header] : []), ...rows].map(cells => csvRow(cells, isNumber)).join("\r\n"),
  )
  return `${BYTE_ORDER_MARK}${parts.join("\r\n\r\n")}\r\n`
}
