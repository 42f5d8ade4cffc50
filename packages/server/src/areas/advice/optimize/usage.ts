/** How a statement uses the columns of its tables: what an index could be made of. */
import { as, isNode, listOf, type Node, stringsOf, walk } from "./syntax.ts"

export type Use =
  /** `=`, `IN`, `= ANY`, `IS NULL`, a bare boolean. */
  | "equal"
  /** `<`, `>`, `BETWEEN`, `LIKE 'begin%'`. */
  | "range"
  /** Equal to a column of another table. */
  | "join"
  /** `LIKE '%part%'`, `ILIKE`, `~`. */
  | "pattern"
  /** `@>` and its like, on jsonb, arrays, ranges and full text. */
  | "contains"

/** A constant that a parameter or literal is compared with; a partial index needs to know it. */
export type Literal =
  | { readonly kind: "parameter"; readonly number: number }
  | { readonly kind: "constant"; readonly value: string | boolean | number }

export interface Predicate {
  readonly use: Use
  readonly operator: string
  readonly alias: string | undefined
  readonly column: string
  /** The whole left side where it is more than a column: `lower(email)`. */
  readonly expression?: string
  readonly values: readonly Literal[]
  readonly isNull?: boolean
}

export interface OrderTerm {
  readonly alias: string | undefined
  readonly column: string
  readonly descending: boolean
  readonly nullsFirst: boolean | undefined
}

export interface TableUse {
  readonly schema: string | undefined
  readonly relation: string
  readonly alias: string
}

/** One SELECT, UPDATE or DELETE of the statement with the tables it names itself. */
export interface Block {
  readonly tables: readonly TableUse[]
  readonly predicates: readonly Predicate[]
  readonly order: readonly OrderTerm[]
  /** Columns it reads at all; null when it reads whole rows. */
  readonly columns: ReadonlyArray<{ readonly alias: string | undefined; readonly column: string }> | null
  readonly limited: boolean
}

interface Column {
  readonly alias: string | undefined
  readonly column: string
}

export const columnOf = (value: unknown): Column | undefined => {
  const reference = as(value, "ColumnRef")
  if (!reference) return undefined
  const names = stringsOf(reference.fields)
  // A star among the fields is no name.
  if (names.length === 0 || names.length !== listOf(reference.fields).length) return undefined
  return { column: names.at(-1) as string, alias: names.at(-2) }
}

const unwrapped = (value: unknown): unknown => {
  const cast = as(value, "TypeCast")
  return cast ? unwrapped(cast.arg) : value
}

const constantOf = (value: unknown): Literal | undefined => {
  const inner = unwrapped(value)
  const parameter = as(inner, "ParamRef")
  if (parameter) return { kind: "parameter", number: Number(parameter.number ?? 0) }
  const constant = as(inner, "A_Const")
  if (!constant || constant.isnull) return undefined
  if (isNode(constant.ival)) return { kind: "constant", value: Number(constant.ival.ival ?? 0) }
  if (isNode(constant.boolval)) return { kind: "constant", value: constant.boolval.boolval === true }
  if (isNode(constant.sval)) return { kind: "constant", value: String(constant.sval.sval ?? "") }
  if (isNode(constant.fval)) return { kind: "constant", value: Number(constant.fval.fval) }
  return undefined
}

/** A side of a comparison that the planner knows before it reads a row: no column in it. */
const isOutside = (value: unknown): boolean => {
  let outside = true
  walk(value, type => {
    if (type === "ColumnRef" || type === "SubLink") outside = false
  })
  return outside
}

const constantsOf = (value: unknown): Literal[] => {
  const list = as(value, "List") ?? as(value, "A_ArrayExpr")
  const parts = list ? listOf(list.items ?? list.elements) : [value]
  return parts.flatMap(part => constantOf(part) ?? [])
}

const RANGES: ReadonlySet<string> = new Set(["<", "<=", ">", ">="])
const CONTAINS: ReadonlySet<string> = new Set(["@>", "<@", "&&", "@@", "?", "?|", "?&", "@?"])
const PATTERNS: ReadonlySet<string> = new Set(["~~", "~~*", "~", "~*"])
const FLIPPED: Readonly<Record<string, string>> = {
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
  "@>": "<@",
  "<@": "@>",
}

const useOf = (kind: string, operator: string, values: readonly Literal[]): Use | undefined => {
  if (kind === "AEXPR_IN" || kind === "AEXPR_OP_ANY") return operator === "=" ? "equal" : undefined
  if (kind === "AEXPR_BETWEEN" || kind === "AEXPR_BETWEEN_SYM") return "range"
  if (PATTERNS.has(operator)) {
    const [value] = values
    const begins = operator === "~~" && value?.kind === "constant" && /^[^%_]/.test(String(value.value))
    return begins ? "range" : "pattern"
  }
  if (operator === "=") return "equal"
  if (RANGES.has(operator)) return "range"
  return CONTAINS.has(operator) ? "contains" : undefined
}

/** Functions and operators of one column and constants; whether they are immutable is for the catalog to say. */
const expressionColumn = (value: unknown): Column | undefined => {
  const inner = unwrapped(value)
  if (!as(inner, "FuncCall") && !as(inner, "A_Expr") && !as(value, "TypeCast") && !as(inner, "CoalesceExpr"))
    return undefined
  const columns: Column[] = []
  let plain = true
  walk(value, (type, node) => {
    if (type === "ColumnRef") {
      const column = columnOf({ ColumnRef: node })
      if (column) columns.push(column)
      else plain = false
    }
    if (type === "ParamRef" || type === "SubLink" || type === "AggRef" || isNode(node.over)) plain = false
  })
  const [first] = columns
  return plain && first && columns.every(({ column }) => column === first.column) ? first : undefined
}

const firstLocation = (value: unknown): number => {
  let at = Number.POSITIVE_INFINITY
  walk(value, (_, node) => {
    if (typeof node.location === "number" && node.location >= 0) at = Math.min(at, node.location)
  })
  return at
}

/** Reads the conditions of one WHERE or ON that all must hold. */
const createPredicateReader = (textOf: (value: unknown) => string | undefined) => {
  const found: Predicate[] = []

  const comparison = (node: Node) => {
    const kind = String(node.kind)
    const name = stringsOf(node.name).at(-1) ?? ""
    const [left, right] = [node.lexpr, node.rexpr]
    const [own, other] = [columnOf(left), columnOf(right)]
    if (own && other) {
      if (name !== "=" || kind !== "AEXPR_OP") return
      for (const side of [own, other]) found.push({ use: "join", operator: "=", ...side, values: [] })
      return
    }
    const flipped = isOutside(left) && kind === "AEXPR_OP"
    const [side, value] = flipped ? [right, left] : [left, right]
    if (!isOutside(value)) return
    const operator = flipped ? (FLIPPED[name] ?? name) : name
    const values = constantsOf(value)
    const use = useOf(kind, operator, values)
    if (!use) return
    const column = columnOf(side)
    if (column) found.push({ use, operator, ...column, values })
    else {
      const inside = expressionColumn(side)
      const text = inside && textOf(side)
      if (inside && text) found.push({ use, operator, ...inside, values, expression: text })
    }
  }

  const read = (value: unknown): void => {
    const all = as(value, "BoolExpr")
    if (all?.boolop === "AND_EXPR") {
      for (const part of listOf(all.args)) read(part)
      return
    }
    if (all?.boolop === "NOT_EXPR") {
      const column = columnOf(listOf(all.args)[0])
      if (column)
        found.push({ use: "equal", operator: "not", ...column, values: [{ kind: "constant", value: false }] })
      return
    }
    const bare = columnOf(value)
    if (bare)
      found.push({ use: "equal", operator: "is", ...bare, values: [{ kind: "constant", value: true }] })
    const nulls = as(value, "NullTest")
    const tested = nulls && columnOf(nulls.arg)
    if (tested && nulls.nulltesttype === "IS_NULL")
      found.push({ use: "equal", operator: "is null", ...tested, values: [], isNull: true })
    const compared = as(value, "A_Expr")
    if (compared) comparison(compared)
  }
  return { found, read }
}

const tablesIn = (from: unknown, read: (condition: unknown) => void): TableUse[] => {
  const table = as(from, "RangeVar")
  if (table) {
    const alias = isNode(table.alias) ? String(table.alias.aliasname) : String(table.relname)
    const schema = typeof table.schemaname === "string" ? table.schemaname : undefined
    return [{ schema, relation: String(table.relname), alias }]
  }
  const join = as(from, "JoinExpr")
  if (!join) return []
  read(join.quals)
  return [join.larg, join.rarg].flatMap(side => tablesIn(side, read))
}

const ordersOf = (clause: unknown): OrderTerm[] => {
  const terms: OrderTerm[] = []
  for (const entry of listOf(clause)) {
    const sort = as(entry, "SortBy")
    const column = sort && columnOf(sort.node)
    if (!column) return []
    const nulls = sort.sortby_nulls
    terms.push({
      ...column,
      descending: sort.sortby_dir === "SORTBY_DESC",
      nullsFirst: nulls === "SORTBY_NULLS_FIRST" ? true : nulls === "SORTBY_NULLS_LAST" ? false : undefined,
    })
  }
  return terms
}

const readsOf = (node: Node): Block["columns"] => {
  const columns: Column[] = []
  let whole = false
  walk(node, (type, inner) => {
    if (type !== "ColumnRef") return
    const column = columnOf({ ColumnRef: inner })
    if (column) columns.push(column)
    else whole = true
  })
  return whole ? null : columns
}

/** A parenthesis before the first name is not part of the text, so its partner goes too. */
const withoutOpenParentheses = (text: string): string => {
  const excess = (text.match(/\)/g)?.length ?? 0) - (text.match(/\(/g)?.length ?? 0)
  return excess > 0 && text.endsWith(")") ? withoutOpenParentheses(text.slice(0, -1).trimEnd()) : text
}

const QUALIFIER = /^(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*)\s*\.\s*/u

/** `lower(u.email)` as an index of the table has it: `lower(email)`. An index knows no alias. */
const withoutQualifiers = (text: Buffer, from: number, expression: unknown): string => {
  const columns: { readonly at: number; readonly qualifiers: number }[] = []
  walk(expression, (type, node) => {
    if (type === "ColumnRef" && typeof node.location === "number")
      columns.push({ at: node.location - from, qualifiers: listOf(node.fields).length - 1 })
  })
  // From the end, so that the places of those before stay right.
  return columns
    .sort((a, b) => b.at - a.at)
    .reduce((left, { at, qualifiers }) => {
      let rest = left.subarray(at).toString("utf8")
      for (let count = 0; count < qualifiers; count += 1) rest = rest.replace(QUALIFIER, "")
      return Buffer.concat([left.subarray(0, at), Buffer.from(rest)])
    }, text)
    .toString("utf8")
}

/** The source text of an expression: from where it begins to where its comparison goes on. */
const sourceText = (source: Buffer, comparison: Node, side: unknown): string | undefined => {
  const from = firstLocation(side)
  const operatorAt = typeof comparison.location === "number" ? comparison.location : -1
  if (!Number.isFinite(from) || operatorAt <= from) return undefined
  const unqualified = withoutQualifiers(source.subarray(from, operatorAt), from, side)
  const text = withoutOpenParentheses(unqualified.trim())
  return text.length > 0 && text.length <= 500 ? text : undefined
}

/** Every SELECT, UPDATE and DELETE in the tree that names tables, with how it uses their columns. */
export const blocksOf = (tree: Node, sql: string): Block[] => {
  const source = Buffer.from(sql, "utf8")
  const blocks: Block[] = []
  const block = (node: Node, from: readonly unknown[]) => {
    const comparisons = new Map<unknown, Node>()
    walk(node, (type, inner) => {
      if (type === "A_Expr") for (const side of [inner.lexpr, inner.rexpr]) comparisons.set(side, inner)
    })
    const reader = createPredicateReader(side => {
      const comparison = comparisons.get(side)
      return comparison && comparison.lexpr === side ? sourceText(source, comparison, side) : undefined
    })
    const tables = from.flatMap(entry => tablesIn(entry, reader.read))
    if (tables.length === 0) return
    reader.read(node.whereClause)
    const order = ordersOf(node.sortClause)
    const columns = readsOf(node)
    blocks.push({ tables, predicates: reader.found, order, columns, limited: node.limitCount !== undefined })
  }
  walk(tree, (type, node) => {
    if (type === "SelectStmt") block(node, listOf(node.fromClause))
    if (type === "UpdateStmt") block(node, [{ RangeVar: node.relation }, ...listOf(node.fromClause)])
    if (type === "DeleteStmt") block(node, [{ RangeVar: node.relation }, ...listOf(node.usingClause)])
  })
  return blocks
}
