import { Parser } from "htmlparser2"

/** What a URL may have at most to fit, as a token, into a path that every mail program follows. */
const URL_LENGTH_MAX = 1_800
/** Of one mail; what comes after stays as it is. */
const LINKS_MAX = 1_000

const escapeAttribute = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")

const isWeb = (url: string): boolean => {
  if (url.length > URL_LENGTH_MAX || !/^https?:\/\//i.test(url)) return false
  return URL.canParse(url)
}

/**
 * Puts another address in the place of every http(s) link of `<a>` and `<area>`, and changes no other byte: what a
 * mail program makes of the rest is its own affair. Comments, scripts, anchors, `mailto:` and the like stay.
 */
export const rewriteLinks = (html: string, replace: (url: string) => string): string => {
  const pieces: string[] = []
  let from = 0
  let links = 0
  let isLink = false
  const parser = new Parser(
    {
      onopentagname(name) {
        isLink = name === "a" || name === "area"
      },
      onattribute(name, value) {
        const url = value.trim()
        if (!isLink || name !== "href" || links === LINKS_MAX || !isWeb(url)) return
        links += 1
        pieces.push(html.slice(from, parser.startIndex), `href="${escapeAttribute(replace(url))}"`)
        from = parser.endIndex
      },
    },
    { decodeEntities: true },
  )
  parser.end(html)
  return pieces.join("") + html.slice(from)
}

/** Before the end of the body, or of the text where that has none. */
export const addPicture = (html: string, url: string): string => {
  const picture = `<img src="${escapeAttribute(url)}" alt="" width="1" height="1" style="display:none">`
  // Not in lower case: some letters become two by it, and places shift.
  const at = [...html.matchAll(/<\/body/gi)].at(-1)?.index ?? html.length
  return html.slice(0, at) + picture + html.slice(at)
}
