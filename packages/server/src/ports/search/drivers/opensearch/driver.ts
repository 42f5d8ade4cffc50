/**
 * Full-text search in an OpenSearch (from version 2), in one index for all owners. Every document and every search is
 * routed by owner, and every search filters by owner. Words are matched by OpenSearch's analyzers; when nothing is found,
 * it is asked again with fuzziness.
 */
import { toDoubles } from "../../../../kernel/exact-json.ts"
import { PortError } from "../../../port-error.ts"
import { markedHtml } from "../../html.ts"
import type { FacetValue, SearchPort, SearchQuery, SearchResult } from "../../port.ts"
import { readTerms } from "../../terms.ts"
import { type Client, type ClientOptions, createClient } from "./client.ts"
import { analyzerOf, documentId, LANGUAGES, MAPPING, toStored } from "./mapping.ts"
import { analyzersRequest, ownedBy, toRequest } from "./request.ts"

export interface OpenSearchOptions extends ClientOptions {
  readonly index: string
}

const SNIPPET_LENGTH = 240

interface Bucket {
  readonly key: string | number
  readonly doc_count: number
}

interface Facet {
  readonly at: Readonly<Record<"text" | "number" | "flag", { readonly buckets: readonly Bucket[] }>>
}

interface SearchResponse {
  readonly hits: {
    readonly total: { readonly value: number }
    readonly hits: readonly {
      readonly _score: number | null
      readonly _source: {
        readonly source: string
        readonly id: string
        readonly title: string
        readonly url: string | null
        readonly body: string
        readonly metadata: Record<string, unknown>
      }
      readonly highlight?: Readonly<Record<string, readonly string[]>>
    }[]
  }
  readonly aggregations?: Readonly<Record<string, Facet>>
}

const facetValues = ({ at }: Facet, max: number): FacetValue[] =>
  [
    ...at.text.buckets.map(({ key, doc_count }) => ({ value: String(key), count: doc_count })),
    ...at.number.buckets.map(({ key, doc_count }) => ({ value: Number(key), count: doc_count })),
    ...at.flag.buckets.map(({ key, doc_count }) => ({ value: key === 1, count: doc_count })),
  ]
    .sort((a, b) => b.count - a.count)
    .slice(0, max)

type SearchHit = SearchResponse["hits"]["hits"][number]

/** Of the lightest field in which something was found: titles weigh most, and are shown anyway. */
const snippetOf = ({ highlight = {}, _source }: SearchHit): string => {
  const [field] = Object.keys(highlight).sort()
  const fragments = field === undefined ? undefined : highlight[field]
  return markedHtml(fragments?.join(" … ") ?? _source.body.slice(0, SNIPPET_LENGTH).toWellFormed())
}

/** Only the metadata's numbers keep their digits. */
const toResult = (
  answer: SearchResponse,
  { facets, facetValuesMax, bodyLength }: SearchQuery,
): SearchResult => ({
  hits: answer.hits.hits.map(found => {
    const { source, id, title, url, metadata, body } = found._source
    return {
      sourceId: source,
      id,
      title,
      url,
      metadata,
      score: Number(toDoubles(found._score) ?? 0),
      snippet: snippetOf(found),
      ...(bodyLength !== undefined && { body: body.slice(0, bodyLength).toWellFormed() }),
    }
  }),
  total: answer.hits.total.value,
  facets: facets.map((_, n) => {
    const facet = answer.aggregations?.[`facet${n}`]
    return facet ? facetValues(toDoubles(facet) as Facet, facetValuesMax) : []
  }),
})

interface BulkAnswer {
  readonly errors: boolean
  readonly items: readonly Readonly<
    Record<string, { readonly status: number; readonly error?: { readonly reason?: string } }>
  >[]
}

const sendBulk = async (client: Client, lines: readonly unknown[]): Promise<void> => {
  const body = `${lines.map(line => JSON.stringify(line)).join("\n")}\n`
  const { errors, items } = await client.send<BulkAnswer>("POST", "/_bulk?refresh=wait_for", body)
  if (!errors) return
  const failed = items.flatMap(Object.values).find(({ status }) => status >= 400 && status !== 404)
  if (failed)
    throw new PortError(
      failed.status === 400 ? "refused" : "unavailable",
      `OpenSearch: ${failed.error?.reason}`,
    )
}

/** Makes the index when it is asked for first; a failure is tried again by the next call. */
const createPreparation = (client: Client, index: string) => {
  let made: Promise<void> | undefined
  const make = async () => {
    try {
      await client.send("PUT", `/${index}`, MAPPING)
    } catch (error) {
      const exists = error instanceof PortError && error.message.includes("resource_already_exists_exception")
      if (!exists) throw error
    }
  }
  return () => {
    made ??= make().catch(error => {
      made = undefined
      throw error
    })
    return made
  }
}

const escapeRegex = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N}]/gu, character => `\\${character}`)

export const openOpenSearch = async (options: OpenSearchOptions): Promise<SearchPort> => {
  const { index } = options
  const client = createClient(options)
  const prepared = createPreparation(client, index)
  const at = (action: string, owner: string, rest = "") => `/${index}/${action}?routing=${owner}${rest}`
  const ask = <Reply>(owner: string, body: unknown) => client.send<Reply>("POST", at("_search", owner), body)

  const analyzersFor = async (owner: string, language: string | undefined): Promise<string[]> => {
    if (language !== undefined) return [analyzerOf(language)]
    const { aggregations } = await ask<{ aggregations: { analyzers: { buckets: readonly Bucket[] } } }>(
      owner,
      analyzersRequest(owner),
    )
    return aggregations.analyzers.buckets.map(({ key }) => String(key))
  }

  return {
    capabilities: { engine: "opensearch", typo: true, languages: LANGUAGES },
    async put(owner, documents) {
      await prepared()
      const lines = documents.flatMap(document => [
        { index: { _index: index, _id: documentId(owner, document.sourceId, document.id), routing: owner } },
        toStored(owner, document),
      ])
      await sendBulk(client, lines)
    },
    async remove(owner, sourceId, ids) {
      await prepared()
      const lines = ids.map(id => ({
        delete: { _index: index, _id: documentId(owner, sourceId, id), routing: owner },
      }))
      await sendBulk(client, lines)
    },
    async removeSource(owner, sourceId, limit) {
      await prepared()
      const path = at("_delete_by_query", owner, `&max_docs=${limit}&refresh=true&conflicts=proceed`)
      const query = { bool: { filter: ownedBy(owner, sourceId) } }
      return (await client.send<{ deleted: number }>("POST", path, { query })).deleted
    },
    async search(owner, query) {
      await prepared()
      const terms = readTerms(query.text)
      // Words that are none are not the same as no words.
      if (terms?.length === 0) return { hits: [], total: 0, facets: query.facets.map(() => []) }
      const analyzers = terms ? await analyzersFor(owner, query.language) : []
      const find = (isFuzzy: boolean) =>
        ask<SearchResponse>(owner, toRequest(owner, query, terms ?? [], analyzers, isFuzzy))
      const found = await find(false)
      const canBeMisspelled = terms?.some(({ isExcluded, isPhrase }) => !isExcluded && !isPhrase)
      const isEnough = found.hits.total.value > 0 || !canBeMisspelled
      return toResult(isEnough ? found : await find(true), query)
    },
    async suggest(owner, prefix, limit) {
      await prepared()
      const include = `${escapeRegex(prefix.toLowerCase())}.*`
      const { aggregations } = await ask<{ aggregations: { words: { buckets: readonly Bucket[] } } }>(owner, {
        size: 0,
        query: { bool: { filter: ownedBy(owner) } },
        aggs: { words: { terms: { field: "words", include, size: limit } } },
      })
      return aggregations.words.buckets.map(({ key }) => String(key))
    },
    bytes: async () => null,
    async health() {
      try {
        const { status } = await client.send<{ status: string }>("GET", "/_cluster/health")
        return status === "red" ? { ok: false, reason: "the cluster is red" } : { ok: true }
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) }
      }
    },
    async [Symbol.asyncDispose]() {},
  }
}
