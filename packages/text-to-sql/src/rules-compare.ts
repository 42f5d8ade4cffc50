/** Comparisons of numbers that name their column by a unit, an adjective or not at all. */
import { takeBetween, takeComparator, takeComparison } from "./comparators.ts"
import { shift } from "./dates.ts"
import type { Operator, Ref } from "./query.ts"
import {
  addCondition,
  columnLike,
  isNumber,
  match,
  nounAt,
  peek,
  type Reading,
  type Rule,
  refOf,
  skipCharacters,
  tablesByRelevance,
  take,
  textFrom,
} from "./reading.ts"

/** Conditions: comparisons, ranges, text, missing values and related rows. */

const UNITS: readonly (readonly [string, readonly string[]])[] = [
  [
    "dollars?|euros?|pounds?|usd|eur|gbp|\\$|€|£|bucks",
    ["price", "cost", "amount", "total", "salary", "budget"],
  ],
  ["kg|kilos?|kilograms?|grams?|lbs", ["weight"]],
  ["degrees?(?: celsius)?|celsius|°(?: c)?", ["temperature", "temp", "celsius", "value"]],
  ["minutes?", ["minutes", "duration"]],
  ["hours?", ["hours", "duration"]],
  ["credits?|points?", ["credits", "points", "score"]],
  ["days?", ["days", "duration"]],
  ["units?|pieces?|in stock", ["stock", "quantity", "units"]],
]

const SMALL_UNITS = /cents|pence|micros|millis|grams|bytes/i

export const addNumber = (reading: Reading, ref: Ref, op: Operator, value: number): void => {
  const unit = SMALL_UNITS.exec(ref.column.name)?.[0].toLowerCase()
  if (unit && !reading.tokens.some(({ text }) => text === unit))
    reading.notes.push(`${ref.column.name} counts ${unit}, and the question does not say so`)
  addCondition(reading, { kind: "compare", ref, op, value })
  reading.draft.lastColumn = ref
}

const unitColumn = (reading: Reading): Ref | null => {
  const unit = UNITS.find(([words]) => peek(reading, words))
  const ref = unit && columnLike(reading, unit[1], tablesByRelevance(reading).slice(0, 3))
  if (unit && ref) take(reading, unit[0])
  return ref ?? null
}

const ADJECTIVES: readonly (readonly [string, Operator, readonly string[]])[] = [
  [
    "more expensive than|costing (?:more than|over|above)|costs? (?:more than|over)|priced (?:above|over|more than)|worth more than",
    ">",
    ["price", "cost", "total", "amount"],
  ],
  [
    "cheaper than|less expensive than|costing (?:less than|under|below)|costs? (?:less than|under)|priced (?:below|under)|worth less than",
    "<",
    ["price", "cost", "total", "amount"],
  ],
  ["heavier than|weighing (?:more than|over)", ">", ["weight"]],
  ["lighter than|weighing (?:less than|under)", "<", ["weight"]],
  ["hotter than|warmer than", ">", ["temperature", "temp", "celsius", "value"]],
  ["colder than|cooler than", "<", ["temperature", "temp", "celsius", "value"]],
  ["longer than", ">", ["duration", "length", "minutes", "hours", "days"]],
  ["shorter than", "<", ["duration", "length", "minutes", "hours", "days"]],
]

/** Years of age, by an age column or by the date of birth. */
const ageRule = (reading: Reading): boolean => {
  const found = match(
    textFrom(reading),
    "(?:who are |aged )?(older than|over|above|younger than|under|below) (?:the age of )?(\\d+)( years?(?: old| of age)?)?",
  )
  if (!found) return false
  const tables = tablesByRelevance(reading).slice(0, 1)
  const age = columnLike(reading, ["age"], tables)
  const birth = columnLike(reading, ["birth", "dob", "birthdate", "birthday"], tables)
  const said = /older|younger/.test(found[1] ?? "") || found[3] !== undefined || /aged|age of/.test(found[0])
  if (!said || (!age && !birth)) return false
  skipCharacters(reading, found[0].length)
  const older = /older|over|above/.test(found[1] ?? "")
  const years = Number(found[2])
  if (age) addNumber(reading, age, older ? ">" : "<", years)
  else if (birth) {
    const day = new Date(reading.now.toISOString().slice(0, 10))
    const date = shift(day, -(older ? years + 1 : years), "year")
    const next = shift(date, 1, "day")
    addCondition(reading, { kind: "dates", ref: birth, from: older ? null : next, to: older ? next : null })
  }
  return true
}

/** `above average`, `more than the average price`, `more than their manager`. */
export const comparedTo = (reading: Reading, op: Operator, named: Ref | null): boolean => {
  const { draft } = reading
  if (take(reading, "(?:the |that of )*(?:overall |company )?average")) {
    const noun = nounAt(reading, reading.at, isNumber)
    const ref = (noun && refOf(noun.meaning)) ?? named
    if (!ref) return false
    if (noun) reading.at += noun.length
    addCondition(reading, { kind: "average", ref, op })
    return true
  }
  if (!take(reading, "(?:their|his|her|its)(?: own)?")) return false
  const noun = nounAt(reading, reading.at, meaning => meaning.kind === "role")
  const ref = named ?? draft.lastColumn
  if (noun?.meaning.kind !== "role" || !ref) return false
  reading.at += noun.length
  addCondition(reading, { kind: "against", ref, op, role: noun.meaning.key })
  return true
}

export const comparisonRule: Rule = reading => {
  if (ageRule(reading)) return true
  const start = reading.at
  const adjective = ADJECTIVES.find(([words]) => peek(reading, words))
  if (adjective) {
    const [words, op, columns] = adjective
    take(reading, words)
    const ref = columnLike(reading, columns, tablesByRelevance(reading).slice(0, 3))
    if (comparedTo(reading, op, ref)) return true
    const number = take(reading, "(?:\\$ |€ |£ )?(-?\\d+(?:\\.\\d+)?)")
    if (number && ref) {
      addNumber(reading, ref, op, Number(number[1]))
      unitColumn(reading)
      return true
    }
    reading.at = start
    return false
  }
  if (
    take(reading, "with|having|of|that (?:have|has)|who (?:have|has)") &&
    !peek(reading, "(?:more|less|fewer|at|over|under|above|below|exactly|between|no)|[<>=]+")
  )
    reading.at = start
  const between = takeBetween(reading)
  const comparison = between ? null : takeComparison(reading)
  if (between || comparison) {
    const numeric = nounAt(reading, reading.at, isNumber)
    const ref =
      (numeric && numeric.score >= 0.6 ? refOf(numeric.meaning) : null) ??
      unitColumn(reading) ??
      (reading.draft.lastColumn?.column.category === "number" ? reading.draft.lastColumn : null) ??
      columnLike(
        reading,
        ["price", "amount", "total", "value", "salary", "score", "grade"],
        tablesByRelevance(reading).slice(0, 1),
      )
    if (ref) {
      if (numeric && numeric.score >= 0.6) reading.at += numeric.length
      if (comparison) addNumber(reading, ref, comparison.op, comparison.value)
      else if (between) addCondition(reading, { kind: "between", ref, ...between })
      return true
    }
  }
  reading.at = start
  const op = takeComparator(reading)
  if (op && comparedTo(reading, op, null)) return true
  reading.at = start
  return false
}
