/** A filter's meaning in the plainest words there are, to hold the drivers against. */
import { type Condition, isWithin, timeOf } from "../filter.ts"

type Metadata = Readonly<Record<string, unknown>>

/** What lies at a path, looked up through arrays. */
const found = (value: unknown, names: readonly string[]): unknown[] => {
  const [name, ...rest] = names
  if (name === undefined) return [value]
  if (Array.isArray(value)) return value.flatMap(element => found(element, names))
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return []
  return found((value as Metadata)[name], rest)
}

const elements = (value: unknown): unknown[] => (Array.isArray(value) ? value.flatMap(elements) : [value])

const isScalar = (value: unknown): boolean => value !== null && typeof value !== "object"

const countOf = (value: unknown): number => (Array.isArray(value) ? value.length : value === null ? 0 : 1)

export const naive = (condition: Condition, id: string, metadata: Metadata): boolean => {
  const holds = (part: Condition) => naive(part, id, metadata)
  const here = "path" in condition ? found(metadata, condition.path.split(".")) : []
  const values = here.flatMap(elements)
  switch (condition.kind) {
    case "all":
      return condition.of.every(holds)
    case "any":
      return condition.of.some(holds)
    case "none":
      return !condition.of.some(holds)
    case "atLeast":
      return condition.of.filter(holds).length >= condition.least
    case "in":
      return values.some(value => condition.values.some(wanted => wanted === value))
    case "notIn":
      return values.some(value => isScalar(value) && !condition.values.some(wanted => wanted === value))
    case "numbers":
      return values.some(
        value => typeof value === "number" && isWithin(value, condition.lower, condition.upper),
      )
    case "times":
      return values.some(value => {
        const time = typeof value === "string" ? timeOf(value) : undefined
        return time !== undefined && isWithin(time, condition.lower, condition.upper)
      })
    case "null":
      return values.includes(null)
    case "count": {
      const count = here.map(countOf).reduce((sum, one) => sum + one, 0)
      return count >= condition.min && count <= condition.max
    }
    case "id":
      return condition.ids.includes(id)
  }
}
