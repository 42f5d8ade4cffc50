/** The state of reading a question: where it is, what was understood so far, and how words become columns. */
import { type Catalog, type Column, labelOf, type Table } from "./catalog.ts"
import { distance, isToOne, pathBetween } from "./graph.ts"
import type { Entry, Lexicon, Meaning } from "./lexicon.ts"
import type { Condition, Direction, Expression, Group, Measure, Query, Ref, Sorting, Test } from "./query.ts"
import { formsOf, type StoredValue, type Values } from "./values.ts"
import { isSilent, partsOf, type Token } from "./words.ts"

export interface Ranking {
  readonly direction: Direction
  readonly limit: number | null
  /** What decides, once it is known. */
  by: Sorting | null
}

export interface Draft {
  subject: number | null
  columns: Ref[]
  star: boolean
  measures: Measure[]
  /** An aggregate whose operand has not come yet. */
  pending: { readonly fn: Measure["fn"]; readonly distinct: boolean } | null
  groups: Group[]
  conditions: Condition[]
  having: Query["having"][number][]
  order: Sorting[]
  ranking: Ranking | null
  limit: number | null
  distinct: boolean
  firstPer: number | null
  percentage: boolean
  negated: boolean
  /** Number of the current group of related conditions. */
  group: number
  lastColumn: Ref | null
  lastTable: number | null
  /** Where the last table's mention ended. */
  lastTableEnd: number
  lastVerb: number | null
  lastMetric: Measure | null
}

export interface Reading {
  readonly tokens: readonly Token[]
  readonly catalog: Catalog
  readonly lexicon: Lexicon
  readonly values: Values
  readonly now: Date
  readonly mentioned: ReadonlySet<number>
  readonly draft: Draft
  readonly notes: string[]
  at: number
}

export type Rule = (reading: Reading) => boolean

export const emptyDraft = (): Draft => ({
  subject: null,
  columns: [],
  star: false,
  measures: [],
  pending: null,
  groups: [],
  conditions: [],
  having: [],
  order: [],
  ranking: null,
  limit: null,
  distinct: false,
  firstPer: null,
  percentage: false,
  negated: false,
  group: 0,
  lastColumn: null,
  lastTable: null,
  lastTableEnd: -1,
  lastVerb: null,
  lastMetric: null,
})

export const textFrom = (reading: Reading, at = reading.at): string =>
  reading.tokens
    .slice(at, at + 16)
    .map(({ text }) => text)
    .join(" ")

/** Steps over as many tokens as the characters cover. */
export const skipCharacters = (reading: Reading, length: number): void => {
  let left = length
  while (left > 0 && reading.at < reading.tokens.length) {
    left -= (reading.tokens[reading.at]?.text.length ?? 0) + 1
    reading.at++
  }
}

const bounded = new Map<string, RegExp>()
/** The pattern at the start of the text, ending between words. */
export const match = (text: string, pattern: string): RegExpExecArray | null => {
  let compiled = bounded.get(pattern)
  if (!compiled) {
    compiled = new RegExp(`^(?:${pattern})(?=\\s|$)`, "u")
    bounded.set(pattern, compiled)
  }
  return compiled.exec(text)
}

export const peek = (reading: Reading, pattern: string): boolean => match(textFrom(reading), pattern) !== null

export const take = (reading: Reading, pattern: string): RegExpExecArray | null => {
  const found = match(textFrom(reading), pattern)
  if (found) skipCharacters(reading, found[0].length)
  return found
}

/** How well a table fits what the question is about. */
const nearness = (reading: Reading, table: number, beside: number | null): number => {
  const { catalog, draft, mentioned } = reading
  if (beside !== null) return beside === table ? 0.6 : 0
  let bonus = mentioned.has(table) ? 0.3 : 0
  if (draft.subject === table) bonus += 0.15
  if (draft.lastTable === table) bonus += 0.1
  const anchor = draft.subject ?? draft.lastTable ?? [...mentioned][0]
  return anchor === undefined ? bonus : bonus - 0.08 * distance(catalog, anchor, table)
}

export interface Noun {
  readonly length: number
  readonly meaning: Meaning
  readonly score: number
  readonly entries: readonly Entry[]
}

/** The table that the words before or behind name as the owner: `customer names`, `names of customers`. */
const ownerBeside = (reading: Reading, at: number, length: number): number | null => {
  if (reading.draft.lastTableEnd === at) return reading.draft.lastTable
  const behind = match(textFrom(reading, at + length), "(?:of|for)(?: (?:the|all|each|every|our|any))*")
  if (!behind) return null
  const words = behind[0].split(" ").length
  const found = reading.lexicon.find(reading.tokens, at + length + words)
  const table = found?.entries.find(({ meaning }) => meaning.kind === "table")
  return table && table.score >= 0.7 ? table.meaning.table.index : null
}

const ranked = (reading: Reading, at: number, length: number, entries: readonly Entry[]) => {
  const beside = ownerBeside(reading, at, length)
  const owned = entries.some(({ meaning }) => meaning.kind !== "table" && meaning.table.index === beside)
  return entries
    .map(entry => {
      const { meaning, score } = entry
      const bonus =
        meaning.kind === "table" ? 0.4 : nearness(reading, meaning.table.index, owned ? beside : null)
      return { ...entry, total: 1.4 * score + bonus }
    })
    .sort((a, b) => b.total - a.total)
}

export const nounAt = (
  reading: Reading,
  at = reading.at,
  fits: (meaning: Meaning) => boolean = () => true,
): Noun | undefined => {
  const found = reading.lexicon.find(reading.tokens, at)
  if (!found) return undefined
  const list = ranked(
    reading,
    at,
    found.length,
    found.entries.filter(({ meaning }) => fits(meaning)),
  )
  const [best] = list
  return best && { length: found.length, meaning: best.meaning, score: best.score, entries: found.entries }
}

export const isColumn = (meaning: Meaning): boolean => meaning.kind === "column"
export const isNumber = (meaning: Meaning): boolean =>
  meaning.kind === "column" && meaning.column.category === "number"
export const isTable = (meaning: Meaning): boolean => meaning.kind === "table"

export const refOf = (meaning: Meaning): Ref | null =>
  meaning.kind === "table" ? null : { table: meaning.table.index, column: meaning.column }

export const columnExpression = (ref: Ref): Expression => ({ kind: "column", ref })
export const rowsOf = (table: number): Measure => ({ fn: "count", of: { kind: "rows", table } })

export const addCondition = (reading: Reading, test: Test, negated = reading.draft.negated): void => {
  reading.draft.conditions.push({ test, negated, group: reading.draft.group })
  reading.draft.negated = false
}

/** Rows of another table that belong to the subject; what follows may narrow them. */
export const addRelated = (
  reading: Reading,
  table: number,
  negated: boolean,
  count?: { readonly op: (Test & { kind: "compare" })["op"]; readonly value: number },
): void => {
  const { draft } = reading
  draft.group++
  draft.conditions.push({ test: { kind: "related", table, ...count }, negated, group: draft.group })
  draft.negated = false
  draft.lastTable = table
  draft.lastTableEnd = reading.at
}

const dateRank = (table: Table, column: Column): number => {
  const { name } = column
  if (/updat|modif|delet|birth|dob|expir|end|valid|last_/.test(name)) return 5
  if (name.startsWith(table.name.replace(/s$/, ""))) return 0
  if (/^(?:date|time|ts|timestamp|created|ordered|placed|recorded|measured|occurred|happened)/.test(name))
    return 1
  return /creat|start|hire|enrol|regist|sign/.test(name) ? 2 : 3
}

export const dateOf = (catalog: Catalog, table: number): Ref | null => {
  const owner = catalog.tables[table]
  const dates = owner?.columns.filter(({ category }) => category === "date") ?? []
  const [best] = owner ? dates.toSorted((a, b) => dateRank(owner, a) - dateRank(owner, b)) : []
  return best ? { table, column: best } : null
}

/** The date of a table, or of the nearest table that each of its rows belongs to. */
export const nearestDate = (catalog: Catalog, table: number): Ref | null => {
  const own = dateOf(catalog, table)
  if (own) return own
  const near = catalog.tables
    .map(({ index }) => ({ index, path: pathBetween(catalog, table, index)?.steps ?? [] }))
    .filter(({ path }) => path.length > 0 && isToOne(path))
    .sort((a, b) => a.path.length - b.path.length)
  for (const { index } of near) {
    const date = dateOf(catalog, index)
    if (date) return date
  }
  return null
}

/** The table's own date that a question means without naming it, with a note where that is a guess. */
export const impliedDate = (reading: Reading, table: number): Ref | null => {
  const owner = reading.catalog.tables[table]
  const best = dateOf(reading.catalog, table)
  if (!owner || !best) return null
  const rivals = owner.columns.filter(
    column =>
      column.category === "date" && column !== best.column && column.notNull && dateRank(owner, column) < 5,
  )
  const isOptional = !best.column.notNull && owner.columns.filter(each => each.category === "date").length > 1
  if (rivals.length > 0 || isOptional) reading.notes.push(`${owner.name} has several dates`)
  return best
}

/** A column of the table, or of a table near it, by a word of its name; words in order of preference. */
export const columnLike = (
  reading: Reading,
  words: readonly string[],
  tables: readonly number[],
): Ref | null => {
  for (const table of tables) {
    const columns = reading.catalog.tables[table]?.columns ?? []
    for (const word of words) {
      const fitting = columns.filter(
        ({ name, category }) => category !== "text" && partsOf(name).includes(word) && !/_?id$/i.test(name),
      )
      if (fitting.length > 1) reading.notes.push(`several columns could be the ${word}`)
      if (fitting[0]) return { table, column: fitting[0] }
    }
  }
  return null
}

/** The subject first, then what was mentioned, then the rest by distance. */
export const tablesByRelevance = (reading: Reading): number[] => {
  const { subject, lastTable } = reading.draft
  const first = [subject, lastTable, ...reading.mentioned].filter(each => each !== null)
  const anchor = first[0] ?? 0
  const rest = reading.catalog.tables
    .map(({ index }) => ({ index, far: distance(reading.catalog, anchor, index) }))
    .filter(({ far }) => far <= 4)
    .sort((a, b) => a.far - b.far)
    .map(({ index }) => index)
  return [...new Set([...first, ...rest])]
}

export interface ValueMatch {
  readonly length: number
  readonly values: readonly StoredValue[]
}

/** The longest stored value at the place, with the columns that hold it, best first. */
export const valueAt = (
  reading: Reading,
  at = reading.at,
  prefer: Ref | null = null,
): ValueMatch | undefined => {
  for (let length = Math.min(5, reading.tokens.length - at); length > 0; length--) {
    const run = reading.tokens.slice(at, at + length)
    if (run.every(token => isSilent(token)) || run.at(-1)?.text === "," || run[0]?.text === ",") continue
    const found = formsOf(run).flatMap(form => reading.values.get(form) ?? [])
    if (found.length === 0) continue
    const weigh = ({ table, column }: StoredValue) =>
      (prefer?.table === table.index && prefer.column === column ? 2 : 0) +
      nearness(reading, table.index, null) +
      (labelOf(table).includes(column) ? 0.05 : 0)
    return { length, values: found.toSorted((a, b) => weigh(b) - weigh(a)) }
  }
  return undefined
}
