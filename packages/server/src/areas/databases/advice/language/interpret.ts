/** From a question to what it means, by rules over the catalog. No model is asked. */
import { type Catalog, labelOf } from "./catalog.ts"
import { createLexicon, focus, type Lexicon } from "./lexicon.ts"
import { type Query, tableOfExpression } from "./query.ts"
import { emptyDraft, nounAt, type Reading, type Rule, valueAt } from "./reading.ts"
import { columnConditionRule, textRule } from "./rules-column.ts"
import { comparisonRule } from "./rules-compare.ts"
import { dateRule } from "./rules-date.ts"
import { aggregateRule, aggregatesRule, groupRule, percentageRule, settlePending } from "./rules-measure.ts"
import {
  ageMeasureRule,
  columnRule,
  companionRule,
  flagRule,
  negationRule,
  tableRule,
  valueRule,
} from "./rules-noun.ts"
import { compareRule, distinctRule, personRule, whenRule } from "./rules-opening.ts"
import { limitRule, orderRule } from "./rules-order.ts"
import { criterionRule, metricRule, rankRule, settleRanking } from "./rules-rank.ts"
import { absenceRule, countRule, doneRule, presenceRule } from "./rules-related.ts"
import type { Values } from "./values.ts"
import { isSilent, type Token } from "./words.ts"

export interface Interpretation {
  /** null: no table of the database is in the question. */
  readonly query: Query | null
  /** From 0 to 1: how much of the question the meaning accounts for. */
  readonly confidence: number
  /** Words that mean something but were not understood. */
  readonly leftover: readonly string[]
  readonly notes: readonly string[]
}

/** The first that reads something wins; a rule that reads nothing leaves no trace. */
const rules: readonly Rule[] = [
  whenRule,
  personRule,
  compareRule,
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
  ageMeasureRule,
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
  const [condition] = draft.conditions
  const tested =
    condition?.test.kind === "in" || condition?.test.kind === "compare" ? condition.test.ref.table : null
  return draft.subject ?? draft.columns[0]?.table ?? draft.lastTable ?? grouped ?? tested
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

const splitPeriods = (reading: Reading): Query["periods"] => {
  const { draft } = reading
  if (!draft.comparing) return []
  const periods = draft.conditions.flatMap(({ test }) =>
    test.kind === "dates"
      ? [test]
      : test.kind === "any"
        ? test.tests.filter(each => each.kind === "dates")
        : [],
  )
  if (periods.length < 2) return []
  draft.conditions = draft.conditions.filter(({ test }) => test.kind !== "dates" && test.kind !== "any")
  return periods
}

const finish = (reading: Reading): Query | null => {
  const { draft } = reading
  settlePending(reading)
  settleRanking(reading)
  placeRanking(reading)
  const periods = splitPeriods(reading)
  if (draft.comparing && draft.measures.length === 0 && draft.subject !== null)
    draft.measures.push({ fn: "count", of: { kind: "rows", table: draft.subject } })
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
    periods,
  }
}

const read = (reading: Reading): number => {
  let content = 0
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
    const matched = order.some(rule => {
      const saved = copyOfDraft(reading)
      if (rule(reading) && reading.at > start) return true
      reading.at = start
      Object.assign(reading.draft, saved)
      return false
    })
    const token = reading.tokens[start]
    if (!matched) {
      if (token && !isSilent(token)) {
        reading.leftover.push(token.surface)
        content++
      }
      reading.at = start + 1
    } else content += reading.tokens.slice(start, reading.at).filter(each => !isSilent(each)).length
  }
  return content
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
    leftover: [],
    at: 0,
  }
  const content = read(reading)
  const query = finish(reading)
  const share = content === 0 ? 0 : 1 - reading.leftover.length / content
  const confidence = query ? Math.max(0, share - 0.1 * reading.notes.length) : 0
  return { query, confidence, leftover: reading.leftover, notes: reading.notes }
}
