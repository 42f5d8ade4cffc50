/** Values for the parameters of a statement whose real ones are not known, from what the statistics know. */
import type { Relation, RelationColumn, Relations } from "./relations.ts"
import { as, type Node, walk } from "./syntax.ts"
import type { Block, Predicate } from "./usage.ts"

const LIMIT_TYPICAL = 20

const middle = <Value>(values: readonly Value[]): Value | undefined => values[Math.floor(values.length / 2)]
const at = <Value>(values: readonly Value[], share: number): Value | undefined =>
  values[Math.min(values.length - 1, Math.floor(values.length * share))]

/** A value that is neither the rarest nor the most common; for a range, one that leaves a tenth of the rows. */
const typical = ({ use, operator }: Predicate, column: RelationColumn): string | undefined => {
  const { bounds, common_values: common } = column
  if (use === "pattern") return "%svc%"
  if (use !== "range") return middle(bounds ?? []) ?? middle(common ?? [])
  const ordered = bounds ?? [...(common ?? [])].sort()
  return operator.startsWith(">")
    ? at(ordered, 0.9)
    : operator.startsWith("<")
      ? at(ordered, 0.1)
      : middle(ordered)
}

const quotedElement = (value: string) => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`

/** The numbers of parameters that stand for whole arrays: `= ANY ($1)`. */
const arrayParameters = (tree: Node): ReadonlySet<number> => {
  const found = new Set<number>()
  walk(tree, (type, node) => {
    const parameter = as(node.rexpr, "ParamRef")
    if (type === "A_Expr" && node.kind === "AEXPR_OP_ANY" && parameter) found.add(Number(parameter.number))
  })
  return found
}

const countParameters = (tree: Node): ReadonlyMap<number, number> => {
  const found = new Map<number, number>()
  walk(tree, (type, node) => {
    if (type !== "SelectStmt") return
    const [limit, offset] = [as(node.limitCount, "ParamRef"), as(node.limitOffset, "ParamRef")]
    if (limit) found.set(Number(limit.number), LIMIT_TYPICAL)
    if (offset) found.set(Number(offset.number), 0)
  })
  return found
}

const columnFor = async (
  block: Block,
  predicate: Predicate,
  relations: Relations,
): Promise<RelationColumn | undefined> => {
  for (const table of block.tables) {
    if (predicate.alias !== undefined && predicate.alias !== table.alias) continue
    const relation: Relation | undefined = await relations(table)
    const column = relation?.columns.find(({ name }) => name === predicate.column)
    if (column) return column
  }
  return undefined
}

/** One text for each parameter; undefined when nothing is known of one of them. */
export const typicalValues = async (
  { tree, parameterCount }: { readonly tree: Node; readonly parameterCount: number },
  blocks: readonly Block[],
  relations: Relations,
): Promise<string[] | undefined> => {
  const arrays = arrayParameters(tree)
  const values = new Map([...countParameters(tree)].map(([number, count]) => [number, String(count)]))
  for (const block of blocks) {
    for (const predicate of block.predicates) {
      const column =
        predicate.expression === undefined ? await columnFor(block, predicate, relations) : undefined
      for (const value of predicate.values) {
        if (value.kind !== "parameter" || !column || values.has(value.number)) continue
        const text = typical(predicate, column)
        if (text !== undefined)
          values.set(value.number, arrays.has(value.number) ? `{${quotedElement(text)}}` : text)
      }
    }
  }
  const all = Array.from({ length: parameterCount }, (_, index) => values.get(index + 1))
  return all.every(value => value !== undefined) ? all : undefined
}
