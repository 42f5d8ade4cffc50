/** Text, Markdown, CSV and JSON. */
import {
  type Block,
  createOutline,
  createTextBuilder,
  type ReadText,
  TEXT_LENGTH_MAX,
  tooLong,
  UnreadableFile,
} from "./text-blocks.ts"

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$/
const FENCE = /^ {0,3}(`{3,}|~{3,})/
const TABLE_ROW = /^\s*\|.*\|\s*$/
const JSON_DEPTH_MAX = 100

interface Line {
  readonly start: number
  readonly end: number
  readonly text: string
}

function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf("\n", start)
    const end = found < 0 ? text.length : found
    yield { start, end, text: text.slice(start, end).replace(/\r$/, "") }
    start = end + 1
  }
}

/** Offsets are those of the file, so nothing of the text is changed. */
const readLines = (text: string, isMarkdown: boolean): ReadText => {
  if (text.length > TEXT_LENGTH_MAX) throw tooLong()
  const outline = createOutline()
  const blocks: Block[] = []
  let open: { start: number; end: number; isWhole: boolean; fence?: string } | undefined
  const close = () => {
    if (open)
      blocks.push({
        start: open.start,
        end: open.end,
        page: null,
        heading: outline.heading(),
        isHeading: false,
        isWhole: open.isWhole,
      })
    open = undefined
  }
  for (const { start, end, text: line } of linesOf(text)) {
    const fence = isMarkdown ? FENCE.exec(line)?.[1] : undefined
    if (open?.fence !== undefined) {
      open.end = end
      if (fence?.startsWith(open.fence)) close()
      continue
    }
    const [, marks, title] = (isMarkdown && HEADING.exec(line)) || []
    if (marks !== undefined && title !== undefined) {
      close()
      outline.enter(marks.length, title)
      blocks.push({ start, end, page: null, heading: outline.heading(), isHeading: true, isWhole: false })
    } else if (fence !== undefined) {
      close()
      open = { start, end, isWhole: true, fence }
    } else if (line.trim() === "") close()
    else {
      const isWhole = isMarkdown && TABLE_ROW.test(line)
      if (open && open.isWhole !== isWhole) close()
      open = open ? { ...open, end } : { start, end, isWhole }
    }
  }
  close()
  return { text, blocks, pages: null }
}

export const readPlain = (text: string): ReadText => readLines(text, false)
export const readMarkdown = (text: string): ReadText => readLines(text, true)

const delimiterOf = (text: string): string => {
  const [line = ""] = text.split("\n", 1)
  const count = (delimiter: string) => line.split(delimiter).length
  return [",", ";", "\t"].reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best))
}

/** RFC 4180, with the delimiter of the first line. */
function* rowsOf(text: string): Generator<string[]> {
  const delimiter = delimiterOf(text)
  let row: string[] = []
  let field = ""
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] as string
    if (isQuoted) {
      if (letter !== '"') field += letter
      else if (text[at + 1] === '"') {
        field += '"'
        at++
      } else isQuoted = false
    } else if (letter === '"' && field === "") isQuoted = true
    else if (letter === delimiter || letter === "\n") {
      row.push(field.replace(/\r$/, ""))
      field = ""
      if (letter === delimiter) continue
      yield row
      row = []
    } else field += letter
  }
  if (field !== "" || row.length > 0) yield [...row, field]
}

/** A row says of itself what its values are. */
export const namedRow = (names: readonly string[], row: readonly string[]): string =>
  row
    .flatMap((value, at) => {
      if (value.trim() === "") return []
      const name = names[at]?.trim()
      return name ? `${name}: ${value.trim()}` : value.trim()
    })
    .join("; ")

export const readCsv = (text: string): ReadText => {
  const builder = createTextBuilder()
  let names: readonly string[] | undefined
  for (const row of rowsOf(text.replace(/^\uFEFF/, ""))) {
    if (names === undefined) {
      names = row
      builder.whole(row.filter(name => name.trim() !== "").join(", "))
    } else builder.whole(namedRow(names, row))
  }
  return builder.done()
}

/** A line for each value, with its path. */
function* leavesOf(value: unknown, path: string, depth: number): Generator<string> {
  if (depth > JSON_DEPTH_MAX) throw new UnreadableFile(`it is nested deeper than ${JSON_DEPTH_MAX} levels`)
  if (Array.isArray(value)) {
    if (value.every(item => item === null || typeof item !== "object"))
      yield `${path}: ${value.map(String).join(", ")}`
    else for (const [at, item] of value.entries()) yield* leavesOf(item, `${path}[${at}]`, depth + 1)
  } else if (value !== null && typeof value === "object") {
    for (const [name, item] of Object.entries(value))
      yield* leavesOf(item, path === "" ? name : `${path}.${name}`, depth + 1)
  } else if (value !== null) yield path === "" ? String(value) : `${path}: ${String(value)}`
}

const recordOf = (value: unknown, path: string): string => [...leavesOf(value, path, 0)].join("\n")

export const readJson = (text: string): ReadText => {
  const builder = createTextBuilder()
  const value = JSON.parse(text) as unknown
  if (Array.isArray(value)) for (const item of value) builder.whole(recordOf(item, ""))
  else if (value !== null && typeof value === "object")
    for (const [name, item] of Object.entries(value)) {
      if (!Array.isArray(item)) builder.whole(recordOf(item, name))
      else for (const [at, one] of item.entries()) builder.whole(recordOf(one, `${name}[${at}]`))
    }
  else builder.whole(String(value))
  return builder.done()
}
