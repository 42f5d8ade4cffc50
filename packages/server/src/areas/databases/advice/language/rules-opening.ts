/** Words that say what kind of answer is wanted: who, when, compare, different. */
import { distance } from "./graph.ts"
import { nounAt, type Rule, rowsOf, take } from "./reading.ts"
import { dateColumn } from "./rules-date.ts"
import { canonicalOf, partsOf } from "./words.ts"

const people = new Set(
  [
    "customer",
    "employee",
    "user",
    "student",
    "teacher",
    "person",
    "member",
    "account",
    "patient",
    "author",
    "contact",
    "player",
    "guest",
    "driver",
  ].map(canonicalOf),
)

/** `who …` and `people` mean the table of persons that is nearest to what else was said. */
export const personRule: Rule = reading => {
  const { draft, catalog, mentioned } = reading
  const found =
    reading.at === 0 ? take(reading, "who|people|persons") : take(reading, "people|persons|individuals")
  if (!found || nounAt(reading, reading.at - 1)?.meaning.kind === "table") return false
  const named = catalog.tables.filter(({ name }) => partsOf(name).some(part => people.has(canonicalOf(part))))
  const far = (index: number) => Math.min(...[...mentioned].map(each => distance(catalog, index, each)), 9)
  const [best] = named.toSorted(
    (a, b) => Number(mentioned.has(b.index)) - Number(mentioned.has(a.index)) || far(a.index) - far(b.index),
  )
  if (!best) return false
  if (draft.pending?.fn === "count") {
    draft.measures.push(rowsOf(best.index))
    draft.pending = null
  }
  draft.subject ??= best.index
  draft.lastTable = best.index
  return true
}

export const compareRule: Rule = reading => {
  if (!take(reading, "compare|versus|vs|compared (?:to|with)|against|comparison of")) return false
  reading.draft.comparing = true
  return true
}

export const distinctRule: Rule = reading => {
  if (!take(reading, "distinct|unique|different")) return false
  if (!reading.draft.pending) reading.draft.distinct = true
  else reading.draft.pending = { ...reading.draft.pending, distinct: true }
  return true
}

/** `when did … order`: the date is asked for. */
export const whenRule: Rule = reading => {
  if (reading.at > 0 || !take(reading, "when (?:was|were|did|is|do|does)(?: the)?")) return false
  const date = dateColumn(reading)
  if (date) reading.draft.columns.push(date)
  return true
}
