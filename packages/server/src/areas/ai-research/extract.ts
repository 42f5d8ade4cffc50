/** The sentences of the sources that answer a question best. Nothing is written that no source says. */
import type { AiModels } from "../ai/offers.ts"
import { type Material, sentencesOf } from "./material.ts"
import { stemOf, topicOf, wordsOf } from "./words.ts"

export interface Passage {
  readonly key: string
  readonly text: string
  /** From 0 to 1: how well it fits. */
  readonly score: number
}

export interface Sentence {
  readonly key: string
  readonly text: string
}

const PASSAGES_MAX = 16
const SENTENCE_LENGTH_MIN = 12
const SENTENCE_LENGTH_MAX = 600
/** A sentence that has less to do with the question is left out. */
const SCORE_MIN = 0.2
/** Of two that say nearly the same one is enough. */
const SAME = 0.85

const topicStems = (question: string): string[] => [...new Set(topicOf(question).map(stemOf))]

/** How much of the topic each text has; rare words count more. */
const coverageOf = (topic: readonly string[], texts: readonly string[]): number[] => {
  const stems = texts.map(text => new Set(wordsOf(text).map(stemOf)))
  const weights = topic.map(stem => {
    const having = stems.filter(own => own.has(stem)).length
    return Math.log(1 + (texts.length - having + 0.5) / (having + 0.5))
  })
  const all = weights.reduce((sum, weight) => sum + weight, 0) || 1
  return stems.map(own =>
    topic.reduce((sum, stem, at) => sum + (own.has(stem) ? (weights[at] ?? 0) / all : 0), 0),
  )
}

/** The passages of all sources that fit the question, the best first. */
export const bestPassages = (
  question: string,
  materials: readonly Material[],
  most = PASSAGES_MAX,
): Passage[] => {
  const all = materials.flatMap(({ key, passages, score, title }) =>
    passages.map(text => ({ key, text, score, title })),
  )
  const covered = coverageOf(
    topicStems(question),
    all.map(({ title, text }) => `${title}\n${text}`),
  )
  return all
    .map(({ key, text, score }, at) => ({ key, text, score: (covered[at] ?? 0) * (0.7 + 0.3 * score) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
}

const product = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)

/** Sentences about the question, the best first; none where no source has any. `said`: what need not be said again. */
export const extract = async (
  models: AiModels,
  question: string,
  materials: readonly Material[],
  { most, said }: { readonly most: number; readonly said: ReadonlySet<string> },
): Promise<Sentence[]> => {
  const candidates = bestPassages(question, materials).flatMap(({ key, text, score }) =>
    sentencesOf(text)
      .filter(({ length }) => length >= SENTENCE_LENGTH_MIN && length <= SENTENCE_LENGTH_MAX)
      .map(sentence => ({ key, text: sentence, passage: score })),
  )
  if (candidates.length === 0) return []
  const texts = candidates.map(({ text }) => text)
  const covered = coverageOf(topicStems(question), texts)
  const [asked = new Float32Array(), ...vectors] = (await models.embed([question, ...texts])).vectors
  const scored = candidates
    .map((candidate, at) => {
      const vector = vectors[at] ?? new Float32Array()
      const own = 0.65 * (covered[at] ?? 0) + 0.35 * Math.max(0, product(asked, vector))
      return { ...candidate, vector, covered: covered[at] ?? 0, score: own * (0.6 + 0.4 * candidate.passage) }
    })
    .filter(({ covered: has, score, text }) => has > 0 && score >= SCORE_MIN && !said.has(text))
    .sort((a, b) => b.score - a.score)
  const chosen: typeof scored = []
  for (const entry of scored) {
    if (chosen.length === most) break
    if (chosen.every(({ vector }) => product(vector, entry.vector) < SAME)) chosen.push(entry)
  }
  return chosen.map(({ key, text }) => ({ key, text }))
}
