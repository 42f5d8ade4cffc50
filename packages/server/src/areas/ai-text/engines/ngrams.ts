/** Counts of words that follow each other, and what they say about the next word: stupid backoff (Brants et al., 2007). */
import { sentencesOf } from "./sentences.ts"

/** Stands for the end of a sentence. */
export const END = "</s>"
/** Stands for what is before the first word of a sentence. */
export const START = "<s>"

export interface Followers {
  readonly total: number
  /** By word in lower case. */
  readonly counts: ReadonlyMap<string, number>
}

export interface Ngrams {
  /** How often each word occurs, by its lower case. */
  readonly words: ReadonlyMap<string, number>
  readonly wordsTotal: number
  /** What follows one word, or two joined by a space. */
  after(context: string): Followers | undefined
  /** A word as it is written in the middle of a sentence; undefined where it was not seen there. */
  formOf(word: string): string | undefined
  /** As it is written where a sentence begins. */
  initialOf(word: string): string | undefined
}

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*|[,.!?;:]/gu
const LETTER = /[\p{L}\p{N}]/u
const ORDER = 2

/** Words and marks, as they are written. */
export const tokensOf = (text: string): string[] => text.normalize("NFC").match(WORD) ?? []

export const isWord = (token: string): boolean => LETTER.test(token)

/** What a shorter context counts beside one that is a word longer. */
const BACKOFF = 0.4

/** Counts of the texts that a caller gives. The end of a text ends no sentence: it is where the caller stopped. */
export const countTexts = (texts: readonly string[]): Ngrams => {
  const words = new Map<string, number>()
  const forms = new Map<string, string>()
  const initials = new Map<string, string>()
  const next = new Map<string, { total: number; counts: Map<string, number> }>()
  let wordsTotal = 0
  const count = (spelled: readonly string[], isEnded: boolean) => {
    const tokens = [START, ...spelled.map(token => token.toLowerCase())]
    if (isEnded) tokens.push(END)
    for (const [at, token] of tokens.entries()) {
      const form = spelled[at - 1]
      if (form !== undefined && isWord(form)) {
        words.set(token, (words.get(token) ?? 0) + 1)
        wordsTotal++
        ;(at > 1 ? forms : initials).set(token, form)
      }
      for (let length = 1; length <= Math.min(ORDER, at); length++) {
        const context = tokens.slice(at - length, at).join(" ")
        // Few texts tell how the next sentence begins.
        if (context === START) continue
        const followers = next.get(context) ?? { total: 0, counts: new Map<string, number>() }
        followers.total++
        followers.counts.set(token, (followers.counts.get(token) ?? 0) + 1)
        next.set(context, followers)
      }
    }
  }
  for (const text of texts) {
    const sentences = sentencesOf(text)
    for (const [at, sentence] of sentences.entries())
      count(tokensOf(sentence.text), at < sentences.length - 1 || /[.!?]\s*$/.test(sentence.text))
  }
  return {
    words,
    wordsTotal,
    after: context => next.get(context),
    formOf: word => forms.get(word),
    initialOf: word => initials.get(word),
  }
}

export interface Likely {
  /** How likely each word is to follow, by the longest context that is known; none where no context is. */
  readonly likely: ReadonlyMap<string, number>
  /** How often that context occurs. */
  readonly seen: number
}

export const followersOf = (model: Ngrams, context: readonly string[]): Likely => {
  const likely = new Map<string, number>()
  let seen = 0
  let weight = 1
  for (let length = Math.min(ORDER, context.length); length > 0; length--) {
    const found = model.after(context.slice(-length).join(" "))
    if (seen === 0) seen = found?.total ?? 0
    for (const [word, count] of found?.counts ?? [])
      if (!likely.has(word)) likely.set(word, (weight * count) / (found?.total ?? 1))
    weight *= BACKOFF
  }
  return { likely, seen }
}
