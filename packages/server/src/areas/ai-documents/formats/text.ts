/** Plain text, for eyes. */
import {
  type Block,
  type DocumentTree,
  type ListItem,
  type Run,
  type Table,
  textOf,
} from "../making/blocks.ts"

const WIDTH = 78

/** The address of a link that its text does not show. */
const ofRun = ({ text, href }: Run): string =>
  href === undefined || href === text || href === `mailto:${text}` ? text : `${text} (${href})`

const ofRuns = (runs: readonly Run[]): string => runs.map(ofRun).join("")

const wrapLine = (line: string, width: number): string => {
  const lines: string[] = []
  let current = ""
  for (const word of line.split(" ")) {
    const longer = current === "" ? word : `${current} ${word}`
    if (longer.length > width && current !== "") {
      lines.push(current)
      current = word
    } else current = longer
  }
  return [...lines, current].join("\n")
}

const wrap = (text: string, width: number): string =>
  text
    .split("\n")
    .map(line => wrapLine(line, Math.max(width, 20)))
    .join("\n")

const indented = (text: string, first: string, rest: string): string =>
  text
    .split("\n")
    .map((line, index) => (index === 0 ? first : line === "" ? "" : rest) + line)
    .join("\n")

const ofItem = ({ checked, blocks }: ListItem, mark: string, width: number): string => {
  const box = checked === undefined ? "" : checked ? "[x] " : "[ ] "
  const pad = " ".repeat(mark.length + 1)
  return indented(`${box}${ofBlocks(blocks, width - pad.length)}`, `${mark} `, pad)
}

const ofTable = ({ aligns, header, rows }: Table): string => {
  const cells = [header, ...rows].map(row => row.map(cell => ofRuns(cell).replaceAll("\n", " ")))
  const widths = header.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  )
  const row = (texts: readonly string[]) =>
    widths
      .map((width, column) => {
        const text = texts[column] ?? ""
        return aligns[column] === "right" ? text.padStart(width) : text.padEnd(width)
      })
      .join("  ")
      .trimEnd()
  const [first = [], ...others] = cells
  return [row(first), widths.map(width => "-".repeat(width)).join("  "), ...others.map(row)].join("\n")
}

const ofBlock = (block: Block, width: number): string => {
  switch (block.type) {
    case "heading": {
      const text = textOf(block.runs).replaceAll("\n", " ")
      if (block.level > 2) return text
      return `${text}\n${(block.level === 1 ? "=" : "-").repeat(Math.min(text.length, width))}`
    }
    case "paragraph":
      return wrap(ofRuns(block.runs), width)
    case "code":
      return indented(block.text, "    ", "    ")
    case "quote":
      return indented(ofBlocks(block.blocks, width - 2), "| ", "| ")
    case "rule":
      return "-".repeat(Math.max(width, 3))
    case "table":
      return ofTable(block)
    case "list":
      return block.items
        .map((item, index) => ofItem(item, block.start === null ? "-" : `${block.start + index}.`, width))
        .join("\n")
  }
}

const ofBlocks = (blocks: readonly Block[], width: number): string =>
  blocks.map(block => ofBlock(block, width)).join("\n\n")

export const toText = ({ blocks }: DocumentTree): string => `${ofBlocks(blocks, WIDTH)}\n`
