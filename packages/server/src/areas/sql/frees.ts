/** Which statements make a database smaller: what may still be said in one that is read-only for its size. */
import type { Frees } from "../databases/offers.ts"
import { findInTree, isTree } from "./syntax-tree.ts"

const KINDS: ReadonlyMap<string, Frees> = new Map([
  ["DropStmt", "objects"],
  ["DropdbStmt", "objects"],
  ["DeleteStmt", "rows"],
  ["TruncateStmt", "rows"],
  ["VacuumStmt", "rows"],
])

/** Of the whole text: one statement, without another one inside (a DELETE whose WITH inserts). */
export const freesOf = (tree: unknown): Frees | undefined => {
  const statements = isTree(tree) && Array.isArray(tree.stmts) ? tree.stmts : []
  const [first] = statements
  const statement: unknown = statements.length === 1 && isTree(first) ? first.stmt : undefined
  if (!isTree(statement)) return undefined
  const [kind = ""] = Object.keys(statement)
  const content = statement[kind]
  // ANALYZE has the same node.
  if (kind === "VacuumStmt" && !(isTree(content) && content.is_vacuumcmd === true)) return undefined
  const writes = findInTree(content, key => /^(?:Insert|Update|Merge|Call|Do)Stmt$/.test(key) || undefined)
  return writes ? undefined : KINDS.get(kind)
}
