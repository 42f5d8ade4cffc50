/** Wished orders and limits. */
import type { Direction, Sorting } from "./query.ts"
import {
  columnExpression,
  isColumn,
  isTable,
  match,
  nounAt,
  type Reading,
  type Rule,
  refOf,
  take,
  textFrom,
} from "./reading.ts"
import { takeMeasure } from "./rules-measure.ts"

const ASCENDING =
  "ascending|asc|alphabetically|in alphabetical order|in ascending order|lowest first|smallest first|oldest first|cheapest first|earliest first|from (?:the )?(?:lowest|smallest|cheapest|oldest|earliest|low)(?: to (?:the )?\\w+)?|increasing"

const DESCENDING =
  "descending|desc|in descending order|in reverse order|highest first|largest first|newest first|latest first|most recent first|most expensive first|from (?:the )?(?:highest|largest|newest|latest|most expensive|high)(?: to (?:the )?\\w+)?|decreasing"

const takeDirection = (reading: Reading): Direction | null => {
  take(reading, ",|in|with the")
  if (take(reading, DESCENDING)) return "desc"
  return take(reading, ASCENDING) ? "asc" : null
}

export const orderRule: Rule = reading => {
  const start = reading.at
  if (
    !take(
      reading,
      "(?:and )?(?:sorted|ordered|order|sort|ranked|rank|arranged|arrange)(?: them| it| the results?)?(?: in)?(?: (?:descending|ascending))?(?: order)? by(?: the| their)?",
    )
  )
    return false
  do {
    const sorting = takeSorting(reading)
    if (!sorting) {
      reading.at = start + 1
      return false
    }
    const told = takeDirection(reading)
    const said =
      textFrom(reading, start).startsWith("descending") ||
      /descending/.test(
        reading.tokens
          .slice(start, reading.at)
          .map(({ text }) => text)
          .join(" "),
      )
    reading.draft.order.push({ ...sorting, direction: told ?? (said ? "desc" : "asc") })
  } while (take(reading, "(?:, )?(?:and )?then(?: by)?|and(?! then)|,"))
  return true
}

const takeSorting = (reading: Reading): Sorting | null => {
  const direction: Direction = "asc"
  const { draft } = reading
  if (draft.measures[0] && take(reading, "(?:number|count|total|average|amount|sum|result)(?! of)"))
    return { by: "measure", measure: draft.measures[0], direction }
  const measure = takeMeasure(reading)
  if (measure) return { by: "measure", measure, direction }
  const noun = nounAt(reading, reading.at, isColumn)
  const ref = noun && refOf(noun.meaning)
  if (noun && ref) {
    reading.at += noun.length
    const index = draft.groups.findIndex(group => group.kind === "column" && group.ref.column === ref.column)
    return index >= 0
      ? { by: "group", index, direction }
      : { by: "expression", expression: columnExpression(ref), direction }
  }
  return null
}

export const limitRule: Rule = reading => {
  const { draft } = reading
  const limited =
    take(
      reading,
      "(?:limit(?:ed)?(?: to)?|only|at most|just) (\\d+)(?: (?:rows?|results?|records?|entries))?",
    ) ?? take(reading, "(\\d+) (?:rows?|results?|records?|random|sample|example)s?")
  if (limited) {
    draft.limit = Number(limited[1])
    return true
  }
  // `show 5 customers`
  const noun = match(textFrom(reading), "\\d+") ? nounAt(reading, reading.at + 1, isTable) : undefined
  if (draft.subject !== null || draft.pending || draft.columns.length > 0 || !noun) return false
  draft.limit = Number(reading.tokens[reading.at]?.text)
  reading.at++
  return true
}
