/** What a version is made from, to its tree. The same source always gives the same tree. */
import { type Block, type DocumentSource, type DocumentTree, type Run, textOf } from "./blocks.ts"
import { applyEdits, dataOf } from "./edits.ts"
import { parseMarkdown } from "./markdown.ts"
import { fillTemplate } from "./templating.ts"

const UNTITLED = "Document"
const TITLE_LENGTH_MAX = 200

const titleOf = (blocks: readonly Block[]): string => {
  const heading = blocks.find(block => block.type === "heading")
  const text = heading ? textOf(heading.runs).replaceAll(/\s+/g, " ").trim() : ""
  return text === "" ? UNTITLED : text.slice(0, TITLE_LENGTH_MAX).toWellFormed()
}

export const composeDocument = (source: DocumentSource, earlierEdits: number): DocumentTree => {
  const data = dataOf(source)
  const markdown = data === null ? source.text : fillTemplate(source.text, data)
  const { blocks, style } = applyEdits(parseMarkdown(markdown), source, earlierEdits)
  return { title: source.title ?? titleOf(blocks), style, blocks }
}

const wordsOfRuns = (runs: readonly Run[]): number => textOf(runs).match(/\S+/g)?.length ?? 0

export const countWords = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + wordsOf(block), 0)

const wordsOf = (block: Block): number => {
  if (block.type === "heading" || block.type === "paragraph") return wordsOfRuns(block.runs)
  if (block.type === "list") return block.items.reduce((sum, item) => sum + countWords(item.blocks), 0)
  if (block.type === "quote") return countWords(block.blocks)
  if (block.type === "code") return wordsOfRuns([{ text: block.text }])
  if (block.type === "rule") return 0
  return [block.header, ...block.rows].flat().reduce((sum, cell) => sum + wordsOfRuns(cell), 0)
}
