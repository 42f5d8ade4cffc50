/**
 * Office files: zip archives of XML. They are unpacked here and not by a library for each format, since none of these
 * limits what an archive unpacks to.
 */
import { unzipSync } from "fflate"
import { Parser } from "htmlparser2"
import { namedRow } from "./plain.ts"
import { createTextBuilder, type ReadText, type TextBuilder, UnreadableFile } from "./text-blocks.ts"

const UNPACKED_BYTES_MAX = 100 * 1024 * 1024
const ENTRIES_MAX = 10_000

/** The entries that match. An entry is never unpacked to more than it says. */
const unpack = (bytes: Uint8Array, isWanted: (name: string) => boolean): ReadonlyMap<string, string> => {
  let unpacked = 0
  let entries = 0
  const filter = ({ name, originalSize }: { name: string; originalSize: number }): boolean => {
    entries++
    if (entries > ENTRIES_MAX) throw new UnreadableFile(`it has more than ${ENTRIES_MAX} entries`)
    if (!isWanted(name)) return false
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

const tidy = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

const tableText = (rows: readonly (readonly string[])[]): string =>
  rows.map(row => row.join(" | ")).join("\n")

/** Which elements of a format of text documents mean what. */
interface TextFormat {
  readonly paragraph: ReadonlySet<string>
  /** What repeats other text, or is no text of the document's present state. */
  readonly skipped: ReadonlySet<string>
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
  // A text box stands in a file twice: as it is, and for programs that do not know it.
  skipped: new Set(["mc:Fallback"]),
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
  skipped: new Set(["text:tracked-changes", "text:note-citation"]),
  run: undefined,
  row: "table:table-row",
  cell: "table:table-cell",
  table: "table:table",
  spaces: { "text:tab": "\t", "text:line-break": "\n", "text:s": " " },
  levelOf: (name, attributes) =>
    name === "text:h" ? Math.min(6, Number(attributes["text:outline-level"] ?? 1) || 1) : undefined,
}

interface OpenParagraph {
  text: string
  level: number | undefined
  /** Of notes and text boxes inside it; they come after it. */
  readonly nested: OpenParagraph[]
}

const addParagraph = (builder: TextBuilder, { text, level, nested }: OpenParagraph): void => {
  if (level === undefined) builder.paragraph(text)
  else builder.heading(level, text)
  for (const paragraph of nested) addParagraph(builder, paragraph)
}

const readTextDocument = (xml: string, format: TextFormat): ReadText => {
  const builder = createTextBuilder()
  const tables: string[][][] = []
  const paragraphs: OpenParagraph[] = []
  let skipped = 0
  let runs = 0
  let cell = ""
  parseXml(xml, {
    open(name, attributes) {
      if (skipped > 0 || format.skipped.has(name)) {
        skipped++
        return
      }
      if (format.paragraph.has(name)) paragraphs.push({ text: "", level: undefined, nested: [] })
      const paragraph = paragraphs.at(-1)
      if (paragraph) {
        paragraph.level = format.levelOf(name, attributes) ?? paragraph.level
        paragraph.text += format.spaces[name] ?? ""
      }
      if (name === format.run) runs++
      if (name === format.table) tables.push([])
      if (name === format.row) tables.at(-1)?.push([])
      if (name === format.cell && tables.length === 1) cell = ""
    },
    close(name) {
      if (skipped > 0) {
        skipped--
        return
      }
      if (name === format.run) runs--
      const paragraph = format.paragraph.has(name) ? paragraphs.pop() : undefined
      if (paragraph) {
        const outer = paragraphs.at(-1)
        if (tables.length > 0) cell += `${paragraph.text} `
        else if (outer) outer.nested.push(paragraph)
        else addParagraph(builder, paragraph)
      }
      if (name === format.cell && tables.length === 1) tables[0]?.at(-1)?.push(tidy(cell))
      if (name !== format.table) return
      const table = tables.pop() ?? []
      if (tables.length === 0) builder.whole(tableText(table))
    },
    text(piece) {
      const paragraph = paragraphs.at(-1)
      if (paragraph && skipped === 0 && (format.run === undefined || runs > 0)) paragraph.text += piece
    },
  })
  return builder.done()
}

const onlyEntry = (bytes: Uint8Array, name: string): string => {
  const xml = unpack(bytes, entry => entry === name).get(name)
  if (xml === undefined) throw new UnreadableFile(`the archive has no ${name}`)
  return xml
}

export const readDocx = (bytes: Uint8Array): ReadText =>
  readTextDocument(onlyEntry(bytes, "word/document.xml"), DOCX)

export const readOdt = (bytes: Uint8Array): ReadText => readTextDocument(onlyEntry(bytes, "content.xml"), ODT)

const RELATIONSHIP_ID = "r:id"

interface Part {
  readonly name: string | undefined
  readonly xml: string
}

/** Slides or sheets in the order of the main entry; the numbers of their own names say nothing of it. */
const partsInOrder = (
  entries: ReadonlyMap<string, string>,
  folder: string,
  main: string,
  element: string,
): Part[] => {
  const targets = new Map<string, string>()
  const parts: Part[] = []
  const visit = (entry: string, open: XmlHandlers["open"]): void =>
    parseXml(entries.get(`${folder}/${entry}`) ?? "", { open, close: () => undefined, text: () => undefined })
  visit(`_rels/${main}.rels`, (name, { Id, Target }) => {
    if (name === "Relationship" && Id !== undefined && Target !== undefined)
      targets.set(Id, Target.startsWith("/") ? Target.slice(1) : `${folder}/${Target}`)
  })
  visit(main, (tag, { name, [RELATIONSHIP_ID]: id = "" }) => {
    if (tag !== element) return
    const xml = entries.get(targets.get(id) ?? "")
    if (xml !== undefined) parts.push({ name, xml })
  })
  return parts
}

const readSlide = (xml: string, builder: TextBuilder): void => {
  let table: string[][] | undefined
  let isTitle = false
  let isRun = false
  let text = ""
  let cell = ""
  parseXml(xml, {
    open(name, { type }) {
      if (name === "p:sp") isTitle = false
      if (name === "p:ph") isTitle = type === "title" || type === "ctrTitle"
      if (name === "a:tbl") table = []
      if (name === "a:tr") table?.push([])
      if (name === "a:tc") cell = ""
      if (name === "a:p") text = ""
      if (name === "a:t") isRun = true
      if (name === "a:br") text += "\n"
    },
    close(name) {
      if (name === "p:sp") isTitle = false
      if (name === "a:t") isRun = false
      if (name === "a:p") {
        if (table) cell += `${text} `
        else if (isTitle) builder.heading(1, text)
        else builder.paragraph(text)
      }
      if (name === "a:tc") table?.at(-1)?.push(tidy(cell))
      if (name !== "a:tbl" || !table) return
      builder.whole(tableText(table))
      table = undefined
    },
    text(piece) {
      if (isRun) text += piece
    },
  })
}

const PPTX_ENTRY = /^ppt\/(?:presentation\.xml|_rels\/presentation\.xml\.rels|slides\/[^/]+\.xml)$/

export const readPptx = (bytes: Uint8Array): ReadText => {
  const builder = createTextBuilder()
  const entries = unpack(bytes, name => PPTX_ENTRY.test(name))
  for (const [at, { xml }] of partsInOrder(entries, "ppt", "presentation.xml", "p:sldId").entries()) {
    builder.turnTo(at + 1)
    readSlide(xml, builder)
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

const XLSX_ENTRY =
  /^xl\/(?:workbook\.xml|_rels\/workbook\.xml\.rels|sharedStrings\.xml|worksheets\/[^/]+\.xml)$/

export const readXlsx = (bytes: Uint8Array): ReadText => {
  const builder = createTextBuilder()
  const entries = unpack(bytes, name => XLSX_ENTRY.test(name))
  const shared = sharedStrings(entries.get("xl/sharedStrings.xml") ?? "")
  for (const [at, { name, xml }] of partsInOrder(entries, "xl", "workbook.xml", "sheet").entries()) {
    builder.turnTo(at + 1)
    builder.heading(1, name ?? `Sheet ${at + 1}`)
    const [header = [], ...rows] = rowsOfSheet(xml, shared).filter(row =>
      row.some(value => value.trim() !== ""),
    )
    builder.whole(header.filter(label => label.trim() !== "").join(", "))
    for (const row of rows) builder.whole(namedRow(header, row))
  }
  return builder.done()
}
