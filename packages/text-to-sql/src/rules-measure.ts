/** Aggregates, percentages, groups and metrics. */
import { takeComparison } from "./comparators.ts"
import { isToOne, pathBetween } from "./graph.ts"
import { type BucketUnit, type Group, type Measure, type Ref, tableOfTest } from "./query.ts"
import {
  addCondition,
  columnExpression,
  isColumn,
  isNumber,
  isTable,
  match,
  nearestDate,
  nounAt,
  peek,
  type Reading,
  type Rule,
  refOf,
  rowsOf,
  skipCharacters,
  take,
  textFrom,
  valueAt,
} from "./reading.ts"

const functions: readonly (readonly [string, Measure["fn"]])[] = [
  [
    "how many|headcount(?: of)?|(?:total |overall )?(?:number|count|amount)s? of|count(?: of| all| up)?|tally(?: of)?|the total number of",
    "count",
  ],
  ["how much|(?:the )?(?:total|sum|overall|combined|cumulative)(?: (?:amount|sum|value|of))*", "sum"],
  ["(?:the )?(?:average|mean|avg|typical)(?: (?:value|amount) of| of)?", "avg"],
  ["(?:the )?median(?: (?:value|amount) of| of)?", "median"],
]

const fillers = "(?:the|all|of|our|a|an|in|these|value|values)"

/** The column that `revenue` or `spending` means: a total on a row, or quantity times price where that fits the tables. */
export const metricOf = (reading: Reading): Measure | null => {
  const about = [...reading.mentioned]
  const fits = (table: number) =>
    about.every(other => {
      const path = pathBetween(reading.catalog, table, other)
      return path !== undefined && isToOne(path.steps)
    })
  const totals: Ref[] = []
  const products: (readonly [Ref, Ref])[] = []
  for (const { index, columns } of reading.catalog.tables) {
    const total = columns.find(
      ({ name, category }) =>
        category === "number" &&
        /^(?:.*_)?(?:revenue|total|total_amount|total_price|grand_total|amount|subtotal)$/.test(name),
    )
    const quantity = columns.find(
      ({ name, category }) => category === "number" && /^(?:quantity|qty|units)$/.test(name),
    )
    const price = columns.find(
      ({ name, category }) => category === "number" && /(?:^|_)(?:price|cost)$/.test(name),
    )
    if (total) totals.push({ table: index, column: total })
    if (quantity && price)
      products.push([
        { table: index, column: quantity },
        { table: index, column: price },
      ])
  }
  const total = totals.find(({ table }) => fits(table))
  if (total) return { fn: "sum", of: columnExpression(total) }
  const product = products.find(([{ table }]) => fits(table)) ?? products[0]
  if (product) return { fn: "sum", of: { kind: "product", factors: product } }
  return totals[0] ? { fn: "sum", of: columnExpression(totals[0]) } : null
}

const METRIC =
  "(?:revenue|sales|turnover|spending|spend|spent|spends|money(?: spent)?|sold for)(?: amount| value)?"

export const takeMetric = (reading: Reading): Measure | null => {
  const own = nounAt(reading)
  if (own && own.score >= 0.9) return null
  const found = match(textFrom(reading), METRIC)
  const metric = found && metricOf(reading)
  if (!found || !metric) return null
  skipCharacters(reading, found[0].length)
  reading.draft.lastMetric = metric
  return metric
}

/** A measure over a noun that follows: `number of orders`, `average price`. Steps over it, or reads nothing. */
export const takeMeasure = (reading: Reading): Measure | null => {
  const start = reading.at
  take(reading, "(?:the|their|a|an)")
  const fn = functions.find(([words]) => peek(reading, words))
  if (fn) take(reading, fn[0])
  const distinct = fn !== undefined && take(reading, "(?:(?:the|of) )*(?:different|distinct|unique)") !== null
  if (fn) take(reading, `${fillers}(?: ${fillers})*`)
  const metric = takeMetric(reading)
  if (metric) return fn ? { ...metric, fn: fn[1] === "count" ? "sum" : fn[1] } : metric
  const noun = nounAt(
    reading,
    reading.at,
    meaning => isTable(meaning) || (fn?.[1] === "count" ? isColumn(meaning) : isNumber(meaning)),
  )
  if (noun && fn) {
    if (noun.meaning.kind === "table") {
      const behind = nounAt(reading, reading.at + noun.length, isNumber)
      const named = behind && behind.meaning.table === noun.meaning.table ? refOf(behind.meaning) : null
      if (fn[1] !== "count" && named && behind) {
        reading.at += noun.length + behind.length
        return { fn: fn[1], of: columnExpression(named) }
      }
      if (fn[1] === "count" || fn[1] === "sum") {
        reading.at += noun.length
        return { ...rowsOf(noun.meaning.table.index), distinct }
      }
    } else {
      const ref = refOf(noun.meaning)
      if (ref) {
        reading.at += noun.length
        const numeric = ref.column.category === "number" && fn[1] === "count" && !distinct
        return {
          fn: numeric ? "sum" : fn[1],
          of: columnExpression(ref),
          distinct: fn[1] === "count" && !numeric,
        }
      }
    }
  }
  reading.at = start
  return null
}

export const aggregateRule: Rule = reading => {
  const { draft } = reading
  if (draft.pending?.fn === "avg" && take(reading, "(?:the )?(?:number|count) of(?: the| all)?"))
    return nounAt(reading, reading.at, isNumber) !== undefined
  const start = reading.at
  const fn = functions.find(([words]) => peek(reading, words))
  if (!fn) return false
  // A column may be called total, or hold a count.
  const own = nounAt(reading)
  if (own && own.score >= 0.9 && own.meaning.kind === "column" && !nounAt(reading, reading.at + own.length))
    return false
  const isList = draft.subject !== null && draft.measures.length === 0 && !draft.percentage
  const measure = takeMeasure(reading)
  if (measure) {
    const comparison = takeComparison(reading)
    if (comparison && isList) {
      draft.group++
      const table = measure.of.kind === "rows" ? measure.of.table : (draft.subject ?? 0)
      addCondition(reading, { kind: "related", table, measure, ...comparison })
    } else if (comparison) draft.having.push({ measure, ...comparison })
    else draft.measures.push(measure)
    if (measure.of.kind === "rows") {
      draft.lastTable = measure.of.table
      if (!comparison) draft.subject ??= measure.of.table
    }
    draft.lastTableEnd = reading.at
    return true
  }
  reading.at = start
  take(reading, fn[0])
  const distinct = take(reading, "(?:(?:the|of) )*(?:different|distinct|unique)") !== null
  take(reading, `${fillers}(?: ${fillers})*`)
  draft.pending = { fn: fn[1], distinct }
  return true
}

const FUNCTION = "average|mean|median|minimum|min|lowest|smallest|maximum|max|highest|largest|total|sum"
const named = (word: string): Measure["fn"] => {
  if (/^(?:min|low|small)/.test(word)) return "min"
  if (/^(?:max|high|larg)/.test(word)) return "max"
  return word === "median" ? "median" : /^(?:tot|sum)/.test(word) ? "sum" : "avg"
}

/** `minimum, average and maximum salary`: one operand for all. */
export const aggregatesRule: Rule = reading => {
  const start = reading.at
  const found = take(reading, `(?:the )?(?:${FUNCTION})(?: (?:, and|,|and)(?: the)? (?:${FUNCTION}))+`)
  take(reading, `${fillers}(?: ${fillers})*`)
  const noun = found && nounAt(reading, reading.at, isNumber)
  const ref = noun && refOf(noun.meaning)
  if (!found || !noun || !ref) {
    reading.at = start
    return false
  }
  reading.at += noun.length
  for (const [word] of found[0].matchAll(new RegExp(FUNCTION, "g"))) {
    reading.draft.measures.push({ fn: named(word), of: columnExpression(ref) })
  }
  return true
}

export const percentageRule: Rule = reading => {
  const found = take(
    reading,
    "(?:what )?(?:the )?(?:percentage|percent|share|proportion|fraction|ratio|% )(?: of| for)?(?: all| the)*",
  )
  if (found) reading.draft.percentage = true
  return found !== null
}

const units: readonly (readonly [string, BucketUnit])[] = [
  ["day of (?:the )?week|weekday", "weekday"],
  ["hour of (?:the )?day", "hour of day"],
  ["minute|minutely", "minute"],
  ["hour|hourly", "hour"],
  ["day|daily|calendar day|date", "day"],
  ["week|weekly", "week"],
  ["(?:calendar )?month|monthly", "month"],
  ["quarter|quarterly", "quarter"],
  ["(?:calendar )?year|yearly|annual|annually", "year"],
]

/** The date to cut into pieces is known when all measures are: the base's, or one named before (`hire year`). */
const bucketGroup = (reading: Reading, unit: BucketUnit): Group | null => {
  const { draft } = reading
  const measured = draft.measures.at(-1)?.of
  const table =
    measured?.kind === "rows"
      ? measured.table
      : measured?.kind === "product"
        ? measured.factors[0].table
        : measured?.ref.table
  const base = table ?? draft.subject ?? draft.lastTable ?? [...reading.mentioned][0]
  const ref =
    draft.lastColumn?.column.category === "date"
      ? draft.lastColumn
      : base === undefined
        ? null
        : nearestDate(reading.catalog, base)
  return ref && { kind: "bucket", ref, unit }
}

const takeGroup = (reading: Reading): Group | null => {
  take(reading, "(?:the|different|each|every|calendar)")
  const noun = nounAt(reading)
  const isDate = noun?.meaning.kind === "column" && noun.meaning.column.category === "date"
  if (!noun || noun.score < 0.75 || isDate) {
    const unit = units.find(([words]) => peek(reading, words))
    const group = unit && bucketGroup(reading, unit[1])
    if (unit && group) {
      take(reading, unit[0])
      return group
    }
  }
  if (!noun) return null
  const { meaning } = noun
  reading.at += noun.length
  reading.draft.lastTable = meaning.table.index
  reading.draft.lastTableEnd = reading.at
  if (meaning.kind === "role") return { kind: "entity", table: meaning.key.to, role: meaning.key }
  if (meaning.kind !== "table")
    return { kind: "column", ref: { table: meaning.table.index, column: meaning.column } }
  const singular = reading.tokens[reading.at - 1]
  const inner = singular?.text === singular?.singular ? nounAt(reading) : undefined
  if (inner && inner.score >= 0.75 && (inner.meaning.kind === "table" || inner.meaning.kind === "role"))
    return takeGroup(reading)
  const column = nounAt(reading, reading.at, each => each.kind === "column" && each.table === meaning.table)
  const ref = column && column.score >= 0.9 ? refOf(column.meaning) : null
  if (column && ref) {
    reading.at += column.length
    return ref.column.name === "name" || ref.column.name === "id"
      ? { kind: "entity", table: meaning.table.index }
      : { kind: "column", ref }
  }
  return { kind: "entity", table: meaning.table.index }
}

const takeGroups = (reading: Reading): boolean => {
  const { draft } = reading
  const first = takeGroup(reading)
  if (!first) return false
  draft.groups.push(first)
  for (;;) {
    const start = reading.at
    if (!take(reading, "(?:, )?and(?: (?:per|by|for each|each))?|,|per")) break
    const next = valueAt(reading) ? null : takeGroup(reading)
    if (!next) {
      reading.at = start
      break
    }
    draft.groups.push(next)
  }
  return true
}

export const groupRule: Rule = reading => {
  const { draft } = reading
  const start = reading.at
  const adverb = take(reading, "monthly|daily|weekly|yearly|hourly|quarterly|annually|annual")
  if (adverb) {
    const unit = units.find(([words]) => match(adverb[0], words))
    if (!unit) return false
    // The measure is often still to come: `monthly revenue`.
    const measure = draft.measures.length === 0 ? takeMeasure(reading) : null
    if (measure) draft.measures.push(measure)
    const group = bucketGroup(reading, unit[1])
    if (group) draft.groups.push(group)
    return group !== null
  }
  const counting = draft.measures.length > 0 || draft.pending !== null || draft.percentage
  const always = take(
    reading,
    `grouped by|group by|broken down by|split by|per${start === 0 ? "|for each|for every" : ""}`,
  )
  if (always && takeGroups(reading)) return true
  // Without anything to compute, `every customer` is just all of them.
  const strong =
    counting || draft.ranking
      ? take(
          reading,
          "(?:for each|for every|(?:in|of|within|at|on|from|to|across|by|does|did|has|do) (?:each|every)|each|every|according to)",
        )
      : null
  if (strong && takeGroups(reading)) return true
  if (!strong && take(reading, "by")) {
    const passive = /(?:ed|en|ught|ten)$/.test(reading.tokens[start - 1]?.text ?? "")
    const noun = nounAt(reading)
    const bare =
      draft.subject !== null &&
      !draft.ranking &&
      !passive &&
      !(noun?.meaning.kind === "column" && noun.meaning.column.category === "number")
    if ((counting || bare) && !valueAt(reading) && takeGroups(reading)) return true
  }
  reading.at = start
  return false
}

/** An operand for an aggregate that named none: `total orders` counts, `average order` takes the row's amount. */
export const settlePending = (reading: Reading): void => {
  const { draft } = reading
  const { pending } = draft
  draft.pending = null
  if (!pending) return
  if (pending.fn !== "count")
    reading.notes.push(`the question does not say of what the ${pending.fn} is wanted`)
  const [condition] = draft.conditions
  const tested = condition ? tableOfTest(condition.test) : null
  const table = draft.subject ?? draft.lastTable ?? tested
  if (table === null) return
  if (draft.measures.length === 0) draft.measures.push(rowsOf(table))
}
