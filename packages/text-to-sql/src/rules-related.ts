/** Rows of other tables that belong to the subject, and values that are missing. */
import { takeComparison } from "./comparators.ts"
import { readDates } from "./dates.ts"
import { isToOne, pathBetween } from "./graph.ts"
import {
  addCondition,
  addRelated,
  isTable,
  match,
  nounAt,
  peek,
  type Reading,
  type Rule,
  refOf,
  take,
  textFrom,
  valueAt,
} from "./reading.ts"

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
  take(
    reading,
    "(?:with|having|have|has|had|who have|that have|made|placed|containing|contain|contains|taking|take)",
  )
  const comparison = takeComparison(reading, reading.at > start)
  if (!comparison) {
    reading.at = start
    return false
  }
  const previous = draft.conditions.findLast(({ test }) => test.kind === "related")
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
    draft.conditions = draft.conditions.filter(
      each =>
        each !== previous ||
        each.negated ||
        previous.test.kind !== "related" ||
        previous.test.table !== draft.lastVerb,
    )
    addRelated(reading, table, false, comparison)
    return true
  }
  reading.at = start
  return false
}

export const EMPTY =
  "(?:missing|null|empty|unknown|not set|unset|blank|not (?:known|given|specified|available|recorded|provided))"

const BOUND = "(?:,|and|or|but|that|which|who|whose|with|in|on|at|from|for|by|per|since|before|after|where)"

const addRelatedOrNull = (reading: Reading, negated: boolean): boolean => {
  const table = nounAt(reading, reading.at, isTable)
  const best = nounAt(reading)
  // A date that every row has cannot be what is missing.
  const full =
    best?.meaning.kind === "column" && best.meaning.column.category === "date" && best.meaning.column.notNull
  const noun = full && table ? table : best
  if (!noun) return false
  const { meaning } = noun
  if (meaning.kind === "table") {
    if (reading.draft.subject === null || meaning.table.index === reading.draft.subject) return false
    reading.at += noun.length
    if (isMany(reading, meaning.table.index)) addRelated(reading, meaning.table.index, negated)
    else {
      const key = reading.catalog.keys.find(
        each => each.from === reading.draft.subject && each.to === meaning.table.index,
      )
      const column = reading.catalog.tables[reading.draft.subject]?.columns.find(
        ({ name }) => name === key?.columns[0],
      )
      if (!key || !column) return false
      addCondition(reading, { kind: "null", ref: { table: key.from, column } }, !negated)
    }
    return true
  }
  if (meaning.kind === "flag") return false
  const ref = refOf(meaning)
  if (!ref) return false
  reading.at += noun.length
  // `never borrowed`: the date of every loan is known, so it is the loans that are missing.
  if (full && isMany(reading, ref.table)) addRelated(reading, ref.table, negated)
  else addCondition(reading, { kind: "null", ref }, !negated)
  return true
}

export const absenceRule: Rule = reading => {
  const start = reading.at
  const helpers =
    "(?:have|has|had|having|been|be|yet|ever|any|a|an|the|single|placed|made|submitted|received|written|taken|take|taking|got|get|given|left|in|to|for|of|recorded|sent|reported|produced|used)"
  const lead =
    take(reading, "(?:with |where )?(?:an |a )?(?:unknown|missing|empty|null|unset|blank)") ??
    take(
      reading,
      "(?:with no|without|with zero|has no|have no|had no|having no|lacking|lack|lacks|missing)(?: any| a| an| the| single| known)*",
    ) ??
    take(
      reading,
      `(?:who |that |which )?(?:have |has |had |were |was |are |is )?(?:never|not(?= (?:${helpers} )*\\w))(?: ${helpers})*`,
    ) ??
    take(reading, "(?:having|where) no|no")
  if (!lead) return false
  const own = nounAt(reading, reading.at, isTable)
  // `teachers who do not teach any courses`: the verb is the subject's own name again.
  if (
    own &&
    own.meaning.table.index === reading.draft.subject &&
    nounAt(reading, reading.at + own.length + 1)
  ) {
    reading.at += own.length
    take(reading, "any|a|an|the")
  }
  const noun = nounAt(reading)
  const isMissing = /missing|without|no$|no |lack|zero/.test(lead[0])
  const isBare = /not$/.test(lead[0]) || /not (?:in|to|for)$/.test(lead[0])
  // `not shipped` and `not in Berlin` deny a value, not the existence of rows.
  const denies =
    !isMissing && isBare && (valueAt(reading) !== undefined || (noun && noun.meaning.kind !== "table"))
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
  const lead =
    take(reading, "(?:that |which )?(?:have |has |is |are |was |were )?(not|never)(?: yet)?(?: been| be)?") ??
    take(reading, "(?:that |which )?(?:have|has|is|are|was|were)(?: already)?(?: been)?")
  const noun = nounAt(reading)
  const token = reading.tokens[reading.at]
  const column = noun?.meaning.kind === "column" ? noun.meaning.column : undefined
  const stored = valueAt(reading)
  if (
    !noun ||
    !column ||
    column.category !== "date" ||
    column.notNull ||
    stored ||
    !/ed$|en$|ent$/.test(token?.text ?? "")
  ) {
    reading.at = start
    return false
  }
  reading.at += noun.length
  if (readDates(textFrom(reading), reading.now) || peek(reading, "(?:date|time|at|per|by|between)")) {
    reading.at = start
    return false
  }
  take(reading, "yet")
  addCondition(
    reading,
    { kind: "null", ref: { table: noun.meaning.table.index, column } },
    lead?.[1] === undefined,
  )
  return true
}

export const presenceRule: Rule = reading => {
  const { draft } = reading
  if (draft.subject === null) return false
  const start = reading.at
  const lead = take(
    reading,
    "(?:with|who have|that have|which have|who has|that has|having|have|has|had|containing|contain)(?: (?:at least (?:one|1|a)|any|a|an|some|known|made|placed|been|given))*",
  )
  if (!lead) return false
  const noun = nounAt(reading)
  const article = / (?:a|an|any|some|known|one|1)$/.test(lead[0])
  const behind = noun ? textFrom(reading, reading.at + noun.length) : ""
  const isPlain =
    behind === "" ||
    match(behind, BOUND) !== null ||
    (noun?.meaning.kind === "table" && !match(behind, "between|above|over|below|under|[<>=]"))
  const isRelated = noun?.meaning.kind === "table" && isMany(reading, noun.meaning.table.index)
  if (noun && isPlain && (isRelated || (article && noun.meaning.kind !== "flag"))) {
    if (addRelatedOrNull(reading, false)) return true
  }
  reading.at = start
  return false
}
