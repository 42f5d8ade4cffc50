/**
 * Finds the nearest vectors of a collection. The vectors themselves are rows elsewhere; an index holds what it was told
 * of their changes, and can be thrown away at any time.
 *
 * Promises, tested by `conformance.ts`:
 *
 * - Changes: `apply` takes changes in the order of their sequence numbers, and a search that starts after it resolved
 *   sees them. Applying a change again changes nothing. `through` is the position from then on.
 * - Position: `position` tells how far an index is, so that its owner can tell it the rest; undefined when there is none
 *   and everything must be told. An index may be lost between two calls, and says so by `missing`.
 * - Completeness: a search answers with `topK` matches whenever so many vectors fit filter and threshold.
 * - Exactness: with `exact`, the matches are the nearest there are; without, nearly always (recall above 0.95).
 * - Scores: higher is nearer: the cosine, the dot product, 1 / (1 + Euclidean distance). Equal scores are ordered by id.
 * - Filters: every driver gives a condition the same meaning, that of `filter.ts`.
 * - Separation: collections share nothing.
 * - Errors: a `PortError`. `missing`: the index is gone, or further changes are needed; `refused`: it cannot hold this;
 *   `unavailable`: not now.
 */
import type { Condition } from "./filter.ts"

export { type Bound, type Condition, type Scalar, timeOf } from "./filter.ts"

import { openedToken } from "../../kernel/token.ts"

export interface VectorIndexPort extends AsyncDisposable {
  readonly capabilities: VectorCapabilities

  position(collection: CollectionShape): Promise<number | undefined>
  /** With `reset`, whatever was there is forgotten first. Throws `missing` when there is no index and no `reset`. */
  apply(collection: CollectionShape, changes: Changes): Promise<void>
  search(collection: CollectionShape, query: VectorQuery): Promise<VectorMatches>
  /** Ids of at most `limit` vectors that fit, in no order. */
  select(collection: CollectionShape, filter: Condition, limit: number): Promise<string[]>
  count(collection: CollectionShape, filter: Condition): Promise<number>
  /** Forgets a collection; nothing happens when there is none. */
  drop(collectionId: string): Promise<void>
  state(collectionId: string): IndexState
  /** What there is in memory, for metrics and the status page. */
  usage(): VectorUsage
  health(): Promise<VectorHealth>
}

export interface VectorCapabilities {
  readonly engine: "usearch" | "qdrant"
  /** Whether all processes share one index, which outlives them, or each has its own. */
  readonly shared: boolean
}

/** Everything about a collection that never changes, and roughly how many vectors it has. */
export interface CollectionShape {
  /** A UUID that is never used again. */
  readonly id: string
  readonly dimension: number
  readonly metric: "cosine" | "dot" | "euclidean"
  readonly type: "auto" | "hnsw" | "flat"
  readonly m: number
  readonly efConstruction: number
  readonly count: number
}

export interface Changes {
  readonly reset: boolean
  readonly upserts: readonly VectorRecord[]
  readonly deletes: readonly string[]
  /** The sequence number of the last of them. */
  readonly through: number
}

export interface VectorRecord {
  readonly id: string
  /** Finite, and for the cosine not all zero. */
  readonly values: Float32Array
  /** The text of a JSON object. */
  readonly metadata: string
}

export interface VectorQuery {
  readonly vector: Float32Array
  readonly topK: number
  readonly filter: Condition | undefined
  readonly scoreThreshold: number | undefined
  /** Candidates to look at; undefined: the driver's choice. */
  readonly ef: number | undefined
  readonly exact: boolean
}

export interface VectorMatch {
  readonly id: string
  readonly score: number
}

export interface VectorMatches {
  readonly matches: readonly VectorMatch[]
  /** Whether every vector that fits the filter was compared. */
  readonly exact: boolean
}

/** `cold`: not in memory until the next search; `building`: searched exactly meanwhile. */
export type IndexState = "cold" | "building" | "ready"

export interface VectorUsage {
  readonly collections: number
  readonly vectors: number
  readonly bytes: number
}

export type VectorHealth = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export const vectors = openedToken<VectorIndexPort>("vectors")
