/** What a filter asks, whatever grammar it was written in. `areas/vectors/filter.ts` reads Qdrant's. */

/** A value that conditions compare with. Strings, numbers and truth values are never equal to one another. */
export type Scalar = string | number | boolean

export interface Bound {
  readonly value: number
  readonly inclusive: boolean
}

/**
 * A path names fields joined by dots. What lies there is looked up through arrays, so it may be several values;
 * a condition on values holds when any of them fits. `flattenMetadata` says exactly which values a path has.
 */
export type Condition =
  | { readonly kind: "all" | "any" | "none"; readonly of: readonly Condition[] }
  /** At least so many of them hold. */
  | { readonly kind: "atLeast"; readonly least: number; readonly of: readonly Condition[] }
  /** A value is one of these. */
  | { readonly kind: "in"; readonly path: string; readonly values: readonly Scalar[] }
  /** A value is none of these. */
  | { readonly kind: "notIn"; readonly path: string; readonly values: readonly Scalar[] }
  /** A number between the bounds; for `times`, an RFC 3339 text, by its milliseconds since the epoch. */
  | {
      readonly kind: "numbers" | "times"
      readonly path: string
      readonly lower: Bound | undefined
      readonly upper: Bound | undefined
    }
  | { readonly kind: "null"; readonly path: string }
  /** How many values there are, from `min` to `max`: null and a missing field count none, an array its elements. */
  | { readonly kind: "count"; readonly path: string; readonly min: number; readonly max: number }
  | { readonly kind: "id"; readonly ids: readonly string[] }

export const isWithin = (value: number, lower: Bound | undefined, upper: Bound | undefined): boolean =>
  (lower === undefined || (lower.inclusive ? value >= lower.value : value > lower.value)) &&
  (upper === undefined || (upper.inclusive ? value <= upper.value : value < upper.value))

const TIME = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)?)?$/

/**
 * Milliseconds since the epoch of an RFC 3339 time, also of a date alone or a time without zone, which is UTC then;
 * undefined for any other text.
 */
export const timeOf = (text: string): number | undefined => {
  if (text.length < 10 || text.length > 40 || !TIME.test(text)) return undefined
  const hasZone = text.length === 10 || /(?:[Zz]|[+-]\d\d:\d\d)$/.test(text)
  const ms = Date.parse(`${text.replace(" ", "T").toUpperCase()}${hasZone ? "" : "Z"}`)
  return Number.isNaN(ms) ? undefined : ms
}

export interface PathValues {
  readonly scalars: Scalar[]
  count: number
  hasNull: boolean
}

/** Paths of one vector; what is past them is kept and given back, and not filtered by. */
export const PATHS_MAX = 512
const VALUES_MAX = 4096

/**
 * Every path of a metadata object with its values: the scalars there, those inside arrays included. Arrays of objects
 * lead on to their fields, so `{a: [{b: 1}, {b: 2}]}` has the values 1 and 2 at `a.b`.
 */
export const flattenMetadata = (metadata: Readonly<Record<string, unknown>>): Map<string, PathValues> => {
  const paths = new Map<string, PathValues>()
  let values = 0

  const at = (path: string): PathValues | undefined => {
    const known = paths.get(path)
    if (known || paths.size >= PATHS_MAX) return known
    const made = { scalars: [], count: 0, hasNull: false }
    paths.set(path, made)
    return made
  }
  const take = (value: unknown, path: string, entry: PathValues): void => {
    if (value === null) entry.hasNull = true
    else if (Array.isArray(value)) for (const element of value) take(element, path, entry)
    else if (typeof value === "object") enter(value as Record<string, unknown>, `${path}.`)
    else if (values < VALUES_MAX) {
      values += 1
      entry.scalars.push(value as Scalar)
    }
  }
  const enter = (object: Readonly<Record<string, unknown>>, prefix: string): void => {
    for (const [name, value] of Object.entries(object)) {
      const path = prefix + name
      const entry = at(path)
      if (!entry) continue
      entry.count += Array.isArray(value) ? value.length : value === null ? 0 : 1
      take(value, path, entry)
    }
  }
  enter(metadata, "")
  return paths
}
