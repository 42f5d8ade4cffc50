/** PostgreSQL's own parse tree, read as plain data: a node is an object with one key, the name of its type. */
export type Node = Readonly<Record<string, unknown>>

export interface Statement {
  readonly sql: string
  /** `SelectStmt`, `UpdateStmt`, …. */
  readonly kind: string
  readonly tree: Node
  /** Only reads, as far as the grammar tells: no INTO, no row lock, no writing WITH. */
  readonly reads: boolean
  readonly parameterCount: number
}

const DEPTH_MAX = 500

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Visits every node below a value, itself included, with the name of its type. */
export const walk = (value: unknown, visit: (type: string, node: Node) => void, depth = 0): void => {
  if (depth > DEPTH_MAX || typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    for (const part of value) walk(part, visit, depth + 1)
    return
  }
  for (const [type, inner] of Object.entries(value)) {
    // The two sides of a UNION hold their SELECT without its type's name around it.
    if (isNode(inner) && "limitOption" in inner && (type === "larg" || type === "rarg"))
      visit("SelectStmt", inner)
    if (isNode(inner) && /^[A-Z]/.test(type)) visit(type, inner)
    walk(inner, visit, depth + 1)
  }
}

/** The node in a field, if it is of that type. */
export const as = (value: unknown, type: string): Node | undefined => {
  const inner = isNode(value) ? value[type] : undefined
  return isNode(inner) ? inner : undefined
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const stringsOf = (value: unknown): string[] =>
  listOf(value).flatMap(part => {
    const text = as(part, "String")?.sval
    return typeof text === "string" ? [text] : []
  })

const EXPLAINED: ReadonlySet<string> = new Set([
  "SelectStmt",
  "InsertStmt",
  "UpdateStmt",
  "DeleteStmt",
  "MergeStmt",
])
const WRITES: ReadonlySet<string> = new Set([
  "InsertStmt",
  "UpdateStmt",
  "DeleteStmt",
  "MergeStmt",
  "LockingClause",
  "IntoClause",
])

/** The statement, or why it is not one that can be looked at. */
export const readStatement = async (sql: string): Promise<Statement | { readonly reason: string }> => {
  // Late: it is a WebAssembly module, which begins to be compiled when it is imported.
  const { parse } = await import("libpg-query")
  let statements: readonly unknown[]
  try {
    statements = (await parse(sql)).stmts ?? []
  } catch (error) {
    return { reason: error instanceof Error ? error.message : "it cannot be parsed" }
  }
  const [only, ...others] = statements
  if (!isNode(only) || others.length > 0) return { reason: "it is not exactly one statement" }
  const [kind = "", tree] = Object.entries(only.stmt as Node)[0] ?? []
  if (!EXPLAINED.has(kind) || !isNode(tree))
    return { reason: "only SELECT, INSERT, UPDATE, DELETE and MERGE have plans" }
  let reads = kind === "SelectStmt"
  let parameterCount = 0
  walk({ [kind]: tree }, (type, node) => {
    // A field named intoClause holds its node without a type name around it.
    if (WRITES.has(type) || isNode(node.intoClause)) reads = false
    if (type === "ParamRef") parameterCount = Math.max(parameterCount, Number(node.number ?? 0))
  })
  return { sql, kind, tree: { [kind]: tree }, reads, parameterCount }
}
