/** PDF. */
import PDFDocument from "pdfkit"
import {
  type Block,
  DEFAULT_ACCENT,
  DEFAULT_FONT_SIZE,
  DocumentProblem,
  type DocumentTree,
  type Run,
  type Style,
  type Table,
  textOf,
} from "../making/blocks.ts"
import { createFaces, type Faces, readFont } from "./pdf-fonts.ts"

const MARGIN = 56
const INDENT = 18
const PAGES_MAX = 1_000
const HEADING_SIZES = [1.9, 1.5, 1.25, 1.1, 1, 1] as const
const CELL_PADDING = 4
const GREY = "#bbbbbb"
const LINK = "#0645ad"
const TEXT = "#1a1a1a"

interface Writer {
  readonly pdf: PDFKit.PDFDocument
  readonly faces: Faces
  readonly size: number
  readonly accent: string
}

interface TextLook {
  readonly size: number
  readonly color: string
  readonly bold?: boolean
}

/** Left edge and width of where a block stands. */
interface Column {
  readonly x: number
  readonly width: number
}

const inset = ({ x, width }: Column, by: number): Column => ({
  x: x + by,
  width: Math.max(width - by, 60),
})

const bottomOf = ({ pdf }: Writer): number => pdf.page.height - MARGIN

const ensureSpace = (writer: Writer, height: number) => {
  if (writer.pdf.y + height > bottomOf(writer) && writer.pdf.y > MARGIN) writer.pdf.addPage()
}

/** The runs of one paragraph follow each other on a line. */
const writeRuns = (writer: Writer, runs: readonly Run[], column: Column, look: TextLook) => {
  const { pdf, faces } = writer
  pdf.x = column.x
  runs.forEach((run, index) => {
    const { bold = look.bold, italic, code, href } = run
    pdf.font(faces({ bold, italic, code })).fontSize(look.size)
    pdf.fillColor(href === undefined ? look.color : LINK)
    pdf.text(run.text, {
      width: column.width,
      continued: index < runs.length - 1,
      link: href ?? null,
      underline: href !== undefined,
      strike: run.strike === true,
    })
  })
}

const plain = ({ size }: Writer): TextLook => ({ size, color: TEXT })

const writeTable = (writer: Writer, { aligns, header, rows }: Table, column: Column) => {
  const { pdf, faces, size } = writer
  const width = column.width / header.length
  const fontSize = Math.max(6, header.length > 6 ? size - 2 : size - 1)
  const inner = Math.max(width - 2 * CELL_PADDING, 1)

  const writeRow = (cells: readonly string[], isHeader: boolean) => {
    const heights = cells.map(text =>
      pdf
        .font(faces({ bold: isHeader }))
        .fontSize(fontSize)
        .heightOfString(text || " ", { width: inner }),
    )
    const most = bottomOf(writer) - MARGIN
    const height = Math.min(Math.max(...heights) + 2 * CELL_PADDING, most)
    if (pdf.y + height > bottomOf(writer)) {
      pdf.addPage()
      if (!isHeader) writeRow(header.map(textOf), true)
    }
    const top = pdf.y
    cells.forEach((text, index) => {
      const x = column.x + index * width
      if (isHeader) pdf.rect(x, top, width, height).fill("#ededed")
      pdf.rect(x, top, width, height).lineWidth(0.5).stroke(GREY)
      pdf
        .font(faces({ bold: isHeader }))
        .fontSize(fontSize)
        .fillColor(TEXT)
      pdf.text(text, x + CELL_PADDING, top + CELL_PADDING, {
        ...{
          width: inner,
          height: height - 2 * CELL_PADDING,
          align: aligns[index] ?? "left",
          ellipsis: true,
        },
      })
    })
    pdf.x = column.x
    pdf.y = top + height
  }

  writeRow(header.map(textOf), true)
  for (const row of rows) writeRow(row.map(textOf), false)
  pdf.moveDown(0.6)
}

const writeList = (writer: Writer, block: Extract<Block, { type: "list" }>, column: Column) => {
  const { pdf, size, faces } = writer
  block.items.forEach(({ checked, blocks }, index) => {
    ensureSpace(writer, size * 1.5)
    const top = pdf.y
    const box = checked === undefined ? undefined : checked ? "☑" : "☐"
    const mark = box ?? (block.start === null ? "•" : `${block.start + index}.`)
    const inner = inset(column, Math.max(INDENT, mark.length * size * 0.6 + 4))
    pdf.font(faces({})).fontSize(size).fillColor(TEXT)
    pdf.text(mark, column.x, top, { width: inner.x - column.x, lineBreak: false })
    pdf.y = top
    if (blocks.length === 0) pdf.moveDown()
    writeBlocks(writer, blocks, inner)
  })
}

const writeCode = (writer: Writer, text: string, column: Column) => {
  const { pdf, size } = writer
  for (const line of text.split("\n")) {
    ensureSpace(writer, size * 1.3)
    writeRuns(writer, [{ text: line || " ", code: true }], inset(column, 6), {
      size: size - 1,
      color: "#333333",
    })
  }
  pdf.moveDown(0.6)
}

const writeBlock = (writer: Writer, block: Block, column: Column) => {
  const { pdf, size, accent } = writer
  switch (block.type) {
    case "heading": {
      const points = size * (HEADING_SIZES[block.level - 1] ?? 1)
      pdf.moveDown(0.4)
      // A heading does not stand alone at the end of a page.
      ensureSpace(writer, points * 3)
      writeRuns(writer, block.runs, column, { size: points, color: accent, bold: true })
      pdf.moveDown(0.3)
      return
    }
    case "paragraph":
      writeRuns(writer, block.runs, column, plain(writer))
      pdf.moveDown(0.5)
      return
    case "code":
      return writeCode(writer, block.text, column)
    case "quote":
      return writeBlocks(writer, block.blocks, inset(column, INDENT))
    case "rule":
      ensureSpace(writer, size)
      pdf
        .moveTo(column.x, pdf.y)
        .lineTo(column.x + column.width, pdf.y)
        .lineWidth(0.75)
        .stroke(GREY)
      pdf.moveDown(0.8)
      return
    case "table":
      return writeTable(writer, block, column)
    case "list":
      return writeList(writer, block, column)
  }
}

const writeBlocks = (writer: Writer, blocks: readonly Block[], column: Column) => {
  for (const block of blocks) writeBlock(writer, block, column)
}

const open = (title: string, style: Style, createdAt: Date): PDFKit.PDFDocument =>
  new PDFDocument({
    size: style.page_size === "Letter" ? "LETTER" : "A4",
    layout: style.orientation ?? "portrait",
    margin: MARGIN,
    // Its types know of names alone.
    font: readFont("DejaVuSans") as unknown as string,
    info: { Title: title, Creator: "Svc", Producer: "Svc", CreationDate: createdAt },
  })

export const toPdf = async (tree: DocumentTree, createdAt: Date): Promise<Uint8Array> => {
  const { title, style, blocks } = tree
  const pdf = open(title, style, createdAt)
  const chunks: Uint8Array[] = []
  const ended = new Promise<void>((resolve, reject) => {
    pdf.on("data", (chunk: Uint8Array) => void chunks.push(chunk))
    pdf.on("end", resolve)
    pdf.on("error", reject)
  })
  let pages = 1
  pdf.on("pageAdded", () => {
    pages += 1
    if (pages > PAGES_MAX) throw new DocumentProblem(`it would have more than ${PAGES_MAX} pages`)
  })
  const size = style.font_size ?? DEFAULT_FONT_SIZE
  const faces = createFaces(pdf, style.font ?? "sans")
  const writer: Writer = { pdf, faces, size, accent: style.accent ?? DEFAULT_ACCENT }
  writeBlocks(writer, blocks, { x: MARGIN, width: pdf.page.width - 2 * MARGIN })
  pdf.end()
  await ended
  return Buffer.concat(chunks)
}
