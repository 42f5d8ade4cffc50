/** Superlatives, and what rows are ranked by. */
import { isToOne, pathBetween } from "./graph.ts"
import type { Direction, Measure, Sorting } from "./query.ts"
import {
  columnExpression,
  columnLike,
  impliedDate,
  isNumber,
  match,
  nounAt,
  peek,
  type Ranking,
  type Reading,
  type Rule,
  refOf,
  rowsOf,
  skipCharacters,
  tablesByRelevance,
  take,
  textFrom,
} from "./reading.ts"
import { takeMeasure, takeMetric } from "./rules-measure.ts"

type Target = "next" | "date" | readonly string[]

interface Superlative {
  readonly words: string
  readonly direction: Direction
  readonly target: Target
}

const price = ["price", "cost", "amount", "total", "fee"]
const pay = ["salary", "wage", "pay", "income"]
const rate = ["rating", "score", "grade", "stars"]

const superlatives: readonly Superlative[] = [
  { words: "most expensive|priciest|costliest|highest priced", direction: "desc", target: price },
  { words: "cheapest|least expensive|lowest priced|most affordable", direction: "asc", target: price },
  { words: "(?:best|highest|top) (?:paid|paying|earning)|highest earners", direction: "desc", target: pay },
  { words: "(?:worst|lowest|least) (?:paid|paying|earning)", direction: "asc", target: pay },
  { words: "(?:best|highest|top) (?:rated|scoring|graded)", direction: "desc", target: rate },
  { words: "(?:worst|lowest) (?:rated|scoring|graded)", direction: "asc", target: rate },
  {
    words:
      "newest|latest|most recently?(?: (?:hired|created|added|placed|ordered|recorded|registered))?|recent",
    direction: "desc",
    target: "date",
  },
  { words: "oldest", direction: "asc", target: ["birth", "born", "dob"] },
  { words: "youngest", direction: "desc", target: ["birth", "born", "dob"] },
  { words: "earliest", direction: "asc", target: "date" },
  {
    words: "longest serving|most senior|most experienced",
    direction: "asc",
    target: ["hire", "hired", "start"],
  },
  {
    words: "longest",
    direction: "desc",
    target: ["duration", "length", "minutes", "hours", "days", "pages"],
  },
  {
    words: "shortest",
    direction: "asc",
    target: ["duration", "length", "minutes", "hours", "days", "pages"],
  },
  { words: "heaviest", direction: "desc", target: ["weight"] },
  { words: "lightest", direction: "asc", target: ["weight"] },
  { words: "tallest", direction: "desc", target: ["height"] },
  { words: "hottest|warmest", direction: "desc", target: ["temperature", "temp", "value", "celsius"] },
  { words: "coldest|coolest", direction: "asc", target: ["temperature", "temp", "value", "celsius"] },
  { words: "highest|largest|biggest|greatest|top|maximum|max|most|best", direction: "desc", target: "next" },
  { words: "lowest|smallest|minimum|min|least|fewest|worst|bottom", direction: "asc", target: "next" },
]

const byWords = (reading: Reading, words: readonly string[], direction: Direction): Sorting | null => {
  const ref = columnLike(reading, words, tablesByRelevance(reading).slice(0, 3))
  if (ref) return { by: "expression", expression: columnExpression(ref), direction }
  return null
}

const byDate = (reading: Reading, direction: Direction): Sorting | null => {
  const table = reading.draft.subject ?? reading.draft.lastTable
  const ref = table === null ? null : impliedDate(reading, table)
  return ref && { by: "expression", expression: columnExpression(ref), direction }
}

const resolveTarget = (reading: Reading, target: Target, direction: Direction): Sorting | null => {
  if (target === "date") return byDate(reading, direction)
  return target === "next" ? null : byWords(reading, target, direction)
}

/** A measure that the subject can be ranked by: of its own rows or of rows that belong to it. */
const sortingOf = (reading: Reading, measure: Measure, direction: Direction): Sorting => {
  const { subject } = reading.draft
  const { of } = measure
  const own =
    of.kind === "column" &&
    subject !== null &&
    (of.ref.table === subject ||
      isToOne(pathBetween(reading.catalog, subject, of.ref.table)?.steps ?? [{ forward: false } as never]))
  return own ? { by: "expression", expression: of, direction } : { by: "measure", measure, direction }
}

/** What follows `the highest` or `by`: a measure, a number's column, or a table to count. */
const takeCriterion = (reading: Reading, direction: Direction): Sorting | null => {
  take(reading, "(?:the|their|its)")
  const measure = takeMeasure(reading)
  if (measure)
    return measure.of.kind === "rows" || measure.of.kind === "product" || measure.fn !== "sum"
      ? { by: "measure", measure, direction }
      : sortingOf(reading, measure, direction)
  const noun = nounAt(reading)
  if (!noun) return null
  const { meaning } = noun
  const { subject } = reading.draft
  if (meaning.kind === "table" && meaning.table.index !== subject) {
    const behind = nounAt(reading, reading.at + noun.length, isNumber)
    const ref = behind && behind.meaning.table === meaning.table ? refOf(behind.meaning) : null
    reading.at += noun.length + (ref && behind ? behind.length : 0)
    reading.draft.lastTable = meaning.table.index
    reading.draft.lastTableEnd = reading.at
    if (ref)
      return sortingOf(
        reading,
        { fn: direction === "desc" ? "max" : "min", of: columnExpression(ref) },
        direction,
      )
    return { by: "measure", measure: rowsOf(meaning.table.index), direction }
  }
  const column = nounAt(
    reading,
    reading.at,
    each => each.kind === "column" && (each.column.category === "number" || each.column.category === "date"),
  )
  const ref = column && refOf(column.meaning)
  if (!column || !ref) return null
  reading.at += column.length
  reading.draft.lastColumn = ref
  return sortingOf(
    reading,
    { fn: direction === "desc" ? "max" : "min", of: columnExpression(ref) },
    direction,
  )
}

const setRanking = (reading: Reading, ranking: Ranking): true => {
  reading.draft.ranking = ranking
  return true
}

/** `the highest salary` asks for a number; after a subject (`employee with the highest salary`) it picks rows. */
const extreme = (reading: Reading, direction: Direction): boolean => {
  const { draft } = reading
  const column = nounAt(
    reading,
    reading.at,
    each => each.kind === "column" && (each.column.category === "number" || each.column.category === "date"),
  )
  const ref = column && refOf(column.meaning)
  if (!column || !ref || draft.subject !== null || draft.columns.length > 0) return false
  reading.at += column.length
  draft.measures.push({ fn: direction === "desc" ? "max" : "min", of: columnExpression(ref) })
  draft.lastColumn = ref
  return true
}

const takeSubject = (reading: Reading): boolean => {
  const { draft } = reading
  const noun = nounAt(reading)
  if (noun?.meaning.kind !== "table") return false
  const index = noun.meaning.table.index
  // `the lowest product price` qualifies; `the 5 largest orders` is the subject.
  const column = nounAt(
    reading,
    reading.at + noun.length,
    each => isNumber(each) && each.table.index === index,
  )
  if (column || (draft.subject !== null && draft.subject !== index)) return false
  reading.at += noun.length
  draft.subject = index
  draft.lastTable = index
  draft.lastTableEnd = reading.at
  return true
}

export const rankRule: Rule = reading => {
  const { draft } = reading
  const start = reading.at
  const text = textFrom(reading)
  const words = superlatives.map(each => each.words).join("|")
  const lead =
    match(text, `(?:the )?(${words}|first|last) (\\d+)`) ??
    match(text, `(?:the )?(\\d+) (${words})`) ??
    match(text, `(?:the )?(${words})`)
  if (!lead) return false
  const [, a = "", b = ""] = lead
  const limit = /^\d+$/.test(a) ? Number(a) : /^\d+$/.test(b) ? Number(b) : null
  const word = /^\d+$/.test(a) ? b : a
  const edge = word === "first" || word === "last"
  const found = edge ? undefined : superlatives.find(each => match(word, each.words))
  const direction = found?.direction ?? (word === "last" ? "desc" : "asc")
  skipCharacters(reading, lead[0].length)
  // `top 5 most expensive products`: the second superlative says by what.
  const second = limit === null ? undefined : superlatives.find(each => peek(reading, each.words))
  if (second) take(reading, second.words)
  const target = second?.target ?? found?.target ?? "next"
  const way = second?.direction ?? direction
  if (edge && draft.subject === null && takeSubject(reading)) {
    // The first ten rows of a list are any ten; of things that happen, they are the earliest.
    return setRanking(reading, { direction, limit, by: byDate(reading, direction) })
  }
  if (target !== "next") {
    takeSubject(reading)
    const by = resolveTarget(reading, target, way)
    if (by) return setRanking(reading, { direction: way, limit: limit ?? 1, by })
  }
  if (limit === null && extreme(reading, way)) return true
  if (
    limit === null &&
    /most|fewest|least/.test(word) &&
    draft.subject === null &&
    draft.columns.length > 0
  ) {
    const by = takeCriterion(reading, way)
    if (by) return setRanking(reading, { direction: way, limit: 1, by })
  }
  if (takeSubject(reading) && draft.ranking === null) {
    return setRanking(reading, { direction: way, limit: limit ?? 1, by: null })
  }
  const by = takeCriterion(reading, way) ?? afterVerb(reading, way)
  if (by)
    return setRanking(reading, {
      direction: way,
      limit: draft.ranking?.limit ?? limit ?? draft.limit ?? 1,
      by,
    })
  reading.at = start
  return false
}

/** `which customer spent the most`, `who earns the most`: the verb said by what. */
const afterVerb = (reading: Reading, direction: Direction): Sorting | null => {
  const { lastMetric, lastColumn } = reading.draft
  if (lastMetric) return { by: "measure", measure: lastMetric, direction }
  if (lastColumn?.column.category === "number")
    return { by: "expression", expression: columnExpression(lastColumn), direction }
  return null
}

/** `top 5 customers` waits for its criterion: `by revenue`, `based on …`, `in terms of …`, `with the most …`. */
export const criterionRule: Rule = reading => {
  const { draft } = reading
  if (!draft.ranking || draft.ranking.by) return false
  const start = reading.at
  if (
    !take(
      reading,
      "(?:ranked |ordered |sorted |measured )?by|based on|in terms of|according to|with (?:the )?(?:highest|largest|most|lowest|fewest|smallest|best|biggest)|who(?: have)? (?:the most|spent the most)|that have the most|for",
    )
  )
    return false
  const by = takeCriterion(reading, draft.ranking.direction)
  if (by) {
    draft.ranking.by = by
    return true
  }
  reading.at = start
  return false
}

/** A ranking without criterion is not guessed. */
export const settleRanking = (reading: Reading): void => {
  const { draft } = reading
  const { ranking } = draft
  if (!ranking) return
  if (!ranking.by) reading.notes.push("the question does not say by what to rank")
}

export const metricRule: Rule = reading => {
  const { draft } = reading
  const metric = takeMetric(reading)
  if (!metric) return false
  if (draft.pending) {
    draft.measures.push({ ...metric, fn: draft.pending.fn === "count" ? "sum" : draft.pending.fn })
    draft.pending = null
  } else if (draft.subject === null && draft.columns.length === 0) draft.measures.push(metric)
  return true
}
