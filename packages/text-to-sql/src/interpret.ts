/** From a question to what it means, by rules over the catalog. No model is asked. */
import { type Catalog, labelOf } from "./catalog.ts"
import { createLexicon, focus, type Lexicon } from "./lexicon.ts"
import { type Query, tableOfExpression } from "./query.ts"
import { emptyDraft, nounAt, type Reading, type Rule, valueAt } from "./reading.ts"
import { columnConditionRule, textRule } from "./rules-column.ts"
import { comparisonRule } from "./rules-compare.ts"
import { dateRule } from "./rules-date.ts"
import { aggregateRule, aggregatesRule, groupRule, percentageRule, settlePending } from "./rules-measure.ts"
import { columnRule, companionRule, flagRule, negationRule, tableRule, valueRule } from "./rules-noun.ts"
import { distinctRule } from "./rules-opening.ts"
import { limitRule, orderRule } from "./rules-order.ts"
import { criterionRule, metricRule, rankRule, settleRanking } from "./rules-rank.ts"
import { absenceRule, countRule, doneRule, presenceRule } from "./rules-related.ts"
import type { Values } from "./values.ts"
import type { Token } from "./words.ts"

/** A token changed the meaning, only named something, or was not read at all. */
export type Effect = "meaning" | "name" | "unread"

export interface Interpretation {
  /** null: no table of the database is in the question. */
  readonly query: Query | null
  /** What each token did. */
  readonly effects: readonly Effect[]
  readonly lexicon: Lexicon
  /** Why the meaning may be another one. */
  readonly notes: readonly string[]
}

/** The first that reads something wins; a rule that reads nothing leaves no trace. */
const rules: readonly Rule[] = [
  percentageRule,
  criterionRule,
  orderRule,
  limitRule,
  aggregatesRule,
  doneRule,
  absenceRule,
  countRule,
  columnConditionRule,
  comparisonRule,
  aggregateRule,
  rankRule,
  groupRule,
  dateRule,
  presenceRule,
  textRule,
  flagRule,
  negationRule,
  distinctRule,
  companionRule,
  valueRule,
  metricRule,
  tableRule,
  columnRule,
]

/** Tables that the question speaks of anywhere, so that a column before its table is found there. */
const mentionedTables = (tokens: readonly Token[], lexicon: Lexicon, values: Values): Set<number> => {
  const mentioned = new Set<number>()
  for (let at = 0; at < tokens.length; ) {
    const found = lexicon.find(tokens, at)
    const [best] =
      found?.entries.toSorted(
        (a, b) =>
          Number(b.meaning.kind === "table") - Number(a.meaning.kind === "table") || b.score - a.score,
      ) ?? []
    if (best?.meaning.kind === "table" && best.score >= 0.6) mentioned.add(best.meaning.table.index)
    at += found?.length ?? 1
  }
  for (const [phrase, stored] of values) {
    const owners = new Set(stored.map(({ table }) => table.index))
    const [owner] = owners
    const named = tokens.some(({ text, surface }) => text === phrase || surface.toLowerCase() === phrase)
    if (named && owners.size === 1 && owner !== undefined) mentioned.add(owner)
  }
  return mentioned
}

const baseOf = (reading: Reading): number | null => {
  const { draft } = reading
  const [measure] = draft.measures
  if (measure) return tableOfExpression(measure.of)
  const [group] = draft.groups
  const grouped = group?.kind === "entity" ? group.table : group?.ref.table
  return draft.subject ?? draft.columns[0]?.table ?? grouped ?? null
}

/** A ranking turns into an order, into the first of each group, or into groups ordered by a measure. */
const placeRanking = (reading: Reading): void => {
  const { draft } = reading
  const { ranking } = draft
  if (!ranking?.by) return
  const [column] = draft.columns
  if (draft.groups.length > 0 && ranking.by.by === "expression" && draft.measures.length === 0) {
    draft.firstPer = ranking.limit ?? 1
    draft.order.push(ranking.by)
    return
  }
  if (draft.subject === null && column && ranking.by.by === "measure" && draft.columns.length === 1) {
    // `which cities have the most customers`: the values of the column are ranked, not its rows.
    draft.groups.push({ kind: "column", ref: column })
    draft.columns = []
    draft.measures.push(ranking.by.measure)
  }
  draft.order.unshift(ranking.by)
  draft.limit = ranking.limit ?? draft.limit
}

/** `which countries do customers come from` wants each once. */
const listsValues = ({ draft, tokens, catalog }: Reading): boolean => {
  const [column, ...more] = draft.columns
  const owner = column && catalog.tables[column.table]
  if (
    !column ||
    !owner ||
    more.length > 0 ||
    draft.order.length > 0 ||
    !/^(?:what|which)$/.test(tokens[0]?.text ?? "")
  )
    return false
  return (
    (column.column.category === "text" || column.column.category === "enum") &&
    !labelOf(owner).includes(column.column)
  )
}

const finish = (reading: Reading): Query | null => {
  const { draft } = reading
  settlePending(reading)
  settleRanking(reading)
  placeRanking(reading)
  const base = baseOf(reading)
  if (base === null) return null
  const grouped = draft.groups.length > 0 && draft.firstPer === null && !draft.percentage
  // `orders per customer` and `customers by country` count.
  if (grouped && draft.measures.length === 0) {
    const table = draft.subject ?? draft.columns[0]?.table ?? base
    draft.measures.push({ fn: "count", of: { kind: "rows", table } })
  }
  const subject = draft.percentage ? (draft.subject ?? base) : base
  return {
    base: draft.percentage ? subject : draft.measures[0] ? tableOfExpression(draft.measures[0].of) : base,
    columns: draft.columns,
    star: draft.star,
    measures: draft.percentage ? [] : draft.measures,
    groups: draft.groups,
    conditions: draft.conditions,
    having: draft.having,
    order: draft.order,
    limit: draft.limit,
    distinct: draft.distinct || listsValues(reading),
    firstPer: draft.firstPer,
    percentage: draft.percentage,
  }
}

const read = (reading: Reading): Effect[] => {
  const effects: Effect[] = []
  while (reading.at < reading.tokens.length) {
    const start = reading.at
    // A name of two words or more is a name, whatever else its words could say: `first name`, `order total`.
    const name = nounAt(reading)
    const whole = name && name.length > 1 && name.score >= 0.7 && !valueAt(reading)
    const order = whole
      ? rules.filter(
          rule =>
            rule === columnConditionRule ||
            rule === columnRule ||
            rule === tableRule ||
            rule === companionRule,
        )
      : rules
    const before = meaningOf(reading)
    const matched = order.some(rule => {
      const saved = copyOfDraft(reading)
      const notes = reading.notes.length
      if (rule(reading) && reading.at > start) return true
      reading.at = start
      reading.notes.length = notes
      Object.assign(reading.draft, saved)
      return false
    })
    if (!matched) reading.at = start + 1
    const effect = !matched ? "unread" : meaningOf(reading) === before ? "name" : "meaning"
    for (let at = start; at < reading.at; at++) effects[at] = effect
  }
  return effects
}

/** What the draft says so far, without the notes on where the reading is. */
const meaningOf = ({ draft }: Reading): string => {
  const {
    lastColumn: _a,
    lastTable: _b,
    lastTableEnd: _c,
    lastVerb: _d,
    lastMetric: _e,
    group: _f,
    ...rest
  } = draft
  return JSON.stringify(rest)
}

const copyOfDraft = ({ draft }: Reading) => ({
  ...draft,
  columns: [...draft.columns],
  measures: [...draft.measures],
  groups: [...draft.groups],
  conditions: [...draft.conditions],
  having: [...draft.having],
  order: [...draft.order],
})

export const interpret = (options: {
  tokens: readonly Token[]
  catalog: Catalog
  values: Values
  now: Date
}): Interpretation => {
  const { tokens, catalog, values, now } = options
  const whole = createLexicon(catalog)
  const mentioned = mentionedTables(tokens, whole, values)
  const lexicon = focus(whole, catalog, tokens, mentioned)
  const reading: Reading = {
    tokens,
    catalog,
    lexicon,
    values,
    now,
    mentioned,
    draft: emptyDraft(),
    notes: [],
    at: 0,
  }
  const effects = read(reading)
  const query = finish(reading)
  if (reading.draft.negated) reading.notes.push("the question denies something that is not understood")
  return { query, effects, lexicon, notes: reading.notes }
}
