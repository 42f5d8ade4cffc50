import { SEARCH_INDEXED_CHARACTERS_MAX } from "@svc/contract"
import type { PageText } from "./page-text.ts"

const TEXT_TYPES = /^(text\/(plain|markdown|x-markdown|csv|xml)|application\/(json|xml|[\w.-]+\+json))$/
const HTML_TYPES = /^(text\/html|application\/xhtml\+xml)$/

const TYPES_BY_EXTENSION: Readonly<Record<string, string>> = {
  ...{ txt: "text/plain", md: "text/markdown", markdown: "text/markdown", csv: "text/csv" },
  ...{ json: "application/json", html: "text/html", htm: "text/html", xhtml: "application/xhtml+xml" },
}

/** `text/html; charset=utf-8` → `text/html`; by the name where the header says nothing of use. */
export const typeOf = (header: string | null | undefined, name: string): string => {
  const type = (header ?? "").split(";")[0]?.trim().toLowerCase() ?? ""
  if (type !== "" && type !== "application/octet-stream") return type
  return TYPES_BY_EXTENSION[name.split(".").at(-1)?.toLowerCase() ?? ""] ?? type
}

export const isReadable = (type: string): boolean => TEXT_TYPES.test(type) || HTML_TYPES.test(type)

/** `# Title` on the first line of a Markdown text that says anything. */
const markdownTitle = (text: string): string => /^\s*#\s+(.+)/.exec(text)?.[1]?.trim() ?? ""

/** What there is to search in bytes of a type that is readable. */
export const contentText = async (bytes: Uint8Array, type: string): Promise<PageText> => {
  const text = new TextDecoder().decode(bytes)
  if (HTML_TYPES.test(type)) {
    const { pageText } = await import("./page-text.ts")
    return pageText(text, SEARCH_INDEXED_CHARACTERS_MAX)
  }
  const title = type.includes("markdown") ? markdownTitle(text) : ""
  return { title, text: text.slice(0, SEARCH_INDEXED_CHARACTERS_MAX) }
}
