/**
 * Extractive summaries by LexRank with continuous similarities (Erkan and Radev, 2004): a sentence matters as far as sentences
 * that matter are like it. Similarity is the cosine of tf-idf vectors. The matrix of similarities is never made: multiplying by
 * the sentences' words and back gives the same, in time that grows with the text and not with its square.
 */
import { type Sentence, sentencesOf, wordsOf } from "./sentences.ts"

export interface SummaryLimits {
  readonly sentencesMax: number | undefined
  /** Share of the sentences. */
  readonly ratio: number | undefined
  /** UTF-16 units. */
  readonly lengthMax: number | undefined
}

export interface Summary {
  readonly summary: string
  readonly sentences: { readonly text: string; readonly index: number; readonly score: number }[]
}

const DAMPING = 0.85
const ROUNDS_MAX = 60
const ENOUGH = 1e-6

/** Words of a sentence with their weights, of length 1 together. */
type Row = readonly (readonly [term: number, weight: number])[]

const rowsOf = (sentences: readonly Sentence[]): { rows: Row[]; terms: number } => {
  const ids = new Map<string, number>()
  const occursIn: number[] = []
  const counts = sentences.map(({ text }) => {
    const counted = new Map<number, number>()
    for (const word of wordsOf(text)) {
      const id = ids.get(word) ?? ids.size
      ids.set(word, id)
      counted.set(id, (counted.get(id) ?? 0) + 1)
    }
    for (const id of counted.keys()) occursIn[id] = (occursIn[id] ?? 0) + 1
    return counted
  })
  const rows = counts.map(counted => {
    const weighed = Array.from(counted, ([id, count]): [number, number] => [
      id,
      (1 + Math.log(count)) * Math.log(1 + sentences.length / (occursIn[id] ?? 1)),
    ])
    const length = Math.sqrt(weighed.reduce((sum, [, weight]) => sum + weight * weight, 0)) || 1
    return weighed.map(([id, weight]): [number, number] => [id, weight / length])
  })
  return { rows, terms: ids.size }
}

/** Sums of each sentence's similarities to the others, each times the other's value. */
const spread = (rows: readonly Row[], terms: number, values: Float64Array): Float64Array => {
  const byTerm = new Float64Array(terms)
  for (const [at, row] of rows.entries())
    for (const [term, weight] of row) byTerm[term] = (byTerm[term] ?? 0) + weight * (values[at] ?? 0)
  return Float64Array.from(rows, (row, at) => {
    let sum = row.length === 0 ? 0 : -(values[at] ?? 0)
    for (const [term, weight] of row) sum += weight * (byTerm[term] ?? 0)
    return Math.max(0, sum)
  })
}

/** The rank of each sentence; they sum up to 1. */
export const rankSentences = (sentences: readonly Sentence[]): Float64Array => {
  const count = sentences.length
  const { rows, terms } = rowsOf(sentences)
  const degrees = spread(rows, terms, new Float64Array(count).fill(1))
  let ranks = new Float64Array(count).fill(1 / count)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    // Sentences that are like no other would lose their rank: it goes to all alike.
    let lost = 0
    const given = ranks.map((rank, at) => {
      const degree = degrees[at] ?? 0
      if (degree > ENOUGH) return rank / degree
      lost += rank
      return 0
    })
    const next = spread(rows, terms, given).map(sum => (1 - DAMPING) / count + DAMPING * (sum + lost / count))
    const total = next.reduce((sum, rank) => sum + rank, 0)
    const change = next.reduce((sum, rank, at) => sum + Math.abs(rank / total - (ranks[at] ?? 0)), 0)
    ranks = next.map(rank => rank / total)
    if (change < ENOUGH) break
  }
  return ranks
}

const SENTENCES_DEFAULT = 3

export const summarize = (text: string, { sentencesMax, ratio, lengthMax }: SummaryLimits): Summary => {
  const sentences = sentencesOf(text)
  const ranks = rankSentences(sentences)
  const byRatio =
    ratio === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(sentences.length * ratio))
  const otherwise =
    ratio === undefined && lengthMax === undefined ? SENTENCES_DEFAULT : Number.POSITIVE_INFINITY
  const most = Math.min(sentencesMax ?? otherwise, byRatio)
  const best = sentences
    .map((sentence, index) => ({ text: sentence.text, index, score: ranks[index] ?? 0 }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
  const chosen: typeof best = []
  const seen = new Set<string>()
  let length = -1
  for (const candidate of best) {
    if (chosen.length >= most) break
    if (seen.has(candidate.text)) continue
    const longer = length + 1 + candidate.text.length
    if (chosen.length > 0 && longer > (lengthMax ?? Number.POSITIVE_INFINITY)) continue
    seen.add(candidate.text)
    chosen.push(candidate)
    length = longer
  }
  chosen.sort((a, b) => a.index - b.index)
  return { summary: chosen.map(sentence => sentence.text).join(" "), sentences: chosen }
}
