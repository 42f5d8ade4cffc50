/** Ways to write a statement that PostgreSQL can run faster, or that mean what was meant. */
import { cartesianJoin } from "./cartesian.ts"
import { type PlanNode, planNodes } from "./explain.ts"
import type { Relations } from "./relations.ts"
import { as, isNode, listOf, type Node, stringsOf, walk } from "./syntax.ts"
import { type Block, columnOf } from "./usage.ts"

export interface Rewrite {
  readonly rule: string
  readonly message: string
  readonly example: string | null
}

const ROWS_WITHOUT_LIMIT = 10_000
const OFFSET_MIN = 1_000
const WIDE_COLUMNS = 10

interface Looked {
  readonly tree: Node
  readonly blocks: readonly Block[]
  readonly relations: Relations
  readonly plan: PlanNode
}

type Rule = (looked: Looked) => Promise<Rewrite[]> | Rewrite[]

const selectOf = (tree: Node) => as(tree, "SelectStmt")

const hasStar = (select: Node) =>
  listOf(select.targetList).some(target => {
    const reference = as(as(target, "ResTarget")?.val, "ColumnRef")
    return listOf(reference?.fields).some(field => isNode(field) && "A_Star" in field)
  })

const selectStar: Rule = async ({ tree, blocks, relations }) => {
  const select = selectOf(tree)
  const [block] = blocks
  if (!select || !block || !hasStar(select)) return []
  const found = (await Promise.all(block.tables.map(relations))).flatMap(relation => relation ?? [])
  const count = found.reduce((sum, { columns }) => sum + columns.length, 0)
  if (count < WIDE_COLUMNS) return []
  const message = `SELECT * reads all ${count} columns. Naming those that are needed sends less, and an index may hold them all.`
  return [{ rule: "select_star", message, example: null }]
}

const notInSubquery: Rule = ({ tree }) => {
  const found: Rewrite[] = []
  walk(tree, (type, node) => {
    if (type !== "BoolExpr" || node.boolop !== "NOT_EXPR") return
    const sublink = as(listOf(node.args)[0], "SubLink")
    if (sublink?.subLinkType !== "ANY_SUBLINK" || listOf(sublink.operName).length > 0) return
    found.push({
      rule: "not_in_subquery",
      message:
        "NOT IN (SELECT …) is never true once the subquery gives a NULL, and cannot become an anti-join. NOT EXISTS can.",
      example: "WHERE NOT EXISTS (SELECT FROM other WHERE other.id = outer_table.other_id)",
    })
  })
  return found.slice(0, 1)
}

const COMPARISONS: ReadonlySet<string> = new Set(["=", "<", "<=", ">", ">="])

/** The column that a function or cast hides from an index of the plain column, with how it is hidden. */
const hiddenColumn = (side: unknown) => {
  const cast = as(side, "TypeCast")
  const type = isNode(cast?.typeName) ? stringsOf(cast.typeName.names).at(-1) : undefined
  if (cast && type) return { column: columnOf(cast.arg), by: `a cast to ${type}`, isDay: type === "date" }
  const call = as(side, "FuncCall")
  const name = stringsOf(call?.funcname).at(-1)
  if (!call || !name) return undefined
  const column = listOf(call.args)
    .map(columnOf)
    .find(found => found !== undefined)
  return { column, by: `${name}()`, isDay: name === "date" || name === "date_trunc" }
}

const hiddenFromIndex: Rule = async ({ tree, blocks, relations }) => {
  const hidden: NonNullable<ReturnType<typeof hiddenColumn>>[] = []
  walk(tree, (type, node) => {
    if (type !== "A_Expr" || !COMPARISONS.has(stringsOf(node.name).at(-1) ?? "")) return
    const found = hiddenColumn(node.lexpr)
    if (found?.column) hidden.push(found)
  })
  const found: Rewrite[] = []
  for (const { column, by, isDay } of hidden) {
    const tables = blocks.flatMap(block => block.tables)
    const owners = tables.filter(({ alias }) => column?.alias === undefined || column.alias === alias)
    const known = (await Promise.all(owners.map(relations))).flatMap(relation => relation ?? [])
    const indexed = known.some(({ indexes }) => indexes.some(({ columns }) => columns[0] === column?.column))
    if (!indexed && !isDay) continue
    const name = column?.column ?? ""
    found.push({
      rule: "function_on_column",
      message: `${by} around ${name} keeps an index on ${name} from being used.${isDay ? " A range of times means the same and can use it." : " Change the other side of the comparison, or index the expression."}`,
      example: isDay ? `WHERE ${name} >= '2026-01-01' AND ${name} < '2026-01-02'` : null,
    })
  }
  return found
}

const offsetPaging: Rule = ({ tree }) => {
  const select = selectOf(tree)
  const offset = select?.limitOffset
  if (!select || offset === undefined) return []
  const constant = as(offset, "A_Const")
  const value = isNode(constant?.ival) ? Number(constant.ival.ival ?? 0) : undefined
  if (value !== undefined && value < OFFSET_MIN) return []
  return [
    {
      rule: "offset_paging",
      message:
        "OFFSET reads and throws away every row before the page. Going on from the last row seen takes the same time for every page.",
      example: "WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT 20",
    },
  ]
}

const missingLimit: Rule = ({ tree, plan }) => {
  const select = selectOf(tree)
  const rows = plan["Plan Rows"]
  if (!select || select.limitCount !== undefined || rows < ROWS_WITHOUT_LIMIT) return []
  const message = `It gives about ${Math.round(rows)} rows and has no LIMIT.`
  return [{ rule: "missing_limit", message, example: null }]
}

const randomOrder: Rule = ({ tree }) => {
  const sorted = listOf(selectOf(tree)?.sortClause)
  const random = sorted.some(
    entry => stringsOf(as(as(entry, "SortBy")?.node, "FuncCall")?.funcname).at(-1) === "random",
  )
  if (!random) return []
  const message =
    "ORDER BY random() reads and sorts the whole table to pick a few rows. TABLESAMPLE reads a part of it."
  return [
    { rule: "order_by_random", message, example: "SELECT … FROM table_name TABLESAMPLE SYSTEM (1) LIMIT 20" },
  ]
}

const CAST = /\((?:\w+\.)?"?(\w+)"?\)::(numeric|double precision|text)\b/g
const INTEGERS: ReadonlySet<string> = new Set(["smallint", "integer", "bigint"])

/** A cast in the plan that the statement does not have was made by PostgreSQL, because the types differ. */
const implicitCast: Rule = async ({ tree, blocks, relations, plan }) => {
  const written = new Set<string>()
  walk(tree, (type, node) => {
    const column = type === "TypeCast" ? columnOf(node.arg) : undefined
    if (column) written.add(column.column)
  })
  const cast = new Map<string, string>()
  for (const { Filter: filter = "" } of planNodes(plan)) {
    for (const [, column = "", type = ""] of filter.matchAll(CAST))
      if (!written.has(column)) cast.set(column, type)
  }
  const known = (await Promise.all(blocks.flatMap(({ tables }) => tables).map(relations))).flatMap(
    found => found ?? [],
  )
  return [...cast].flatMap(([name, type]) => {
    const column = known.flatMap(({ columns }) => columns).find(one => one.name === name)
    if (!column || !INTEGERS.has(column.type)) return []
    const message = `${name} is ${column.type} and is compared with a value of type ${type}, so every row is converted and no index on ${name} is used. Send the value as ${column.type}.`
    return [{ rule: "implicit_cast", message, example: null }]
  })
}

const rules: readonly Rule[] = [
  cartesianJoin,
  notInSubquery,
  hiddenFromIndex,
  implicitCast,
  offsetPaging,
  missingLimit,
  randomOrder,
  selectStar,
]

export const rewritesOf = async (looked: Looked): Promise<Rewrite[]> =>
  (await Promise.all(rules.map(rule => rule(looked)))).flat()
