import { getDocumentProxy } from "unpdf"
import { createTextBuilder, type ReadText, UnreadableFile } from "./text-blocks.ts"

export const PAGES_MAX = 2_000
/** Lines that are farther apart than this many heights begin a new paragraph. */
const GAP = 1.6
const LINE_HEIGHT_DEFAULT = 12

interface TextItem {
  readonly str: string
  readonly hasEOL: boolean
  readonly height: number
  readonly transform: readonly number[]
}

/** Paragraphs of a page, from its pieces of text in the order in which the file has them. */
const paragraphsOf = (items: readonly TextItem[]): string[] => {
  const paragraphs: string[] = []
  let text = ""
  let lastY: number | undefined
  for (const { str, hasEOL, height, transform } of items) {
    const y = transform[5] ?? 0
    const gap = lastY === undefined ? 0 : Math.abs(lastY - y)
    if (str.trim() !== "") {
      if (gap > GAP * (height || LINE_HEIGHT_DEFAULT) && text.trim() !== "") {
        paragraphs.push(text)
        text = ""
      }
      lastY = y
    }
    text += str
    // A word that is divided at the end of a line is one word.
    if (hasEOL) text = /\p{Letter}-$/u.test(text) ? text.slice(0, -1) : `${text} `
  }
  return [...paragraphs, text].map(paragraph => paragraph.replaceAll(/\s+/g, " "))
}

export const readPdf = async (bytes: Uint8Array): Promise<ReadText> => {
  const pdf = await getDocumentProxy(bytes, {
    stopAtErrors: false,
    verbosity: 0,
  }).catch((error: unknown) => {
    const { name = "", message = "" } = error as Error
    throw new UnreadableFile(
      name === "PasswordException" ? "the PDF is protected by a password" : `the PDF is damaged: ${message}`,
    )
  })
  try {
    if (pdf.numPages > PAGES_MAX)
      throw new UnreadableFile(`it has ${pdf.numPages} pages; at most ${PAGES_MAX} are read`)
    const builder = createTextBuilder()
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number)
      const { items } = await page.getTextContent()
      builder.turnTo(number)
      for (const paragraph of paragraphsOf(items.filter(item => "str" in item) as unknown as TextItem[]))
        builder.paragraph(paragraph)
      page.cleanup()
    }
    return builder.done()
  } finally {
    await pdf.loadingTask.destroy()
  }
}
