/** Walks the syntax trees that PostgreSQL's own parser makes. */

/** A node of the tree: `{ SelectStmt: { … } }`, lists of nodes, and plain values. */
export type Tree = { readonly [key: string]: unknown }

export const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null

/** The last part of a qualified name; empty where there is none. */
export const lastName = (names: unknown): string => {
  const last: unknown = Array.isArray(names) ? names.at(-1) : undefined
  const text = isTree(last) && isTree(last.String) ? last.String.sval : undefined
  return typeof text === "string" ? text : ""
}

/**
 * The first result that is not undefined, asking `find` about every part of the tree. A list of work instead of
 * recursion: trees come as deep as their sender likes.
 */
export const findInTree = <Result>(
  root: unknown,
  find: (key: string, value: unknown) => Result | undefined,
): Result | undefined => {
  const rest: unknown[] = [root]
  while (rest.length > 0) {
    const node = rest.pop()
    if (!isTree(node)) continue
    if (Array.isArray(node)) {
      for (const part of node) rest.push(part)
      continue
    }
    for (const [key, value] of Object.entries(node)) {
      const found = find(key, value)
      if (found !== undefined) return found
      rest.push(value)
    }
  }
  return undefined
}
