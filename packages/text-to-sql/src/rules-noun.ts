/** Tables, columns, flags and stored values outside any larger phrase. */
import { labelOf } from "./catalog.ts"
import { isToOne, pathBetween } from "./graph.ts"
import type { Ref } from "./query.ts"
import {
  addCondition,
  addRelated,
  columnExpression,
  isNumber,
  match,
  type Noun,
  nounAt,
  peek,
  type Reading,
  type Rule,
  refOf,
  rowsOf,
  take,
  textFrom,
  type ValueMatch,
  valueAt,
} from "./reading.ts"

import type { StoredValue } from "./values.ts"

export const negationRule: Rule = reading => {
  const start = reading.at
  const found = take(
    reading,
    "(?:is |are |was |were |do |does )?not(?: (?:in|from|at|of|on|be|been|a|an|the|to))*|except(?: for)?(?: those)?(?: in| from)?|excluding|other than|but not(?: in| from)?|outside(?: of)?|apart from|different from",
  )
  if (!found) return false
  const value = valueAt(reading)
  const noun = nounAt(reading)
  const inColumn = noun?.meaning.kind === "column" && valueAt(reading, reading.at + noun.length) !== undefined
  if (!value && !inColumn && noun?.meaning.kind !== "flag" && !peek(reading, "between|in|on|before")) {
    reading.at = start
    return false
  }
  reading.draft.negated = true
  return true
}

const takeValues = (reading: Reading, first: ValueMatch, ref: Ref): string[] => {
  const here = (found: ValueMatch) =>
    found.values
      .filter(({ table, column }) => table.index === ref.table && column === ref.column)
      .map(({ value }) => value)
  const values = here(first)
  reading.at += first.length
  for (;;) {
    const start = reading.at
    const link = take(reading, "(?:, )?(?:and|or|nor)(?: (?:in|from))?|,")
    const next = link ? valueAt(reading, reading.at, ref) : undefined
    const more = next ? here(next) : []
    if (!next || more.length === 0) {
      reading.at = start
      return [...new Set(values)]
    }
    values.push(...more)
    reading.at += next.length
  }
}

/** `Electronics category` and `category Electronics`: the column beside a value says where to look. */
const columnBeside = (reading: Reading, value: ValueMatch): Ref | null => {
  const behind = nounAt(reading, reading.at + value.length, meaning => meaning.kind !== "flag")
  const { lastColumn } = reading.draft
  if (behind?.meaning.kind === "column") {
    const ref = refOf(behind.meaning)
    const match = value.values.find(
      ({ table, column }) => table.index === ref?.table && column === ref.column,
    )
    if (match) return ref
  }
  return lastColumn
}

const isBetterNoun = (reading: Reading, value: ValueMatch): boolean => {
  const noun = nounAt(reading)
  const token = reading.tokens[reading.at]
  if (!noun || noun.length < value.length || token?.kind === "quoted") return false
  const capital = /^\p{Lu}/u.test(token?.surface ?? "") && reading.at > 0
  const exact = value.values.some(({ value: stored }) => stored.toLowerCase() === token?.text)
  if (noun.meaning.kind === "table" || noun.meaning.kind === "flag")
    return !capital && noun.score >= (exact ? 0.9 : 0.75)
  if (noun.meaning.kind === "column" && noun.meaning.column.category === "date") return false
  return !capital && noun.score >= (exact ? 0.95 : 0.75)
}

/** A value that several columns hold, or a word that is also a relation, may mean something else. */
const noteRivals = (reading: Reading, value: ValueMatch, best: StoredValue): void => {
  const { surface = "" } = reading.tokens[reading.at] ?? {}
  const isNamed = columnBeside(reading, value)?.column === best.column
  const { subject } = reading.draft
  const isNear = ({ table }: StoredValue) =>
    subject === null ? reading.mentioned.has(table.index) : table.index === subject
  const columns = new Set(value.values.map(({ column }) => column))
  const near = new Set(value.values.filter(isNear).map(({ column }) => column))
  if (columns.size > 1 && !isNamed && !(near.size === 1 && near.has(best.column)))
    reading.notes.push(`"${surface}" is stored in several columns`)
  if (nounAt(reading, reading.at, each => each.kind === "role")?.length === value.length)
    reading.notes.push(`"${surface}" is a value and a relation`)
}

export const valueRule: Rule = reading => {
  const { draft } = reading
  let value = valueAt(reading)
  if (!value || isBetterNoun(reading, value)) return false
  value = valueAt(reading, reading.at, columnBeside(reading, value)) ?? value
  const [best] = value.values
  if (!best) return false
  noteRivals(reading, value, best)
  const ref: Ref = { table: best.table.index, column: best.column }
  const values = takeValues(reading, value, ref)
  const behind = nounAt(reading, reading.at, meaning =>
    meaning.kind === "table"
      ? meaning.table.index === ref.table
      : meaning.kind === "column"
        ? meaning.column === ref.column
        : meaning.kind === "role" && meaning.key.to === ref.table,
  )
  // `the Electronics category`, `the Sales department`: the noun only repeats where the value is.
  const subject =
    behind?.meaning.kind === "table" &&
    draft.subject === null &&
    draft.measures.length === 0 &&
    draft.columns.length === 0 &&
    reading.tokens[reading.at + behind.length - 1]?.text !==
      reading.tokens[reading.at + behind.length - 1]?.singular
  if (behind && !subject && !(behind.meaning.kind === "table" && draft.pending?.fn === "count"))
    reading.at += behind.length
  addCondition(reading, { kind: "in", ref, values })
  draft.lastColumn = null
  return true
}

export const flagRule: Rule = reading => {
  const start = reading.at
  const denied = take(reading, "(?:is |are |was |were )?not(?: yet)?|no longer")
  const noun = nounAt(reading)
  if (noun?.meaning.kind !== "flag" || noun.score < 0.7) {
    reading.at = start
    return false
  }
  reading.at += noun.length
  const { table, column, truth } = noun.meaning
  const negated = (denied !== null) !== reading.draft.negated
  reading.draft.negated = false
  addCondition(
    reading,
    { kind: "compare", ref: { table: table.index, column }, op: "=", value: truth !== negated },
    false,
  )
  return true
}

const project = (reading: Reading, noun: Noun): boolean => {
  const { draft } = reading
  const { meaning } = noun
  const base = draft.subject ?? draft.columns[0]?.table ?? null
  if (meaning.kind === "column") draft.columns.push({ table: meaning.table.index, column: meaning.column })
  else if (meaning.kind === "role") {
    const target = reading.catalog.tables[meaning.key.to]
    if (!target) return false
    for (const column of labelOf(target))
      draft.columns.push({ table: target.index, column, role: meaning.key })
  } else if (meaning.kind === "table") {
    for (const column of labelOf(meaning.table)) draft.columns.push({ table: meaning.table.index, column })
  } else return false
  if (base !== null && meaning.kind !== "column")
    draft.star = draft.columns.every(({ table, role }) => table !== base || role !== undefined)
  reading.at += noun.length
  return true
}

/** `employees and their managers`, `orders with customer names`, `along with the category`. */
export const companionRule: Rule = reading => {
  const { draft } = reading
  if (draft.subject === null && draft.columns.length === 0) return false
  const start = reading.at
  if (
    !take(
      reading,
      "(?:and|with|plus|including|along with|together with|as well as|showing|,)(?: also)?(?: (?:their|its|his|her|the name of the|the names of their|the name of their|the|which))+|along with|together with|plus|including|as well as",
    )
  )
    return false
  take(reading, "respective|corresponding|own")
  const noun = nounAt(reading)
  if (!noun || noun.meaning.kind === "flag") {
    reading.at = start
    return false
  }
  if (noun.meaning.kind === "table") {
    const column = nounAt(
      reading,
      reading.at + noun.length,
      each =>
        each.kind === "column" &&
        each.table.index === (noun.meaning.kind === "table" ? noun.meaning.table.index : -1),
    )
    if (column) {
      reading.at += noun.length
      draft.star ||= draft.columns.length === 0
      return project(reading, column)
    }
  }
  if (noun.meaning.kind === "column" && draft.columns.length === 0) {
    const own = noun.meaning.table.index === draft.subject
    draft.star = !own
    // `customers and their emails` needs to say whose.
    if (own)
      for (const column of labelOf(noun.meaning.table))
        draft.columns.push({ table: noun.meaning.table.index, column })
  }
  return project(reading, noun)
}

const isVerb = (reading: Reading, noun: Noun): boolean => {
  const token = reading.tokens[reading.at]
  return (
    token !== undefined &&
    noun.length === 1 &&
    noun.score < 1 &&
    /(?:ed|ing|ought|take|taken|took|teach|teaches|buy|order|attend|attends|enroll)$/.test(token.text) &&
    noun.meaning.kind === "table"
  )
}

/** Rows that belong to the subject must exist; further conditions say which. */
const relate = (reading: Reading, table: number): void => {
  const { draft, catalog } = reading
  if (
    draft.subject === null ||
    draft.subject === table ||
    (draft.measures.length > 0 && draft.measures[0]?.of.kind !== "rows")
  )
    return
  const base = draft.measures[0]?.of.kind === "rows" ? draft.measures[0].of.table : draft.subject
  const path = pathBetween(catalog, base, table)
  if (!path || isToOne(path.steps) || base === table) return
  const known = draft.conditions.some(({ test }) => {
    if (test.kind !== "related") return false
    const link = pathBetween(catalog, test.table, table)
    return link !== undefined && isToOne(link.steps)
  })
  // `enrolled in any course` says with `course` only what `enrolled` leads to.
  if (known) return
  addRelated(reading, table, draft.negated)
}

export const tableRule: Rule = reading => {
  const { draft } = reading
  const noun = nounAt(reading)
  if (noun?.meaning.kind !== "table") return false
  const { table } = noun.meaning
  const token = reading.tokens[reading.at + noun.length - 1]
  const verb = isVerb(reading, noun)
  const column = nounAt(
    reading,
    reading.at + noun.length,
    each => each.kind !== "flag" && each.kind !== "table" && each.table === table,
  )
  const qualifies = column !== undefined && token?.text === token?.singular && !verb
  reading.at += noun.length
  draft.lastTable = table.index
  draft.lastTableEnd = reading.at
  if (verb) {
    draft.lastVerb = table.index
    relate(reading, table.index)
    return true
  }
  if (qualifies) return true
  if (draft.pending?.fn === "count") {
    draft.measures.push({ ...rowsOf(table.index), distinct: draft.pending.distinct })
    draft.pending = null
    draft.subject ??= table.index
    return true
  }
  if (draft.pending) return true
  if (draft.subject === null && draft.measures.length === 0) {
    draft.subject = table.index
    return true
  }
  draft.subject ??= table.index
  relate(reading, table.index)
  return true
}

const asMeasure = (reading: Reading, ref: Ref): boolean => {
  const { draft } = reading
  const { pending } = draft
  if (!pending) return false
  const { fn, distinct } = pending
  const numeric = ref.column.category === "number"
  if (fn !== "count" && !numeric) return false
  draft.measures.push({
    fn: fn === "count" && numeric && !distinct ? "sum" : fn,
    of: columnExpression(ref),
    distinct: fn === "count" && (distinct || !numeric),
  })
  // `average and maximum salary` leaves nothing pending; the operand serves both.
  draft.pending = null
  return true
}

export const columnRule: Rule = reading => {
  const { draft } = reading
  const pendingNumber =
    draft.pending && draft.pending.fn !== "count" ? nounAt(reading, reading.at, isNumber) : undefined
  const noun = pendingNumber ?? nounAt(reading)
  if (!noun || noun.meaning.kind === "table" || noun.meaning.kind === "flag") return false
  if (noun.meaning.kind === "role") {
    const inHead =
      draft.conditions.length === 0 && draft.measures.length === 0 && !draft.pending && draft.subject === null
    return inHead && project(reading, noun)
  }
  const ref = refOf(noun.meaning)
  if (!ref) return false
  if (draft.pending && asMeasure(reading, ref)) {
    reading.at += noun.length
    draft.lastColumn = ref
    return true
  }
  const token = reading.tokens[reading.at]
  const verb = /(?:ed|ing|born|earns?|costs?|weighs?)$/.test(token?.text ?? "") && noun.length === 1
  draft.lastColumn = ref
  const inHead = draft.conditions.length === 0 && draft.measures.length === 0 && !draft.ranking && !verb
  const free =
    draft.subject === null ||
    draft.columns.length > 0 ||
    match(textFrom(reading, reading.at + noun.length), "of|for|$") !== null
  reading.at += noun.length
  // `open tickets` does not ask for `opened_at`.
  const isName = ref.column.category !== "date" || noun.score >= 0.95
  if (inHead && isName && (free || draft.columns.length > 0) && !draft.percentage) draft.columns.push(ref)
  return true
}
