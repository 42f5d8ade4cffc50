/** `different` and its like: each value once. */
import { type Rule, take } from "./reading.ts"

export const distinctRule: Rule = reading => {
  if (!take(reading, "distinct|unique|different")) return false
  if (!reading.draft.pending) reading.draft.distinct = true
  else reading.draft.pending = { ...reading.draft.pending, distinct: true }
  return true
}
