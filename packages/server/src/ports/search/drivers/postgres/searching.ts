import type pg from "pg"
import { MARK_END, MARK_START, markedHtml, PLAIN, STAND_INS } from "../../html.ts"
import type { FacetValue, FilterCondition, SearchHit, SearchQuery, SearchResult } from "../../port.ts"
import type { Matching } from "./matching.ts"

/** Of weights 1 to 4: PostgreSQL's own. */
const WEIGHTS = "'{0.1,0.2,0.4,1.0}'"
/** Divides by 1 + the logarithm of a document's length, so that long ones do not win by length. */
const BY_LENGTH = 1
/** Characters of a body that a snippet is taken from: taking apart a long one costs more than finding it. */
const WINDOW_LENGTH = 4000
const WINDOW_LEAD = 300
/** Words that are looked for to place that window. */
const WINDOW_WORDS_MAX = 8
const SNIPPET_LENGTH = 240
const HEADLINE = `StartSel=${MARK_START},StopSel=${MARK_END},MaxFragments=2,MaxWords=25,MinWords=10,ShortWord=0,FragmentDelimiter=" … "`

type Bind = (value: unknown) => string

const collect = () => {
  const values: unknown[] = []
  const bind: Bind = value => `$${values.push(value)}`
  return { values, bind }
}

const OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const

const elementsOf = (value: string): string =>
  `jsonb_array_elements(CASE jsonb_typeof(${value}) WHEN 'array' THEN ${value} ELSE jsonb_build_array(${value}) END)`

const condition = (filter: FilterCondition, bind: Bind): string => {
  const value = `(d.metadata #> ${bind(filter.path)}::text[])`
  if ("anyOf" in filter)
    return `${value} @> ANY(${bind(filter.anyOf.map(one => JSON.stringify(one)))}::jsonb[])`
  const bounds = Object.entries(filter.range).map(([name, bound]) => {
    const operator = OPERATORS[name as keyof typeof OPERATORS]
    return typeof bound === "string"
      ? `jsonb_typeof(v) = 'string' AND (v #>> '{}') COLLATE "C" ${operator} ${bind(bound)}`
      : `jsonb_typeof(v) = 'number' AND v ${operator} ${bind(JSON.stringify(bound))}::jsonb`
  })
  return `EXISTS (SELECT FROM ${elementsOf(value)} AS v WHERE ${bounds.join(" AND ")})`
}

/** Everything that a document must satisfy; the owner first. */
const conditions = (
  owner: string,
  query: SearchQuery,
  matching: Matching | undefined,
  bind: Bind,
): string => {
  const { sourceId, withoutSources, filter } = query
  return [
    `d.project_id = ${bind(owner)}`,
    ...(matching?.index
      ? [`search.scoped(d.project_id, d.lexemes) @@ ${bind(matching.index)}::tsquery`]
      : []),
    ...(matching?.whole ? [`d.lexemes @@ ${bind(matching.whole)}::tsquery`] : []),
    ...(sourceId === undefined ? [] : [`d.source_id = ${bind(sourceId)}`]),
    ...(withoutSources.length > 0 ? [`d.source_id <> ALL(${bind(withoutSources)}::uuid[])`] : []),
    ...filter.map(one => condition(one, bind)),
  ].join(" AND ")
}

interface Row {
  total: number
  source_id: string | null
  id: string
  title: string
  snippet: string
  body: string | null
  url: string | null
  score: number
  metadata: Record<string, unknown>
}

const toHit = (row: Row): SearchHit[] =>
  row.source_id === null
    ? []
    : [
        {
          ...{ sourceId: row.source_id, id: row.id, title: row.title, url: row.url },
          ...{ snippet: markedHtml(row.snippet), score: row.score, metadata: row.metadata },
          ...(row.body !== null && { body: row.body }),
        },
      ]

const snippet = (matching: Matching | undefined, highlight: boolean, bind: Bind): string => {
  const plain = `left(d.body, ${SNIPPET_LENGTH})`
  if (!highlight || !matching?.wanted) return plain
  const words = bind(matching.words.slice(0, WINDOW_WORDS_MAX))
  return `ts_headline(
    ('pg_catalog.' || d.language)::regconfig,
    translate(substr(d.body, greatest(1, coalesce((
      SELECT min(nullif(strpos(lower(d.body), word), 0)) FROM unnest(${words}::text[]) AS word
    ), 1) - ${WINDOW_LEAD}), ${WINDOW_LENGTH}), ${bind(PLAIN)}, ${bind(STAND_INS)}),
    ${bind(matching.wanted)}::tsquery, ${bind(HEADLINE)})`
}

const findHits = async (
  pool: pg.Pool,
  owner: string,
  query: SearchQuery,
  matching: Matching | undefined,
): Promise<Pick<SearchResult, "hits" | "total">> => {
  const { values, bind } = collect()
  const where = conditions(owner, query, matching, bind)
  const score = matching?.wanted
    ? `ts_rank_cd(${WEIGHTS}, d.lexemes, ${bind(matching.wanted)}::tsquery, ${BY_LENGTH}) * d.boost`
    : "0::real"
  const order = matching?.wanted ? "score DESC, source_id, id" : "updated_at DESC, source_id DESC, id DESC"
  const page = `LIMIT ${bind(query.limit)} OFFSET ${bind(query.offset)}`
  const { rows } = await pool.query<Row>(
    `WITH matched AS MATERIALIZED (
       SELECT d.source_id, d.id, d.updated_at, ${score} AS score FROM search.documents d WHERE ${where}
     ), top AS (SELECT * FROM matched ORDER BY ${order} ${page})
     SELECT (SELECT count(*) FROM matched) AS total, d.source_id, d.id, d.title, d.url, d.metadata, top.score,
       ${snippet(matching, query.highlight, bind)} AS snippet,
       ${query.bodyLength === undefined ? "NULL" : `left(d.body, ${bind(query.bodyLength)})`} AS body
     FROM (SELECT) AS always LEFT JOIN (
       top JOIN search.documents d ON d.project_id = $1 AND d.source_id = top.source_id AND d.id = top.id
     ) ON true
     ORDER BY ${order.replaceAll(/(updated_at|source_id|id)\b/g, "top.$1")}`,
    values,
  )
  return { hits: rows.flatMap(toHit), total: rows[0]?.total ?? 0 }
}

const countFacets = async (
  pool: pg.Pool,
  owner: string,
  query: SearchQuery,
  matching: Matching | undefined,
): Promise<FacetValue[][]> => {
  const { values, bind } = collect()
  const where = conditions(owner, query, matching, bind)
  const paths = bind(JSON.stringify(query.facets))
  const { rows } = await pool.query<{ n: number; value: FacetValue["value"]; count: number }>(
    `SELECT n, value, count FROM (
       SELECT f.n, v.value, count(*) AS count,
         row_number() OVER (PARTITION BY f.n ORDER BY count(*) DESC, v.value) AS place
       FROM search.documents d
       CROSS JOIN json_array_elements(${paths}) WITH ORDINALITY AS f(path, n)
       CROSS JOIN LATERAL (SELECT d.metadata #> ARRAY(SELECT json_array_elements_text(f.path)) AS field) AS m
       CROSS JOIN LATERAL (SELECT DISTINCT e.value FROM ${elementsOf("m.field")} AS e(value)) AS v
       WHERE ${where} AND jsonb_typeof(v.value) IN ('string', 'number', 'boolean')
       GROUP BY f.n, v.value
     ) AS counted WHERE place <= ${bind(query.facetValuesMax)} ORDER BY n, place`,
    values,
  )
  return query.facets.map((_, index) =>
    rows.filter(({ n }) => n === index + 1).map(({ value, count }) => ({ value, count })),
  )
}

export const findDocuments = async (
  pool: pg.Pool,
  owner: string,
  query: SearchQuery,
  matching: Matching | undefined,
): Promise<SearchResult> => {
  const { hits, total } = await findHits(pool, owner, query, matching)
  const facets = query.facets.length > 0 ? await countFacets(pool, owner, query, matching) : []
  return { hits, total, facets }
}
