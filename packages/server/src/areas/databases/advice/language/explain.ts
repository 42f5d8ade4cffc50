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

export const explain = (catalog: Catalog, query: Query): string => {
  const table = (index: number) => catalog.tables[index]?.name ?? ""
  const expression = (of: Expression): string => {
    if (of.kind === "rows") return table(of.table)
    if (of.kind === "product") return of.factors.map(({ column }) => column.name).join(" times ")
    return of.kind === "age"
      ? `age by ${of.ref.column.name}`
      : `${of.ref.column.name} of ${table(of.ref.table)}`
  }
  const measure = ({ fn, of, distinct }: Measure) =>
    `${words[fn]} ${distinct ? "different " : ""}${expression(of)}`
  const group = (each: Group): string => {
    if (each.kind === "entity")
      return each.role ? (each.role.columns[0] ?? "") : `row of ${table(each.table)}`
    return each.kind === "bucket" ? `${each.unit} of ${each.ref.column.name}` : `${each.ref.column.name}`
  }
  const test = (each: Test): string => {
    switch (each.kind) {
      case "related": {
        const what = each.measure ? measure(each.measure) : `the number of ${table(each.table)}`
        return each.op ? `${what} is ${each.op} ${each.value}` : `rows of ${table(each.table)} belong to it`
      }
      case "any":
        return each.tests.map(test).join(" or ")
      case "compare":
        return `${each.ref.column.name} ${each.op} ${each.value}`
      case "in":
        return `${each.ref.column.name} is ${each.values.join(" or ")}`
      case "between":
        return `${each.ref.column.name} is from ${each.low} to ${each.high}`
      case "dates":
        return `${each.ref.column.name} is ${datesText(each.from, each.to)}`
      case "text":
        return each.exact
          ? `${each.ref.column.name} is ${each.pattern}`
          : `${each.ref.column.name} is like ${each.pattern}`
      case "null":
        return `${each.ref.column.name} is missing`
      case "average":
        return `${each.ref.column.name} ${each.op} its average`
      case "against":
        return `${each.ref.column.name} ${each.op} that of ${each.role.columns[0] ?? ""}`
    }
  }
  const condition = ({ test: each, negated }: Condition) => (negated ? `not (${test(each)})` : test(each))
  const sorting = (each: Sorting): string => {
    const by =
      each.by === "measure"
        ? measure(each.measure)
        : each.by === "group"
          ? "group"
          : expression(each.expression)
    return `${by}, ${each.direction === "desc" ? "highest" : "lowest"} first`
  }
  const shown = query.percentage
    ? `what percentage of ${table(query.base)} meet the conditions`
    : query.measures.length > 0
      ? listOf(query.measures.map(measure))
      : query.columns.length > 0
        ? `${listOf(query.columns.map(({ column, table: owner }) => `${column.name} of ${table(owner)}`))}`
        : table(query.base)
  const parts = [
    `Shows ${shown}`,
    query.groups.length > 0 ? ` for each ${listOf(query.groups.map(group))}` : "",
    query.periods.length > 0
      ? `, side by side ${listOf(query.periods.map(({ from, to }) => datesText(from, to)))}`
      : "",
    query.conditions.length > 0 ? `, where ${listOf(query.conditions.map(condition))}` : "",
    query.having.length > 0
      ? `, keeping groups where ${listOf(query.having.map(each => `${measure(each.measure)} ${each.op} ${each.value}`))}`
      : "",
    query.order.length > 0 ? `, ordered by ${listOf(query.order.map(sorting))}` : "",
    query.firstPer !== null
      ? `, the first ${query.firstPer} of each`
      : query.limit !== null
        ? `, at most ${query.limit} rows`
        : "",
  ]
  return `${parts.join("")}.`
}
