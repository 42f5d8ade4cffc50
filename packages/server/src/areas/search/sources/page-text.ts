import { Parser } from "htmlparser2"

export interface PageText {
  readonly title: string
  readonly text: string
}

/** What these hold is not for readers. */
const HIDDEN = new Set(["script", "style", "noscript", "template", "svg", "iframe", "object"])
/** Words on both sides of these are different words. */
const INLINE = new Set([
  "a",
  "abbr",
  "b",
  "bdi",
  "code",
  "em",
  "i",
  "kbd",
  "mark",
  "q",
  "s",
  "small",
  "span",
  "strong",
  "sub",
  "sup",
  "u",
])

/** The title and what a reader sees of an HTML page. Anything is a page. */
export const pageText = (html: string, textLengthMax: number): PageText => {
  const texts: string[] = []
  let title = ""
  let length = 0
  let hidden = 0
  let isTitle = false
  const parser = new Parser(
    {
      onopentag(name) {
        if (HIDDEN.has(name)) hidden++
        if (name === "title") isTitle = true
        if (!INLINE.has(name)) texts.push(" ")
      },
      onclosetag(name) {
        if (HIDDEN.has(name)) hidden--
        if (name === "title") isTitle = false
        if (!INLINE.has(name)) texts.push(" ")
      },
      ontext(text) {
        if (hidden > 0) return
        if (isTitle) title += text
        else if (length < textLengthMax) {
          texts.push(text)
          length += text.length
        }
      },
    },
    { decodeEntities: true },
  )
  parser.end(html)
  const tidy = (text: string) => text.replaceAll(/\s+/g, " ").trim()
  return { title: tidy(title), text: tidy(texts.join("")).slice(0, textLengthMax) }
}
