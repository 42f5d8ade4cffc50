/** The sentences of the matches that are nearest to the question. Nothing is written that no document says. */
import type { areas, Output } from "@svc/contract"
import type { Embedder } from "./embedder.ts"
import { sentences } from "./reading/chunks.ts"

type Reply = Output<typeof areas.rag.specs.query>
type Answer = NonNullable<Reply["answer"]>

const SENTENCES_MAX = 3
const SENTENCE_LENGTH_MIN = 12
/** A sentence that has little to do with the question is left out. */
const SCORE_MIN = 0.08
/** Of two that say nearly the same one is enough: parts of documents overlap. */
const SAME = 0.9

interface Candidate {
  readonly match: Reply["matches"][number]
  readonly start: number
  readonly end: number
  readonly quote: string
}

const candidatesOf = (match: Reply["matches"][number]): Candidate[] =>
  [...sentences(match.text, 0, match.text.length)].flatMap(([from, to]) => {
    const raw = match.text.slice(from, to)
    const quote = raw.trim()
    const start = match.metadata.start + from + raw.length - raw.trimStart().length
    return quote.length < SENTENCE_LENGTH_MIN ? [] : [{ match, start, end: start + quote.length, quote }]
  })

const product = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)

export const extractAnswer = async (
  question: string,
  matches: Reply["matches"],
  embedder: Embedder,
): Promise<Answer> => {
  const candidates = matches.flatMap(candidatesOf)
  const texts = [question, ...candidates.map(({ quote }) => quote)]
  const [asked, ...vectors] = (await embedder.embed(texts)).vectors
  const scored = candidates
    .map((candidate, at) => {
      const vector = vectors[at] ?? new Float32Array()
      // The better the passage, the more its sentences count.
      return {
        candidate,
        vector,
        score: asked ? product(asked, vector) * (0.5 + candidate.match.score / 2) : 0,
      }
    })
    .filter(({ score }) => score >= SCORE_MIN)
    .sort((a, b) => b.score - a.score)
  const chosen: typeof scored = []
  for (const entry of scored) {
    if (chosen.length === SENTENCES_MAX) break
    if (chosen.every(({ vector }) => product(vector, entry.vector) < SAME)) chosen.push(entry)
  }
  const citations = chosen.map(({ candidate: { match, start, end, quote } }, at) => ({
    n: at + 1,
    doc_id: match.doc_id,
    chunk_id: match.chunk_id,
    page: match.metadata.page,
    start,
    end,
    quote,
  }))
  const text = citations.map(({ quote, n }) => `${quote} [${n}]`).join(" ")
  return { text, method: "embedded", technique: "extractive", citations }
}
