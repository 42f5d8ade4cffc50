/** What spreadsheets have of a document: a sheet for each table, and one for the text around them. */
import { type Align, type Block, type DocumentTree, textOf } from "../making/blocks.ts"

export interface Sheet {
  readonly name: string
  /** Null: lines of text. */
  readonly header: readonly string[] | null
  readonly aligns: readonly Align[]
  readonly rows: readonly (readonly string[])[]
}

/** At most 31 characters, and none that a spreadsheet uses in references. */
const NAME_LENGTH_MAX = 31
const TEXT_SHEET = "Text"

const createNames = () => {
  const taken = new Set<string>()
  return (wish: string): string => {
    const clean = wish.replaceAll(/[[\]*/\\?:\s]+/g, " ").replaceAll(/^[' ]+|[' ]+$/g, "") || "Table"
    for (let count = 1; ; count++) {
      const suffix = count === 1 ? "" : ` ${count}`
      const name =
        clean
          .slice(0, NAME_LENGTH_MAX - suffix.length)
          .toWellFormed()
          .trim() + suffix
      const key = name.toLowerCase()
      if (taken.has(key) || key === "history") continue
      taken.add(key)
      return name
    }
  }
}

interface Found {
  readonly sheets: Sheet[]
  readonly lines: string[]
  readonly nameOf: (wish: string) => string
  heading: string
}

const visit = (block: Block, found: Found) => {
  switch (block.type) {
    case "heading":
      found.heading = textOf(block.runs)
      found.lines.push(found.heading)
      break
    case "paragraph":
      found.lines.push(textOf(block.runs))
      break
    case "code":
      found.lines.push(...block.text.split("\n"))
      break
    case "quote":
      for (const inner of block.blocks) visit(inner, found)
      break
    case "list":
      for (const item of block.items) for (const inner of item.blocks) visit(inner, found)
      break
    case "table":
      found.sheets.push({
        name: found.nameOf(found.heading),
        header: block.header.map(textOf),
        aligns: block.aligns,
        rows: block.rows.map(row => row.map(textOf)),
      })
      break
  }
}

/** The tables first. There is always one sheet. */
export const sheetsOf = ({ blocks, title }: DocumentTree): Sheet[] => {
  const found: Found = { sheets: [], lines: [], nameOf: createNames(), heading: title }
  for (const block of blocks) visit(block, found)
  const rows = found.lines.map(line => [line])
  if (found.sheets.length > 0 && rows.length === 0) return found.sheets
  return [...found.sheets, { name: found.nameOf(TEXT_SHEET), header: null, aligns: [], rows }]
}

const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/

/** A text that is a number and can be written back as it was. */
export const numberOf = (text: string): number | undefined => {
  const value = NUMBER.test(text) ? Number(text) : undefined
  return value !== undefined && text.replace("-", "").replace(".", "").length <= 15 ? value : undefined
}
