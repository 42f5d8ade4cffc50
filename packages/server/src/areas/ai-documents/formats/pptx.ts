/** PowerPoint slides: a title slide, then a slide for each heading of the first two levels, more where the text is long. */
import library from "pptxgenjs"
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
import { OFFICE_FONTS } from "./fonts.ts"

// Its types describe a CommonJS module, and what Node loads is another one, whose default is the class.
const Presentation = library as unknown as typeof library.default
type Slide = library.default.Slide
type TextProps = library.default.TextProps
type TextOptions = NonNullable<TextProps["options"]>

/** Inches, on a slide of 13.33 by 7.5. */
const MARGIN = 0.6
const WIDTH = 12.13
const TITLE = { x: MARGIN, y: 0.35, w: WIDTH, h: 0.9 } as const
const BODY = { x: MARGIN, y: 1.4, w: WIDTH, h: 5.6 } as const

/** About what fits at the usual size. */
const LINES_MAX = 14
const LINE_CHARACTERS = 90
const ROWS_MAX = 12
const SLIDES_MAX = 500

interface Line {
  readonly runs: readonly Run[]
  readonly options: TextOptions
}

type Item = { readonly kind: "line"; readonly line: Line } | { readonly kind: "table"; readonly table: Table }

interface Page {
  readonly title: readonly Run[]
  readonly items: Item[]
}

const lineItem = (runs: readonly Run[], options: TextOptions = {}): Item => ({
  kind: "line",
  line: { runs, options },
})

const itemsOf = (block: Block, indent: number): Item[] => {
  switch (block.type) {
    case "heading":
      return [
        lineItem(
          block.runs.map(run => ({ ...run, bold: true })),
          {},
        ),
      ]
    case "paragraph":
      return [lineItem(block.runs, indent > 0 ? { indentLevel: indent } : {})]
    case "code":
      return block.text.split("\n").map(text => lineItem([{ text: text || " ", code: true }]))
    case "quote":
      return block.blocks
        .flatMap(inner => itemsOf(inner, indent))
        .map(item => (item.kind === "line" ? lineItem(item.line.runs.map(asQuote), item.line.options) : item))
    case "rule":
      return []
    case "table":
      return [{ kind: "table", table: block }]
    case "list":
      return block.items.flatMap(({ checked, blocks }, index) => {
        const [first, ...rest] = blocks
        const box = checked === undefined ? [] : [{ text: checked ? "☑ " : "☐ " }]
        const runs = first?.type === "paragraph" ? first.runs : []
        const others = first?.type === "paragraph" ? rest : blocks
        const number =
          block.start === null ? true : ({ type: "number", numberStartAt: block.start + index } as const)
        return [
          lineItem([...box, ...runs], {
            bullet: number,
            ...(indent > 0 && { indentLevel: Math.min(indent, 8) }),
          }),
          ...others.flatMap(inner => itemsOf(inner, indent + 1)),
        ]
      })
  }
}

const asQuote = (run: Run): Run => ({ ...run, italic: true })

const linesOf = ({ runs }: Line): number =>
  textOf(runs)
    .split("\n")
    .reduce((sum, part) => sum + Math.max(1, Math.ceil(part.length / LINE_CHARACTERS)), 0)

/** Headings of the first two levels begin a slide. */
const pagesOf = (blocks: readonly Block[], title: string): Page[] => {
  const pages: Page[] = []
  for (const block of blocks) {
    if (block.type === "heading" && block.level <= 2) {
      pages.push({ title: block.runs, items: [] })
      continue
    }
    if (pages.length === 0) pages.push({ title: [{ text: title }], items: [] })
    pages.at(-1)?.items.push(...itemsOf(block, 0))
  }
  return pages.length > 0 ? pages : [{ title: [{ text: title }], items: [] }]
}

const toTextProps = (runs: readonly Run[], options: TextOptions, style: Style): TextProps[] =>
  runs.flatMap((run, index) =>
    run.text.split("\n").map((text, part) => ({
      text,
      options: {
        ...(index === 0 && part === 0 && options),
        ...(part > 0 && { softBreakBefore: true }),
        ...(run.bold && { bold: true }),
        ...(run.italic && { italic: true }),
        ...(run.strike && { strike: "sngStrike" as const }),
        fontFace: OFFICE_FONTS[run.code ? "mono" : (style.font ?? "sans")],
        ...(run.href !== undefined && { hyperlink: { url: run.href } }),
      },
    })),
  )

interface Deck {
  readonly style: Style
  readonly accent: string
  readonly size: number
  add(): Slide
}

const startSlide = (deck: Deck, title: readonly Run[]): Slide => {
  const slide = deck.add()
  slide.addText(toTextProps(title, {}, deck.style), {
    ...TITLE,
    ...{ fontSize: deck.size * 1.6, bold: true, color: deck.accent, valign: "middle", fit: "shrink" },
  })
  return slide
}

const addLines = (deck: Deck, title: readonly Run[], lines: readonly Line[]) => {
  const props = lines.flatMap(({ runs, options }) => {
    const made = toTextProps(runs.length > 0 ? runs : [{ text: " " }], options, deck.style)
    // A paragraph ends with its last piece.
    return made.map((piece, index) =>
      index === made.length - 1 ? { ...piece, options: { ...piece.options, breakLine: true } } : piece,
    )
  })
  startSlide(deck, title).addText(props, { ...BODY, fontSize: deck.size, valign: "top", paraSpaceAfter: 6 })
}

const addTable = (deck: Deck, title: readonly Run[], { aligns, header, rows }: Table) => {
  const row = (cells: readonly (readonly Run[])[], isHeader: boolean) =>
    cells.map((cell, column) => ({
      text: textOf(cell),
      options: {
        align: aligns[column] ?? ("left" as const),
        fontFace: OFFICE_FONTS[deck.style.font ?? "sans"],
        ...(isHeader && { bold: true, fill: { color: "EDEDED" } }),
      },
    }))
  for (let from = 0; from === 0 || from < rows.length; from += ROWS_MAX) {
    const part = rows.slice(from, from + ROWS_MAX)
    startSlide(deck, title).addTable([row(header, true), ...part.map(cells => row(cells, false))], {
      ...{ x: BODY.x, y: BODY.y, w: BODY.w, fontSize: deck.size * 0.8 },
      border: { type: "solid", pt: 0.75, color: "BBBBBB" },
    })
  }
}

/** Lines that fit together, and tables alone. */
const addPage = (deck: Deck, { title, items }: Page) => {
  let lines: Line[] = []
  let used = 0
  let slides = 0
  const flush = () => {
    if (lines.length === 0) return
    addLines(deck, title, lines)
    slides += 1
    lines = []
    used = 0
  }
  for (const item of items) {
    if (item.kind === "table") {
      flush()
      addTable(deck, title, item.table)
      slides += 1
      continue
    }
    const size = linesOf(item.line)
    if (used + size > LINES_MAX) flush()
    lines.push(item.line)
    used += size
  }
  flush()
  if (slides === 0) startSlide(deck, title)
}

const addTitleSlide = (deck: Deck, { title, items }: Page) => {
  const slide = deck.add()
  slide.addText(toTextProps(title, {}, deck.style), {
    ...{ x: MARGIN, y: 2.2, w: WIDTH, h: 1.6, align: "center", valign: "bottom" },
    ...{ fontSize: deck.size * 2.2, bold: true, color: deck.accent, fit: "shrink" },
  })
  const lines = items.flatMap(item => (item.kind === "line" ? [item.line] : []))
  const props = lines.flatMap(({ runs }) => toTextProps(runs, {}, deck.style))
  if (props.length === 0) return
  slide.addText(props, { x: MARGIN, y: 4, w: WIDTH, h: 1.5, align: "center", fontSize: deck.size * 1.1 })
}

/** A first page with little on it is the title. */
const isTitle = ({ items }: Page): boolean =>
  items.length <= 3 && items.every(item => item.kind === "line" && linesOf(item.line) <= 2)

export const toPptx = async ({ title, style, blocks }: DocumentTree): Promise<Uint8Array> => {
  const presentation = new Presentation()
  presentation.layout = "LAYOUT_WIDE"
  presentation.title = title
  presentation.author = "Svc"
  presentation.company = ""
  let slides = 0
  const deck: Deck = {
    style,
    accent: (style.accent ?? DEFAULT_ACCENT).slice(1),
    size: Math.round(((style.font_size ?? DEFAULT_FONT_SIZE) * 18) / DEFAULT_FONT_SIZE),
    add() {
      slides += 1
      if (slides > SLIDES_MAX) throw new DocumentProblem(`it would have more than ${SLIDES_MAX} slides`)
      return presentation.addSlide()
    },
  }
  const pages = pagesOf(blocks, title)
  pages.forEach((page, index) => {
    if (index === 0 && pages.length > 1 && isTitle(page)) addTitleSlide(deck, page)
    else addPage(deck, page)
  })
  return (await presentation.write({ outputType: "nodebuffer" })) as Uint8Array
}
