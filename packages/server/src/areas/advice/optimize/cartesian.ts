/** Tables of one FROM that no condition ties together: every row of one meets every row of the other. */
import { type PlanNode, planNodes } from "./explain.ts"
import type { Relations } from "./relations.ts"
import { as, isNode, listOf, type Node, stringsOf, walk } from "./syntax.ts"

interface FromClause {
  readonly tables: {
    readonly alias: string
    readonly schema: string | undefined
    readonly relation: string
  }[]
  readonly conditions: unknown[]
  /** Groups of aliases that USING or NATURAL ties together. */
  readonly tied: string[][]
  /** Holds something else than tables, which may refer to the others. */
  other: boolean
}

const readFrom = (item: unknown, clause: FromClause): string[] => {
  const table = as(item, "RangeVar")
  if (table) {
    const relation = String(table.relname)
    const alias = isNode(table.alias) ? String(table.alias.aliasname) : relation
    const schema = typeof table.schemaname === "string" ? table.schemaname : undefined
    clause.tables.push({ alias, schema, relation })
    return [alias]
  }
  const join = as(item, "JoinExpr")
  if (!join) {
    clause.other = true
    return []
  }
  const both = [...readFrom(join.larg, clause), ...readFrom(join.rarg, clause)]
  if (join.quals !== undefined) clause.conditions.push(join.quals)
  if (join.isNatural === true || listOf(join.usingClause).length > 0) clause.tied.push(both)
  return both
}

const conjuncts = (condition: unknown): unknown[] => {
  const all = as(condition, "BoolExpr")
  return all?.boolop === "AND_EXPR" ? listOf(all.args).flatMap(conjuncts) : [condition]
}

/** The plan has a nested loop of several rows by several rows that nothing filters. */
const multiplies = (plan: PlanNode): boolean =>
  planNodes(plan).some(({ "Node Type": type, "Plan Rows": rows, Plans: [outer, inner] = [] }) => {
    if (type !== "Nested Loop" || !outer || !inner) return false
    const [left, right] = [outer["Plan Rows"], inner["Plan Rows"]]
    return left > 1 && right > 1 && rows >= left * right * 0.9
  })

const groupsOf = async (select: Node, relations: Relations): Promise<string[][]> => {
  const clause: FromClause = { tables: [], conditions: [], tied: [], other: false }
  for (const item of listOf(select.fromClause)) readFrom(item, clause)
  if (clause.other || clause.tables.length < 2) return []
  const columns = await Promise.all(
    clause.tables.map(async table => ({
      alias: table.alias,
      names: new Set((await relations(table))?.columns.map(({ name }) => name)),
    })),
  )
  const aliasesOf = (condition: unknown): string[] => {
    const found = new Set<string>()
    walk(condition, (type, node) => {
      if (type !== "ColumnRef") return
      const names = stringsOf(node.fields)
      const [qualifier, column] = [names.at(-2), names.at(-1) ?? ""]
      for (const { alias, names: own } of columns)
        if (qualifier === undefined ? own.has(column) : qualifier === alias) found.add(alias)
    })
    return [...found]
  }
  const all = [...clause.conditions, select.whereClause].flatMap(conjuncts)
  const ties = [...clause.tied, ...all.map(aliasesOf)]
  let groups = clause.tables.map(({ alias }) => [alias])
  for (const tie of ties) {
    const touched = groups.filter(group => group.some(alias => tie.includes(alias)))
    if (touched.length > 1) groups = [...groups.filter(group => !touched.includes(group)), touched.flat()]
  }
  return groups
}

export const cartesianJoin = async ({
  tree,
  relations,
  plan,
}: {
  tree: Node
  relations: Relations
  plan: PlanNode
}): Promise<{ rule: string; message: string; example: string | null }[]> => {
  if (!multiplies(plan)) return []
  const selects: Node[] = []
  walk(tree, (type, node) => {
    if (type === "SelectStmt") selects.push(node)
  })
  for (const select of selects) {
    const groups = await groupsOf(select, relations)
    const [first, second] = groups
    if (!first || !second) continue
    const names = groups.map(group => group.join(", "))
    const message = `No condition ties ${names.join(" to ")}, so every row of one is combined with every row of the other: about ${Math.round(plan["Plan Rows"])} rows in all. Add the condition that joins them.`
    return [
      { rule: "cartesian_join", message, example: `JOIN ${second[0]} ON ${second[0]}.id = ${first[0]}.…_id` },
    ]
  }
  return []
}
