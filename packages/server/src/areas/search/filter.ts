/** The grammar of `filter`: `{"color":"red","tag":["a","b"],"year":{"gte":2020}}`. */
import { isRawNumber, parseJson } from "../../kernel/exact-json.ts"
import { fault } from "../../kernel/fault.ts"
import type { FilterCondition, Scalar } from "../../ports/search/port.ts"

const CONDITIONS_MAX = 16
const VALUES_MAX = 100
const DEPTH_MAX = 8
const BOUNDS = new Set(["gt", "gte", "lt", "lte"])

const refuse = (reason: string): never => {
  throw fault("invalid_parameter", { reason })
}

const isScalar = (value: unknown): value is Scalar =>
  isRawNumber(value)
    ? Number.isFinite(Number(value.rawJSON))
    : ["string", "number", "boolean"].includes(typeof value)

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0")

/** `price.net` → `["price", "net"]` */
export const pathOf = (name: string): string[] => {
  const path = name.split(".")
  if (path.length > DEPTH_MAX || path.includes("") || !isStorable(name))
    refuse("a field of filter and facets has up to 8 names, separated by dots")
  return path
}

const isNumber = (value: unknown): boolean =>
  typeof value === "number" || (isRawNumber(value) && isScalar(value))

const range = (path: readonly string[], bounds: Record<string, unknown>): FilterCondition => {
  const entries = Object.entries(bounds)
  const fits = entries.every(
    ([name, bound]) =>
      BOUNDS.has(name) && (isNumber(bound) || (typeof bound === "string" && isStorable(bound))),
  )
  if (entries.length === 0 || !fits) refuse("a range of filter has gt, gte, lt or lte with a number or text")
  return { path, range: bounds }
}

const condition = ([name, value]: [string, unknown]): FilterCondition => {
  const path = pathOf(name)
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value))
    return range(path, value as Record<string, unknown>)
  const anyOf = Array.isArray(value) ? value : [value]
  const fits = anyOf.every(one => isScalar(one) && (typeof one !== "string" || isStorable(one)))
  if (anyOf.length === 0 || anyOf.length > VALUES_MAX || !fits)
    refuse("a field of filter has a text, number, boolean, a list of up to 100 of them, or a range")
  return { path, anyOf }
}

export const parseFilter = (text: string | undefined): FilterCondition[] => {
  if (text === undefined || text === "") return []
  let filter: unknown
  try {
    filter = parseJson(text)
  } catch {
    refuse("filter is not JSON")
  }
  if (typeof filter !== "object" || filter === null || Array.isArray(filter))
    return refuse("filter is a JSON object")
  const entries = Object.entries(filter)
  if (entries.length > CONDITIONS_MAX) refuse("filter has at most 16 conditions")
  return entries.map(condition)
}
