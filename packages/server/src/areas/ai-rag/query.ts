/** Finds chunks by words, by vectors, or by both rankings fused. */
import { setImmediate as turn } from "node:timers/promises"
import { type areas, type Input, type Output, RAG_TOP_K_DEFAULT, type RagMode } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { extractAnswer } from "./answer.ts"
import { chunkStore, type Embedding, type FoundChunk, type Scope, type Scored } from "./chunk-store.ts"
import type { Embedder } from "./embedder.ts"

type Given = Input<typeof areas.rag.specs.query>
type Reply = Output<typeof areas.rag.specs.query>
type Match = Reply["matches"][number]

/** Reciprocal rank fusion's usual constant. */
const RRF_K = 60
const RANKED_MAX = 200
const VECTORS_PAGE = 1_000

interface Ranked {
  readonly id: string
  readonly score: number
  readonly bm25: number | null
  readonly vector: number | null
  readonly rrf: number | null
}

const floatsOf = (bytes: Buffer): Float32Array => {
  const copy = new Uint8Array(bytes)
  return new Float32Array(copy.buffer, 0, copy.length / Float32Array.BYTES_PER_ELEMENT)
}

/** Both have the length 1, or 0. */
const cosine = (a: Float32Array, b: Float32Array): number => {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] ?? 0)
  return sum
}

/** Compares every vector, a page at a time, so that a large project does not block other requests. */
const byVectors = async (
  db: Db,
  projectId: string,
  scope: Scope,
  vector: Float32Array | undefined,
  embedding: Embedding,
): Promise<Scored[]> => {
  if (!vector?.some(value => value !== 0)) return []
  let best: Scored[] = []
  let after: { document_id: string; id: string } | undefined
  for (;;) {
    const rows = await chunkStore(db).vectors(projectId, scope, embedding, after, VECTORS_PAGE)
    for (const row of rows) best.push({ id: row.id, score: cosine(vector, floatsOf(row.embedding)) })
    best = best
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
      .slice(0, RANKED_MAX)
    after = rows.at(-1)
    if (rows.length < VECTORS_PAGE) return best
    await turn()
  }
}

const fuse = (mode: RagMode, words: readonly Scored[], vectors: readonly Scored[]): Ranked[] => {
  const bm25 = new Map(words.map(({ id, score }, rank) => [id, { score, rank }]))
  const near = new Map(vectors.map(({ id, score }, rank) => [id, { score, rank }]))
  const share = (found: { rank: number } | undefined) => (found ? 1 / (RRF_K + found.rank + 1) : 0)
  const bestWords = words[0]?.score ?? 1
  const bestSum = 2 / (RRF_K + 1)
  const ids =
    mode === "bm25"
      ? [...bm25.keys()]
      : mode === "vector"
        ? [...near.keys()]
        : [...bm25.keys(), ...near.keys()]
  return [...new Set(ids)]
    .map(id => {
      const inWords = bm25.get(id)
      const inVectors = near.get(id)
      const rrf = share(inWords) + share(inVectors)
      const score =
        mode === "bm25"
          ? (inWords?.score ?? 0) / bestWords
          : mode === "vector"
            ? (inVectors?.score ?? 0)
            : rrf / bestSum
      return {
        id,
        score,
        bm25: inWords?.score ?? null,
        vector: inVectors?.score ?? null,
        rrf: mode === "hybrid" ? rrf : null,
      }
    })
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
}

const matchOf = (ranked: Ranked, chunk: FoundChunk): Match => ({
  doc_id: chunk.document_id,
  chunk_id: chunk.id,
  document: chunk.document,
  text: chunk.text,
  score: ranked.score,
  scores: { bm25: ranked.bm25, vector: ranked.vector, rrf: ranked.rrf },
  metadata: {
    page: chunk.page,
    heading: chunk.heading,
    start: chunk.start_at,
    end: chunk.end_at,
    document: chunk.metadata,
  },
})

const scopeOf = ({ doc_ids, filter }: Given): Scope => ({
  docIds: doc_ids,
  metadata: filter === undefined ? undefined : JSON.stringify(filter),
})

export interface Place {
  readonly db: Db
  readonly projectId: string
  readonly embedder: Embedder
}

/** The chunks of a project that fit best, and what made the vectors. Counts nothing. */
export const findMatches = async ({ db, projectId, embedder }: Place, given: Given) => {
  const { query, top_k = RAG_TOP_K_DEFAULT, mode = "hybrid", min_score = 0 } = given
  const embedded = await embedder.embed([query])
  const scope = scopeOf(given)
  const chunks = chunkStore(db)
  const words = mode === "vector" ? [] : await chunks.byWords(projectId, scope, query, RANKED_MAX)
  const vectors = mode === "bm25" ? [] : await byVectors(db, projectId, scope, embedded.vectors[0], embedded)
  const ranked = fuse(mode, words, vectors)
    .filter(({ score }) => score >= min_score)
    .slice(0, top_k)
  const loaded = await chunks.load(
    projectId,
    ranked.map(({ id }) => id),
  )
  const byId = new Map(loaded.map(chunk => [chunk.id, chunk]))
  const matches = ranked.flatMap(entry => {
    const chunk = byId.get(entry.id)
    // It may have been deleted a moment ago.
    return chunk ? [matchOf(entry, chunk)] : []
  })
  return { matches, embedded }
}

export const createQuery =
  ({ embedder }: { readonly embedder: Embedder }) =>
  async (given: Given, call: Call): Promise<Reply> => {
    const { query, mode = "hybrid", include_answer = false } = given
    const { projectId } = call.projectTenant
    await embedder.count(call)
    const { matches, embedded } = await findMatches({ db: call.db, projectId, embedder }, given)
    const answer = include_answer ? await extractAnswer(query, matches, embedder) : undefined
    return {
      matches,
      ...(answer && { answer }),
      mode,
      method: "embedded",
      embedding_model: embedded.model,
      usage: {
        chunks_searched: await chunkStore(call.db).count(projectId, scopeOf(given)),
        query_tokens: query.match(/[\p{Letter}\p{Number}]+/gu)?.length ?? 0,
      },
    }
  }
