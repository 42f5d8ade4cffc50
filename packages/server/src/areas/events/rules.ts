/** Which types of event a filter lets through. Pure. */

/** `order.paid` as it is, `order.*` for all that begin with `order.`, `*` for all. */
const matchesPattern = (pattern: string, eventType: string): boolean => {
  if (pattern === "*") return true
  return pattern.endsWith(".*") ? eventType.startsWith(pattern.slice(0, -1)) : pattern === eventType
}

/** No pattern at all is no filter. */
export const matchesFilter = (patterns: readonly string[], eventType: string): boolean =>
  patterns.length === 0 || patterns.some(pattern => matchesPattern(pattern, eventType))
