/** What a statement answers, in a sentence. */
import type { Catalog } from "./catalog.ts"
import { dateLiteral } from "./dates.ts"
import type { Condition, Expression, Group, Measure, Query, Sorting, Test } from "./query.ts"

const words = {
  count: "the number of",
  sum: "the total of",
  avg: "the average of",
  min: "the lowest",
  max: "the highest",
  median: "the median of",
}

const listOf = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? "") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

const datesText = (from: Date | null, to: Date | null): string => {
  if (from && to) return `from ${dateLiteral(from)} to before ${dateLiteral(to)}`
  return from ? `from ${dateLiteral(from)} on` : `before ${to ? dateLiteral(to) : ""}`
}

type Names = (index: number) => string

const expressionText = (names: Names, of: Expression): string => {
  if (of.kind === "rows") return names(of.table)
  if (of.kind === "product") return of.factors.map(({ column }) => column.name).join(" times ")
  return `${of.ref.column.name} of ${names(of.ref.table)}`
}

const measureText = (names: Names, { fn, of, distinct }: Measure): string =>
  `${words[fn]} ${distinct ? "different " : ""}${expressionText(names, of)}`

const groupText = (names: Names, group: Group): string => {
  if (group.kind === "entity")
    return group.role ? (group.role.columns[0] ?? "") : `row of ${names(group.table)}`
  return group.kind === "bucket" ? `${group.unit} of ${group.ref.column.name}` : group.ref.column.name
}

const testText = (names: Names, test: Test): string => {
  if (test.kind === "any") return test.tests.map(each => testText(names, each)).join(" or ")
  if (test.kind === "related") {
    const what = test.measure ? measureText(names, test.measure) : `the number of ${names(test.table)}`
    return test.op ? `${what} is ${test.op} ${test.value}` : `rows of ${names(test.table)} belong to it`
  }
  const { name } = test.ref.column
  switch (test.kind) {
    case "compare":
      return `${name} ${test.op} ${test.value}`
    case "in":
      return `${name} is ${test.values.join(" or ")}`
    case "between":
      return `${name} is from ${test.low} to ${test.high}`
    case "dates":
      return `${name} is ${datesText(test.from, test.to)}`
    case "text":
      return `${name} is ${test.exact ? "" : "like "}${test.pattern}`
    case "null":
      return `${name} is missing`
    case "average":
      return `${name} ${test.op} its average`
    case "against":
      return `${name} ${test.op} that of ${test.role.columns[0] ?? ""}`
  }
}

const sortingText = (names: Names, sorting: Sorting): string => {
  const by =
    sorting.by === "measure"
      ? measureText(names, sorting.measure)
      : sorting.by === "group"
        ? "group"
        : expressionText(names, sorting.expression)
  return `${by}, ${sorting.direction === "desc" ? "highest" : "lowest"} first`
}

const shownText = (names: Names, query: Query): string => {
  if (query.percentage) return `what percentage of ${names(query.base)} meet the conditions`
  if (query.measures.length > 0) return listOf(query.measures.map(each => measureText(names, each)))
  const own = query.star || query.columns.length === 0 ? [names(query.base)] : []
  return listOf([...own, ...query.columns.map(({ column, table }) => `${column.name} of ${names(table)}`)])
}

const limitText = ({ firstPer, limit }: Query): string => {
  if (firstPer !== null) return `, the first ${firstPer} of each`
  return limit === null ? "" : `, at most ${limit} rows`
}

export const explain = (catalog: Catalog, query: Query): string => {
  const names: Names = index => catalog.tables[index]?.name ?? ""
  const condition = ({ test, negated }: Condition) =>
    negated ? `not (${testText(names, test)})` : testText(names, test)
  const having = ({ measure, op, value }: Query["having"][number]) =>
    `${measureText(names, measure)} ${op} ${value}`
  const part = (lead: string, texts: readonly string[]) => (texts.length > 0 ? `${lead}${listOf(texts)}` : "")
  const sentence = [
    `Shows ${shownText(names, query)}`,
    part(
      " for each ",
      query.groups.map(each => groupText(names, each)),
    ),
    part(", where ", query.conditions.map(condition)),
    part(", keeping groups where ", query.having.map(having)),
    part(
      ", ordered by ",
      query.order.map(each => sortingText(names, each)),
    ),
    limitText(query),
  ]
  return `${sentence.join("")}.`
}
