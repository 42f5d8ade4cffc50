import type { RawNumber } from "../../kernel/exact-json.ts"
import { openedToken } from "../../kernel/token.ts"

/**
 * Full-text search over documents, apart for every owner.
 *
 * Promises, tested by `conformance.ts`:
 *
 * - Owner: every operation names the owner first (a lower-case UUID). Nothing that an owner says finds, counts, changes
 *   or removes what belongs to another.
 * - Order: a search that starts after a write resolved sees it.
 * - Atomicity: a document is wholly as it was or wholly as it was put.
 * - Matching: every word and phrase of a query must be in a document, and none that it excludes. Words match in the
 *   languages of the owner's documents; the last one may be unfinished; with `capabilities.typo`, one that no document
 *   has stands for those spelled nearly so. No text makes a search fail.
 * - Weights: the same word counts more in a part of greater weight. `boost` multiplies a document's score.
 * - Snippets: `<mark>` around what was found. Everything of the document is escaped, so a snippet is safe HTML.
 * - Totals and facets count all that matches, wherever the page is.
 * - Bounds: at most 1,000 documents or ids in a call; the caller has bounded each of them.
 * - Errors: a `PortError` of kind `refused` or `unavailable`.
 */
export interface SearchPort extends AsyncDisposable {
  readonly capabilities: SearchCapabilities

  /** Adds documents, or replaces those of the same source and id. No two of a call are the same. */
  put(owner: string, documents: readonly SearchDocument[]): Promise<void>
  remove(owner: string, sourceId: string, ids: readonly string[]): Promise<void>
  /** Removes at most `limit` documents of a source, and tells how many; fewer than `limit`: none is left. */
  removeSource(owner: string, sourceId: string, limit: number): Promise<number>
  search(owner: string, query: SearchQuery): Promise<SearchResult>
  /** Words of the owner's documents that begin so, the most frequent first. */
  suggest(owner: string, prefix: string, limit: number): Promise<string[]>
  /** What the owner's documents take; null where the engine does not tell it. */
  bytes(owner: string): Promise<number | null>
  health(): Promise<SearchHealth>
}

export interface SearchCapabilities {
  readonly engine: "postgres" | "opensearch"
  /** Whether a word that no document has stands for those spelled nearly so. */
  readonly typo: boolean
  /** Languages whose words are reduced to their stems; documents of others are matched word by word. */
  readonly languages: readonly string[]
}

export type Weight = 1 | 2 | 3 | 4

export interface SearchDocument {
  readonly sourceId: string
  readonly id: string
  readonly title: string
  /** What is searched, title included if it shall be. */
  readonly parts: readonly { readonly text: string; readonly weight: Weight }[]
  /** What snippets are taken from. */
  readonly body: string
  readonly url: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  /** A configuration of PostgreSQL's text search: `english`. */
  readonly language: string
  readonly boost: number
  readonly updatedAt: Date
}

export type Scalar = string | number | boolean

/** On the value at a path of the metadata; of a list any element may match. */
export type FilterCondition = {
  readonly path: readonly string[]
} & (
  | { readonly anyOf: readonly (Scalar | RawNumber)[] }
  | { readonly range: Readonly<Partial<Record<"gt" | "gte" | "lt" | "lte", number | string | RawNumber>>> }
)

export interface SearchQuery {
  /** As somebody typed it; `terms.ts` says what it means. Nothing but white space: all documents, the newest first. */
  readonly text: string
  /** Undefined: all languages of the owner's documents. */
  readonly language: string | undefined
  readonly sourceId: string | undefined
  /** Sources whose documents do not count any more. */
  readonly withoutSources: readonly string[]
  readonly filter: readonly FilterCondition[]
  readonly facets: readonly (readonly string[])[]
  readonly facetValuesMax: number
  readonly highlight: boolean
  readonly limit: number
  readonly offset: number
  /** Characters of each hit's text that come with it; without it none do. */
  readonly bodyLength?: number
}

export interface SearchHit {
  readonly sourceId: string
  readonly id: string
  readonly title: string
  readonly snippet: string
  readonly url: string | null
  readonly score: number
  readonly metadata: Readonly<Record<string, unknown>>
  /** The beginning of its text, as it was put; only where the query has `bodyLength`. */
  readonly body?: string
}

export interface FacetValue {
  readonly value: Scalar
  readonly count: number
}

export interface SearchResult {
  readonly hits: SearchHit[]
  readonly total: number
  /** In the order of `SearchQuery.facets`; of each the most frequent values. */
  readonly facets: FacetValue[][]
}

export type SearchHealth = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export const search = openedToken<SearchPort>("search")
