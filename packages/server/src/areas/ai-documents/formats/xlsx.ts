/** Excel workbooks. Texts are written as texts, so none is ever a formula. */
import writeExcelFile, { type Sheet as ExcelSheet } from "write-excel-file/node"
import type { DocumentTree } from "../making/blocks.ts"
import { OFFICE_FONTS } from "./fonts.ts"
import { numberOf, type Sheet, sheetsOf } from "./sheets.ts"

/** Excel's own limit. */
const CELL_LENGTH_MAX = 32_767
const WIDTH_MIN = 8
const WIDTH_MAX = 60

const cellOf = (text: string, align: "left" | "center" | "right") => {
  const value = numberOf(text)
  return value === undefined
    ? { type: String, value: text.slice(0, CELL_LENGTH_MAX).toWellFormed(), align, wrap: true }
    : { type: Number, value, align: "right" as const }
}

const headerCell = (text: string) => ({
  ...{ type: String, value: text.slice(0, CELL_LENGTH_MAX).toWellFormed() },
  ...{ fontWeight: "bold" as const, backgroundColor: "#EDEDED" },
})

const columnsOf = ({ header, rows }: Sheet) => {
  const all = header ? [header, ...rows] : rows
  const count = all.reduce((most, row) => Math.max(most, row.length), 1)
  return Array.from({ length: count }, (_, column) => {
    const longest = all.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0)
    return { width: Math.min(Math.max(longest + 2, WIDTH_MIN), WIDTH_MAX) }
  })
}

const toExcel = (sheet: Sheet): ExcelSheet<Buffer> => ({
  data: [
    ...(sheet.header ? [sheet.header.map(headerCell)] : []),
    ...sheet.rows.map(row => row.map((text, column) => cellOf(text, sheet.aligns[column] ?? "left"))),
  ],
  sheet: sheet.name,
  columns: columnsOf(sheet),
  ...(sheet.header && { stickyRowsCount: 1 }),
})

export const toXlsx = async (tree: DocumentTree): Promise<Uint8Array> =>
  writeExcelFile(sheetsOf(tree).map(toExcel), {
    fontFamily: OFFICE_FONTS[tree.style.font ?? "sans"],
    fontSize: tree.style.font_size ?? 11,
  }).toBuffer()
