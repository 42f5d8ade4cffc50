/** Splits SQL as PostgreSQL's scanner does (manual, 4.1), as far as it takes to tell constants from all else. */

export type TokenKind = "word" | "quoted" | "constant" | "parameter" | "symbol"

export interface Token {
  readonly kind: TokenKind
  readonly text: string
}

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const NUMBER =
  /(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)/y
const DOLLAR_QUOTE = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y
const PARAMETER = /\$\d+/y
const SPACE = /\s+/y

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** Where a quoted text that opens at `at` ends. What is never closed ends with the text. */
const endOfQuoted = (text: string, at: number, escapes: boolean): number => {
  const mark = text[at]
  let end = at + 1
  while (end < text.length) {
    if (escapes && text[end] === "\\") end += 2
    else if (text[end] !== mark) end += 1
    else if (text[end + 1] === mark) end += 2
    else return end + 1
  }
  return text.length
}

const endOfComment = (text: string, at: number): number => {
  let depth = 1
  let end = at + 2
  while (end < text.length && depth > 0) {
    const two = text.slice(end, end + 2)
    if (two === "/*") depth += 1
    if (two === "*/") depth -= 1
    end += two === "/*" || two === "*/" ? 2 : 1
  }
  return end
}

const endOfLine = (text: string, at: number): number => {
  const end = text.indexOf("\n", at)
  return end < 0 ? text.length : end
}

const STRING_PREFIX = /^(?:[eEbBxXnN]|[uU]&)$/

/** A string with one of the prefixes E, B, X, N and U&, or an identifier with U&; undefined for a plain word. */
const prefixed = (text: string, at: number): { kind: TokenKind; end: number } | undefined => {
  const length = text[at + 1] === "&" ? 2 : 1
  const prefix = text.slice(at, at + length)
  const mark = text[at + length]
  if (!STRING_PREFIX.test(prefix)) return undefined
  if (mark === "'") return { kind: "constant", end: endOfQuoted(text, at + length, /[eE]/.test(prefix)) }
  return mark === '"' && length === 2
    ? { kind: "quoted", end: endOfQuoted(text, at + length, false) }
    : undefined
}

const dollarQuoted = (text: string, at: number): number | undefined => {
  const mark = matchAt(DOLLAR_QUOTE, text, at)
  if (mark === undefined) return undefined
  const end = text.indexOf(mark, at + mark.length)
  return end < 0 ? text.length : end + mark.length
}

const next = (text: string, at: number): { kind: TokenKind; end: number } => {
  const character = text[at] as string
  if (character === "'") return { kind: "constant", end: endOfQuoted(text, at, false) }
  if (character === '"') return { kind: "quoted", end: endOfQuoted(text, at, false) }
  if (character === "$") {
    const parameter = matchAt(PARAMETER, text, at)
    if (parameter !== undefined) return { kind: "parameter", end: at + parameter.length }
    const end = dollarQuoted(text, at)
    if (end !== undefined) return { kind: "constant", end }
  }
  const special = prefixed(text, at)
  if (special) return special
  const word = matchAt(WORD, text, at)
  if (word !== undefined) return { kind: "word", end: at + word.length }
  const number = matchAt(NUMBER, text, at)
  if (number) return { kind: "constant", end: at + number.length }
  return { kind: "symbol", end: at + 1 }
}

/** The tokens of a text, without white space and comments. Never throws. */
export function* tokensOf(text: string): Generator<Token> {
  let at = 0
  while (at < text.length) {
    const space = matchAt(SPACE, text, at)
    if (space !== undefined) at += space.length
    else if (text.startsWith("--", at)) at = endOfLine(text, at)
    else if (text.startsWith("/*", at)) at = endOfComment(text, at)
    else {
      const { kind, end } = next(text, at)
      yield { kind, text: text.slice(at, end) }
      at = end
    }
  }
}
