/** JSON as the platform speaks it, whose numbers may have more digits than a JavaScript number holds. */

/** What becomes of a number that a JavaScript number would write differently. */
export type NumberMode = "bigint" | "exact"

/** A number with its own digits; `JSON.stringify` writes them as they came. */
export interface ExactNumber {
  readonly rawJSON: string
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

interface ExactJson {
  /** Node has it from 21 on, browsers since 2025. */
  readonly rawJSON?: (text: string) => ExactNumber
  readonly isRawJSON?: (value: unknown) => boolean
  parse(text: string, reviver: Reviver): unknown
}

const json = JSON as unknown as ExactJson

const INTEGER = /^-?\d+$/
/** A text without these has no number whose digits could be lost. A reviver is slow, and most replies need none. */
const SUSPECT = { bigint: /\d{16}/, exact: /\d{16}|\d[.eE]|-0/ } as const

const asBigint: Reviver = (_key, value, context) => {
  const source = context?.source
  if (typeof value !== "number" || source === undefined || Number.isSafeInteger(value)) return value
  return INTEGER.test(source) ? BigInt(source) : value
}

const asExact: Reviver = (_key, value, context) => {
  const source = context?.source
  if (typeof value !== "number" || source === undefined || String(value) === source) return value
  return json.rawJSON ? json.rawJSON(source) : value
}

/** Throws SyntaxError. */
export const parseNumbers = (text: string, mode: NumberMode): unknown => {
  if (!SUSPECT[mode].test(text)) return JSON.parse(text)
  return json.parse(text, mode === "exact" ? asExact : asBigint)
}

const writeBigint = (_key: string, value: unknown): unknown => {
  if (typeof value !== "bigint") return value
  if (!json.rawJSON)
    throw new TypeError("this JavaScript engine cannot send a bigint: it has no JSON.rawJSON")
  return json.rawJSON(String(value))
}

/** Parses JSON that a program hands on: the digits of its numbers stay. Throws SyntaxError. */
export const parseExact = (text: string): unknown => parseNumbers(text, "exact")

export const isExactNumber = (value: unknown): value is ExactNumber => json.isRawJSON?.(value) === true

/** JSON of a value that may hold bigints and exact numbers; undefined where `JSON.stringify` is. */
export const writeNumbers = (value: unknown): string => JSON.stringify(value, writeBigint)
