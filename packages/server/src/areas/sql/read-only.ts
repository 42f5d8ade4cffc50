/** Which statements a read-only caller may send: a judgement over the syntax tree of PostgreSQL's own grammar. */
import { isDenied } from "./denied-functions.ts"
import { findInTree, isTree, lastName, type Tree } from "./syntax-tree.ts"

export type ReadOnlyCheck =
  | { readonly allowed: true }
  /** `reason` completes "only SELECT, SHOW and EXPLAIN are allowed": what is not. */
  | { readonly allowed: false; readonly reason: string }

const ALLOWED: ReadOnlyCheck = { allowed: true }
const refuse = (reason: string): ReadOnlyCheck => ({ allowed: false, reason })

/** Parts of a SELECT that are more than reading, whatever stands in them. */
const REFUSED_PARTS: ReadonlyMap<string, string> = new Map([
  ["intoClause", "SELECT INTO creates a table"],
  ["IntoClause", "SELECT INTO creates a table"],
  ["lockingClause", "FOR UPDATE and FOR SHARE lock rows"],
  ["LockingClause", "FOR UPDATE and FOR SHARE lock rows"],
])

const judgePart = (key: string, value: unknown): string | undefined => {
  const refused = REFUSED_PARTS.get(key)
  if (refused !== undefined) return refused
  // Statements inside a statement: the body of a WITH, a subquery. Only SELECT reads.
  if (key.endsWith("Stmt") && key !== "SelectStmt") return `${key.slice(0, -4).toUpperCase()} is not a SELECT`
  if (key === "FuncCall" && isTree(value)) {
    const name = lastName(value.funcname)
    if (isDenied(name.toLowerCase())) return `the function ${name} is not for read-only use`
  }
  return undefined
}

const judgeTree = (root: Tree): ReadOnlyCheck => {
  const reason = findInTree(root, judgePart)
  return reason === undefined ? ALLOWED : refuse(reason)
}

const judgeStatement = (statement: unknown): ReadOnlyCheck => {
  if (!isTree(statement)) return refuse("this is no statement")
  const [kind = "", ...others] = Object.keys(statement)
  const content = statement[kind]
  if (others.length > 0 || !isTree(content)) return refuse("this is no statement")
  if (kind === "SelectStmt") return judgeTree(statement)
  if (kind === "VariableShowStmt") return ALLOWED
  if (kind === "ExplainStmt") {
    const { query } = content
    // Planning a write needs the right to write, so nothing is lost by asking for a SELECT here too.
    return isTree(query) && "SelectStmt" in query
      ? judgeTree(content)
      : refuse("only a SELECT can be explained")
  }
  return refuse(`${kind.replace(/Stmt$/, "").toUpperCase()} is not a SELECT`)
}

/** Judges the parse tree of a whole text, as `libpg-query` gives it. A text without any statement is allowed. */
export const judge = (tree: unknown): ReadOnlyCheck => {
  const statements = isTree(tree) && Array.isArray(tree.stmts) ? tree.stmts : []
  if (statements.length > 1) return refuse("one statement at a time")
  const [first] = statements
  if (first === undefined) return ALLOWED
  return judgeStatement(isTree(first) ? first.stmt : undefined)
}
