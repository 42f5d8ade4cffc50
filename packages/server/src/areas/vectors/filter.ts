/** Reads filters in Qdrant's grammar, and the short form `{field: value}`. What it cannot read is named by its place. */
import { VECTOR_ID_BYTES_MAX } from "@svc/contract"
import { isRawNumber, type RawNumber, toDoubles } from "../../kernel/exact-json.ts"
import { fault } from "../../kernel/fault.ts"
import { type Bound, type Condition, type Scalar, timeOf } from "../../ports/vectors/port.ts"
import { textOfId } from "./values.ts"

type Fields = Readonly<Record<string, unknown>>

const DEPTH_MAX = 8
const CONDITIONS_MAX = 256
/** Values of one list. */
const VALUES_MAX = 1_000
const KEY_LENGTH_MAX = 256

const CLAUSES: ReadonlySet<string> = new Set(["must", "should", "must_not", "min_should"])
/** What conditions without a key of their own are made of. */
const WHOLE_CONDITIONS: ReadonlySet<string> = new Set(["has_id", "is_empty", "is_null"])
const FIELD_CONDITIONS: ReadonlySet<string> = new Set(["match", "range", "values_count"])

const refuse = (location: string, message: string): never => {
  throw fault("validation_failed", undefined, { errors: [{ location, message }] })
}

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value)

const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" ||
  typeof value === "boolean" ||
  (typeof value === "number" && Number.isFinite(value))

const object = (value: unknown, place: string): Fields =>
  isObject(value) ? value : refuse(place, "must be an object")

const only = (fields: Fields, known: ReadonlySet<string>, place: string): void => {
  for (const name of Object.keys(fields)) {
    if (!known.has(name)) refuse(`${place}.${name}`, `is not known here; use ${[...known].join(", ")}`)
  }
}

const list = (value: unknown, place: string): readonly unknown[] => {
  if (!Array.isArray(value)) return refuse(place, "must be a list")
  return value.length <= VALUES_MAX ? value : refuse(place, `has more than ${VALUES_MAX} entries`)
}

const scalars = (value: unknown, place: string): Scalar[] =>
  list(value, place).map((entry, n) =>
    isScalar(entry) ? entry : refuse(`${place}[${n}]`, "must be a text, a number or a truth value"),
  )

/** `[]` behind a name says "of any element", which is so anyway. */
const pathOf = (key: unknown, place: string): string =>
  typeof key === "string" && key.length > 0 && key.length <= KEY_LENGTH_MAX
    ? key.replaceAll("[]", "")
    : refuse(place, `must be a text of 1 to ${KEY_LENGTH_MAX} characters`)

const MATCHES = new Set(["value", "any", "except"])

const readMatch = (path: string, value: unknown, place: string): Condition => {
  const match = object(value, place)
  only(match, MATCHES, place)
  if (Object.keys(match).length !== 1) refuse(place, "must have one of value, any and except")
  if ("value" in match) {
    if (!isScalar(match.value)) return refuse(`${place}.value`, "must be a text, a number or a truth value")
    return { kind: "in", path, values: [match.value] }
  }
  if ("except" in match) return { kind: "notIn", path, values: scalars(match.except, `${place}.except`) }
  const values = scalars(match.any, `${place}.any`)
  return values.length > 0 ? { kind: "in", path, values } : refuse(`${place}.any`, "must not be empty")
}

const BOUNDS = new Set(["gt", "gte", "lt", "lte"])

interface Range {
  readonly lower: Bound | undefined
  readonly upper: Bound | undefined
  readonly areTimes: boolean
}

const readRange = (value: unknown, place: string): Range => {
  const range = object(value, place)
  only(range, BOUNDS, place)
  const given = Object.entries(range).filter(([, bound]) => bound !== null && bound !== undefined)
  if (given.length === 0) refuse(place, "must have at least one of gt, gte, lt and lte")
  const areTimes = given.every(([, bound]) => typeof bound === "string")
  const bound = (name: string, inclusive: boolean): Bound | undefined => {
    const limit = range[name]
    if (limit === null || limit === undefined) return undefined
    const number = typeof limit === "string" && areTimes ? timeOf(limit) : limit
    if (typeof number !== "number" || !Number.isFinite(number))
      return refuse(`${place}.${name}`, "must be a number, or an RFC 3339 time as all other bounds")
    return { value: number, inclusive }
  }
  if ("gt" in range && "gte" in range) refuse(place, "has both gt and gte")
  if ("lt" in range && "lte" in range) refuse(place, "has both lt and lte")
  return {
    lower: bound("gt", false) ?? bound("gte", true),
    upper: bound("lt", false) ?? bound("lte", true),
    areTimes,
  }
}

const readCount = (path: string, value: unknown, place: string): Condition => {
  const { lower, upper, areTimes } = readRange(value, place)
  if (areTimes) refuse(place, "must have numbers")
  // Between whole numbers there is nothing, so an open bound is the closed one beside it.
  const min = lower === undefined ? 0 : lower.inclusive ? Math.ceil(lower.value) : Math.floor(lower.value) + 1
  const max =
    upper === undefined
      ? Number.POSITIVE_INFINITY
      : upper.inclusive
        ? Math.floor(upper.value)
        : Math.ceil(upper.value) - 1
  return { kind: "count", path, min, max }
}

const readField = (fields: Fields, place: string): Condition => {
  only(fields, new Set(["key", ...FIELD_CONDITIONS]), place)
  const path = pathOf(fields.key, `${place}.key`)
  const of: Condition[] = []
  if ("match" in fields) of.push(readMatch(path, fields.match, `${place}.match`))
  if ("range" in fields) {
    const { areTimes, lower, upper } = readRange(fields.range, `${place}.range`)
    of.push({ kind: areTimes ? "times" : "numbers", path, lower, upper })
  }
  if ("values_count" in fields) of.push(readCount(path, fields.values_count, `${place}.values_count`))
  const [first] = of
  if (!first) return refuse(place, `must have one of ${[...FIELD_CONDITIONS].join(", ")}`)
  return of.length === 1 ? first : { kind: "all", of }
}

const readIds = (value: unknown, place: string): Condition => {
  const ids = list(value, place).map((id, n) => {
    const text = Number.isSafeInteger(id) || isRawNumber(id) ? textOfId(id as number | RawNumber) : id
    if (typeof text === "string" && Buffer.byteLength(text) <= VECTOR_ID_BYTES_MAX) return text
    return refuse(`${place}[${n}]`, `must be an id of at most ${VECTOR_ID_BYTES_MAX} bytes`)
  })
  return ids.length > 0 ? { kind: "id", ids } : refuse(place, "must not be empty")
}

const readWhole = (fields: Fields, place: string): Condition => {
  const [name = "", ...others] = Object.keys(fields)
  if (others.length > 0) refuse(place, `${name} stands alone in a condition`)
  if (name === "has_id") return readIds(fields.has_id, `${place}.has_id`)
  const inner = object(fields[name], `${place}.${name}`)
  only(inner, new Set(["key"]), `${place}.${name}`)
  const path = pathOf(inner.key, `${place}.${name}.key`)
  return name === "is_null" ? { kind: "null", path } : { kind: "count", path, min: 0, max: 0 }
}

/** `{color: "red", size: [1, 2], sold: null}` */
const readFlat = (fields: Fields, place: string): Condition => {
  const of = Object.entries(fields).map(([key, value]): Condition => {
    const path = pathOf(key, place)
    if (value === null) return { kind: "null", path }
    if (isObject(value))
      return refuse(`${place}.${key}`, "must be a value or a list of values; see must and should")
    return Array.isArray(value)
      ? readMatch(path, { any: value }, `${place}.${key}`)
      : readMatch(path, { value }, `${place}.${key}`)
  })
  return { kind: "all", of }
}

/** Ids are compared digit by digit; other numbers as the doubles that an index holds. */
const withDoubles = (value: unknown, key?: string): unknown => {
  if (isRawNumber(value)) return key === "has_id" ? value : toDoubles(value)
  if (Array.isArray(value)) return value.map(item => withDoubles(item, key))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withDoubles(inner, name)]))
}

/** The condition of a filter in a request; throws `validation_failed` that names what is wrong with it. */
export const readFilter = (given: Fields): Condition => {
  const filter = withDoubles(given) as Fields
  let conditions = 0

  const readCondition = (value: unknown, place: string, depth: number): Condition => {
    conditions += 1
    if (conditions > CONDITIONS_MAX) refuse(place, `a filter has at most ${CONDITIONS_MAX} conditions`)
    const fields = object(value, place)
    const names = Object.keys(fields)
    if ("key" in fields) return readField(fields, place)
    if (names.some(name => WHOLE_CONDITIONS.has(name))) return readWhole(fields, place)
    if (names.some(name => CLAUSES.has(name))) return readClauses(fields, place, depth + 1)
    return refuse(place, "is no condition: it has no key, has_id, is_empty, is_null, or clause")
  }

  const readList = (value: unknown, place: string, depth: number): Condition[] =>
    isObject(value)
      ? [readCondition(value, place, depth)]
      : list(value, place).map((entry, n) => readCondition(entry, `${place}[${n}]`, depth))

  const readMinimum = (value: unknown, place: string, depth: number): Condition => {
    const fields = object(value, place)
    only(fields, new Set(["conditions", "min_count"]), place)
    const least = fields.min_count
    if (typeof least !== "number" || !Number.isInteger(least) || least < 1)
      return refuse(`${place}.min_count`, "must be a whole number from 1")
    return { kind: "atLeast", least, of: readList(fields.conditions, `${place}.conditions`, depth) }
  }

  const readClauses = (fields: Fields, place: string, depth: number): Condition => {
    if (depth > DEPTH_MAX) refuse(place, `filters are nested at most ${DEPTH_MAX} deep`)
    only(fields, CLAUSES, place)
    const of: Condition[] = []
    const clause = (name: string, kind: "all" | "any" | "none") => {
      const given = fields[name]
      const parts = given === undefined || given === null ? [] : readList(given, `${place}.${name}`, depth)
      if (parts.length > 0) of.push({ kind, of: parts })
    }
    clause("must", "all")
    clause("should", "any")
    clause("must_not", "none")
    if (fields.min_should !== undefined && fields.min_should !== null)
      of.push(readMinimum(fields.min_should, `${place}.min_should`, depth))
    const [first] = of
    return first && of.length === 1 ? first : { kind: "all", of }
  }

  const place = "body.filter"
  const names = Object.keys(filter)
  if (names.some(name => CLAUSES.has(name))) return readClauses(filter, place, 1)
  const isCondition =
    names.some(name => WHOLE_CONDITIONS.has(name)) || (names.includes("key") && names.length > 1)
  return isCondition ? readCondition(filter, place, 1) : readFlat(filter, place)
}
