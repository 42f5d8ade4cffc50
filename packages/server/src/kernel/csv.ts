/** Rows of a table as RFC 4180 has them. */

export type CsvCell = string | number | bigint | null

const NUMBER = /^-?\d+(\.\d+)?$/
/** A spreadsheet would take such a text for a formula. The apostrophe says that it is none. */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/
const QUOTED = /[",\r\n]|^\s|\s$/

export const CSV_TYPE = "text/csv; charset=utf-8"

/** Whether a text is a number is the caller's to say, where it knows better. */
const cellOf = (text: string, isNumber: (text: string) => boolean): string => {
  const safe = FORMULA.test(text) && !isNumber(text) ? `'${text}` : text
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const isPlainNumber = (text: string): boolean => NUMBER.test(text)

/** One row, without the end of its line. */
export const csvRow = (cells: readonly CsvCell[], isNumber = isPlainNumber): string =>
  cells.map(cell => cellOf(cell === null ? "" : String(cell), isNumber)).join(",")

/** One row with the end of its line. */
export const csvLine = (cells: readonly CsvCell[]): string => `${csvRow(cells)}\r\n`
