/**
 * Vectors of texts by their words and parts of words, hashed into so many dimensions. They compare spelling, not meaning:
 * "apples" is near "apple", "car" is not near "automobile". Nothing is learned, so nothing has to be loaded.
 */

const WORD = /[\p{Letter}\p{Number}]+/gu
const GRAM_MIN = 3
const GRAM_MAX = 5
const GRAM_WEIGHT = 0.35
const PAIR_WEIGHT = 0.5
/** Words that stand in most texts say little about one. */
const COMMON_WEIGHT = 0.15
const COMMON: ReadonlySet<string> = new Set(
  (
    "a about after all also an and any are as at be because been but by can could did do does for from had has have he her " +
    "his how i if in into is it its just like may me more most my no not of on one or our out over she should so some " +
    "such than that the their them then there these they this to up was we were what when which who will with would you your"
  ).split(" "),
)

/** FNV-1a with a last mix, so that the low bits are as good as the high ones. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    hash ^= text.charCodeAt(at)
    hash = Math.imul(hash, 0x01000193)
  }
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x7feb352d)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x846ca68b)
  return (hash ^ (hash >>> 16)) >>> 0
}

const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    // Letters with two small forms become one: ß and ss, σ and ς.
    .toUpperCase()
    .toLowerCase()
    .match(WORD) ?? []

/** How often each feature occurs, with its weight. */
const featuresOf = (words: readonly string[]): Map<string, { count: number; weight: number }> => {
  const features = new Map<string, { count: number; weight: number }>()
  const add = (feature: string, weight: number) => {
    const known = features.get(feature)
    if (known) known.count++
    else features.set(feature, { count: 1, weight })
  }
  for (const [at, word] of words.entries()) {
    const weight = COMMON.has(word) ? COMMON_WEIGHT : 1
    add(word, weight)
    const next = words[at + 1]
    if (next !== undefined) add(`${word} ${next}`, PAIR_WEIGHT * weight)
    if (weight < 1) continue
    const framed = `^${word}$`
    for (let size = GRAM_MIN; size <= GRAM_MAX; size++) {
      for (let from = 0; from + size <= framed.length; from++)
        add(`#${framed.slice(from, from + size)}`, GRAM_WEIGHT)
    }
  }
  return features
}

/** Of length 1, unless the text has no word. */
export const hashEmbedding = (text: string, dimensions: number): { vector: Float32Array; words: number } => {
  const vector = new Float32Array(dimensions)
  const words = wordsOf(text)
  for (const [feature, { count, weight }] of featuresOf(words)) {
    const hash = hashOf(feature)
    const value = weight * (1 + Math.log(count))
    const at = (hash >>> 1) % dimensions
    vector[at] = (vector[at] ?? 0) + ((hash & 1) === 1 ? value : -value)
  }
  const length = Math.hypot(...vector)
  if (length > 0) for (let at = 0; at < dimensions; at++) vector[at] = (vector[at] ?? 0) / length
  return { vector, words: words.length }
}
