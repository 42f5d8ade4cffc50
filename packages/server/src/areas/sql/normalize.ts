/** Statements without what they are about: how they are logged and told apart. */
import { createHash } from "node:crypto"
import { LRUCache } from "lru-cache"
import { type Token, tokensOf } from "./lexer.ts"

export interface Normalized {
  /** Without comments, every constant a `?`. */
  readonly sql: string
  /** 16 hexadecimal digits; the same for statements that differ in constants, lengths of lists and case alone. */
  readonly queryId: string
}

const LENGTH_MAX = 4_000
/** What comes after is not looked at: a bulk insert says what it is in its first lines. */
const READ_MAX = 50_000
const CACHED_MAX = 5_000
const CACHED_CHARACTERS_MAX = 8 * 1024 * 1024

const TIGHT_BEFORE = /^[,;.)\]]$/
const TIGHT_AFTER = /^[.([]$/
const SYMBOLS = /^[-+*/<>=~!@#%^&|`?:]$/

/** Whether the two stood apart, or read better so. */
const spaced = (before: Token, token: Token): boolean => {
  if (TIGHT_BEFORE.test(token.text) || TIGHT_AFTER.test(before.text)) return false
  if (token.text === "(" || token.text === "[") return before.kind === "symbol" || before.kind === "word"
  // The characters of one operator stay together.
  return !(SYMBOLS.test(before.text) && SYMBOLS.test(token.text))
}

const render = (text: string, fold: boolean): string => {
  let rendered = ""
  let before: Token | undefined
  for (const token of tokensOf(text)) {
    const shown = token.kind === "constant" ? "?" : token.text
    const gap = before && spaced(before, token) ? " " : ""
    rendered += gap + (fold && token.kind === "word" ? shown.toLowerCase() : shown)
    before = token
  }
  return rendered
}

const LIST = /(\?|\$\d+)(?:, (?:\?|\$\d+))+/g
const ROWS = /(\([^()]*\))(?:, \1)+/g

/** Whatever stands after a quote that is never closed is taken for a constant, so nothing of one is ever shown. */
const normalizeText = (sql: string): Normalized => {
  const text = sql.slice(0, READ_MAX)
  const shape = render(text, true).replaceAll(LIST, "$1").replaceAll(ROWS, "$1").replace(/;$/, "")
  const queryId = createHash("sha256").update(shape).digest("hex").slice(0, 16)
  return { sql: render(text, false).slice(0, LENGTH_MAX), queryId }
}

export type Normalize = (sql: string) => Normalized

export const createNormalize = (): Normalize => {
  const known = new LRUCache<string, Normalized>({
    max: CACHED_MAX,
    maxSize: CACHED_CHARACTERS_MAX,
    sizeCalculation: ({ sql }, text) => sql.length + text.length + 1,
  })
  return sql => {
    const before = known.get(sql)
    if (before) return before
    const made = normalizeText(sql)
    known.set(sql, made)
    return made
  }
}

const COMMANDS = new Set(["SELECT", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE"])
const READING = new Set(["VALUES", "TABLE"])

/** The command of a statement whose tag never came, because its rows were cut off: from its words outside brackets. */
export const commandOf = (sql: string): string | null => {
  let depth = 0
  let first: string | undefined
  for (const { kind, text } of tokensOf(sql)) {
    if (text === "(") depth += 1
    else if (text === ")") depth -= 1
    if (kind !== "word") continue
    const word = text.toUpperCase()
    first ??= word
    if (first !== "WITH") return READING.has(first) ? "SELECT" : first
    if (depth === 0 && COMMANDS.has(word)) return READING.has(word) ? "SELECT" : word
  }
  return null
}

const CONTROL = new Set(["BEGIN", "START", "COMMIT", "END", "ABORT", "ROLLBACK", "PREPARE"])

/** Whether the statement would begin or end a transaction. */
export const controlsTransaction = (sql: string): boolean => {
  const words: string[] = []
  for (const { kind, text } of tokensOf(sql)) {
    if (kind !== "word") {
      if (text === ";" && words.length === 0) continue
      break
    }
    words.push(text.toUpperCase())
    if (words.length === 3) break
  }
  const [first = "", second, third] = words
  if (!CONTROL.has(first)) return false
  if (first === "PREPARE") return second === "TRANSACTION"
  return !(first === "ROLLBACK" && (second === "TO" || third === "TO"))
}
