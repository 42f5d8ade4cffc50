/** The tree as Markdown again, in one spelling. */
import {
  type Block,
  type DocumentTree,
  type ListItem,
  type Run,
  type Table,
  textOf,
} from "../making/blocks.ts"

/** What would be a mark within a line. */
const escapeInline = (text: string): string => text.replaceAll(/[\\`*_[\]<>~|]|&(?=#?\w+;)/g, "\\$&")

/** What would begin another kind of block. */
const escapeStart = (line: string): string =>
  line.replace(
    /^(\s*)(#{1,6}(?=\s|$)|[-+=](?=\s|$|-|=)|\d{1,9}(?=[.)](?:\s|$)))/,
    (_, space, mark: string) => (/^\d/.test(mark) ? `${space}${mark}\\` : `${space}\\${mark}`),
  )

const fence = (text: string, least: number): string => {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  return "`".repeat(Math.max(least, longest + 1))
}

const codeSpan = (text: string): string => {
  const ticks = fence(text, 1)
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : ""
  return `${ticks}${pad}${text.replaceAll("\n", " ")}${pad}${ticks}`
}

/** Marks hold only where they touch the text. */
const marked = (text: string, mark: string): string => {
  const [, before = "", inner = "", after = ""] = /^(\s*)([\s\S]*?)(\s*)$/.exec(text) ?? []
  return inner === "" ? text : `${before}${mark}${inner}${mark}${after}`
}

const ofRun = (run: Run, lineBreak: string): string => {
  let text = run.code ? codeSpan(run.text) : escapeInline(run.text).replaceAll("\n", lineBreak)
  if (run.strike) text = marked(text, "~~")
  if (run.italic) text = marked(text, "*")
  if (run.bold) text = marked(text, "**")
  if (run.href === undefined) return text
  return `[${text}](<${run.href.replaceAll(/[<>\\\n]/g, encodeURIComponent)}>)`
}

const ofRuns = (runs: readonly Run[], lineBreak = "  \n"): string =>
  escapeStart(runs.map(run => ofRun(run, lineBreak)).join(""))

const indented = (text: string, first: string, rest: string): string =>
  text
    .split("\n")
    .map((line, index) => (index === 0 ? first + line : line === "" ? "" : rest + line))
    .join("\n")

const ofItem = ({ checked, blocks }: ListItem, mark: string): string => {
  const box = checked === undefined ? "" : `[${checked ? "x" : " "}] `
  return indented(`${box}${ofBlocks(blocks)}`, `${mark} `, " ".repeat(mark.length + 1))
}

const RULES = { left: "---", center: ":-:", right: "--:" } as const

const ofTable = ({ aligns, header, rows }: Table): string => {
  const row = (cells: readonly (readonly Run[])[]) =>
    // A bar ends a cell even in code.
    `| ${cells.map(cell => ofRuns(cell, "<br>").replaceAll(/(?<!\\)\|/g, "\\|")).join(" | ")} |`
  const rule = `| ${aligns.map(align => RULES[align]).join(" | ")} |`
  return [row(header), rule, ...rows.map(row)].join("\n")
}

const ofBlock = (block: Block): string => {
  switch (block.type) {
    case "heading":
      return `${"#".repeat(block.level)} ${textOf(block.runs) === "" ? "" : ofRuns(block.runs, " ")}`.trim()
    case "paragraph":
      return ofRuns(block.runs)
    case "code": {
      const ticks = fence(block.text, 3)
      return `${ticks}${block.language.replaceAll(/[`\s]+/g, " ").trim()}\n${block.text}\n${ticks}`
    }
    case "quote":
      return ofBlocks(block.blocks)
        .split("\n")
        .map(line => (line === "" ? ">" : `> ${line}`))
        .join("\n")
    case "rule":
      return "---"
    case "table":
      return ofTable(block)
    case "list":
      return block.items
        .map((item, index) => ofItem(item, block.start === null ? "-" : `${block.start + index}.`))
        .join("\n")
  }
}

const ofBlocks = (blocks: readonly Block[]): string => blocks.map(ofBlock).join("\n\n")

export const toMarkdown = ({ blocks }: DocumentTree): string => `${ofBlocks(blocks)}\n`
