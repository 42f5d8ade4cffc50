/**
 * How metadata lies in Qdrant's payload, and how conditions ask for it there. The paths are flattened by our own rule and
 * their values sorted by type, so that a condition means exactly what it means elsewhere.
 */
import { createHash } from "node:crypto"
import { type Bound, type Condition, flattenMetadata, type Scalar, timeOf } from "../../filter.ts"

export type QdrantFilter = Readonly<Record<string, unknown>>

const digest = (text: string): string => createHash("sha256").update(text).digest("hex")

/** Qdrant's ids are numbers or UUIDs. */
export const pointId = (id: string): string => {
  const hex = digest(id)
  // Version 8: a UUID of our own making (RFC 9562).
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`]
  return [...parts, hex.slice(20, 32)].join("-")
}

/** A path may hold any character, and Qdrant's keys have a grammar. */
const field = (type: "text" | "truth" | "number" | "time" | "count", path: string): string =>
  `${type}_${digest(path).slice(0, 24)}`

export const toPayload = (id: string, metadata: string): Record<string, unknown> => {
  const payload: Record<string, unknown> = { id }
  const nulls: string[] = []
  for (const [path, { scalars, count, hasNull }] of flattenMetadata(JSON.parse(metadata))) {
    const put = (type: "text" | "truth" | "number" | "time", values: readonly Scalar[]) => {
      if (values.length > 0) payload[field(type, path)] = values
    }
    const texts = scalars.filter(value => typeof value === "string")
    put("text", texts)
    put(
      "truth",
      scalars.filter(value => typeof value === "boolean"),
    )
    put(
      "number",
      scalars.filter(value => typeof value === "number"),
    )
    put(
      "time",
      texts.flatMap(text => timeOf(text) ?? []),
    )
    if (count > 0) payload[field("count", path)] = count
    if (hasNull) nulls.push(path)
  }
  if (nulls.length > 0) payload.nulls = nulls
  return payload
}

const range = (key: string, lower: Bound | undefined, upper: Bound | undefined) => ({
  key,
  range: {
    ...(lower && { [lower.inclusive ? "gte" : "gt"]: lower.value }),
    ...(upper && { [upper.inclusive ? "lte" : "lt"]: upper.value }),
  },
})

const at = (value: number): Bound => ({ value, inclusive: true })
const beside = (value: number | undefined): Bound | undefined =>
  value === undefined ? undefined : { value, inclusive: false }

const isIn = (path: string, values: readonly Scalar[]): QdrantFilter => {
  const texts = values.filter(value => typeof value === "string")
  return {
    should: [
      ...(texts.length > 0 ? [{ key: field("text", path), match: { any: texts } }] : []),
      ...values.flatMap(value => {
        if (typeof value === "boolean") return { key: field("truth", path), match: { value } }
        return typeof value === "number" ? range(field("number", path), at(value), at(value)) : []
      }),
    ],
  }
}

const exists = (key: string): QdrantFilter => ({ must_not: [{ is_empty: { key } }] })

/** Numbers have no "except" there: they lie in one of the gaps between those that are excluded. */
const isNotIn = (path: string, values: readonly Scalar[]): QdrantFilter => {
  const texts = values.filter(value => typeof value === "string")
  const numbers = values.filter(value => typeof value === "number").sort((a, b) => a - b)
  const text = field("text", path)
  const number = field("number", path)
  const gaps = [undefined, ...numbers].map((from, n) => range(number, beside(from), beside(numbers[n])))
  return {
    should: [
      texts.length > 0 ? { key: text, match: { except: texts } } : exists(text),
      ...(numbers.length > 0 ? gaps : [exists(number)]),
      ...[true, false]
        .filter(value => !values.includes(value))
        .map(value => ({ key: field("truth", path), match: { value } })),
    ],
  }
}

/** Qdrant takes a filter in the place of a condition. */
export const toFilter = (condition: Condition): QdrantFilter => {
  switch (condition.kind) {
    case "all":
      return { must: condition.of.map(toFilter) }
    case "any":
      return { should: condition.of.map(toFilter) }
    case "none":
      return { must_not: condition.of.map(toFilter) }
    case "atLeast":
      return { min_should: { conditions: condition.of.map(toFilter), min_count: condition.least } }
    case "in":
      return isIn(condition.path, condition.values)
    case "notIn":
      return isNotIn(condition.path, condition.values)
    case "numbers":
      return { must: [range(field("number", condition.path), condition.lower, condition.upper)] }
    case "times":
      return { must: [range(field("time", condition.path), condition.lower, condition.upper)] }
    case "null":
      return { must: [{ key: "nulls", match: { value: condition.path } }] }
    case "count": {
      const key = field("count", condition.path)
      const counted = range(
        key,
        at(condition.min),
        Number.isFinite(condition.max) ? at(condition.max) : undefined,
      )
      return { should: condition.min <= 0 ? [counted, { is_empty: { key } }] : [counted] }
    }
    case "id":
      return { must: [{ has_id: condition.ids.map(pointId) }] }
  }
}
