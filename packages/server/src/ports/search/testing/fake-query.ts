/** Evaluates the part of OpenSearch's query language that the driver speaks, after its reference. */
import { analyze, editDistance, type Token } from "./fake-analysis.ts"

// biome-ignore lint/suspicious/noExplicitAny: requests are read by their names, which each test of the driver checks
export type Json = Readonly<Record<string, any>>

const analyzerOf = (field: string): string => field.split("_")[1] ?? "standard"

/** Fields that a pattern of the query names, with their boosts. */
const fieldsOf = (document: Json, patterns: readonly string[]): [field: string, boost: number][] =>
  patterns.flatMap(pattern => {
    const [name = "", boost = "1"] = pattern.split("^")
    const fits = new RegExp(`^${name.replaceAll("*", ".*")}$`)
    return Object.keys(document)
      .filter(field => fits.test(field))
      .map(field => [field, Number(boost)] as [string, number])
  })

const tokensOf = (document: Json, field: string): Token[] =>
  analyze([document[field]].flat().join("\n"), analyzerOf(field))

const isNear = (wanted: string, term: string): boolean =>
  editDistance(wanted, term) <= (wanted.length < 4 ? 0 : wanted.length < 8 ? 1 : 2)

/** Which tokens of a field a multi_match finds; undefined when it does not match there. */
export const found = (match: Json, document: Json, field: string): Token[] | undefined => {
  const tokens = tokensOf(document, field)
  const wanted = analyze(String(match.query), analyzerOf(field))
  if (wanted.length === 0) return match.zero_terms_query === "all" ? [] : undefined
  if (match.type === "phrase" || match.type === "phrase_prefix") {
    const byPosition = new Map(tokens.map(token => [token.position, token.term]))
    const hits = tokens.filter(start =>
      wanted.every(({ term, position }, n) => {
        const there = byPosition.get(start.position + position - (wanted[0]?.position ?? 0))
        const isPrefix = match.type === "phrase_prefix" && n === wanted.length - 1
        return isPrefix ? there?.startsWith(term) : there === term
      }),
    )
    return hits.length > 0 ? hits : undefined
  }
  const each = wanted.map(({ term }) =>
    tokens.filter(token => token.term === term || (match.fuzziness && isNear(term, token.term))),
  )
  return each.every(hits => hits.length > 0) ? each.flat() : undefined
}

/** The score; undefined when the document does not match. */
export const scoreOf = (query: Json, document: Json): number | undefined => {
  const [[kind, body] = ["", {}]] = Object.entries(query)
  switch (kind) {
    case "function_score": {
      const score = scoreOf(body.query, document)
      return score === undefined ? undefined : score * document[body.field_value_factor.field]
    }
    case "bool": {
      const must = [...(body.must ?? []), ...(body.filter ?? [])].map(one => scoreOf(one, document))
      const should = (body.should ?? []).map((one: Json) => scoreOf(one, document))
      const matching = should.filter((score: number | undefined) => score !== undefined)
      if (must.includes(undefined) || matching.length < (body.minimum_should_match ?? 0)) return undefined
      if ((body.must_not ?? []).some((one: Json) => scoreOf(one, document) !== undefined)) return undefined
      return [...must.slice(0, body.must?.length ?? 0), ...matching].reduce((sum, score) => sum + score, 0)
    }
    case "term":
    case "terms": {
      const [[field, value] = ["", undefined]] = Object.entries(body)
      return [value].flat().includes(document[field]) ? 1 : undefined
    }
    case "range": {
      const [[field = "", bounds = {}] = []] = Object.entries<Json>(body)
      const value = document[field]
      const holds = {
        gt: value > bounds.gt,
        gte: value >= bounds.gte,
        lt: value < bounds.lt,
        lte: value <= bounds.lte,
      }
      const isIn = value !== undefined && Object.keys(bounds).every(name => holds[name as keyof typeof holds])
      return isIn ? 1 : undefined
    }
    case "nested": {
      const inner = document[body.path].map((fact: Json) =>
        Object.fromEntries(Object.entries(fact).map(([name, value]) => [`${body.path}.${name}`, value])),
      )
      return inner.some((fact: Json) => scoreOf(body.query, fact) !== undefined) ? 1 : undefined
    }
    case "multi_match": {
      const scores = fieldsOf(document, body.fields).flatMap(([field, boost]) =>
        found(body, document, field) ? [boost] : [],
      )
      return scores.length > 0 ? Math.max(...scores) : undefined
    }
    default:
      throw new Error(`the fake does not know the query ${kind}`)
  }
}

export const matchesOf = (query: Json): Json[] =>
  Object.entries(query).flatMap(([kind, body]) => {
    if (kind === "multi_match") return [body]
    if (kind === "function_score") return matchesOf(body.query)
    return kind === "bool" ? [...(body.must ?? []), ...(body.should ?? [])].flatMap(matchesOf) : []
  })
