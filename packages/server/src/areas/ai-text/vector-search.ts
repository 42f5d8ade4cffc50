/** Similarity of passages that come with their query: nothing is stored. */
import { AI_TEXT_TOP_K_DEFAULT, type areas, type Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { provided } from "../../kernel/offer.ts"
import type { AiTextNeeds } from "./needs.ts"

type Given = Input<typeof areas.aiText.specs.vectorSearch>

/** As usual for reciprocal rank fusion. */
const FUSION_K = 60

const cosine = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)

/** What each text gets for its rank; nothing where its score is not above 0. */
const rankShares = (scores: readonly number[]): number[] => {
  const shares = scores.map(() => 0)
  const order = [...scores.keys()].filter(at => (scores[at] ?? 0) > 0)
  order.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
  for (const [rank, at] of order.entries()) shares[at] = 1 / (FUSION_K + rank + 1)
  return shares
}

export const createVectorSearch =
  ({ models: offered, engines }: AiTextNeeds) =>
  async ({ query, documents, top_k = AI_TEXT_TOP_K_DEFAULT }: Given, call: Call) => {
    const models = await provided(offered)
    await models.countEmbedded(call)
    const texts = documents.map(document => (typeof document === "string" ? document : document.text))
    const [{ vectors, model, method }, byWords] = await Promise.all([
      models.embed([query, ...texts]),
      engines.run(call.organization.id, { kind: "bm25", query, texts }),
    ])
    const [queryVector = new Float32Array(), ...others] = vectors
    const byVector = others.map(vector => cosine(queryVector, vector))
    const [vectorShares, wordShares] = [rankShares(byVector), rankShares(byWords)]
    const results = documents.map((document, index) => {
      const vector = byVector[index] ?? 0
      return {
        index,
        id: typeof document === "string" ? null : document.id,
        score: vector,
        scores: {
          vector,
          bm25: byWords[index] ?? 0,
          rrf: (vectorShares[index] ?? 0) + (wordShares[index] ?? 0),
        },
        text: texts[index] ?? "",
      }
    })
    const best = results
      .filter(({ scores }) => scores.rrf > 0)
      .sort((a, b) => b.scores.rrf - a.scores.rrf || b.score - a.score || a.index - b.index)
    return { results: best.slice(0, top_k), model, method }
  }
