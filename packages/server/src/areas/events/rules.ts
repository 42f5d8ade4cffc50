import { matchesType } from "../../services/deliveries/patterns.ts"

/** Which types of event a filter lets through. No pattern at all is no filter. */
export const matchesFilter = (patterns: readonly string[], eventType: string): boolean =>
  patterns.length === 0 || patterns.some(pattern => matchesType(pattern, eventType))
