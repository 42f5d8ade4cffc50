/** A meaning as one SELECT. */
import { labelOf } from "./catalog.ts"
import {
  conditionsSql,
  expressionSql,
  measureSql,
  reachesMany,
  relatedMeasureSql,
  type Writer,
} from "./conditions.ts"
import { quoteIdentifier } from "./identifiers.ts"
import {
  type Condition,
  type Expression,
  type Group,
  type Measure,
  type Query,
  type Sorting,
  tableOfExpression,
} from "./query.ts"
import { createScope, type Scope } from "./scope.ts"
import { singularOf } from "./words.ts"

interface Output {
  readonly sql: string
  readonly name: string
}

interface Parts {
  readonly items: readonly Output[]
  readonly scope: Scope
  readonly where: readonly string[]
  readonly groupBy?: readonly string[]
  readonly having?: readonly string[]
  readonly orderBy?: readonly string[]
  readonly limit: number | null
  readonly distinct?: boolean
}

const nameOfExpression = (writer: Writer, expression: Expression): string => {
  if (expression.kind === "rows") return singularOf(writer.catalog.tables[expression.table]?.name ?? "row")
  if (expression.kind === "product") return "amount"
  return expression.ref.column.name
}

const prefixes = {
  count: "",
  sum: "total_",
  avg: "average_",
  min: "lowest_",
  max: "highest_",
  median: "median_",
}

const nameOfMeasure = (writer: Writer, { fn, of }: Measure): string => {
  const name = nameOfExpression(writer, of)
  if (fn === "count") return `${name}_count`
  return name.startsWith(prefixes[fn]) ? name : `${prefixes[fn]}${name}`
}

const bucketSql = (column: string, unit: string): string => {
  if (unit === "weekday") return `extract(isodow FROM ${column})`
  if (unit === "hour of day") return `extract(hour FROM ${column})`
  const bucket = `date_trunc('${unit}', ${column})`
  return unit === "hour" || unit === "minute" ? bucket : `${bucket}::date`
}

interface GroupSql {
  readonly shown: readonly Output[]
  readonly keys: readonly string[]
}

const groupSql = (writer: Writer, scope: Scope, group: Group): GroupSql => {
  const { reserved, tables } = writer.catalog
  if (group.kind === "entity") {
    const table = tables[group.table]
    const alias = scope.reach(group.table, group.role)
    const column = (name: string) => `${alias}.${quoteIdentifier(name, reserved)}`
    const labels = table ? labelOf(table) : []
    const entity = group.role?.columns[0]?.replace(/_id$/, "") ?? singularOf(table?.name ?? "")
    const shown = labels.map(({ name }) => ({ sql: column(name), name: labels.length === 1 ? entity : name }))
    return {
      shown,
      keys: [...new Set([...(table?.primaryKey ?? []).map(column), ...shown.map(({ sql }) => sql)])],
    }
  }
  const column = scope.column(group.ref)
  if (group.kind === "column")
    return { shown: [{ sql: column, name: group.ref.column.name }], keys: [column] }
  const sql = bucketSql(column, group.unit)
  return { shown: [{ sql, name: group.unit.replaceAll(" ", "_") }], keys: [sql] }
}

const withNames = (writer: Writer, items: readonly Output[]): string[] => {
  const used = new Map<string, number>()
  return items.map(({ sql, name }) => {
    if (sql.endsWith("*")) return sql
    const count = (used.get(name) ?? 0) + 1
    used.set(name, count)
    const alias = quoteIdentifier(count === 1 ? name : `${name}_${count}`, writer.catalog.reserved)
    return sql === alias || sql.endsWith(`.${alias}`) ? sql : `${sql} AS ${alias}`
  })
}

const write = (writer: Writer, parts: Parts): string =>
  [
    `SELECT ${parts.distinct ? "DISTINCT " : ""}${withNames(writer, parts.items).join(", ")}`,
    parts.scope.from(),
    ...(parts.where.length > 0 ? [`WHERE ${parts.where.join("\n  AND ")}`] : []),
    ...(parts.groupBy && parts.groupBy.length > 0 ? [`GROUP BY ${parts.groupBy.join(", ")}`] : []),
    ...(parts.having && parts.having.length > 0 ? [`HAVING ${parts.having.join(" AND ")}`] : []),
    ...(parts.orderBy && parts.orderBy.length > 0 ? [`ORDER BY ${parts.orderBy.join(", ")}`] : []),
    ...(parts.limit === null ? [] : [`LIMIT ${parts.limit}`]),
  ].join("\n")

/** Without a column alone, one scope shows bare names: `SELECT * FROM customers WHERE city = 'Rome'`. */
const unqualified = (sql: string, scope: Scope): string => {
  const lines = sql.split("\n")
  if (/\bJOIN\b|\(SELECT\b/.test(sql) || !lines[1]?.startsWith("FROM ")) return sql
  const alias = scope.reach(scope.base)
  // Strings stay as they are: a value may look like a column.
  const pieces = sql.split(/((?:E)?'(?:[^'\\]|''|\\.)*')/)
  return pieces
    .map((piece, index) =>
      index % 2 === 1
        ? piece
        : piece.replaceAll(`${alias}.`, (found, at: number) =>
            /[\w".]/.test(piece[at - 1] ?? " ") ? found : "",
          ),
    )
    .join("")
}

const directionSql = (sql: string, direction: "asc" | "desc", nullable: boolean): string =>
  `${sql}${direction === "desc" ? " DESC" : ""}${nullable && direction === "desc" ? " NULLS LAST" : ""}`

const nullable = (expression: Expression): boolean =>
  expression.kind === "product" || (expression.kind !== "rows" && !expression.ref.column.notNull)

/** Conditions on the related rows that a ranking measures belong in its subquery, the others stay outside. */
const splitForScalar = (scope: Scope, measure: Measure, conditions: readonly Condition[]) => {
  const target = scope.wayTo(tableOfExpression(measure.of))
  const first = target?.steps[0]
  const inside = conditions.filter(condition => {
    if (condition.test.kind === "related" || !reachesMany(scope, condition)) return false
    const table = condition.test.kind === "any" ? -1 : condition.test.ref.table
    const step = scope.wayTo(table)?.steps[0]
    return step !== undefined && step.key === first?.key && step.forward === first?.forward
  })
  return { inside, outside: conditions.filter(condition => !inside.includes(condition)) }
}

const orderList = (
  writer: Writer,
  scope: Scope,
  order: readonly Sorting[],
  conditions: readonly Condition[],
): { sql: string[]; shown: Output[]; outside: readonly Condition[] } => {
  const shown: Output[] = []
  let outside = conditions
  const sql = order.flatMap(sorting => {
    if (sorting.by === "expression") {
      const column = expressionSql(writer, scope, sorting.expression)
      return [directionSql(column, sorting.direction, nullable(sorting.expression))]
    }
    if (sorting.by === "group") return []
    const split = splitForScalar(scope, sorting.measure, outside)
    outside = split.outside
    const name = nameOfMeasure(writer, sorting.measure)
    const table = tableOfExpression(sorting.measure.of)
    shown.push({ sql: relatedMeasureSql(writer, scope, sorting.measure, table, split.inside), name })
    const alias = quoteIdentifier(name, writer.catalog.reserved)
    return [directionSql(alias, sorting.direction, sorting.measure.fn !== "count")]
  })
  return { sql, shown, outside }
}

const listSql = (writer: Writer, query: Query): string => {
  const scope = createScope(writer.catalog, query.base, new Map(), writer.ambiguities)
  const order = orderList(writer, scope, query.order, query.conditions)
  const columns = query.columns.map(ref => {
    const foreign = ref.table !== query.base || ref.role
    const owner =
      ref.role?.columns[0]?.replace(/_id$/, "") ?? singularOf(writer.catalog.tables[ref.table]?.name ?? "")
    return { sql: scope.column(ref, true), name: foreign ? `${owner}_${ref.column.name}` : ref.column.name }
  })
  const all = query.star || columns.length === 0
  const where = conditionsSql(writer, scope, order.outside)
  const joined = /\bJOIN\b/.test(scope.from())
  const star = {
    sql: joined || columns.length + order.shown.length > 0 ? `${scope.reach(query.base)}.*` : "*",
    name: "",
  }
  const items = [...(all ? [star] : []), ...columns, ...order.shown]
  const sql = write(writer, {
    items,
    scope,
    where,
    orderBy: order.sql,
    limit: query.limit,
    distinct: query.distinct,
  })
  return unqualified(sql, scope)
}

const orderGroups = (writer: Writer, scope: Scope, query: Query, groups: readonly GroupSql[]): string[] =>
  query.order.flatMap(sorting => {
    if (sorting.by === "group") {
      const sql = groups[sorting.index]?.shown[0]?.sql
      return sql ? [directionSql(sql, sorting.direction, false)] : []
    }
    if (sorting.by === "measure") {
      const { measure, direction } = sorting
      return [directionSql(measureSql(writer, scope, measure), direction, measure.fn !== "count")]
    }
    return [directionSql(expressionSql(writer, scope, sorting.expression), sorting.direction, false)]
  })

const aggregateSql = (writer: Writer, query: Query): string => {
  const scope = createScope(writer.catalog, query.base, new Map(), writer.ambiguities)
  const groups = query.groups.map(group => groupSql(writer, scope, group))
  const where = conditionsSql(writer, scope, query.conditions)
  const measures = query.measures.map(measure => ({
    sql: measureSql(writer, scope, measure),
    name: nameOfMeasure(writer, measure),
  }))
  const having = query.having.map(
    ({ measure, op, value }) => `${measureSql(writer, scope, measure)} ${op} ${value}`,
  )
  const ordered = orderGroups(writer, scope, query, groups)
  // Without a wish, time runs forward.
  const byTime = query.groups[0]?.kind === "bucket" ? [groups[0]?.keys[0] ?? ""] : []
  const items = [...groups.flatMap(({ shown }) => shown), ...measures]
  const groupBy = groups.flatMap(({ keys }) => keys)
  const orderBy = ordered.length > 0 ? ordered : byTime
  return unqualified(
    write(writer, { items, scope, where, groupBy, having, orderBy, limit: query.limit }),
    scope,
  )
}

const percentageSql = (writer: Writer, query: Query): string => {
  const scope = createScope(writer.catalog, query.base, new Map(), writer.ambiguities)
  const groups = query.groups.map(group => groupSql(writer, scope, group))
  const among = query.conditions.filter(({ test }) => test.kind === "dates")
  const counted = query.conditions.filter(({ test }) => test.kind !== "dates")
  const share = conditionsSql(writer, scope, counted).join(" AND ")
  const sql = share
    ? `round(100.0 * count(*) FILTER (WHERE ${share}) / nullif(count(*), 0), 2)`
    : "round(100.0 * count(*) / sum(count(*)) OVER (), 2)"
  const items = [...groups.flatMap(({ shown }) => shown), { sql, name: "percentage" }]
  const where = conditionsSql(writer, scope, among)
  const groupBy = groups.flatMap(({ keys }) => keys)
  return unqualified(write(writer, { items, scope, where, groupBy, limit: query.limit }), scope)
}

const firstPerSql = (writer: Writer, query: Query): string => {
  const scope = createScope(writer.catalog, query.base, new Map(), writer.ambiguities)
  const groups = query.groups.map(group => groupSql(writer, scope, group))
  const order = query.order.flatMap(sorting =>
    sorting.by === "expression"
      ? [
          directionSql(
            expressionSql(writer, scope, sorting.expression),
            sorting.direction,
            nullable(sorting.expression),
          ),
        ]
      : [],
  )
  const keys = groups.flatMap(group => group.keys)
  const where = conditionsSql(writer, scope, query.conditions)
  const own = new Set(writer.catalog.tables[query.base]?.columns.map(({ name }) => name))
  const shown = groups
    .flatMap(group => group.shown)
    .filter(({ sql }) => !sql.startsWith(`${scope.reach(query.base)}.`))
  const named = shown.map(({ sql, name }) => ({ sql, name: own.has(name) ? `${name}_name` : name }))
  const rank = {
    sql: `row_number() OVER (PARTITION BY ${keys.join(", ")} ORDER BY ${order.join(", ")})`,
    name: "place",
  }
  const items = [{ sql: `${scope.reach(query.base)}.*`, name: "" }, ...named, rank]
  const inner = write(writer, { items, scope, where, limit: null })
  const indented = inner.replaceAll("\n", "\n  ")
  return `SELECT *\nFROM (\n  ${indented}\n) AS ranked\nWHERE place <= ${query.firstPer ?? 1}`
}

export const statementOf = (query: Query, writer: Writer): string => {
  if (query.firstPer !== null && query.groups.length > 0) return firstPerSql(writer, query)
  if (query.percentage) return percentageSql(writer, query)
  if (query.measures.length > 0 || query.groups.length > 0) return aggregateSql(writer, query)
  return listSql(writer, query)
}
