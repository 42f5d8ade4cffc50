/**
 * Office files: zip archives of XML. They are unpacked here and not by a library for each format, since none of these
 * limits what an archive unpacks to.
 */
import { unzipSync } from "fflate"
import { Parser } from "htmlparser2"
import { namedRow } from "./plain.ts"
import { createTextBuilder, type ReadText, UnreadableFile } from "./text-blocks.ts"

const UNPACKED_BYTES_MAX = 100 * 1024 * 1024
const ENTRIES_MAX = 10_000

/** The entries that match. An entry is never unpacked to more than it says. */
const unpack = (bytes: Uint8Array, wanted: RegExp): ReadonlyMap<string, string> => {
  let unpacked = 0
  let entries = 0
  const filter = ({ name, originalSize }: { name: string; originalSize: number }): boolean => {
    entries++
    if (entries > ENTRIES_MAX) throw new UnreadableFile(`it has more than ${ENTRIES_MAX} entries`)
    if (!wanted.test(name)) return false
    unpacked += originalSize
    if (unpacked > UNPACKED_BYTES_MAX)
      throw new UnreadableFile(`it unpacks to more than ${UNPACKED_BYTES_MAX / 1024 ** 2} MiB`)
    return true
  }
  try {
    return new Map(
      Object.entries(unzipSync(bytes, { filter })).map(([name, data]) => [
        name,
        new TextDecoder().decode(data),
      ]),
    )
  } catch (error) {
    if (error instanceof UnreadableFile) throw error
    throw new UnreadableFile(
      `the archive is damaged: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

interface XmlHandlers {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(name: string): void
  text(text: string): void
}

const parseXml = (xml: string, { open, close, text }: XmlHandlers): void => {
  const parser = new Parser(
    { onopentag: open, onclosetag: close, ontext: text },
    { xmlMode: true, decodeEntities: true },
  )
  parser.write(xml)
  parser.end()
}

/** Which elements of a format of text documents mean what. */
interface TextFormat {
  readonly paragraph: ReadonlySet<string>
  /** Whose text counts; undefined: that of paragraphs. */
  readonly run: string | undefined
  readonly row: string
  readonly cell: string
  readonly table: string
  readonly spaces: Readonly<Record<string, string>>
  /** The level of a heading that this element makes of its paragraph. */
  levelOf(name: string, attributes: Readonly<Record<string, string>>): number | undefined
}

const STYLED_HEADING = /^(?:heading|berschrift|titre|título|titolo)\s*([1-6])$/i

const DOCX: TextFormat = {
  paragraph: new Set(["w:p"]),
  run: "w:t",
  row: "w:tr",
  cell: "w:tc",
  table: "w:tbl",
  spaces: { "w:tab": "\t", "w:br": "\n", "w:cr": "\n" },
  levelOf(name, attributes) {
    const value = attributes["w:val"] ?? ""
    if (name === "w:outlineLvl") return Number(value) < 6 ? Number(value) + 1 : undefined
    if (name !== "w:pStyle") return undefined
    if (value === "Title") return 1
    const [, level] = STYLED_HEADING.exec(value) ?? []
    return level === undefined ? undefined : Number(level)
  },
}

const ODT: TextFormat = {
  paragraph: new Set(["text:p", "text:h"]),
  run: undefined,
  row: "table:table-row",
  cell: "table:table-cell",
  table: "table:table",
  spaces: { "text:tab": "\t", "text:line-break": "\n", "text:s": " " },
  levelOf: (name, attributes) =>
    name === "text:h" ? Math.min(6, Number(attributes["text:outline-level"] ?? 1) || 1) : undefined,
}

const readTextDocument = (xml: string, format: TextFormat): ReadText => {
  const builder = createTextBuilder()
  const tables: string[][][] = []
  let paragraphs = 0
  let runs = 0
  let level: number | undefined
  let text = ""
  parseXml(xml, {
    open(name, attributes) {
      const isParagraph = format.paragraph.has(name)
      if (isParagraph) paragraphs++
      if (isParagraph && tables.length === 0) text = ""
      if (isParagraph && tables.length === 0) level = undefined
      level = format.levelOf(name, attributes) ?? level
      if (name === format.run) runs++
      if (paragraphs > 0) text += format.spaces[name] ?? ""
      if (name === format.table) tables.push([])
      if (name === format.row) tables.at(-1)?.push([])
      if (name === format.cell && tables.length === 1) text = ""
    },
    close(name) {
      if (name === format.run) runs--
      if (format.paragraph.has(name)) {
        paragraphs--
        if (tables.length > 0) text += " "
        else if (level === undefined) builder.paragraph(text)
        else builder.heading(level, text)
      }
      if (name === format.cell && tables.length === 1)
        tables[0]?.at(-1)?.push(text.replaceAll(/\s+/g, " ").trim())
      if (name !== format.table) return
      const table = tables.pop() ?? []
      if (tables.length === 0) builder.whole(table.map(row => row.join(" | ")).join("\n"))
      level = undefined
    },
    text(piece) {
      if (paragraphs > 0 && (format.run === undefined || runs > 0)) text += piece
    },
  })
  return builder.done()
}

export const readDocx = (bytes: Uint8Array): ReadText =>
  readTextDocument(unpack(bytes, /^word\/document\.xml$/).get("word/document.xml") ?? "", DOCX)

export const readOdt = (bytes: Uint8Array): ReadText =>
  readTextDocument(unpack(bytes, /^content\.xml$/).get("content.xml") ?? "", ODT)

const NUMBER = /(\d+)\.xml$/
const byNumber = (entries: ReadonlyMap<string, string>, folder: string): string[] =>
  [...entries]
    .filter(([name]) => name.startsWith(folder))
    .sort(([a], [b]) => Number(NUMBER.exec(a)?.[1]) - Number(NUMBER.exec(b)?.[1]))
    .map(([, xml]) => xml)

export const readPptx = (bytes: Uint8Array): ReadText => {
  const builder = createTextBuilder()
  const slides = byNumber(unpack(bytes, /^ppt\/slides\/slide\d+\.xml$/), "ppt/slides/")
  for (const [at, xml] of slides.entries()) {
    builder.turnTo(at + 1)
    let isTitle = false
    let isRun = false
    let text = ""
    parseXml(xml, {
      open(name, { type }) {
        if (name === "p:sp") isTitle = false
        if (name === "p:ph") isTitle = type === "title" || type === "ctrTitle"
        if (name === "a:p") text = ""
        if (name === "a:t") isRun = true
        if (name === "a:br") text += "\n"
      },
      close(name) {
        if (name === "a:t") isRun = false
        if (name !== "a:p") return
        if (isTitle) builder.heading(1, text)
        else builder.paragraph(text)
      },
      text(piece) {
        if (isRun) text += piece
      },
    })
  }
  return builder.done()
}

const sharedStrings = (xml: string): string[] => {
  const strings: string[] = []
  let isText = false
  let text = ""
  parseXml(xml, {
    open(name) {
      if (name === "si") text = ""
      isText = name === "t"
    },
    close(name) {
      if (name === "t") isText = false
      if (name === "si") strings.push(text)
    },
    text(piece) {
      if (isText) text += piece
    },
  })
  return strings
}

const COLUMNS_MAX = 16_384

/** `C7` is column 2. */
const columnOf = (reference: string): number => {
  let column = 0
  for (const letter of reference.replace(/\d+$/, "")) column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

const rowsOfSheet = (xml: string, shared: readonly string[]): string[][] => {
  const rows: string[][] = []
  let row: string[] = []
  let isValue = false
  let isShared = false
  let column = -1
  let text = ""
  parseXml(xml, {
    open(name, { r = "", t = "" }) {
      if (name === "row") row = []
      if (name === "c") {
        column = r === "" ? column + 1 : columnOf(r)
        isShared = t === "s"
        text = ""
      }
      isValue = name === "v" || name === "t"
    },
    close(name) {
      if (name === "v" || name === "t") isValue = false
      if (name === "c" && column >= 0 && column < COLUMNS_MAX) {
        while (row.length < column) row.push("")
        row[column] = isShared ? (shared[Number(text)] ?? "") : text
      }
      if (name !== "row") return
      column = -1
      rows.push(row)
    },
    text(piece) {
      if (isValue) text += piece
    },
  })
  return rows
}

const sheetNames = (xml: string): string[] => {
  const names: string[] = []
  parseXml(xml, {
    open(element, { name }) {
      if (element === "sheet") names.push(name ?? "")
    },
    close: () => undefined,
    text: () => undefined,
  })
  return names
}

export const readXlsx = (bytes: Uint8Array): ReadText => {
  const builder = createTextBuilder()
  const entries = unpack(bytes, /^xl\/(?:workbook|sharedStrings|worksheets\/sheet\d+)\.xml$/)
  const shared = sharedStrings(entries.get("xl/sharedStrings.xml") ?? "")
  const names = sheetNames(entries.get("xl/workbook.xml") ?? "")
  for (const [at, xml] of byNumber(entries, "xl/worksheets/").entries()) {
    builder.turnTo(at + 1)
    builder.heading(1, names[at] ?? `Sheet ${at + 1}`)
    const [header = [], ...rows] = rowsOfSheet(xml, shared).filter(row =>
      row.some(value => value.trim() !== ""),
    )
    builder.whole(header.filter(name => name.trim() !== "").join(", "))
    for (const row of rows) builder.whole(namedRow(header, row))
  }
  return builder.done()
}
