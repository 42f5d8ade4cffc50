/** Edits of a document's tree. Each either does something or says why it cannot. */
import { DocumentStyle } from "@svc/contract"
import { Value } from "typebox/value"
import {
  type Block,
  DocumentProblem,
  type DocumentSource,
  type Edit,
  type Run,
  type Style,
  textOf,
} from "./blocks.ts"
import { cleanText, parseMarkdown } from "./markdown.ts"

/** Blocks `from` to `to`, without the latter. */
interface Range {
  readonly from: number
  readonly to: number
}

const BLOCK_NUMBER = /^#(\d{1,6})$/

const sameText = (a: string, b: string): boolean =>
  a.replaceAll(/\s+/g, " ").trim().toLowerCase() === b.replaceAll(/\s+/g, " ").trim().toLowerCase()

/** A section goes on to the next heading that is not below its own. */
const sectionAt = (blocks: readonly Block[], from: number, level: number): Range => {
  const next = blocks.findIndex(
    (block, index) => index > from && block.type === "heading" && block.level <= level,
  )
  return { from, to: next < 0 ? blocks.length : next }
}

const findTarget = (blocks: readonly Block[], target: string | undefined, op: string): Range => {
  if (target === undefined) throw new DocumentProblem(`${op} needs a target`)
  const number = BLOCK_NUMBER.exec(target)?.[1]
  if (number !== undefined) {
    const at = Number(number) - 1
    if (at < 0 || at >= blocks.length)
      throw new DocumentProblem(`there is no block ${target}: it has ${blocks.length}`)
    return { from: at, to: at + 1 }
  }
  const found = blocks.flatMap((block, index) =>
    block.type === "heading" && sameText(textOf(block.runs), target) ? [{ index, level: block.level }] : [],
  )
  const [first, second] = found
  if (!first) throw new DocumentProblem(`no heading is called "${target}"`)
  if (second) throw new DocumentProblem(`several headings are called "${target}"`)
  return sectionAt(blocks, first.index, first.level)
}

const needText = ({ op, text }: Edit): string => {
  if (text === undefined) throw new DocumentProblem(`${op} needs a text`)
  return text
}

interface Finding {
  readonly find: string
  readonly text: string
  count: number
}

const inRuns = (runs: readonly Run[], finding: Finding): Run[] =>
  runs.flatMap(run => {
    const parts = run.text.split(finding.find)
    finding.count += parts.length - 1
    const text = parts.join(finding.text)
    return text === "" ? [] : [{ ...run, text }]
  })

const inBlock = (block: Block, finding: Finding): Block => {
  switch (block.type) {
    case "heading":
    case "paragraph":
      return { ...block, runs: inRuns(block.runs, finding) }
    case "quote":
      return { ...block, blocks: block.blocks.map(inner => inBlock(inner, finding)) }
    case "list": {
      const items = block.items.map(item => ({
        ...item,
        blocks: item.blocks.map(inner => inBlock(inner, finding)),
      }))
      return { ...block, items }
    }
    case "table": {
      const cells = (row: readonly (readonly Run[])[]) => row.map(cell => inRuns(cell, finding))
      return { ...block, header: cells(block.header), rows: block.rows.map(cells) }
    }
    case "code": {
      const [run] = inRuns([{ text: block.text }], finding)
      return { ...block, text: run?.text ?? "" }
    }
    default:
      return block
  }
}

const findAndReplace = (blocks: readonly Block[], edit: Edit): Block[] => {
  const text = needText(edit)
  if (edit.find === undefined) throw new DocumentProblem("find_replace needs what to find")
  const finding: Finding = { find: edit.find, text: cleanText(text), count: 0 }
  const all = { from: 0, to: blocks.length }
  const { from, to } = edit.target === undefined ? all : findTarget(blocks, edit.target, edit.op)
  const result = blocks.map((block, index) => (index >= from && index < to ? inBlock(block, finding) : block))
  if (finding.count === 0) throw new DocumentProblem(`there is no "${edit.find}" in it`)
  return result
}

const applyEdit = (blocks: readonly Block[], edit: Edit): readonly Block[] => {
  if (edit.op === "set_data" || edit.op === "restyle") return blocks
  if (edit.op === "find_replace") return findAndReplace(blocks, edit)
  const { from, to } = findTarget(blocks, edit.target, edit.op)
  if (edit.op === "delete") return blocks.toSpliced(from, to - from)
  const added = parseMarkdown(needText(edit))
  if (edit.op === "replace") return blocks.toSpliced(from, to - from, ...added)
  return blocks.toSpliced(edit.op === "insert_before" ? from : to, 0, ...added)
}

const needData = ({ op, data }: Edit) => {
  if (data === undefined) throw new DocumentProblem(`${op} needs data`)
  return data
}

/** The data of the template after all edits, which all count before the first one is applied. */
export const dataOf = ({ data, edits }: DocumentSource): Readonly<Record<string, unknown>> | null => {
  const changes = edits.filter(({ op }) => op === "set_data")
  if (changes.length === 0) return data
  if (data === null) throw new DocumentProblem("set_data is for documents from a template")
  return Object.assign({}, data, ...changes.map(needData))
}

const checkStyle = (edit: Edit) => {
  const data = needData(edit)
  const [first] = Value.Errors(DocumentStyle, data)
  if (first) throw new DocumentProblem(`restyle: ${first.instancePath.slice(1) || "data"} ${first.message}`)
  const unknown = Object.keys(data).find(name => !(name in DocumentStyle.properties))
  if (unknown !== undefined) throw new DocumentProblem(`restyle: nothing is called ${unknown}`)
  return data
}

const styleOf = ({ style, edits }: DocumentSource): Style =>
  Object.assign({}, style, ...edits.filter(({ op }) => op === "restyle").map(checkStyle))

/** `earlier` of the edits were made for earlier versions. */
export const applyEdits = (
  blocks: readonly Block[],
  source: DocumentSource,
  earlier: number,
): { readonly blocks: readonly Block[]; readonly style: Style } => {
  const edited = source.edits.reduce((before, edit, index) => {
    try {
      return applyEdit(before, edit)
    } catch (error) {
      if (!(error instanceof DocumentProblem)) throw error
      const which = index < earlier ? "an edit of an earlier version" : `edit ${index + 1 - earlier}`
      throw new DocumentProblem(`${which}: ${error.message}`)
    }
  }, blocks)
  return { blocks: edited, style: styleOf(source) }
}
