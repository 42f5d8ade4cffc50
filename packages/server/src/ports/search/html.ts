/** Marks found words inside text that is otherwise escaped. */

/**
 * Characters of Unicode's private use area. Documents are cleared of them, so that they stand for nothing else: the first
 * two are put around what was found, the others stand for `<`, `>` and `&` while an engine takes a text apart that must
 * not see tags in it.
 */
export const MARK_START = "\uE000"
export const MARK_END = "\uE001"
export const PLAIN = "<>&"
export const STAND_INS = "\uE002\uE003\uE004"

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "\uE000": "<mark>",
  "\uE001": "</mark>",
  "\uE002": "&lt;",
  "\uE003": "&gt;",
  "\uE004": "&amp;",
}

/** Escapes and marks in one pass: whatever the text holds, the only tags are ours. */
export const markedHtml = (text: string): string =>
  text.replaceAll(/[&<>"'\uE000-\uE004]/g, character => ESCAPES[character] ?? "")

/** For parsers that would leave out what stands in tags and entities: to a search they are text like any other. */
export const withoutTags = (text: string): string => text.replaceAll(/[<>&]/g, " ")
