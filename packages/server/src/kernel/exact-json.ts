/**
 * JSON whose numbers keep their digits. A number that a double would write differently (an integer above 2^53, `1.10`,
 * `1e2`) is parsed as the object of `JSON.rawJSON`, which `JSON.stringify` writes as it came. All other numbers are
 * numbers.
 */

/** Tells a number that kept its text from the numbers that need not. */
export interface RawNumber {
  readonly rawJSON: string
}

interface RawJson {
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): value is RawNumber
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
}

// Node has these; TypeScript's library does not describe them yet.
const { rawJSON, isRawJSON, parse } = JSON as unknown as RawJson

export const isRawNumber = isRawJSON

const QUOTE = 34
const MINUS = 45
const DOT = 46
const ZERO = 48
const NINE = 57
const UPPER_E = 69
const BACKSLASH = 92
const LOWER_E = 101
/** Every integer of so many digits is a double. */
const DIGITS_SAFE = 15

const keepsDigits = (text: string): boolean => String(Number(text)) === text

/** Where the string ends that begins at `from`; the text's length when it does not. */
const endOfString = (text: string, from: number): number => {
  for (let at = text.indexOf('"', from + 1); at > 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE

/** Whether a JSON text has a number that a double would write differently. It looks at numbers only where they are short. */
export const hasRawNumbers = (text: string): boolean => {
  const { length } = text
  for (let at = 0; at < length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
    } else if (isDigit(code) || code === MINUS) {
      const start = at
      let isPlain = code !== MINUS || text.charCodeAt(at + 1) !== ZERO
      for (at += 1; at < length; at += 1) {
        const next = text.charCodeAt(at)
        if (isDigit(next)) continue
        // The sign of an exponent follows its letter, so it need not be told from others.
        if (next !== DOT && next !== LOWER_E && next !== UPPER_E && next !== MINUS && next !== 43) break
        isPlain = false
      }
      if ((!isPlain || at - start > DIGITS_SAFE) && !keepsDigits(text.slice(start, at))) return true
    } else {
      at += 1
    }
  }
  return false
}

const keepDigits = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
  typeof value === "number" && source !== undefined && String(value) !== source ? rawJSON(source) : value

/** Parses a JSON text; numbers keep their digits. Throws SyntaxError. */
export const parseJson = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  if (!hasRawNumbers(text)) return value
  try {
    return parse(text, keepDigits)
  } catch {
    // Nested too deeply for a reviver; the depth limit rejects it.
    return value
  }
}

/** A JSON number with the digits of `text`. */
export const exactNumber = (text: string): number | RawNumber => {
  const value = Number(text)
  return String(value) === text ? value : rawJSON(text)
}

const mapRaw = (value: unknown, map: (raw: RawNumber) => unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(item => mapRaw(item, map))
  if (isRawNumber(value)) return map(value)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapRaw(inner, map)]))
}

/** The same value with the nearest double in place of every raw number, for code that computes with it. */
export const toDoubles = (value: unknown): unknown => mapRaw(value, ({ rawJSON: text }) => Number(text))

/** The same value with a text in place of every raw number, for code that prints it. */
export const toTexts = (value: unknown): unknown => mapRaw(value, ({ rawJSON: text }) => text)
