/** What every format becomes: one text, and where in it its blocks are. */

export const TEXT_LENGTH_MAX = 5_000_000

export interface Block {
  readonly start: number
  readonly end: number
  /** Page, slide or sheet, from 1; null where the format has none. */
  readonly page: number | null
  /** Headings above it, or itself where it is one. */
  readonly heading: string | null
  readonly isHeading: boolean
  /** A table or code, which is not divided where it fits. */
  readonly isWhole: boolean
}

export interface ReadText {
  readonly text: string
  readonly blocks: readonly Block[]
  readonly pages: number | null
}

/** What is wrong with a file, in words for its owner. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile"
}

export const tooLong = () =>
  new UnreadableFile(`it has more than ${TEXT_LENGTH_MAX.toLocaleString("en")} characters of text`)

const HEADING_SEPARATOR = " > "
const HEADING_LENGTH_MAX = 300

/** The headings above a place; each ends those of its level and deeper ones. */
export const createOutline = () => {
  let path: { readonly level: number; readonly text: string }[] = []
  return {
    enter(level: number, text: string): void {
      path = path.filter(entry => entry.level < level)
      path.push({ level, text: text.replaceAll(/\s+/g, " ").trim() })
    },
    leaveAll(): void {
      path = []
    },
    heading: (): string | null =>
      path.length === 0
        ? null
        : path
            .map(({ text }) => text)
            .join(HEADING_SEPARATOR)
            .slice(0, HEADING_LENGTH_MAX),
  }
}

/** For formats whose text is put together from pieces. */
export const createTextBuilder = () => {
  const pieces: string[] = []
  const blocks: Block[] = []
  const outline = createOutline()
  let length = 0
  let page: number | null = null

  const add = (given: string, { isHeading = false, isWhole = false } = {}): void => {
    const text = given.trim()
    if (text === "") return
    if (length + text.length > TEXT_LENGTH_MAX) throw tooLong()
    blocks.push({
      start: length,
      end: length + text.length,
      page,
      heading: outline.heading(),
      isHeading,
      isWhole,
    })
    pieces.push(text)
    length += text.length + 2
  }

  return {
    paragraph: (text: string) => add(text),
    /** A table or code. */
    whole: (text: string) => add(text, { isWhole: true }),
    heading(level: number, text: string): void {
      if (text.trim() === "") return
      outline.enter(level, text)
      add(text, { isHeading: true })
    },
    /** What follows is on this page, under no heading of the page before. */
    turnTo(number: number): void {
      page = number
      outline.leaveAll()
    },
    done: (): ReadText => ({ text: pieces.join("\n\n"), blocks, pages: page }),
  }
}

export type TextBuilder = ReturnType<typeof createTextBuilder>
