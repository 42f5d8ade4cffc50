/** HTML: the article where a page has one, else everything that is read. */
import { Readability } from "@mozilla/readability"
import { parseHTML } from "linkedom"
import { createTextBuilder, type ReadText, type TextBuilder } from "./text-blocks.ts"

/** What is used of the DOM. */
interface Node {
  readonly nodeType: number
  readonly textContent: string | null
}

interface Element extends Node {
  readonly tagName: string
  readonly childNodes: Iterable<Node>
  querySelectorAll(selector: string): Iterable<Element>
}

type ReadableDocument = ConstructorParameters<typeof Readability>[0]

const SKIPPED = new Set("SCRIPT STYLE NOSCRIPT TEMPLATE SVG IFRAME OBJECT HEAD NAV BUTTON SELECT".split(" "))
const BLOCKS = new Set(
  "ADDRESS ARTICLE ASIDE BLOCKQUOTE BODY DD DETAILS DIV DL DT FIGCAPTION FIGURE FOOTER FORM HEADER HR LI MAIN OL P SECTION SUMMARY UL".split(
    " ",
  ),
)
const HEADING = /^H([1-6])$/
const ELEMENT = 1
const TEXT = 3
/** An article that leaves out more of the page than this is not what the page is about. */
const ARTICLE_SHARE_MIN = 0.5

const tidy = (text: string | null): string => (text ?? "").replaceAll(/\s+/g, " ").trim()

const tableText = (table: Element): string =>
  [...table.querySelectorAll("tr")]
    .map(row => [...row.querySelectorAll("th, td")].map(cell => tidy(cell.textContent)).join(" | "))
    .join("\n")

const walk = (root: Element, builder: TextBuilder): void => {
  let inline = ""
  const flush = () => {
    builder.paragraph(tidy(inline))
    inline = ""
  }
  const visit = (node: Node): void => {
    if (node.nodeType === TEXT) inline += node.textContent ?? ""
    if (node.nodeType !== ELEMENT) return
    const element = node as Element
    const name = element.tagName.toUpperCase()
    if (SKIPPED.has(name)) return
    const [, level] = HEADING.exec(name) ?? []
    if (level !== undefined || name === "TABLE" || name === "PRE") {
      flush()
      if (level !== undefined) builder.heading(Number(level), tidy(element.textContent))
      else builder.whole(name === "PRE" ? (element.textContent ?? "") : tableText(element))
      return
    }
    if (name === "BR") inline += "\n"
    if (BLOCKS.has(name)) flush()
    for (const child of element.childNodes) visit(child)
    if (BLOCKS.has(name)) flush()
  }
  visit(root)
  flush()
}

const textOf = (root: Element): ReadText => {
  const builder = createTextBuilder()
  walk(root, builder)
  return builder.done()
}

export const readHtml = (html: string): ReadText => {
  const { document } = parseHTML(html)
  const root = (document.body ?? document.documentElement) as Element
  const whole = textOf(root)
  const title = tidy(document.querySelector("title")?.textContent ?? "")
  const article = new Readability(document as unknown as ReadableDocument, { charThreshold: 200 }).parse()
  if (!article?.content) return whole
  const builder = createTextBuilder()
  if (title !== "") builder.heading(1, title)
  const content = parseHTML(`<!doctype html><html><body>${article.content}</body></html>`).document
    .body as Element
  walk(content, builder)
  const read = builder.done()
  return read.text.length < whole.text.length * ARTICLE_SHARE_MIN ? whole : read
}
