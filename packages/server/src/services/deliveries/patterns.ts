/** Whether a pattern takes in a type of event: `*` all, `order.*` those that begin with `order.`, others themselves. */
export const matchesType = (pattern: string, type: string): boolean => {
  if (pattern === "*") return true
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type
}
