/** Conditions as SQL: directly, or by way of related rows in a subquery. */
import type { Catalog } from "./catalog.ts"
import { dateLiteral } from "./dates.ts"
import { pathBetween } from "./graph.ts"
import { quoteIdentifier, quoteLiteral, tableSql } from "./identifiers.ts"
import { type Condition, type Expression, type Measure, roleOfTest, type Test, tableOfTest } from "./query.ts"
import { type JoinPath, type Scope, Unreachable } from "./scope.ts"

export interface Writer {
  readonly catalog: Catalog
  readonly now: Date
  /** Collects what could have meant something else. */
  readonly ambiguities: string[]
}

const valueSql = (value: string | number | boolean): string =>
  typeof value === "string" ? quoteLiteral(value) : String(value)

export const expressionSql = (_writer: Writer, scope: Scope, expression: Expression): string => {
  if (expression.kind === "column") return scope.column(expression.ref)
  if (expression.kind === "product") return expression.factors.map(ref => scope.column(ref)).join(" * ")
  return `${scope.reach(expression.table)}.*`
}

const countSql = ({ catalog }: Writer, scope: Scope, table: number): string => {
  const alias = scope.reach(table)
  const key = catalog.tables[table]?.primaryKey ?? []
  const [only] = key
  if (!scope.repeats(table) || only === undefined) return "count(*)"
  const columns = key.map(name => `${alias}.${quoteIdentifier(name, catalog.reserved)}`)
  return `count(DISTINCT ${columns.length === 1 ? columns[0] : `(${columns.join(", ")})`})`
}

export const measureSql = (writer: Writer, scope: Scope, { fn, of, distinct }: Measure): string => {
  if (of.kind === "rows") return countSql(writer, scope, of.table)
  const inner = expressionSql(writer, scope, of)
  if (fn === "median") return `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${inner})`
  return `${fn}(${distinct ? "DISTINCT " : ""}${inner})`
}

const datesSql = (column: string, from: Date | null, to: Date | null): string => {
  const parts = [
    ...(from ? [`${column} >= '${dateLiteral(from)}'`] : []),
    ...(to ? [`${column} < '${dateLiteral(to)}'`] : []),
  ]
  return parts.join(" AND ")
}

const textSql = (column: string, pattern: string, exact: boolean): string =>
  exact
    ? `lower(${column}::text) = lower(${quoteLiteral(pattern)})`
    : `${column}::text ILIKE ${quoteLiteral(pattern)}`

const directSql = (writer: Writer, scope: Scope, test: Exclude<Test, { kind: "related" }>): string => {
  if (test.kind === "any") {
    return `(${test.tests.map(each => (each.kind === "related" ? "true" : directSql(writer, scope, each))).join(" OR ")})`
  }
  const column = scope.column(test.ref)
  const quote = (name: string) => quoteIdentifier(name, writer.catalog.reserved)
  switch (test.kind) {
    case "compare":
      if (test.value === true && test.op === "=") return column
      if (test.value === false && test.op === "=") return `NOT ${column}`
      return `${column} ${test.op} ${valueSql(test.value)}`
    case "in":
      return test.values.length === 1
        ? `${column} = ${quoteLiteral(test.values[0] ?? "")}`
        : `${column} IN (${test.values.map(quoteLiteral).join(", ")})`
    case "between":
      return `${column} BETWEEN ${test.low} AND ${test.high}`
    case "dates":
      return datesSql(column, test.from, test.to)
    case "text":
      return textSql(column, test.pattern, test.exact)
    case "null":
      return `${column} IS NULL`
    case "average": {
      const table = writer.catalog.tables[test.ref.table]
      if (!table) throw new Unreachable("no such table")
      const name = quote(test.ref.column.name)
      return `${column} ${test.op} (SELECT avg(${name}) FROM ${tableSql(table, writer.catalog.reserved)})`
    }
    case "against":
      return `${column} ${test.op} ${scope.reach(test.role.to, test.role)}.${quote(test.ref.column.name)}`
  }
}

const negatedSql = (test: Test, sql: string): string => {
  if (test.kind === "null") return sql.replace(/IS NULL$/, "IS NOT NULL")
  if (test.kind === "in") return sql.replace(/ = (?=E?')/, " <> ").replace(" IN (", " NOT IN (")
  if (test.kind === "compare" && test.op === "=" && typeof test.value !== "boolean")
    return sql.replace(" = ", " <> ")
  if (test.kind === "compare" && test.op === "=") return sql.startsWith("NOT ") ? sql.slice(4) : `NOT ${sql}`
  if (test.kind === "text" && !test.exact) return sql.replace(" ILIKE ", " NOT ILIKE ")
  return `NOT (${sql})`
}

interface Bundle {
  readonly way: JoinPath
  readonly conditions: Condition[]
}

const keyOfWay = ({ from, steps }: JoinPath, many: number): string =>
  [
    from.alias,
    ...steps.slice(0, many + 1).map(({ key, forward }) => `${forward}${key.from}.${key.columns.join()}`),
  ].join()

const firstToMany = ({ steps }: JoinPath): number => steps.findIndex(({ forward }) => !forward)

interface Subquery {
  readonly inner: Scope
  /** Pairs of a column inside and the column outside that it equals. */
  readonly links: readonly (readonly [string, string])[]
}

/** The subquery's scope on the many side, and what ties it to the row outside. */
const openSubquery = (scope: Scope, catalog: Catalog, way: JoinPath): Subquery => {
  const many = firstToMany(way)
  const step = way.steps[many]
  if (!step) throw new Unreachable("no step to many rows")
  const outside = scope.follow({ from: way.from, steps: way.steps.slice(0, many) })
  const inner = scope.inner(step.key.from)
  const own = inner.reach(step.key.from)
  const quote = (name: string) => quoteIdentifier(name, catalog.reserved)
  const links = step.key.columns.map(
    (column, index) =>
      [`${own}.${quote(column)}`, `${outside}.${quote(step.key.targets[index] ?? "")}`] as const,
  )
  return { inner, links }
}

/** A measure over the related rows. They are grouped once: a subquery would be run again for each row outside. */
export const relatedMeasureSql = (
  writer: Writer,
  scope: Scope,
  measure: Measure,
  table: number,
  conditions: readonly Condition[],
): string => {
  const way = scope.wayTo(table)
  if (!way) throw new Unreachable("tables are not connected by foreign keys")
  const { inner, links } = openSubquery(scope, writer.catalog, way)
  inner.reach(table)
  const result = measureSql(writer, inner, measure)
  const where = conditionsSql(writer, inner, conditions)
  const keys = links.map(([own]) => own)
  const items = [...keys.map((key, index) => `${key} AS key_${index + 1}`), `${result} AS value`]
  const text = [
    `SELECT ${items.join(", ")}`,
    inner.from().replaceAll("\n", " "),
    ...(where.length > 0 ? [`WHERE ${where.join(" AND ")}`] : []),
    `GROUP BY ${keys.join(", ")}`,
  ].join(" ")
  const alias = scope.leftJoin(
    text,
    links.map(([, outside]) => outside),
  )
  return measure.fn === "count" ? `coalesce(${alias}.value, 0)` : `${alias}.value`
}

const bundleSql = (writer: Writer, scope: Scope, { way, conditions }: Bundle): string => {
  const lead = conditions.find(({ test }) => test.kind === "related")
  const rest = conditions.filter(each => each !== lead)
  const test = lead?.test.kind === "related" ? lead.test : undefined
  if (test?.op && test.value !== undefined) {
    const measure = test.measure ?? { fn: "count", of: { kind: "rows", table: test.table } }
    return `${relatedMeasureSql(writer, scope, measure, tableOfTest(test), rest)} ${test.op} ${test.value}`
  }
  const { inner, links } = openSubquery(scope, writer.catalog, way)
  if (test) inner.reach(test.table)
  const where = [...links.map(pair => pair.join(" = ")), ...conditionsSql(writer, inner, rest)]
  return `${lead?.negated ? "NOT " : ""}EXISTS (SELECT 1 ${inner.from().replaceAll("\n", " ")} WHERE ${where.join(" AND ")})`
}

const isToMany = (way: JoinPath): boolean => firstToMany(way) >= 0

interface KeyedBundle extends Bundle {
  readonly key: string
  readonly group: number
}

/** The related rows that the condition narrows: its own group's, or others that it is nearer to than to this row. */
const leadOf = (
  catalog: Catalog,
  way: JoinPath,
  { test, group }: Condition,
  leads: readonly KeyedBundle[],
): KeyedBundle | undefined => {
  if (test.kind === "related") return undefined
  const table = tableOfTest(test)
  return leads.find(lead => {
    const head = lead.conditions[0]
    const path = head && pathBetween(catalog, tableOfTest(head.test), table)
    if (!path) return false
    return lead.group === group || (group === 0 && path.steps.length < way.steps.length)
  })
}

/** Conditions speak of the same related rows when they go the same way and no other group claims them. */
const bundlesOf = (catalog: Catalog, scope: Scope, conditions: readonly Condition[]): Bundle[] => {
  const bundles: KeyedBundle[] = []
  const leads: KeyedBundle[] = []
  const sorted = conditions.toSorted(
    (a, b) => Number(b.test.kind === "related") - Number(a.test.kind === "related"),
  )
  for (const condition of sorted) {
    const way = scope.wayTo(tableOfTest(condition.test), roleOfTest(condition.test))
    if (!way) throw new Unreachable("tables are not connected by foreign keys")
    const lead = leadOf(catalog, way, condition, leads)
    const key = lead?.key ?? keyOfWay(way, firstToMany(way))
    const same = bundles.filter(each => each.key === key)
    const bundle =
      lead ??
      (condition.test.kind === "related"
        ? same.find(each => each.group === condition.group)
        : (same.find(each => each.group === condition.group) ??
          (condition.group === 0 ? same[0] : undefined)))
    if (bundle) bundle.conditions.push(condition)
    else {
      const made = { key, group: condition.group, way, conditions: [condition] }
      bundles.push(made)
      if (condition.test.kind === "related") leads.push(made)
    }
  }
  return bundles
}

export const reachesMany = (scope: Scope, condition: Condition): boolean => {
  const way = scope.wayTo(tableOfTest(condition.test), roleOfTest(condition.test))
  if (!way) throw new Unreachable("tables are not connected by foreign keys")
  return isToMany(way)
}

export const conditionsSql = (writer: Writer, scope: Scope, conditions: readonly Condition[]): string[] => {
  const direct: string[] = []
  const apart: Condition[] = []
  for (const condition of conditions) {
    const { test, negated } = condition
    if (reachesMany(scope, condition)) apart.push(condition)
    else if (test.kind !== "related") {
      const sql = directSql(writer, scope, test)
      direct.push(negated ? negatedSql(test, sql) : sql)
    }
  }
  return [
    ...direct,
    ...bundlesOf(writer.catalog, scope, apart).map(bundle => bundleSql(writer, scope, bundle)),
  ]
}
