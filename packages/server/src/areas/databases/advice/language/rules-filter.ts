/** Conditions: comparisons, ranges, text, missing values and related rows. */
import { takeBetween, takeComparator, takeComparison } from "./comparators.ts"
import { readDates, shift } from "./dates.ts"
import { isToOne, pathBetween } from "./graph.ts"
import { type Operator, type Ref, tableOfExpression } from "./query.ts"
import {
  addCondition,
  addRelated,
  columnExpression,
  columnLike,
  dateOf,
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
  skipCharacters,
  tablesByRelevance,
  take,
  textFrom,
  valueAt,
} from "./reading.ts"

const UNITS: readonly (readonly [string, readonly string[]])[] = [
  ["dollars?|euros?|pounds?|usd|eur|gbp|\\$|€|£|bucks", ["price", "cost", "amount", "total", "salary", "budget"]],
  ["kg|kilos?|kilograms?|grams?|lbs", ["weight"]],
  ["degrees?(?: celsius)?|celsius|°(?: c)?", ["temperature", "temp", "celsius", "value"]],
  ["minutes?", ["minutes", "duration"]],
  ["hours?", ["hours", "duration"]],
  ["credits?|points?", ["credits", "points", "score"]],
  ["days?", ["days", "duration"]],
  ["units?|pieces?|in stock", ["stock", "quantity", "units"]],
]

const isMany = (reading: Reading, table: number): boolean => {
  const base = reading.draft.subject
  const path = base === null || base === table ? undefined : pathBetween(reading.catalog, base, table)
  return path !== undefined && !isToOne(path.steps)
}

/** `with more than 5 orders`, `ordered more than 3 times`, `at least two courses`. */
export const countRule: Rule = reading => {
  const { draft } = reading
  if (draft.subject === null && draft.groups.length === 0) return false
  const start = reading.at
  take(reading, "(?:with|having|have|has|had|who have|that have|made|placed|containing|contain|contains|taking|take)")
  const comparison = takeComparison(reading, reading.at > start)
  if (!comparison) {
    reading.at = start
    return false
  }
  const previous = draft.conditions.findLast(({ test }) => test.kind === "related")
  if (take(reading, "times?") && draft.lastVerb !== null) {
    const table = draft.lastVerb
    draft.conditions = draft.conditions.filter(each => each !== previous || each.negated)
    addRelated(reading, table, false, comparison)
    return true
  }
  take(reading, "(?:or more|or fewer|different|distinct|of|the|their)(?: of| the)?")
  const noun = nounAt(reading)
  const table = noun?.meaning.kind === "table" ? noun.meaning.table.index : null
  const link = previous?.test.kind === "related" && !previous.negated ? previous.test.table : null
  const path = link !== null && table !== null ? pathBetween(reading.catalog, link, table) : undefined
  if (noun && link !== null && path && path.steps.length > 0 && isToOne(path.steps)) {
    // `assigned to two projects`: the rows that link are counted.
    reading.at += noun.length
    draft.conditions = draft.conditions.filter(each => each !== previous)
    addRelated(reading, link, false, comparison)
    return true
  }
  if (noun && table !== null && isMany(reading, table)) {
    reading.at += noun.length
    draft.conditions = draft.conditions.filter(each => each !== previous || each.negated || previous.test.kind !== "related" || previous.test.table !== draft.lastVerb)
    addRelated(reading, table, false, comparison)
    return true
  }
  const [measure] = draft.measures
  if (noun && table !== null && measure?.of.kind === "rows" && measure.of.table === table) {
    reading.at += noun.length
    draft.having.push({ measure, ...comparison })
    return true
  }
  reading.at = start
  return false
}

const EMPTY = "(?:missing|null|empty|unknown|not set|unset|blank|not (?:known|given|specified|available|recorded|provided))"
const BOUND = "(?:,|and|or|but|that|which|who|whose|with|in|on|at|from|for|by|per|since|before|after|where)"

const addRelatedOrNull = (reading: Reading, negated: boolean): boolean => {
  const table = nounAt(reading, reading.at, isTable)
  const best = nounAt(reading)
  // A date that every row has cannot be what is missing.
  const full = best?.meaning.kind === "column" && best.meaning.column.category === "date" && best.meaning.column.notNull
  const noun = full && table ? table : best
  if (!noun) return false
  const { meaning } = noun
  if (meaning.kind === "table") {
    if (reading.draft.subject === null || meaning.table.index === reading.draft.subject) return false
    reading.at += noun.length
    if (isMany(reading, meaning.table.index)) addRelated(reading, meaning.table.index, negated)
    else {
      const key = reading.catalog.keys.find(each => each.from === reading.draft.subject && each.to === meaning.table.index)
      const column = reading.catalog.tables[reading.draft.subject]?.columns.find(({ name }) => name === key?.columns[0])
      if (!key || !column) return false
      addCondition(reading, { kind: "null", ref: { table: key.from, column } }, !negated)
    }
    return true
  }
  if (meaning.kind === "flag") return false
  const ref = refOf(meaning)
  if (!ref) return false
  reading.at += noun.length
  addCondition(reading, { kind: "null", ref }, !negated)
  return true
}

export const absenceRule: Rule = reading => {
  const start = reading.at
  const helpers = "(?:have|has|had|having|been|be|yet|ever|any|a|an|the|single|placed|made|submitted|received|written|taken|take|taking|got|get|given|left|in|to|for|of|recorded|sent|reported|produced|used)"
  const lead =
    take(reading, "(?:with |where )?(?:an |a )?(?:unknown|missing|empty|null|unset|blank)") ??
    take(reading, "(?:with no|without|with zero|has no|have no|had no|having no|lacking|lack|lacks|missing)(?: any| a| an| the| single| known)*") ??
    take(reading, `(?:who |that |which )?(?:have |has |had |were |was |are |is )?(?:never|not(?= (?:${helpers} )*\\w))(?: ${helpers})*`) ??
    take(reading, "(?:having|where) no|no")
  if (!lead) return false
  const own = nounAt(reading, reading.at, isTable)
  // `teachers who do not teach any courses`: the verb is the subject's own name again.
  if (own && own.meaning.table.index === reading.draft.subject && nounAt(reading, reading.at + own.length + 1)) {
    reading.at += own.length
    take(reading, "any|a|an|the")
  }
  const noun = nounAt(reading)
  const isMissing = /missing|without|no$|no |lack|zero/.test(lead[0])
  const isBare = /not$/.test(lead[0]) || /not (?:in|to|for)$/.test(lead[0])
  // `not shipped` and `not in Berlin` deny a value, not the existence of rows.
  const denies = !isMissing && isBare && (valueAt(reading) !== undefined || (noun && noun.meaning.kind !== "table"))
  if (!denies && addRelatedOrNull(reading, true)) {
    if (reading.draft.lastTable !== null) reading.draft.lastVerb = reading.draft.lastTable
    return true
  }
  reading.at = start
  return false
}

/** `resolved alerts`, `orders that have not shipped`: a date that is set, or is not yet. */
export const doneRule: Rule = reading => {
  const start = reading.at
  const lead = take(reading, "(?:that |which )?(?:have |has |is |are |was |were )?(not|never)(?: yet)?(?: been| be)?") ?? take(reading, "(?:that |which )?(?:have|has|is|are|was|were)(?: already)?(?: been)?")
  const noun = nounAt(reading)
  const token = reading.tokens[reading.at]
  const column = noun?.meaning.kind === "column" ? noun.meaning.column : undefined
  const stored = valueAt(reading)
  if (!noun || !column || column.category !== "date" || column.notNull || stored || !/ed$|en$|ent$/.test(token?.text ?? "")) {
    reading.at = start
    return false
  }
  reading.at += noun.length
  if (readDates(textFrom(reading), reading.now) || peek(reading, "(?:date|time|at|per|by|between)")) {
    reading.at = start
    return false
  }
  take(reading, "yet")
  addCondition(reading, { kind: "null", ref: { table: noun.meaning.table.index, column } }, lead?.[1] === undefined)
  return true
}

export const presenceRule: Rule = reading => {
  const { draft } = reading
  if (draft.subject === null) return false
  const start = reading.at
  const lead = take(reading, "(?:with|who have|that have|which have|who has|that has|having|have|has|had|containing|contain)(?: (?:at least (?:one|1|a)|any|a|an|some|known|made|placed|been|given))*")
  if (!lead) return false
  const noun = nounAt(reading)
  const article = / (?:a|an|any|some|known|one|1)$/.test(lead[0])
  const behind = noun ? textFrom(reading, reading.at + noun.length) : ""
  const isPlain = behind === "" || match(behind, BOUND) !== null || (noun?.meaning.kind === "table" && !match(behind, "between|above|over|below|under|[<>=]"))
  const isRelated = noun?.meaning.kind === "table" && isMany(reading, noun.meaning.table.index)
  if (noun && isPlain && (isRelated || (article && noun.meaning.kind !== "flag"))) {
    if (addRelatedOrNull(reading, false)) return true
  }
  reading.at = start
  return false
}

const addNumber = (reading: Reading, ref: Ref, op: Operator, value: number): void => {
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
  ["more expensive than|costing (?:more than|over|above)|costs? (?:more than|over)|priced (?:above|over|more than)|worth more than", ">", ["price", "cost", "total", "amount"]],
  ["cheaper than|less expensive than|costing (?:less than|under|below)|costs? (?:less than|under)|priced (?:below|under)|worth less than", "<", ["price", "cost", "total", "amount"]],
  ["heavier than|weighing (?:more than|over)", ">", ["weight"]],
  ["lighter than|weighing (?:less than|under)", "<", ["weight"]],
  ["hotter than|warmer than", ">", ["temperature", "temp", "celsius", "value"]],
  ["colder than|cooler than", "<", ["temperature", "temp", "celsius", "value"]],
  ["longer than", ">", ["duration", "length", "minutes", "hours", "days"]],
  ["shorter than", "<", ["duration", "length", "minutes", "hours", "days"]],
]

/** Years of age, by an age column or by the date of birth. */
const ageRule = (reading: Reading): boolean => {
  const found = match(textFrom(reading), "(?:who are |aged )?(older than|over|above|younger than|under|below) (?:the age of )?(\\d+)( years?(?: old| of age)?)?")
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
const comparedTo = (reading: Reading, op: Operator, named: Ref | null): boolean => {
  const { draft } = reading
  if (take(reading, "(?:the |that of )*(?:overall |company )?average")) {
    const noun = nounAt(reading, reading.at, isNumber)
    const ref = (noun && refOf(noun.meaning)) ?? named ?? columnLike(reading, ["price", "salary", "total", "amount", "value", "score", "grade"], tablesByRelevance(reading).slice(0, 1))
    if (!ref) return false
    if (noun) reading.at += noun.length
    addCondition(reading, { kind: "average", ref, op })
    return true
  }
  if (!take(reading, "(?:their|his|her|its)(?: own)?")) return false
  const noun = nounAt(reading, reading.at, meaning => meaning.kind === "role")
  const ref = named ?? draft.lastColumn
  if (!noun || noun.meaning.kind !== "role" || !ref) return false
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
  if (take(reading, "with|having|of|that (?:have|has)|who (?:have|has)") && !peek(reading, "(?:more|less|fewer|at|over|under|above|below|exactly|between|no)|[<>=]+")) reading.at = start
  const between = takeBetween(reading)
  const comparison = between ? null : takeComparison(reading)
  if (between || comparison) {
    const numeric = nounAt(reading, reading.at, isNumber)
    const ref =
      (numeric && numeric.score >= 0.6 ? refOf(numeric.meaning) : null) ??
      unitColumn(reading) ??
      (reading.draft.lastColumn?.column.category === "number" ? reading.draft.lastColumn : null) ??
      columnLike(reading, ["price", "amount", "total", "value", "salary", "score", "grade"], tablesByRelevance(reading).slice(0, 1))
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

const TEXT: readonly (readonly [string, (text: string) => string])[] = [
  ["(?:that |which |whose )?(?:contains?|containing|includes?|including|with|like|matching|mentions?|mentioning)(?: the)?(?: word| text| string| term| phrase)?", text => `%${text}%`],
  ["(?:that |which |whose )?(?:starts?|starting|begins?|beginning)(?: with| in)(?: the)?(?: letters?| word)?", text => `${text}%`],
  ["(?:that |which |whose )?(?:ends?|ending)(?: with| in)(?: the)?(?: letters?| word)?", text => `%${text}`],
]

const escapePattern = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

/** Text behind the column: quoted, a stored value, or the next word. */
export const textAfter = (reading: Reading, ref: Ref, only: "quoted" | "any"): boolean => {
  for (const [words, pattern] of TEXT) {
    const start = reading.at
    if (!take(reading, `(?:do |does )?${words}`)) continue
    const token = reading.tokens[reading.at]
    const bare = only === "any" && token && (token.kind === "word" || token.kind === "number")
    if (token && (token.kind === "quoted" || bare) && !/ with| like/.test(` ${words} `.slice(0, 0))) {
      reading.at++
      const isAddress = reading.tokens[reading.at]?.text === "com"
      addCondition(reading, { kind: "text", ref, pattern: pattern(escapePattern(token.surface)), exact: false })
      if (isAddress) reading.at++
      return true
    }
    reading.at = start
  }
  return false
}

const missingAfter = (reading: Reading, ref: Ref): boolean => {
  const found = take(reading, `(?:(?:is|are|was|were|has|have)(?: been)? )?(not )?(${EMPTY})`)
  if (found) addCondition(reading, { kind: "null", ref }, found[1] !== undefined)
  return found !== null
}

const equalAfter = (reading: Reading, ref: Ref): boolean => {
  const start = reading.at
  const link = take(reading, "(?:is|are|was|were|=|equals?|equal to|of|in|:|as)(?: (?:is|in|equal|to|the|a|an|either))*")
  const denied = take(reading, "not(?: in| equal to)?|!=|<>|other than")
  const stored = valueAt(reading, reading.at, ref)
  if (stored?.values.some(({ column }) => column === ref.column)) {
    if (denied) reading.draft.negated = true
    reading.draft.lastColumn = ref
    return link !== null || denied !== null
  }
  const token = reading.tokens[reading.at]
  if (token?.kind === "quoted" && ref.column.category !== "date") {
    reading.at++
    addCondition(reading, { kind: "text", ref, pattern: token.surface, exact: true }, denied !== null)
    return true
  }
  reading.at = start
  return false
}

const datesAfter = (reading: Reading, ref: Ref): boolean => {
  take(reading, "is|was|are|were")
  const dates = readDates(textFrom(reading), reading.now, true)
  if (!dates) return false
  skipCharacters(reading, dates.length)
  addCondition(reading, { kind: "dates", ref, ...dates.range })
  return true
}

/** A column and what must hold of it. */
export const columnConditionRule: Rule = reading => {
  const start = reading.at
  take(reading, "(?:with|having|where|whose|and|when|has|have|in which)(?: the| a| an| their)*")
  const noun = nounAt(reading, reading.at, isColumn)
  const preferred = nounAt(reading)
  const ref = noun && refOf(noun.meaning)
  if (!noun || !ref || preferred?.meaning.kind === "table") {
    reading.at = start
    return false
  }
  reading.at += noun.length
  if (missingAfter(reading, ref)) return true
  if (ref.column.category === "date") {
    if (datesAfter(reading, ref)) return true
  } else if (ref.column.category === "number") {
    const between = takeBetween(reading)
    if (between) {
      addCondition(reading, { kind: "between", ref, ...between })
      return true
    }
    const comparison = takeComparison(reading, true)
    if (comparison) {
      addNumber(reading, ref, comparison.op, comparison.value)
      return true
    }
    const at = reading.at
    const op = takeComparator(reading)
    if (op && comparedTo(reading, op, ref)) return true
    reading.at = at
  } else if (textAfter(reading, ref, "any") || equalAfter(reading, ref)) return true
  reading.at = start
  return false
}

/** `products containing "pro"`: the label of the subject is meant. */
export const textRule: Rule = reading => {
  const { draft } = reading
  if (draft.subject === null) return false
  const table = reading.catalog.tables[draft.subject]
  const column = draft.lastColumn?.column.category === "text" ? draft.lastColumn.column : table?.columns.find(({ name, category }) => category === "text" && /name|title|label|subject/.test(name))
  if (!column) return false
  const ref = { table: draft.subject, column }
  const start = reading.at
  take(reading, "whose|that|which")
  if (textAfter(reading, ref, "quoted")) return true
  if (take(reading, "(?:is |are )?(?:named|called|titled)")) {
    const stored = valueAt(reading, reading.at, ref)
    const token = reading.tokens[reading.at]
    if (stored) return true
    if (token) {
      reading.at++
      addCondition(reading, { kind: "text", ref, pattern: `%${escapePattern(token.surface)}%`, exact: false })
      return true
    }
  }
  reading.at = start
  return false
}

/** The date that a range without column means: the verb's (`hired`), the last table's, else the subject's. */
export const dateColumn = (reading: Reading): Ref | null => {
  const { draft, catalog } = reading
  if (draft.lastColumn?.column.category === "date") return draft.lastColumn
  const ranked = draft.ranking?.by?.by === "measure" ? draft.ranking.by.measure : draft.lastMetric
  const rankedDate = ranked && draft.lastTable === draft.subject ? nearestDate(catalog, tableOfExpression(ranked.of)) : null
  if (rankedDate) return rankedDate
  const measured = draft.measures.at(-1)?.of
  const tables = [draft.lastTable, draft.subject, measured?.kind === "rows" ? measured.table : null]
  for (const table of tables) {
    const own = table === null ? null : dateOf(catalog, table)
    if (own) return own
  }
  const base = measured?.kind === "column" ? measured.ref.table : measured?.kind === "product" ? measured.factors[0].table : (draft.subject ?? draft.lastTable)
  const near = base === null || base === undefined ? null : nearestDate(catalog, base)
  if (near) return near
  for (const table of reading.mentioned) {
    const date = nearestDate(catalog, table)
    if (date) return date
  }
  return null
}

export const dateRule: Rule = reading => {
  const { draft } = reading
  const start = reading.at
  const denied = take(reading, "(?:but )?not(?= (?:in|on|during|since|before|after)\\b)")
  const bare = draft.comparing || /^(?:and|or|vs|versus|to|with)$/.test(reading.tokens[reading.at - 1]?.text ?? "") || (nounAt(reading, reading.at + 1)?.meaning.kind === "table" && /^(?:19|20)\d\d$/.test(reading.tokens[reading.at]?.text ?? ""))
  const dates = readDates(textFrom(reading), reading.now, bare)
  const ref = dates && dateColumn(reading)
  if (!dates || !ref) {
    reading.at = start
    return false
  }
  skipCharacters(reading, dates.length)
  const test = { kind: "dates", ref, ...dates.range } as const
  const last = draft.conditions.at(-1)
  const previous = draft.conditions.findLast(each => each.test.kind === "related")
  if (denied && previous?.test.kind === "related" && last?.test.kind === "dates") {
    // `who ordered in 2022 but not in 2023` speaks of other orders.
    addRelated(reading, previous.test.table, true)
    addCondition(reading, test, false)
  } else if (last?.test.kind === "dates" && last.test.ref.column === ref.column && /^(?:and|or)$/.test(reading.tokens[start - 1]?.text ?? "") && !draft.comparing) {
    draft.conditions[draft.conditions.length - 1] = { ...last, test: { kind: "any", tests: [last.test, test] } }
  } else addCondition(reading, test, denied !== null || draft.negated)
  if (draft.lastColumn?.column.category === "date") draft.lastColumn = null
  return true
}

export const ageOf = (reading: Reading, table: number) => {
  const birth = columnLike(reading, ["birth", "dob", "birthdate", "birthday"], [table])
  return birth && { kind: "age" as const, ref: birth }
}

export const tableNoun = (reading: Reading) => nounAt(reading, reading.at, isTable)
export const expressionOf = columnExpression
