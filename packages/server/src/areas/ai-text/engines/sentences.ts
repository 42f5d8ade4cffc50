/** Sentences and words by Unicode's rules, in any language. */

export interface Sentence {
  readonly text: string
  /** Where it begins, in UTF-16 units. */
  readonly offset: number
}

const sentenceSegmenter = new Intl.Segmenter("en", { granularity: "sentence" })
const wordSegmenter = new Intl.Segmenter("en", { granularity: "word" })

/** A line that was wrapped goes on in the next; a list or a heading does not. The length stays, and so do offsets. */
const unwrapped = (text: string): string =>
  text.replaceAll(/(?<=[^\n\r])\r?\n(?=[\p{Letter}\p{Number}("'“])/gu, wrap => " ".repeat(wrap.length))

/** Without those that have neither letter nor digit. */
export const sentencesOf = (text: string): Sentence[] =>
  Array.from(sentenceSegmenter.segment(unwrapped(text)), ({ segment, index }) => {
    const trimmed = segment.trim()
    return { text: trimmed, offset: index + segment.indexOf(trimmed) }
  }).filter(({ text }) => text !== "")

/** In lower case, compatible forms made one. */
export const wordsOf = (text: string): string[] => {
  const words: string[] = []
  for (const { segment, isWordLike } of wordSegmenter.segment(text.normalize("NFKC")))
    if (isWordLike) words.push(segment.toLowerCase())
  return words
}
