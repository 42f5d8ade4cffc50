/** How patterns of rules are looked for. Each takes time linear in the length of the text. */
import { isIP } from "node:net"
import { WAF_PROGRAM_SIZE_MAX, type WafMatch } from "@svc/contract"
import type { RE2JS } from "re2js"
import { parseCidrs } from "../../kernel/edges/client-address.ts"
import type { Reading } from "./readings.ts"

export interface Pattern {
  test(reading: Reading): boolean
  /** What matched, for the record: only asked of a reading that does. Undefined where that would take too long. */
  find(reading: Reading): { readonly start: number; readonly end: number } | undefined
  /** Of an expression, as far as it can be joined with others. */
  readonly expression?: { readonly source: string; readonly size: number }
}

/** Why a pattern cannot be looked for. */
export class PatternError extends Error {
  override readonly name = "PatternError"
}

/** Where a match begins takes far longer to find than that there is one, so long texts are looked through in windows. */
const WINDOW = 2_048

/** After this the end of an expression may not be its end. */
const OPEN_QUOTE = "\\Q"

const regexPattern = (expression: RE2JS, source: string): Pattern => ({
  ...(!source.includes(OPEN_QUOTE) && { expression: { source, size: expression.programSize() } }),
  test: ({ text }) => expression.test(text),
  find({ text }) {
    for (let from = 0; from < text.length || from === 0; from += WINDOW / 2) {
      const part = text.length <= WINDOW ? text : text.slice(from, from + WINDOW)
      if (!expression.test(part)) continue
      const matcher = expression.matcher(part)
      return matcher.find() ? { start: from + matcher.start(), end: from + matcher.end() } : undefined
    }
    return undefined
  },
})

const compileRegex = async (pattern: string, sizeMax: number): Promise<Pattern> => {
  const { RE2JS } = await import("re2js")
  let expression: RE2JS
  try {
    expression = RE2JS.compile(pattern)
  } catch (error) {
    throw new PatternError(error instanceof Error ? error.message : String(error))
  }
  const size = expression.programSize()
  if (size > sizeMax)
    throw new PatternError(
      `the expression has ${size} instructions, and ${sizeMax} are allowed for its targets`,
    )
  return regexPattern(expression, pattern)
}

const textPattern = (pattern: string, isPrefix: boolean): Pattern => {
  const wanted = pattern.toLowerCase()
  const at = ({ lower }: Reading): number => {
    if (isPrefix) return lower.startsWith(wanted) ? 0 : -1
    return lower.indexOf(wanted)
  }
  return {
    test: reading => at(reading) >= 0,
    find(reading) {
      const start = at(reading)
      return { start, end: start + wanted.length }
    },
  }
}

const cidrPattern = (pattern: string): Pattern => {
  let list: ReturnType<typeof parseCidrs>
  try {
    list = parseCidrs([pattern.trim()])
  } catch {
    throw new PatternError("the pattern is not an address or a range such as 203.0.113.0/24")
  }
  // Asked by itself, a list takes an address of IPv4 for one of `::/0`, by its mapped form.
  const family = pattern.includes(":") ? 6 : 4
  return {
    test: ({ text }) => isIP(text) === family && list.check(text, family === 6 ? "ipv6" : "ipv4"),
    find: ({ text }) => ({ start: 0, end: text.length }),
  }
}

/** Rejects with a PatternError. */
export const compilePattern = async (
  match: WafMatch,
  pattern: string,
  sizeMax = WAF_PROGRAM_SIZE_MAX,
): Promise<Pattern> => {
  if (match === "cidr") return cidrPattern(pattern)
  return match === "regex" ? compileRegex(pattern, sizeMax) : textPattern(pattern, match === "prefix")
}
