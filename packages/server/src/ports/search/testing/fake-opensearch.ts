/**
 * A small OpenSearch for tests, written from its API reference: create an index, bulk, search with the queries,
 * aggregations and highlights that the driver asks for, delete by query, cluster health. What it does not know it refuses.
 */
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { analyze } from "./fake-analysis.ts"
import { found, type Json, matchesOf, scoreOf } from "./fake-query.ts"

export interface FakeOpenSearch extends AsyncDisposable {
  readonly url: string
  /** Answers this status to everything while it is set. */
  fail(status: number | undefined): void
  readonly requests: readonly { readonly path: string; readonly authorization: string | undefined }[]
}

interface Stored {
  readonly routing: string | null
  readonly source: Json
}

type Index = Map<string, Stored>

const buckets = (values: readonly (string | number)[], size: number) => {
  const counts = new Map<string | number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
    .map(([key, doc_count]) => ({ key, doc_count }))
    .sort((a, b) => b.doc_count - a.doc_count || (a.key < b.key ? -1 : 1))
    .slice(0, size)
}

const aggregate = (aggregation: Json, documents: readonly Json[]): Json => {
  if (aggregation.terms) {
    const { include, field, size } = aggregation.terms
    if (include === undefined)
      return {
        buckets: buckets(
          documents.map(document => document[field]),
          size,
        ),
      }
    const words = documents.flatMap(document => [
      ...new Set(analyze(document[field], "standard").map(({ term }) => term)),
    ])
    const fits = new RegExp(`^(?:${include})$`)
    return {
      buckets: buckets(
        words.filter(word => fits.test(word)),
        size,
      ),
    }
  }
  const { filter, aggs } = aggregation.aggs.at
  const [path] = Object.values(filter.term)
  const facts: Json[] = documents.flatMap(document =>
    document.facts.filter((fact: Json) => fact.path === path),
  )
  const counted = Object.entries<Json>(aggs).map(([name, { terms }]) => {
    const values = facts.flatMap(fact => (fact[name] === undefined ? [] : [fact[name]]))
    return [
      name,
      {
        buckets: buckets(
          values.map(value => (typeof value === "boolean" ? Number(value) : value)),
          terms.size,
        ),
      },
    ]
  })
  return { at: Object.fromEntries(counted) }
}

const highlight = ({ query, highlight: options }: Json, document: Json): Json => {
  const marked = Object.keys(document).flatMap(field => {
    if (!/^w\d_/.test(field)) return []
    const text = [document[field]].flat().join("\n")
    const tokens = matchesOf(query).flatMap(match => found(match, document, field) ?? [])
    const [first] = tokens.sort((a, b) => a.from - b.from)
    if (!first) return []
    const from = Math.max(0, first.from - options.fragment_size / 2)
    let fragment = ""
    let at = from
    for (const token of new Map(tokens.map(token => [token.from, token])).values()) {
      if (token.to > from + options.fragment_size) break
      fragment += `${text.slice(at, token.from)}${options.pre_tags[0]}${text.slice(token.from, token.to)}${options.post_tags[0]}`
      at = token.to
    }
    return [[field, [`${fragment}${text.slice(at, from + options.fragment_size)}`]] as const]
  })
  return Object.fromEntries(marked)
}

const compare = (sort: readonly Json[]) => (a: Json, b: Json) => {
  for (const [field = ""] of sort.map(Object.keys)) {
    const [one, other] = [a, b].map(hit => (field === "_score" ? hit._score : hit._source[field]))
    if (one !== other) return one < other ? 1 : -1
  }
  return 0
}

const search = (index: Index, routing: string | null, request: Json): Json => {
  const hits = [...index.values()].flatMap(stored => {
    const score = stored.routing === routing ? scoreOf(request.query, stored.source) : undefined
    return score === undefined ? [] : [{ _score: score, _source: stored.source }]
  })
  const { from = 0, size } = request
  const page = [...hits].sort(compare(request.sort ?? [])).slice(from, from + size)
  return {
    hits: {
      total: { value: hits.length, relation: "eq" },
      hits: page.map(hit =>
        request.highlight ? { ...hit, highlight: highlight(request, hit._source) } : hit,
      ),
    },
    aggregations: Object.fromEntries(
      Object.entries<Json>(request.aggs ?? {}).map(([name, aggregation]) => [
        name,
        aggregate(
          aggregation,
          hits.map(({ _source }) => _source),
        ),
      ]),
    ),
  }
}

const bulk = (indexes: Map<string, Index>, text: string): Json => {
  const lines = text.split("\n").flatMap(line => (line === "" ? [] : JSON.parse(line)))
  const items: Json[] = []
  while (lines.length > 0) {
    const action = lines.shift()
    const { _index, _id, routing } = action.index ?? action.delete
    const index = indexes.get(_index)
    if (action.index) index?.set(_id, { routing, source: lines.shift() })
    const status = action.index || index?.delete(_id) ? 200 : 404
    items.push({ [action.index ? "index" : "delete"]: { status } })
  }
  return { errors: false, items }
}

const removeMatching = (index: Index, routing: string | null, max: number, { query }: Json): Json => {
  const ids = [...index]
    .filter(([, stored]) => stored.routing === routing && scoreOf(query, stored.source) !== undefined)
    .slice(0, max)
  for (const [id] of ids) index.delete(id)
  return { deleted: ids.length }
}

type Reply = readonly [status: number, body: Json]

const answer = (indexes: Map<string, Index>, method: string, url: URL, text: string): Reply => {
  if (url.pathname === "/_cluster/health") return [200, { status: "green" }]
  if (url.pathname === "/_bulk") return [200, bulk(indexes, text)]
  const [, name = "", action] = url.pathname.split("/")
  if (method === "PUT") {
    if (indexes.has(name)) return [400, { error: { type: "resource_already_exists_exception" } }]
    indexes.set(name, new Map())
    return [200, { acknowledged: true }]
  }
  const index = indexes.get(name)
  if (!index) return [404, { error: { type: "index_not_found_exception" } }]
  const routing = url.searchParams.get("routing")
  if (action === "_search") return [200, search(index, routing, JSON.parse(text))]
  const max = Number(url.searchParams.get("max_docs"))
  if (action === "_delete_by_query") return [200, removeMatching(index, routing, max, JSON.parse(text))]
  return [400, { error: { type: "illegal_argument_exception" } }]
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

export const startFakeOpenSearch = async (): Promise<FakeOpenSearch> => {
  const indexes = new Map<string, Index>()
  const requests: { path: string; authorization: string | undefined }[] = []
  let failing: number | undefined
  const server = createServer(async (request, response) => {
    const text = await bodyOf(request)
    const { method = "", url = "", headers } = request
    requests.push({ path: url, authorization: headers.authorization })
    const [status, body] = failing
      ? [failing, {}]
      : answer(indexes, method, new URL(url, "http://fake"), text)
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify(body))
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fail(status) {
      failing = status
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
