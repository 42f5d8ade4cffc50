/** Okapi BM25 over the texts of one request. */
import { wordsOf } from "./sentences.ts"

const K1 = 1.2
const B = 0.75

/** The score of each text; 0 where it shares no word with the query. */
export const bm25 = (query: string, texts: readonly string[]): number[] => {
  const wanted = new Set(wordsOf(query))
  const lengths: number[] = []
  const counts = texts.map(text => {
    const words = wordsOf(text)
    lengths.push(words.length)
    const counted = new Map<string, number>()
    for (const word of words) if (wanted.has(word)) counted.set(word, (counted.get(word) ?? 0) + 1)
    return counted
  })
  const mean = lengths.reduce((sum, length) => sum + length, 0) / texts.length || 1
  const weights = new Map<string, number>()
  for (const word of wanted) {
    const occursIn = counts.filter(counted => counted.has(word)).length
    weights.set(word, Math.log(1 + (texts.length - occursIn + 0.5) / (occursIn + 0.5)))
  }
  return counts.map((counted, at) => {
    let score = 0
    for (const [word, count] of counted) {
      const saturated = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * (lengths[at] ?? 0)) / mean))
      score += (weights.get(word) ?? 0) * saturated
    }
    return score
  })
}
