/** Statements of PostgreSQL in a text: where each begins and ends, and which of them destroy. */

export interface Statement {
  readonly sql: string
  /** Of its first character in the text. */
  readonly from: number
  /** Behind its last character, its semicolon included. */
  readonly to: number
}

/** What is no code: comments, texts, quoted names. Each pattern is tried where the scan stands. */
const QUOTED: readonly RegExp[] = [
  /--[^\n]*/y,
  /[eE]'(?:\\[\s\S]|''|[^'\\])*(?:'|$)/y,
  /'(?:''|[^'])*(?:'|$)/y,
  /"(?:""|[^"])*(?:"|$)/y,
  /\$(\w*)\$[\s\S]*?(?:\$\1\$|$)/y,
]
const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy

/** Comments of PostgreSQL nest. */
const blockEnd = (text: string, from: number): number => {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const pair = text.slice(at, at + 2)
    if (pair === "/*" || pair === "*/") {
      depth += pair === "/*" ? 1 : -1
      at++
      if (depth === 0) return at + 1
    }
  }
  return text.length
}

const matchEnd = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** The end of what begins here and is no code. */
const quotedEnd = (text: string, at: number): number | undefined => {
  if (text.startsWith("/*", at)) return blockEnd(text, at)
  for (const pattern of QUOTED) {
    const end = matchEnd(pattern, text, at)
    if (end !== undefined) return end
  }
  return undefined
}

/** Calls `see` for every piece of code: a word, or one other character. */
const scan = (text: string, see: (code: string, at: number) => void): void => {
  let at = 0
  while (at < text.length) {
    const quoted = quotedEnd(text, at)
    const end = quoted ?? matchEnd(WORD, text, at) ?? at + 1
    if (quoted === undefined) see(text.slice(at, end), at)
    else if (text[at] === '"') see(text.slice(at, end), at)
    at = end
  }
}

const trimmed = (text: string, from: number, to: number): Statement | undefined => {
  const part = text.slice(from, to)
  const start = from + (part.length - part.trimStart().length)
  let hasCode = false
  scan(part, code => {
    if (code.trim() !== "" && code !== ";") hasCode = true
  })
  const sql = text.slice(start, to).trimEnd()
  return hasCode ? { sql, from: start, to: start + sql.length } : undefined
}

export const statementsOf = (text: string): readonly Statement[] => {
  const ends: number[] = []
  let body = 0
  scan(text, (code, at) => {
    // The body of a function in standard SQL has semicolons of its own.
    if (/^atomic$/i.test(code) || (body > 0 && /^case$/i.test(code))) body++
    else if (body > 0 && /^end$/i.test(code)) body--
    else if (code === ";" && body === 0) ends.push(at + 1)
  })
  const found: Statement[] = []
  let from = 0
  for (const end of [...ends, text.length]) {
    const statement = trimmed(text, from, end)
    if (statement) found.push(statement)
    from = end
  }
  return found
}

/** The statement that the cursor is in or behind. */
export const statementAt = (text: string, cursor: number): Statement | undefined => {
  const all = statementsOf(text)
  return (
    all.find(({ from, to }) => cursor >= from && cursor <= to) ??
    all.findLast(({ from }) => from <= cursor) ??
    all[0]
  )
}

/** Words and marks of a statement, in lower case, without what is in texts. */
const codeOf = (sql: string): string[] => {
  const words: string[] = []
  scan(sql, code => {
    if (code.trim() !== "") words.push(code.startsWith('"') ? code : code.toLowerCase())
  })
  return words
}

const nameAfter = (words: readonly string[], at: number): string => {
  const skipped = new Set(["if", "exists", "only", "concurrently", "table", "from"])
  let start = at
  while (skipped.has(words[start] ?? "")) start++
  let name = words[start] ?? ""
  for (let next = start + 1; words[next] === "."; next += 2) name += `.${words[next + 1] ?? ""}`
  return name
}

/** The level of a `WHERE` matters: one in a subquery keeps no row of the table. */
const hasWhereAfter = (words: readonly string[], at: number): boolean => {
  let depth = 0
  for (const word of words.slice(at)) {
    if (word === "(") depth++
    else if (word === ")") {
      if (depth === 0) return false
      depth--
    } else if (word === "where" && depth === 0) return true
  }
  return false
}

/** What a statement destroys, in words; nothing when it destroys nothing. A modifying CTE counts too. */
export const dangersOf = (sql: string): readonly string[] => {
  const words = codeOf(sql)
  if (words[0] === "explain" && !words.includes("analyze")) return []
  const dangers: string[] = []
  words.forEach((word, at) => {
    const begins = at === 0 || words[at - 1] === "(" || words[at - 1] === ")" || words[0] === "explain"
    if (word === "drop" && at === 0)
      dangers.push(`Drops the ${words[1] ?? ""} ${nameAfter(words, 2)} with all that is in it.`)
    else if (word === "truncate" && begins) dangers.push(`Removes every row of ${nameAfter(words, at + 1)}.`)
    else if (word === "drop" && words[0] === "alter")
      dangers.push(`Drops a ${words[at + 1] ?? "part"} of ${nameAfter(words, 2)}.`)
    else if (word === "delete" && words[at + 1] === "from" && begins && !hasWhereAfter(words, at))
      dangers.push(`Deletes every row of ${nameAfter(words, at + 1)}: it has no WHERE.`)
    else if (word === "update" && begins && words.includes("set") && !hasWhereAfter(words, at))
      dangers.push(`Changes every row of ${nameAfter(words, at + 1)}: it has no WHERE.`)
  })
  return dangers
}

/** A name as SQL needs it. */
export const quoteName = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`

const RESERVED = new Set(
  "all and any array as asc case check column constraint create default desc distinct do else end except false for from grant group having in into is limit not null offset on or order primary references select table then to true union unique user using when where with".split(
    " ",
  ),
)

/** Rows as a file that spreadsheets read. Texts that a spreadsheet would run as a formula get an apostrophe. */
export const csvOf = (columns: readonly string[], rows: readonly (readonly unknown[])[]): string => {
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return ""
    const text = typeof value === "object" ? JSON.stringify(value) : String(value)
    const safe = typeof value === "string" && /^[=+@\t\r]|^-(?!\d+(\.\d+)?$)/.test(text) ? `'${text}` : text
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return [columns, ...rows].map(row => row.map(cell).join(",")).join("\r\n")
}
