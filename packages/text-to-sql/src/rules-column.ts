/** A column and what must hold of it: a number, a range, a text, a date, or nothing. */
import { takeBetween, takeComparator, takeComparison } from "./comparators.ts"
import { readDates } from "./dates.ts"
import type { Ref } from "./query.ts"
import {
  addCondition,
  isColumn,
  nounAt,
  type Reading,
  type Rule,
  refOf,
  skipCharacters,
  take,
  textFrom,
  valueAt,
} from "./reading.ts"
import { addNumber, comparedTo } from "./rules-compare.ts"
import { EMPTY } from "./rules-related.ts"

const TEXT: readonly (readonly [string, (text: string) => string])[] = [
  [
    "(?:that |which |whose )?(?:contains?|containing|includes?|including|with|like|matching|mentions?|mentioning)(?: the)?(?: word| text| string| term| phrase)?",
    text => `%${text}%`,
  ],
  [
    "(?:that |which |whose )?(?:starts?|starting|begins?|beginning)(?: with| in)(?: the)?(?: letters?| word)?",
    text => `${text}%`,
  ],
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
    if (token && (token.kind === "quoted" || bare)) {
      reading.at++
      const isAddress = reading.tokens[reading.at]?.text === "com"
      addCondition(reading, {
        kind: "text",
        ref,
        pattern: pattern(escapePattern(token.surface)),
        exact: false,
      })
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
  const link = take(
    reading,
    "(?:is|are|was|were|=|equals?|equal to|of|in|:|as)(?: (?:is|in|equal|to|the|a|an|either))*",
  )
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

/** Years kept as numbers are compared by whole years. */
const yearsAfter = (reading: Reading, ref: Ref): boolean => {
  const dates = readDates(textFrom(reading), reading.now, true)
  const [from, to] = [dates?.range.from, dates?.range.to]
  const isWhole = (date: Date | null | undefined) => !date || date.toISOString().slice(5, 10) === "01-01"
  if (!dates || (!from && !to) || !isWhole(from) || !isWhole(to)) return false
  skipCharacters(reading, dates.length)
  if (from && to) {
    const [low, high] = [from.getUTCFullYear(), to.getUTCFullYear() - 1]
    addCondition(
      reading,
      low === high ? { kind: "compare", ref, op: "=", value: low } : { kind: "between", ref, low, high },
    )
  } else if (from) addCondition(reading, { kind: "compare", ref, op: ">=", value: from.getUTCFullYear() })
  else if (to) addCondition(reading, { kind: "compare", ref, op: "<", value: to.getUTCFullYear() })
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
    if (/year$/i.test(ref.column.name) && yearsAfter(reading, ref)) return true
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
  const column =
    draft.lastColumn?.column.category === "text"
      ? draft.lastColumn.column
      : table?.columns.find(
          ({ name, category }) => category === "text" && /name|title|label|subject/.test(name),
        )
  if (!column) return false
  const ref = { table: draft.subject, column }
  const start = reading.at
  take(reading, "whose|that|which")
  if (textAfter(reading, ref, "quoted")) return true
  reading.at = start
  return false
}
