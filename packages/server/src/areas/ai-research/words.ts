/** The words of a question that say what it is about. */

const STOP_WORDS = new Set(
  (
    "a about after all also an and any are as at be because been before being between both but by can could did do does doing " +
    "during each few for from further had has have having he her here hers him his how i if in into is it its itself just me " +
    "more most my no nor not of off on once only or other our out over own same she should so some such than that the their " +
    "them then there these they this those through to too under until up very was we were what when where which while who whom " +
    "why will with would you your tell explain describe please many much long"
  ).split(" "),
)

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu
const QUESTION_WORDS_MAX = 12

export const wordsOf = (text: string): string[] => text.normalize("NFKC").toLowerCase().match(WORD) ?? []

/** Without the commonest endings of English, so that `refunds` is like `refund`. */
export const stemOf = (word: string): string => {
  const short = word.replace(/['’]s$/, "").replace(/(?<=\p{L}{3})(ies|ing|ed|es|s|e|y)$/u, "")
  return short === "" ? word : short
}

export const isTopical = (word: string): boolean => word.length > 1 && !STOP_WORDS.has(word)

/** Each once, in the question's order; all words where none says anything. */
export const topicOf = (question: string): string[] => {
  const words = [...new Set(wordsOf(question))]
  const topical = words.filter(isTopical)
  return (topical.length > 0 ? topical : words).slice(0, QUESTION_WORDS_MAX)
}
