/** What Harper finds, in the shape of LanguageTool's matches. */
import { type Sentence, sentencesOf } from "./sentences.ts"

/** As Harper says it; places count UTF-16 units. */
export interface Finding {
  readonly rule: string
  readonly kind: string
  readonly kindName: string
  readonly message: string
  readonly start: number
  readonly end: number
  readonly suggestions: readonly {
    readonly kind: "replace" | "remove" | "insert_after"
    readonly text: string
  }[]
}

export interface GrammarMatch {
  readonly message: string
  readonly shortMessage: string
  readonly offset: number
  readonly length: number
  readonly replacements: { readonly value: string }[]
  readonly context: { readonly text: string; readonly offset: number; readonly length: number }
  readonly sentence: string
  readonly rule: {
    readonly id: string
    readonly description: string
    readonly issueType: string
    readonly category: { readonly id: string; readonly name: string }
  }
}

export interface Grammar {
  readonly matches: GrammarMatch[]
  readonly corrected: string
}

const CONTEXT_UNITS = 40
const ISSUE_TYPES: ReadonlyMap<string, string> = new Map([
  ["Spelling", "misspelling"],
  ["Typo", "misspelling"],
  ["Agreement", "grammar"],
  ["Grammar", "grammar"],
  ["BoundaryError", "grammar"],
  ["Punctuation", "typographical"],
  ["Formatting", "typographical"],
  ["Capitalization", "typographical"],
  ["Repetition", "duplication"],
  ["Redundancy", "style"],
  ["Style", "style"],
  ["Enhancement", "style"],
  ["Readability", "style"],
  ["WordChoice", "style"],
  ["Regionalism", "locale-violation"],
])

const replacement = (found: string, { kind, text }: Finding["suggestions"][number]): string => {
  if (kind === "remove") return ""
  return kind === "replace" ? text : found + text
}

/** A context must not begin or end within a character. */
const isWithin = (text: string, at: number): boolean =>
  at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff

const contextOf = (text: string, from: number, to: number) => {
  const wide = Math.max(0, from - CONTEXT_UNITS)
  const begin = isWithin(text, wide) ? wide - 1 : wide
  const far = Math.min(text.length, to + CONTEXT_UNITS)
  const end = isWithin(text, far) ? far + 1 : far
  return { text: text.slice(begin, end), offset: from - begin, length: to - from }
}

/** The sentence of a place that is behind that of the place before. */
const sentenceFinder = (sentences: readonly Sentence[]) => {
  let at = 0
  return (offset: number): string => {
    while ((sentences[at + 1]?.offset ?? Number.POSITIVE_INFINITY) <= offset) at++
    return sentences[at]?.text ?? ""
  }
}

export const toGrammar = (text: string, findings: readonly Finding[]): Grammar => {
  const sentenceAt = sentenceFinder(sentencesOf(text))
  const matches: GrammarMatch[] = []
  const parts: string[] = []
  let copied = 0
  let free = 0
  for (const finding of findings.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (finding.start < free) continue
    free = Math.max(finding.end, finding.start + 1)
    const { start: from, end: to } = finding
    const found = text.slice(from, to)
    const values = finding.suggestions.map(suggestion => replacement(found, suggestion))
    const replacements = [...new Set(values)].map(value => ({ value }))
    const [first] = replacements
    if (first) {
      parts.push(text.slice(copied, from), first.value)
      copied = to
    }
    const { message, kind, kindName, rule } = finding
    matches.push({
      message,
      shortMessage: kindName,
      offset: from,
      length: to - from,
      replacements,
      context: contextOf(text, from, to),
      sentence: sentenceAt(from),
      rule: {
        id: rule,
        description: message,
        issueType: ISSUE_TYPES.get(kind) ?? "uncategorized",
        category: { id: kind, name: kindName },
      },
    })
  }
  return { matches, corrected: parts.join("") + text.slice(copied) }
}
