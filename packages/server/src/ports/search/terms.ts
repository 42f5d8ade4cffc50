/** What a query asks for. Every text is a query; there is no syntax to get wrong. */

export interface QueryTerm {
  /** Without white space and quotes at its ends; of a phrase, the words between the quotes. */
  readonly text: string
  readonly isPhrase: boolean
  readonly isExcluded: boolean
  /** The last word of a query that does not end in white space: the writer may not be done with it. */
  readonly isUnfinished: boolean
}

/** Words of one query; further ones are not looked for. */
export const WORDS_MAX = 32
/** Longer words are no words. */
const WORD_LENGTH_MAX = 200

const TERM = /(?<excluded>-?)(?:"(?<phrase>[^"]*)(?:"|$)|(?<word>[^\s"]+))/gu
const SEARCHABLE = /[\p{L}\p{N}]/u

/** PostgreSQL's text and JSON hold neither; nor does any document. */
const storable = (text: string): string => text.replaceAll("\0", " ").toWellFormed()

/**
 * `words "a phrase" -without -"a phrase"`. A quote that is never closed reaches to the end. A hyphen inside a word is
 * part of it. What has neither letter nor digit is left out.
 */
const parseTerms = (query: string): QueryTerm[] => {
  const text = storable(query)
  const terms: QueryTerm[] = []
  let words = 0
  for (const { 0: whole, index, groups = {} } of text.matchAll(TERM)) {
    const said = (groups.phrase ?? groups.word ?? "").trim()
    if (!SEARCHABLE.test(said) || said.length > WORD_LENGTH_MAX) continue
    words += said.split(/\s+/u).length
    if (words > WORDS_MAX) break
    const isPhrase = groups.phrase !== undefined
    const isExcluded = groups.excluded === "-"
    const isLast = index + whole.length === text.length
    terms.push({ text: said, isPhrase, isExcluded, isUnfinished: isLast && !isPhrase && !isExcluded })
  }
  return terms
}

/** The terms of a text that asks for something; undefined for one that asks for everything. */
export const readTerms = (text: string): QueryTerm[] | undefined =>
  text.trim() === "" ? undefined : parseTerms(text)
