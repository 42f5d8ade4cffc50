/** Finds what a question says and its statement does not: such a statement would be wrong with confidence. */
import type { Catalog } from "./catalog.ts"
import type { Interpretation } from "./interpret.ts"
import type { Condition, Query } from "./query.ts"
import { formsOf, type Values } from "./values.ts"
import { isSilent, type Token } from "./words.ts"

/** Words of grammar, and what the statement must have for each. */
const REQUIRED: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:average|mean|avg|typical)$/, /\bavg\(/],
  [/^median$/, /percentile_cont/],
  [/^(?:total|sum|combined|overall)$/, /\b(?:sum|count)\(/],
  [/^(?:many|much|number|count|headcount)$/, /\b(?:sum|count|avg)\(/],
  [/^(?:amount|amounts|value)$/, /\b(?:sum|avg|max|min)\(/],
  [/^(?:percentage|percent|share|proportion|fraction|ratio|%)$/, /100\.0 \*/],
  [/^(?:each|per|every)$/, /GROUP BY|PARTITION BY/],
  [/^(?:not|no|without|never|except|excluding|nor|lacking|missing)$/, /\bNOT\b|<>|IS NULL|= 0|<=|>=/],
  [/^(?:or|either)$/, / IN \(| OR |>=|<=/],
  [/^(?:more|less|fewer|over|under|above|below|than|exceeding|between|at least|at most)$/, /[<>]|BETWEEN/],
  [/^(?:before|after|since|until|ago|during|yesterday|today)$/, /'\d{4}-|[<>]|BETWEEN/],
  [
    /^(?:most|least|highest|lowest|largest|smallest|top|bottom|latest|newest|oldest)$/,
    /ORDER BY|max\(|min\(|>=|<=/,
  ],
  [/^(?:sorted|ranked|ascending|descending|alphabetically)$/, /ORDER BY/],
  [/^(?:different|distinct|unique)$/, /DISTINCT/],
]

const WRITES =
  /^(?:please |can you |could you |i want to |we need to |let's |now )*(?:delete|remove|drop|truncate|insert|add|create|update|change|modify|edit|set|rename|alter|increase|decrease|raise|lower|grant|revoke|cancel|close|mark|assign|move|merge|replace|reset|fire|hire|give (?!me\b|us\b))/
const WRITES_ANYWHERE =
  /\b(?:delete|truncate|insert into|drop (?:the )?table|update|erase|wipe|purge|overwrite)\b/

/** True for a request to change data, whatever else it asks. */
export const asksToWrite = (tokens: readonly Token[]): boolean => {
  const text = tokens.flatMap(({ kind, text: word }) => (kind === "quoted" ? [] : [word])).join(" ")
  return WRITES.test(text) || WRITES_ANYWHERE.test(text)
}

const STRING = /E?'(?:[^'\\]|''|\\.)*'/g

const identifiersOf = (sql: string): ReadonlySet<string> =>
  new Set(
    [...sql.replace(STRING, "''").matchAll(/"((?:[^"]|"")+)"|[\p{L}_][\p{L}\p{N}_]*/gu)].map(
      ([word, quoted]) => quoted?.replaceAll('""', '"') ?? word,
    ),
  )

/** The tokens that name a value which the statement compares with. */
const valueTokens = (tokens: readonly Token[], values: Values, sql: string): ReadonlySet<number> => {
  const literals = new Set(sql.match(STRING)?.map(each => each.replace(/^E?'|'$/g, "").replaceAll("''", "'")))
  const covered = new Set<number>()
  for (let length = 1; length <= 5; length++) {
    for (let at = 0; at + length <= tokens.length; at++) {
      const stored = formsOf(tokens.slice(at, at + length)).flatMap(form => values.get(form) ?? [])
      if (stored.some(({ value }) => literals.has(value)))
        for (let each = at; each < at + length; each++) covered.add(each)
    }
  }
  return covered
}

/** Tables whose rows are named by the rows that must exist: `assigned to any project` needs only the assignment. */
const linkedTables = ({ keys }: Catalog, { conditions }: Query): ReadonlySet<number> => {
  const related = conditions.flatMap(({ test }) => (test.kind === "related" ? [test.table] : []))
  return new Set(keys.flatMap(({ from, to }) => (related.includes(from) ? [to] : [])))
}

/** Two different values that one column must equal at the same time. */
const contradicts = (conditions: readonly Condition[]): boolean =>
  conditions.some(
    ({ test, negated }, index) =>
      test.kind === "in" &&
      !negated &&
      conditions
        .slice(0, index)
        .some(each => each.test.kind === "in" && !each.negated && each.test.ref.column === test.ref.column),
  )

const flaws = (query: Query, isForEach: boolean): string[] => [
  ...(contradicts(query.conditions) ? ["one column is asked to have two values at once"] : []),
  ...(query.measures.length > 0 && query.groups.length === 0 && query.limit !== null
    ? ["what is ranked is not understood"]
    : []),
  ...(query.percentage && query.conditions.length > 0 === query.groups.length > 0
    ? ["what the percentage is taken of is not understood"]
    : []),
  ...(isForEach &&
  query.measures.some(({ of }) => of.kind === "rows") &&
  query.groups.some(({ kind }) => kind === "entity")
    ? ["each includes those without any, which is not understood"]
    : []),
  ...(query.groups.some(each => each.kind === "entity" && each.role && each.role.from !== query.base)
    ? ["the relation to group by is not understood"]
    : []),
]

/** The share of right answers to the held-out questions: 48 of 49 in the schema's own words, 6 of 7 in others. */
const confidenceOf = (closeness: number): number => (closeness >= 0.95 ? 0.98 : 0.86)

export interface Audit {
  /** Why no answer is given; undefined when the statement says all that the question does. */
  readonly reason?: string
  readonly confidence: number
}

export const auditAnswer = (options: {
  catalog: Catalog
  tokens: readonly Token[]
  values: Values
  interpretation: Interpretation
  query: Query
  sql: string
  ambiguities: readonly string[]
}): Audit => {
  const { catalog, tokens, values, interpretation, query, sql, ambiguities } = options
  const { effects, lexicon, notes } = interpretation
  const names = identifiersOf(sql)
  const linked = linkedTables(catalog, query)
  const inValue = valueTokens(tokens, values, sql)
  const refuse = (reason: string): Audit => ({ reason, confidence: 0 })
  let closeness = 1
  let nameEnd = 0
  for (const [at, token] of tokens.entries()) {
    const word = `"${token.surface}" is not understood`
    const noun = at < nameEnd ? undefined : lexicon.find(tokens, at)
    const named = noun?.entries.filter(
      ({ meaning, score }) =>
        score >= 0.6 &&
        (meaning.kind === "table"
          ? names.has(meaning.table.name) || linked.has(meaning.table.index)
          : names.has(meaning.column.name)),
    )
    const [best] = named ?? []
    if (inValue.has(at) || at < nameEnd) continue
    if (best && effects[at] !== "unread") {
      nameEnd = at + (noun?.length ?? 1)
      closeness = Math.min(closeness, best.score)
      continue
    }
    const required = REQUIRED.find(([pattern]) => pattern.test(token.text))
    if (required && !(at === 0 && token.text === "every")) {
      if (!required[1].test(sql)) return refuse(word)
      continue
    }
    if (isSilent(token)) continue
    if (effects[at] !== "meaning") return refuse(word)
    if (noun && (noun.entries[0]?.score ?? 0) >= 0.9) return refuse(word)
  }
  const isForEach = tokens.some(({ text }) => /^(?:each|every)$/.test(text))
  const [reason] = [...notes, ...ambiguities, ...flaws(query, isForEach)]
  return reason === undefined ? { confidence: confidenceOf(closeness) } : refuse(reason)
}
