/** Markdown to the block tree. What the tree has no place for becomes text; nothing is loaded from anywhere. */
import { decodeHTML } from "entities"
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked"
import { type Align, type Block, DocumentProblem, type ListItem, type Run } from "./blocks.ts"

const DEPTH_MAX = 16
const BLOCKS_MAX = 20_000
const CELLS_MAX = 100_000
const COLUMNS_MAX = 100

type Look = Omit<Run, "text">

/** Links to anything else could run scripts or read files of whoever opens the document. */
const safeLink = (href: string): string | undefined => {
  const link = decodeHTML(href)
  try {
    const { protocol } = new URL(link)
    return ["http:", "https:", "mailto:"].includes(protocol) ? link : undefined
  } catch {
    return undefined
  }
}

const linked = (look: Look, href: string): Look => {
  const link = safeLink(href)
  return link === undefined ? look : { ...look, href: link }
}

const checkDepth = (depth: number) => {
  if (depth > DEPTH_MAX) throw new DocumentProblem(`it is nested more than ${DEPTH_MAX} deep`)
}

const BREAK = /^<br\s*\/?>$/i

/** Control characters have no place in XML, and none in a text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/g

export const cleanText = (text: string): string => text.replace(CONTROLS, "").toWellFormed()

const runsOfToken = (token: MarkedToken, look: Look, depth: number): Run[] => {
  switch (token.type) {
    case "strong":
      return runsOf(token.tokens, { ...look, bold: true }, depth)
    case "em":
      return runsOf(token.tokens, { ...look, italic: true }, depth)
    case "del":
      return runsOf(token.tokens, { ...look, strike: true }, depth)
    case "codespan":
      return [{ text: cleanText(token.text), ...look, code: true }]
    case "br":
      return [{ text: "\n", ...look }]
    case "link":
      return runsOf(token.tokens, linked(look, token.href), depth)
    case "image":
      return [{ text: cleanText(decodeHTML(token.text || token.href)), ...linked(look, token.href) }]
    case "html":
      return [{ text: BREAK.test(token.text.trim()) ? "\n" : cleanText(token.text), ...look }]
    case "escape":
      return [{ text: cleanText(token.text), ...look }]
    case "checkbox":
    case "def":
    case "space":
      return []
    case "text":
      if (token.tokens) return runsOf(token.tokens, look, depth)
      // A line end within a paragraph is a space.
      return [{ text: cleanText(decodeHTML(token.text).replaceAll(/\s*\n\s*/g, " ")), ...look }]
    default:
      return [{ text: cleanText(token.raw), ...look }]
  }
}

/** Pieces of the same look are one, so that text can be found in them. */
const joined = (runs: readonly Run[]): Run[] => {
  const result: Run[] = []
  for (const run of runs) {
    const last = result.at(-1)
    if (run.text === "") continue
    const isSame =
      last &&
      last.bold === run.bold &&
      last.italic === run.italic &&
      last.strike === run.strike &&
      last.code === run.code &&
      last.href === run.href
    if (isSame) result[result.length - 1] = { ...last, text: last.text + run.text }
    else result.push(run)
  }
  return result
}

const runsOf = (tokens: readonly Token[] | undefined, look: Look, depth: number): Run[] => {
  checkDepth(depth)
  return joined((tokens ?? []).flatMap(token => runsOfToken(token as MarkedToken, look, depth + 1)))
}

const inline = (tokens: readonly Token[] | undefined): Run[] => runsOf(tokens, {}, 0)

interface Count {
  blocks: number
  cells: number
}

const itemOf = (item: Tokens.ListItem, depth: number, count: Count): ListItem => ({
  ...(item.task && { checked: item.checked === true }),
  blocks: blocksOf(item.tokens, depth, count),
})

const tableOf = (token: Tokens.Table, count: Count): Block => {
  const columns = token.header.length
  count.cells += columns * (token.rows.length + 1)
  if (columns > COLUMNS_MAX) throw new DocumentProblem(`a table has more than ${COLUMNS_MAX} columns`)
  if (count.cells > CELLS_MAX) throw new DocumentProblem(`its tables have more than ${CELLS_MAX} cells`)
  return {
    type: "table",
    aligns: token.align.map((align): Align => align ?? "left"),
    header: token.header.map(cell => inline(cell.tokens)),
    rows: token.rows.map(row => row.map(cell => inline(cell.tokens))),
  }
}

const blockOf = (token: MarkedToken, depth: number, count: Count): Block | undefined => {
  switch (token.type) {
    case "heading":
      return { type: "heading", level: token.depth, runs: inline(token.tokens) }
    case "list": {
      const start = token.ordered ? Number(token.start === "" ? 1 : token.start) : null
      return { type: "list", start, items: token.items.map(item => itemOf(item, depth, count)) }
    }
    case "code":
      return { type: "code", language: cleanText(token.lang ?? ""), text: cleanText(token.text) }
    case "blockquote":
      return { type: "quote", blocks: blocksOf(token.tokens, depth, count) }
    case "table":
      return tableOf(token, count)
    case "hr":
      return { type: "rule" }
    case "space":
    case "def":
    case "checkbox":
      return undefined
    case "paragraph":
    case "text": {
      const runs = token.tokens ? inline(token.tokens) : runsOfToken(token, {}, 0)
      return runs.length === 0 ? undefined : { type: "paragraph", runs }
    }
    default: {
      const text = cleanText(token.raw).trim()
      return text === "" ? undefined : { type: "paragraph", runs: [{ text }] }
    }
  }
}

const blocksOf = (tokens: readonly Token[], depth: number, count: Count): Block[] => {
  checkDepth(depth)
  count.blocks += tokens.length
  if (count.blocks > BLOCKS_MAX) throw new DocumentProblem(`it has more than ${BLOCKS_MAX} blocks`)
  return tokens.flatMap(token => blockOf(token as MarkedToken, depth + 1, count) ?? [])
}

/** Throws a `DocumentProblem` where the text is too large or nested too deeply for a document. */
export const parseMarkdown = (text: string): Block[] => {
  const tokens = new Lexer({ gfm: true }).lex(text)
  return blocksOf(tokens, 0, { blocks: 0, cells: 0 })
}
