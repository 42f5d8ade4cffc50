/** Indexes that a statement might use better than what there is; whether they help is for a measurement to say. */
import { distinctValues, type Relation, type RelationColumn, type Relations, shareOf } from "./relations.ts"
import type { Block, OrderTerm, Predicate, TableUse } from "./usage.ts"

export interface Candidate {
  readonly relation: Relation
  /** What follows the table's name: `USING btree (a, b DESC) INCLUDE (c) WHERE done`. */
  readonly definition: string
  /** Needs `CREATE EXTENSION pg_trgm`. */
  readonly trigrams: boolean
  /** Of an expression: without statistics of its own the planner guesses. */
  readonly expression: boolean
  /** A guess from column widths, for when it is not built. */
  readonly sizeBytes: number
}

/** A table that fits into a few pages is read whole faster than through any index. */
const ROWS_MIN = 500
const CANDIDATES_OF_TABLE_MAX = 8
const CANDIDATES_MAX = 16
const KEY_COLUMNS_MAX = 4
const INCLUDED_COLUMNS_MAX = 4
const INCLUDED_WIDTH_MAX_BYTES = 64
const PARTIAL_SHARE_MAX = 0.25
const ENTRY_BYTES = 20

interface IndexablePredicate {
  readonly predicate: Predicate
  readonly column: RelationColumn
}

const COMPARABLE_CATEGORIES: ReadonlySet<string> = new Set(["B", "D", "E", "I", "N", "S", "T", "V", "U"])
const NOT_COMPARABLE: ReadonlySet<string> = new Set([
  "json",
  "jsonb",
  "xml",
  "point",
  "tsvector",
  "box",
  "polygon",
])

const isComparable = ({ type, category }: RelationColumn) =>
  COMPARABLE_CATEGORIES.has(category) && !NOT_COMPARABLE.has(type)

const sizeOf = (relation: Relation, columns: readonly RelationColumn[]): number =>
  Math.round(
    relation.rows * (ENTRY_BYTES + columns.reduce((sum, { width_bytes }) => sum + (width_bytes ?? 8), 0)),
  )

const literal = (value: string | boolean | number): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value)

const termOf = (column: RelationColumn, { descending, nullsFirst }: OrderTerm): string => {
  const nulls =
    nullsFirst === undefined || nullsFirst === descending ? "" : nullsFirst ? " NULLS FIRST" : " NULLS LAST"
  return `${column.quoted}${descending ? " DESC" : ""}${nulls}`
}

/** `LIKE 'begin%'` reads an index in the order of bytes, which is the order of our databases only. */
const keyOf = ({ predicate, column }: IndexablePredicate): string =>
  predicate.operator === "~~" ? `${column.quoted} text_pattern_ops` : column.quoted

/** Whether an index begins with these columns, in whatever order. */
const isCovered = (relation: Relation, columns: readonly RelationColumn[], method = "btree"): boolean =>
  relation.indexes.some(
    index =>
      index.method === method &&
      !index.partial &&
      !index.expression &&
      columns.every(({ name }) => index.columns.slice(0, columns.length).includes(name)),
  )

const inverted = (relation: Relation, { predicate, column }: IndexablePredicate): Candidate | undefined => {
  const using = (method: string, operatorClass = "") => ({
    relation,
    definition: `USING ${method} (${column.quoted}${operatorClass})`,
    trigrams: operatorClass.includes("trgm"),
    expression: false,
    sizeBytes: sizeOf(relation, [column]) * 2,
  })
  if (predicate.use === "pattern") return column.category === "S" ? using("gin", " gin_trgm_ops") : undefined
  if (isCovered(relation, [column], "gin") || isCovered(relation, [column], "gist")) return undefined
  if (column.type === "jsonb") return using("gin", predicate.operator === "@>" ? " jsonb_path_ops" : "")
  if (column.type === "tsvector" || column.category === "A") return using("gin")
  return column.category === "R" ? using("gist") : undefined
}

const expressionIndex = (relation: Relation, { predicate, column }: IndexablePredicate): Candidate => ({
  relation,
  definition:
    predicate.use === "pattern"
      ? `USING gin ((${predicate.expression}) gin_trgm_ops)`
      : `USING btree ((${predicate.expression}))`,
  trigrams: predicate.use === "pattern",
  expression: true,
  sizeBytes: sizeOf(relation, [column]),
})

/** Holds only the rows that one condition of the statement picks, when those are few. */
const partial = (
  relation: Relation,
  condition: IndexablePredicate,
  others: readonly RelationColumn[],
): Candidate | undefined => {
  const { predicate, column } = condition
  const [value] = predicate.values
  const key = others.length > 0 ? others : [column]
  const build = (where: string, share: number) => ({
    relation,
    definition: `USING btree (${key.map(({ quoted }) => quoted).join(", ")}) WHERE ${where}`,
    trigrams: false,
    expression: false,
    sizeBytes: Math.round(sizeOf(relation, key) * share),
  })
  if (predicate.isNull) {
    const share = column.null_share ?? 1
    return share <= PARTIAL_SHARE_MAX ? build(`${column.quoted} IS NULL`, share) : undefined
  }
  if (predicate.values.length !== 1 || value?.kind !== "constant") return undefined
  const share = shareOf(
    column,
    value.value === true ? "t" : value.value === false ? "f" : String(value.value),
  )
  if (share === undefined || share > PARTIAL_SHARE_MAX) return undefined
  if (value.value === true && predicate.operator === "is") return build(column.quoted, share)
  if (value.value === false && predicate.operator === "not") return build(`NOT ${column.quoted}`, share)
  return build(`${column.quoted} = ${literal(value.value)}`, share)
}

interface TablePart {
  readonly relation: Relation
  readonly wanted: readonly IndexablePredicate[]
  readonly order: ReadonlyArray<{ readonly column: RelationColumn; readonly term: OrderTerm }>
  /** All columns that the block reads of the table; null for whole rows. */
  readonly reads: readonly RelationColumn[] | null
}

const partOf = (block: Block, table: TableUse, relation: Relation): TablePart => {
  const only = block.tables.length === 1
  const own = ({ alias, column }: { alias: string | undefined; column: string }) =>
    alias === undefined || alias === table.alias
      ? relation.columns.find(({ name }) => name === column)
      : undefined
  const wanted = block.predicates.flatMap(predicate => {
    const column = own(predicate)
    return column ? [{ predicate, column }] : []
  })
  const ordered = block.order.flatMap(term => {
    const column = own(term)
    return column ? [{ column, term }] : []
  })
  const reads = block.columns?.flatMap(read => own(read) ?? []) ?? null
  return {
    relation,
    wanted,
    order: ordered.length === block.order.length && (only || block.limited) ? ordered : [],
    reads: reads && [...new Set(reads)],
  }
}

const plain = (wanted: readonly IndexablePredicate[], use: Predicate["use"]): IndexablePredicate[] => {
  const found = new Map<string, IndexablePredicate>()
  for (const one of wanted) {
    const fits =
      one.predicate.use === use && one.predicate.expression === undefined && isComparable(one.column)
    if (fits && !found.has(one.column.name)) found.set(one.column.name, one)
  }
  return [...found.values()]
}

const btreesOf = ({ relation, wanted, order, reads }: TablePart): Candidate[] => {
  const rarestFirst = (a: IndexablePredicate, b: IndexablePredicate) =>
    distinctValues(b.column, relation.rows) - distinctValues(a.column, relation.rows)
  const equal = plain(wanted, "equal").sort(rarestFirst)
  const range = plain(wanted, "range").sort(rarestFirst)
  const joins = plain(wanted, "join").sort(rarestFirst)
  const found: Candidate[] = []
  const add = (keys: readonly IndexablePredicate[], sorted: TablePart["order"] = [], covering = false) => {
    const rest = sorted.filter(({ column }) => !keys.some(key => key.column === column))
    const columns = [...keys.map(({ column }) => column), ...rest.map(({ column }) => column)]
    if (columns.length === 0 || columns.length > KEY_COLUMNS_MAX) return
    const included = covering ? (reads ?? []).filter(column => !columns.includes(column)) : []
    const width = included.reduce((sum, { width_bytes }) => sum + (width_bytes ?? 8), 0)
    if (
      covering &&
      (included.length === 0 || included.length > INCLUDED_COLUMNS_MAX || width > INCLUDED_WIDTH_MAX_BYTES)
    )
      return
    if (
      !covering &&
      rest.length === 0 &&
      isCovered(relation, columns) &&
      !keys.some(({ predicate }) => predicate.operator === "~~")
    )
      return
    const terms = [...keys.map(keyOf), ...rest.map(({ column, term }) => termOf(column, term))]
    const include = included.length > 0 ? ` INCLUDE (${included.map(({ quoted }) => quoted).join(", ")})` : ""
    const definition = `USING btree (${terms.join(", ")})${include}`
    found.push({
      relation,
      definition,
      trigrams: false,
      expression: false,
      sizeBytes: sizeOf(relation, [...columns, ...included]),
    })
  }
  const filters = [...equal, ...range.slice(0, 1)].slice(0, KEY_COLUMNS_MAX)
  if (order.length > 0) add(equal.slice(0, KEY_COLUMNS_MAX - 1), order)
  add(filters)
  for (const join of joins) add([...equal.slice(0, 2), join])
  for (const join of joins) add([join])
  for (const one of [...equal, ...range]) add([one])
  if (reads) add(filters.length > 0 ? filters : joins.slice(0, 1), [], true)
  return found
}

const ofTable = (part: TablePart): Candidate[] => {
  const { relation, wanted } = part
  const found: Candidate[] = []
  for (const one of wanted) {
    if (one.predicate.expression !== undefined) found.push(expressionIndex(relation, one))
    else if (one.predicate.use === "pattern" || one.predicate.use === "contains")
      found.push(...[inverted(relation, one)].flatMap(index => index ?? []))
    else if (one.predicate.use === "equal") {
      const others = [...plain(wanted, "range"), ...plain(wanted, "equal")]
        .map(({ column }) => column)
        .filter(column => column !== one.column)
      const ordered = part.order.map(({ column }) => column).filter(column => column !== one.column)
      found.push(
        ...[partial(relation, one, [...new Set([...others, ...ordered])].slice(0, 2))].flatMap(
          index => index ?? [],
        ),
      )
    }
  }
  const byDefinition = new Map([...found, ...btreesOf(part)].map(index => [index.definition, index]))
  return [...byDefinition.values()].slice(0, CANDIDATES_OF_TABLE_MAX)
}

/** The candidates of a statement, for its largest tables first. */
export const candidatesOf = async (blocks: readonly Block[], relations: Relations): Promise<Candidate[]> => {
  const parts: TablePart[] = []
  for (const block of blocks) {
    for (const table of block.tables) {
      const relation = await relations(table)
      if (relation && relation.rows >= ROWS_MIN) parts.push(partOf(block, table, relation))
    }
  }
  parts.sort((a, b) => b.relation.bytes - a.relation.bytes)
  const unique = new Map(
    parts.flatMap(ofTable).map(index => [`${index.relation.name} ${index.definition}`, index]),
  )
  return [...unique.values()].slice(0, CANDIDATES_MAX)
}
