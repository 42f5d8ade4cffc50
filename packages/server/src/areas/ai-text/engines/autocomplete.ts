/** Completes an unfinished text by what follows its last words elsewhere: in the caller's own texts, and in English. */
import { english } from "./english.ts"
import { countTexts, END, followersOf, isWord, type Ngrams, START, tokensOf } from "./ngrams.ts"
import type { Completion, CompletionTask } from "./tasks.ts"

/** What the caller's texts count beside English, where both know the context. */
const OWN_SHARE = 0.75
/** A word that fits only by its first letters, beside one that fits the words before it as well. */
const PREFIX_ALONE = 0.05
/** Each word less likely than this is a guess, and the suggestion ends before it. */
const LIKELY_MIN = 0.06
const CONTEXT_TOKENS = 2
/** As much of a text's end as is looked at for its last words. */
const CONTEXT_UNITS = 400
const UNFINISHED = /[\p{L}\p{N}][\p{L}\p{N}'’-]*$/u
/** A sentence begins here. */
const AFTER_END = /(^|[.!?]["'”’)]*\s+)$/

type Model = readonly { readonly ngrams: Ngrams; readonly share: number }[]

const likelyAfter = (model: Model, context: readonly string[]): Map<string, number> => {
  const likely = new Map<string, number>()
  // A context that was seen once says less than its share.
  const tables = model.map(({ ngrams, share }) => {
    const { likely: found, seen } = followersOf(ngrams, context)
    return { found, share: (share * seen) / (seen + 1) }
  })
  const total = tables.reduce((sum, { share }) => sum + share, 0) || 1
  for (const { found, share } of tables)
    for (const [word, chance] of found) likely.set(word, (likely.get(word) ?? 0) + (chance * share) / total)
  return likely
}

/** Words that begin so, by how often they occur, in the way of `likelyAfter`. */
const likelyWords = (model: Model, prefix: string): Map<string, number> => {
  const likely = new Map<string, number>()
  for (const { ngrams, share } of model) {
    let total = 0
    const found: [string, number][] = []
    for (const [word, count] of ngrams.words) {
      if (!word.startsWith(prefix) || word === prefix) continue
      total += count
      found.push([word, count])
    }
    for (const [word, count] of found)
      likely.set(word, (likely.get(word) ?? 0) + (PREFIX_ALONE * share * count) / total)
  }
  return likely
}

/** How sure it is that the last word of a text is finished: by how often it occurs beside the longer words that begin so. */
const finishedShare = (model: Model, word: string): number => {
  let [own, all] = [0, 0]
  for (const { ngrams, share } of model)
    for (const [other, count] of ngrams.words) {
      if (!other.startsWith(word)) continue
      all += (share * count) / ngrams.wordsTotal
      if (other === word) own += (share * count) / ngrams.wordsTotal
    }
  return all === 0 ? 0 : own / all
}

const formOf = (model: Model, word: string): string =>
  model.map(({ ngrams }) => ngrams.formOf(word)).find(form => form !== undefined) ??
  model.map(({ ngrams }) => ngrams.initialOf(word)).find(form => form !== undefined) ??
  word

const capitalised = (word: string): string => word.replace(/^\p{Ll}/u, letter => letter.toUpperCase())

/** The last words of the sentence that is under way. */
const contextOf = (text: string): string[] => {
  const tokens = tokensOf(text.slice(-CONTEXT_UNITS)).map(token => token.toLowerCase())
  const end = tokens.findLastIndex(token => /^[.!?]$/.test(token))
  return [START, ...tokens.slice(end + 1)].slice(-CONTEXT_TOKENS)
}

interface Begun {
  readonly word: string
  readonly chance: number
  /** What the suggestion begins with. */
  readonly text: string
  /** The words before it. */
  readonly context: readonly string[]
}

/** Longer words in the place of the unfinished one. */
const finish = (model: Model, before: string, unfinished: string): Begun[] => {
  const prefix = unfinished.normalize("NFC").toLowerCase()
  const context = contextOf(before)
  const likely = likelyWords(model, prefix)
  for (const [word, chance] of likelyAfter(model, context))
    if (isWord(word) && word.startsWith(prefix) && word !== prefix)
      likely.set(word, (likely.get(word) ?? 0) + chance)
  return Array.from(likely, ([word, chance]) => ({
    ...{ word, chance, context },
    text: formOf(model, word).slice(prefix.length),
  }))
}

/** The words that follow a finished one, or nothing. */
const follow = (model: Model, text: string, share: number): Begun[] => {
  const gap = text === "" || /\s$/.test(text) ? "" : " "
  const startsSentence = AFTER_END.test(text)
  const context = contextOf(text)
  return Array.from(likelyAfter(model, context), ([word, chance]) => {
    const form = formOf(model, word)
    const shown = startsSentence ? capitalised(form) : form
    return { word, chance: chance * share, context, text: isWord(word) ? gap + shown : word }
  }).filter(({ word }) => word !== END && (gap !== "" || isWord(word)))
}

/** Goes on with the likeliest word as long as there is one. */
const extend = (model: Model, { word: first, text: begun, context }: Begun, wordsMax: number): string => {
  const words = [...context, first]
  let text = begun
  let count = isWord(first) ? 1 : 0
  while (count < wordsMax && !/[.!?]$/.test(text)) {
    let best: readonly [string, number] | undefined
    for (const entry of likelyAfter(model, words.slice(-CONTEXT_TOKENS)))
      if (!best || entry[1] > best[1]) best = entry
    if (!best || best[0] === END || best[1] < LIKELY_MIN) break
    const [word] = best
    const last = words.at(-1)
    // Two words that come again: it goes round in a circle.
    if (words.some((other, at) => at > 0 && other === word && words[at - 1] === last)) break
    text += isWord(word) ? ` ${formOf(model, word)}` : word
    words.push(word)
    if (isWord(word)) count++
  }
  return text.replace(/[,;:]$/, "")
}

export const complete = ({
  text,
  corpus,
  isEnglish,
  suggestionsMax,
  wordsMax,
}: CompletionTask): Completion[] => {
  const [unfinished = ""] = UNFINISHED.exec(text.slice(-CONTEXT_UNITS)) ?? []
  const before = text.slice(0, text.length - unfinished.length)
  const own = countTexts([...corpus, before])
  const model: Model = [
    { ngrams: own, share: isEnglish ? OWN_SHARE : 1 },
    ...(isEnglish ? [{ ngrams: english(), share: 1 - OWN_SHARE }] : []),
  ]
  const share = unfinished === "" ? 1 : finishedShare(model, unfinished.toLowerCase())
  const begun = [
    ...(unfinished === "" ? [] : finish(model, before, unfinished)),
    ...(share === 0 ? [] : follow(model, text, share)),
  ]
  const suggestions = new Map<string, Completion>()
  for (const one of begun.sort((a, b) => b.chance - a.chance)) {
    if (suggestions.size === suggestionsMax) break
    const shown = extend(model, one, wordsMax)
    const score = Math.min(1, Math.round(one.chance * 1e6) / 1e6)
    if (shown.trim() !== "" && !suggestions.has(shown)) suggestions.set(shown, { text: shown, score })
  }
  return [...suggestions.values()]
}
