import type { EntityType, TypeFamily } from "./entities.ts"
import { type NameRule, nameRules, otherHeads, otherModifiers, personNouns } from "./name-rules.ts"

/** Accents go, and so does the way a name is joined: `customerEMail`, `customer_e-mail` and `Customer E Mail` are one. */
export const plain = (text: string): string => (ASCII.test(text) ? text : bare(text))

const ASCII = /^[ -~]*$/

const bare = (text: string): string =>
  text
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll("ß", "ss")
    .replaceAll("ø", "o")
    .replaceAll("ł", "l")

const singular = (word: string): string =>
  word.length > 3 && word.endsWith("s") && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word

/** The words of a name, in lower case and the singular. Numbers are left out. */
export const wordsOf = (name: string): string[] =>
  (plain(name).match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+/gu) ?? []).map(word =>
    singular(word.toLowerCase()),
  )

interface Phrase {
  readonly rule: NameRule
  readonly words: readonly string[]
  readonly joined: string
}

const phrases: readonly Phrase[] = nameRules.flatMap(rule =>
  rule.phrases.map(text => {
    const words = wordsOf(text)
    return { rule, words, joined: words.join("") }
  }),
)

interface Place {
  readonly start: number
  readonly end: number
}

const groupedBy = (keyOf: (phrase: Phrase) => string | undefined): ReadonlyMap<string, Phrase[]> => {
  const groups = new Map<string, Phrase[]>()
  for (const phrase of phrases) {
    const key = keyOf(phrase)
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), phrase])
  }
  return groups
}

const byJoined = groupedBy(({ joined }) => joined)
const byFirst = groupedBy(({ words }) => (words.length > 1 ? words[0] : undefined))

/**
 * Where phrases are in a name, their words apart or as one. Of several places the last counts, as the end of a name says
 * what it is.
 */
const findPhrases = (words: readonly string[]): ReadonlyMap<Phrase, Place> => {
  const found = new Map<Phrase, Place>()
  // `e_mail` and `pass_word` are split in places of their own.
  const whole = singular(words.join(""))
  if (whole.length > 3)
    for (const phrase of byJoined.get(whole) ?? []) found.set(phrase, { start: 0, end: words.length })
  words.forEach((word, start) => {
    for (const phrase of byJoined.get(word) ?? []) found.set(phrase, { start, end: start + 1 })
    for (const phrase of byFirst.get(word) ?? [])
      if (phrase.words.every((wanted, index) => words[start + index] === wanted))
        found.set(phrase, { start, end: start + phrase.words.length })
  })
  return found
}

const OTHER_MEANING = 0.1
const QUALIFIED = 0.95
/** `email_hash` names a person to whoever can guess the address. */
const DIGESTED = 0.6

const after = (rest: readonly string[]): number => {
  const head = rest.at(-1)
  if (head === undefined) return 1
  if (["hash", "digest", "encrypted", "sha", "md"].includes(head)) return DIGESTED
  return rest.some(word => otherHeads.has(word)) ? OTHER_MEANING : QUALIFIED
}

const isPersonTable = (words: readonly string[]): boolean =>
  words.some(word => personNouns.has(word)) && !words.some(word => THINGS.has(word))

/** A table about what people have, not who they are. */
const THINGS: ReadonlySet<string> = new Set(
  "group role type segment status category team plan tag field setting file event product".split(" "),
)

const PERSON_NAME_OF_PERSON = 0.82
const PERSON_NAME_OF_THING = 0.05
const GENERIC_NAMES: ReadonlySet<string> = new Set(["name", "nombre", "nom", "naam", "nome", "namn", "navn"])

/** `name` alone is a person's in a table of people, and after a word for one. */
const genericName = (before: readonly string[], table: readonly string[]): number => {
  const noun = before.at(-1)
  if (noun !== undefined) return personNouns.has(noun) ? PERSON_NAME_OF_PERSON : PERSON_NAME_OF_THING
  return isPersonTable(table) ? PERSON_NAME_OF_PERSON : PERSON_NAME_OF_THING
}

const scoreAt = (
  phrase: Phrase,
  place: Place,
  words: readonly string[],
  table: readonly string[],
): number => {
  const before = words.slice(0, place.start)
  const previous = before.at(-1)
  const { rule } = phrase
  if (previous !== undefined && rule.notAfter?.includes(previous)) return 0
  const generic = rule.entity === "PERSON" && GENERIC_NAMES.has(phrase.joined)
  const base = generic ? genericName(before, table) : rule.score
  const modified = before.some(word => otherModifiers.has(word)) ? OTHER_MEANING : 1
  return base * modified * after(words.slice(place.end))
}

/** How likely the name stands for each entity, from 0 to 1; entities that it does not stand for are left out. */
export const scoreName = (
  column: string,
  table: string,
  family: TypeFamily,
): ReadonlyMap<EntityType, number> => {
  const words = wordsOf(column)
  const tableWords = wordsOf(table)
  const scores = new Map<EntityType, number>()
  const found = findPhrases(words)
  let longest = 0
  let longestPlace: Place = { start: 0, end: 0 }
  for (const [{ joined }, place] of found) {
    if (joined.length <= longest) continue
    longest = joined.length
    longestPlace = place
  }
  for (const [phrase, place] of found) {
    if (!phrase.rule.families.includes(family)) continue
    // `email address` is not an address too: a phrase inside a longer one says nothing.
    const inside =
      phrase.joined.length < longest && place.start >= longestPlace.start && place.end <= longestPlace.end
    if (inside) continue
    const score = scoreAt(phrase, place, words, tableWords)
    if (score > (scores.get(phrase.rule.entity) ?? 0)) scores.set(phrase.rule.entity, score)
  }
  return scores
}
