/** Word documents. */
import {
  AlignmentType,
  BorderStyle,
  Document,
  ExternalHyperlink,
  type FileChild,
  type IParagraphOptions,
  LevelFormat,
  Packer,
  PageOrientation,
  Paragraph,
  type ParagraphChild,
  ShadingType,
  Table,
  TableCell,
  TableRow,
  TextRun,
  WidthType,
} from "docx"
import {
  type Align,
  type Block,
  DEFAULT_ACCENT,
  DEFAULT_FONT_SIZE,
  type DocumentTree,
  type Run,
  type Style,
} from "../making/blocks.ts"
import { OFFICE_FONTS } from "./fonts.ts"

const CODE_FONT = OFFICE_FONTS.mono

const TWIPS_PER_POINT = 20
const INDENT = 360
const LEVELS = 9
/** Width and height in twentieths of a point. */
const PAGES = { A4: [11_906, 16_838], Letter: [12_240, 15_840] } as const
const MARGIN = 1_134
/** Of headings, as multiples of the plain text. */
const HEADING_SIZES = [1.9, 1.5, 1.25, 1.1, 1, 1] as const

const ALIGNMENTS = {
  left: AlignmentType.LEFT,
  center: AlignmentType.CENTER,
  right: AlignmentType.RIGHT,
} as const satisfies Record<Align, string>

type Look = Pick<IParagraphOptions, "indent" | "border" | "spacing" | "alignment">

const textRuns = (run: Run, isBold: boolean): TextRun[] =>
  run.text.split("\n").map(
    (text, index) =>
      new TextRun({
        text,
        ...(index > 0 && { break: 1 }),
        ...((run.bold || isBold) && { bold: true }),
        ...(run.italic && { italics: true }),
        ...(run.strike && { strike: true }),
        ...(run.code && { font: CODE_FONT }),
        ...(run.href !== undefined && { style: "Hyperlink" }),
      }),
  )

const ofRuns = (runs: readonly Run[], isBold = false): ParagraphChild[] =>
  runs.flatMap((run): ParagraphChild[] => {
    const children = textRuns(run, isBold)
    return run.href === undefined ? children : [new ExternalHyperlink({ link: run.href, children })]
  })

/** Where a block stands, which its paragraphs need to know. */
interface Place {
  readonly depth: number
  readonly look: Look
  /** A number of its own for every ordered list, or each would go on where the one before ended. */
  readonly lists: { count: number }
}

const ofTable = ({ aligns, header, rows }: Extract<Block, { type: "table" }>): Table => {
  const row = (cells: readonly (readonly Run[])[], isHeader: boolean) =>
    new TableRow({
      ...(isHeader && { tableHeader: true }),
      children: cells.map(
        (cell, column) =>
          new TableCell({
            margins: { top: 40, bottom: 40, left: 100, right: 100 },
            ...(isHeader && { shading: { type: ShadingType.CLEAR, fill: "EDEDED" } }),
            children: [
              new Paragraph({
                alignment: ALIGNMENTS[aligns[column] ?? "left"],
                children: ofRuns(cell, isHeader),
              }),
            ],
          }),
      ),
    })
  return new Table({
    width: { size: 100, type: WidthType.PERCENTAGE },
    rows: [row(header, true), ...rows.map(cells => row(cells, false))],
  })
}

const ofList = (block: Extract<Block, { type: "list" }>, place: Place): FileChild[] => {
  const level = Math.min(place.depth, LEVELS - 1)
  const { start } = block
  place.lists.count += 1
  const instance = place.lists.count
  const numbering =
    start === null ? { reference: "bullets", level } : { reference: orderedFrom(start), level, instance }
  const inner = { ...place, depth: place.depth + 1, look: { indent: { left: INDENT * (level + 2) } } }
  return block.items.flatMap(({ checked, blocks }) => {
    const box: ParagraphChild[] = checked === undefined ? [] : [new TextRun(checked ? "☑ " : "☐ ")]
    const [first, ...rest] = blocks
    const runs = first?.type === "paragraph" ? ofRuns(first.runs) : []
    const others = first?.type === "paragraph" ? rest : blocks
    return [
      new Paragraph({ numbering, spacing: { after: 40 }, children: [...box, ...runs] }),
      ...ofBlocks(others, inner),
    ]
  })
}

const RULE = { style: BorderStyle.SINGLE, size: 6, color: "BBBBBB", space: 1 } as const

const ofBlock = (block: Block, place: Place): FileChild[] => {
  switch (block.type) {
    case "heading":
      return [new Paragraph({ style: `Heading${block.level}`, children: ofRuns(block.runs) })]
    case "paragraph":
      return [new Paragraph({ spacing: { after: 120 }, ...place.look, children: ofRuns(block.runs) })]
    case "code":
      return [
        new Paragraph({
          ...place.look,
          spacing: { after: 120 },
          shading: { type: ShadingType.CLEAR, fill: "F4F4F4" },
          children: textRuns({ text: block.text, code: true }, false),
        }),
      ]
    case "quote": {
      const look = { indent: { left: INDENT * (place.depth + 1) }, border: { left: { ...RULE, space: 8 } } }
      return ofBlocks(block.blocks, { ...place, look })
    }
    case "rule":
      return [new Paragraph({ border: { bottom: RULE } })]
    case "table":
      // Without a paragraph between them two tables become one.
      return [ofTable(block), new Paragraph({})]
    case "list":
      return ofList(block, place)
  }
}

const ofBlocks = (blocks: readonly Block[], place: Place): FileChild[] =>
  blocks.flatMap(block => ofBlock(block, place))

const orderedFrom = (start: number): string => `ordered-${start}`

/** The numbers at which ordered lists start, wherever they are. */
const startsOf = (blocks: readonly Block[]): number[] =>
  blocks.flatMap(block => {
    if (block.type === "quote") return startsOf(block.blocks)
    if (block.type !== "list") return []
    const inner = block.items.flatMap(item => startsOf(item.blocks))
    return block.start === null ? inner : [block.start, ...inner]
  })

const BULLETS = ["•", "◦", "▪"] as const

const numberingOf = (blocks: readonly Block[]) => {
  const levels = (format: (level: number) => object) =>
    Array.from({ length: LEVELS }, (_, level) => ({
      ...{ level, alignment: AlignmentType.LEFT, format: LevelFormat.DECIMAL, text: `%${level + 1}.` },
      style: { paragraph: { indent: { left: INDENT * (level + 2), hanging: INDENT } } },
      ...format(level),
    }))
  const bullets = levels(level => ({ format: LevelFormat.BULLET, text: BULLETS[level % BULLETS.length] }))
  const ordered = [...new Set(startsOf(blocks))].map(start => ({
    reference: orderedFrom(start),
    levels: levels(() => ({ start })),
  }))
  return { config: [{ reference: "bullets", levels: bullets }, ...ordered] }
}

const stylesOf = ({
  font = "sans",
  font_size: points = DEFAULT_FONT_SIZE,
  accent = DEFAULT_ACCENT,
}: Style) => {
  const heading = (level: number) => ({
    run: {
      size: Math.round(points * 2 * (HEADING_SIZES[level - 1] ?? 1)),
      ...{ bold: true, color: accent.slice(1), font: OFFICE_FONTS[font] },
    },
    paragraph: { spacing: { before: points * TWIPS_PER_POINT, after: (points * TWIPS_PER_POINT) / 2 } },
  })
  return {
    default: {
      document: { run: { font: OFFICE_FONTS[font], size: points * 2 } },
      ...{ heading1: heading(1), heading2: heading(2), heading3: heading(3) },
      ...{ heading4: heading(4), heading5: heading(5), heading6: heading(6) },
    },
  }
}

export const toDocx = async ({ title, style, blocks }: DocumentTree): Promise<Uint8Array> => {
  const [width, height] = PAGES[style.page_size ?? "A4"]
  const orientation = style.orientation === "landscape" ? PageOrientation.LANDSCAPE : PageOrientation.PORTRAIT
  const margin = { top: MARGIN, bottom: MARGIN, left: MARGIN, right: MARGIN }
  const document = new Document({
    ...{ title, creator: "Svc", numbering: numberingOf(blocks), styles: stylesOf(style) },
    sections: [
      {
        properties: { page: { size: { width, height, orientation }, margin } },
        children: ofBlocks(blocks, { depth: 0, look: {}, lists: { count: 0 } }),
      },
    ],
  })
  return Packer.toBuffer(document)
}
