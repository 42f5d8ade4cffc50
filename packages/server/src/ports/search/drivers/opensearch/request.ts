/** A query of the port as a search of OpenSearch. */

import { toDoubles } from "../../../../kernel/exact-json.ts"
import { MARK_END, MARK_START } from "../../html.ts"
import type { FilterCondition, Scalar, SearchQuery } from "../../port.ts"
import type { QueryTerm } from "../../terms.ts"
import { LANGUAGES, pathName } from "./mapping.ts"

type Clause = Readonly<Record<string, unknown>>

/** As PostgreSQL ranks them. */
const BOOSTS = { 4: 10, 3: 4, 2: 2, 1: 1 } as const

const fieldsOf = (analyzer: string): string[] =>
  ([4, 3, 2, 1] as const).map(weight => `w${weight}_${analyzer}^${BOOSTS[weight]}`)

const matchWith = (
  { text, isPhrase, isExcluded, isUnfinished }: QueryTerm,
  analyzer: string,
  isFuzzy: boolean,
): Clause => {
  // A word too common to be indexed is in every document.
  const zero_terms_query = isExcluded ? "none" : "all"
  const base = { query: text, fields: fieldsOf(analyzer), zero_terms_query }
  if (isPhrase) return { multi_match: { ...base, type: "phrase" } }
  const words = { ...base, type: "best_fields", operator: "and" }
  const alternatives: Clause[] = [{ multi_match: words }]
  if (isUnfinished) alternatives.push({ multi_match: { ...base, type: "phrase_prefix", max_expansions: 50 } })
  // One mistake from four letters on, two from eight.
  if (isFuzzy) alternatives.push({ multi_match: { ...words, fuzziness: "AUTO:4,8", max_expansions: 50 } })
  return { bool: { should: alternatives, minimum_should_match: 1 } }
}

/** Each document is asked in its own language: what is a common word in one is a rare one in another. */
const matchTerm = (term: QueryTerm, analyzers: readonly string[], isFuzzy: boolean): Clause => {
  const each = analyzers.map(analyzer => ({
    bool: { filter: [{ term: { analyzer } }], must: [matchWith(term, analyzer, isFuzzy)] },
  }))
  return { bool: { should: each, minimum_should_match: 1 } }
}

const valueField = (value: Scalar): string =>
  ({ string: "facts.text", number: "facts.number", boolean: "facts.flag" })[
    typeof value as "string" | "number" | "boolean"
  ]

const nested = (path: readonly string[], condition: Clause): Clause => ({
  nested: {
    path: "facts",
    query: { bool: { filter: [{ term: { "facts.path": pathName(path) } }, condition] } },
  },
})

const matchFilter = (condition: FilterCondition): Clause => {
  if ("anyOf" in condition) {
    const values = toDoubles(condition.anyOf) as Scalar[]
    const terms = values.map(value => ({ term: { [valueField(value)]: value } }))
    return nested(condition.path, { bool: { should: terms, minimum_should_match: 1 } })
  }
  const bounds = Object.entries(toDoubles(condition.range) as Record<string, Scalar>).map(
    ([name, bound]) => ({
      range: { [valueField(bound)]: { [name]: bound } },
    }),
  )
  return nested(condition.path, { bool: { filter: bounds } })
}

const facet = (path: readonly string[], size: number) => {
  const terms = (field: string) => ({ terms: { field: `facts.${field}`, size } })
  return {
    nested: { path: "facts" },
    aggs: {
      at: {
        filter: { term: { "facts.path": pathName(path) } },
        aggs: { text: terms("text"), number: terms("number"), flag: terms("flag") },
      },
    },
  }
}

const HIGHLIGHT = {
  ...{ pre_tags: [MARK_START], post_tags: [MARK_END], require_field_match: true },
  ...{ number_of_fragments: 2, fragment_size: 160, max_analyzer_offset: 100_000 },
  fields: { "w1_*": {}, "w2_*": {}, "w3_*": {}, "w4_*": {} },
} as const

export const ownedBy = (owner: string, sourceId?: string): Clause[] => [
  { term: { owner } },
  ...(sourceId === undefined ? [] : [{ term: { source: sourceId } }]),
]

/** Which analyzers the owner's documents were taken apart with. */
export const analyzersRequest = (owner: string) => ({
  size: 0,
  query: { bool: { filter: ownedBy(owner) } },
  aggs: { analyzers: { terms: { field: "analyzer", size: LANGUAGES.length + 1 } } },
})

export const toRequest = (
  owner: string,
  query: SearchQuery,
  terms: readonly QueryTerm[],
  analyzers: readonly string[],
  isFuzzy: boolean,
) => {
  const { sourceId, withoutSources, filter, facets, facetValuesMax, limit, offset } = query
  const wanted = terms.filter(({ isExcluded }) => !isExcluded)
  const shunned = terms.filter(({ isExcluded }) => isExcluded)
  const bool = {
    filter: [...ownedBy(owner, sourceId), ...filter.map(matchFilter)],
    must: wanted.map(term => matchTerm(term, analyzers, isFuzzy)),
    must_not: [
      ...shunned.map(term => matchTerm(term, analyzers, false)),
      ...(withoutSources.length > 0 ? [{ terms: { source: withoutSources } }] : []),
    ],
  }
  const tie = [{ source: "desc" }, { id: "desc" }]
  return {
    ...{ from: offset, size: limit, track_total_hits: true },
    query: {
      function_score: { query: { bool }, field_value_factor: { field: "boost" }, boost_mode: "multiply" },
    },
    sort: wanted.length > 0 ? [{ _score: "desc" }, ...tie] : [{ updated_at: "desc" }, ...tie],
    track_scores: true,
    _source: ["source", "id", "title", "url", "metadata", "body"],
    ...(query.highlight && wanted.length > 0 ? { highlight: HIGHLIGHT } : {}),
    aggs: Object.fromEntries(facets.map((path, n) => [`facet${n}`, facet(path, facetValuesMax)])),
  }
}
