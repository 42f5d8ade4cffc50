/** Dates and ranges of time without a column. */
import { readDates } from "./dates.ts"
import { type Ref, tableOfExpression } from "./query.ts"
import {
  addCondition,
  addRelated,
  impliedDate,
  nearestDate,
  nounAt,
  type Reading,
  type Rule,
  skipCharacters,
  take,
  textFrom,
} from "./reading.ts"

/** The date that a range without column means: the verb's (`hired`), the last table's, else the subject's. */
export const dateColumn = (reading: Reading): Ref | null => {
  const { draft, catalog } = reading
  if (draft.lastColumn?.column.category === "date") return draft.lastColumn
  const ranked = draft.ranking?.by?.by === "measure" ? draft.ranking.by.measure : draft.lastMetric
  const rankedDate =
    ranked && draft.lastTable === draft.subject ? nearestDate(catalog, tableOfExpression(ranked.of)) : null
  if (rankedDate) return rankedDate
  const measured = draft.measures.at(-1)?.of
  const tables = [draft.lastTable, draft.subject, measured?.kind === "rows" ? measured.table : null]
  for (const table of tables) {
    const own = table === null ? null : impliedDate(reading, table)
    if (own) return own
  }
  const base =
    measured?.kind === "column"
      ? measured.ref.table
      : measured?.kind === "product"
        ? measured.factors[0].table
        : (draft.subject ?? draft.lastTable)
  const near = base === null || base === undefined ? null : nearestDate(catalog, base)
  if (near) return near
  return null
}

export const dateRule: Rule = reading => {
  const { draft } = reading
  const start = reading.at
  const denied = take(reading, "(?:but )?not(?= (?:in|on|during|since|before|after)\\b)")
  const bare =
    /^(?:and|or|to|with)$/.test(reading.tokens[reading.at - 1]?.text ?? "") ||
    (nounAt(reading, reading.at + 1)?.meaning.kind === "table" &&
      /^(?:19|20)\d\d$/.test(reading.tokens[reading.at]?.text ?? ""))
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
  } else if (
    last?.test.kind === "dates" &&
    last.test.ref.column === ref.column &&
    /^(?:and|or)$/.test(reading.tokens[start - 1]?.text ?? "")
  ) {
    draft.conditions[draft.conditions.length - 1] = {
      ...last,
      test: { kind: "any", tests: [last.test, test] },
    }
  } else addCondition(reading, test, denied !== null || draft.negated)
  if (draft.lastColumn?.column.category === "date") draft.lastColumn = null
  return true
}
