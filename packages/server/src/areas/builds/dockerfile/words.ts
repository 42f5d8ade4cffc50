/** Words of Dockerfiles: quotes, escapes and variables, as Docker's builder reads them outside of RUN. */
import { BuildError } from "../build-error.ts"

export type Variables = (name: string) => string | undefined

const NAME = /^[A-Za-z_][A-Za-z0-9_]*/
const DEPTH_MAX = 10
const LENGTH_MAX = 65_536

interface Reader {
  readonly text: string
  readonly escaping: string
  readonly variables: Variables
  readonly depth: number
  at: number
}

/** Where the brace that opened before `from` is closed. */
const closing = (text: string, from: number): number => {
  let depth = 1
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1
    if (text[at] === "}") depth -= 1
    if (depth === 0) return at
  }
  throw new BuildError(`\`\${${text.slice(from, from + 100)}\` is not closed`)
}

const substitute = (reader: Reader, inner: string): string => {
  const name = NAME.exec(inner)?.[0]
  if (name === undefined) throw new BuildError(`\`\${${inner.slice(0, 100)}}\` names no variable`)
  const value = reader.variables(name)
  const rest = inner.slice(name.length)
  if (rest === "") return value ?? ""
  const [, colon = "", operator = "", word = ""] = /^(:?)([-+?])(.*)$/s.exec(rest) ?? []
  const isSet = value !== undefined && (colon === "" || value !== "")
  const alternative = () => expand(word, reader.variables, reader.escaping, reader.depth + 1)
  if (operator === "-") return isSet ? value : alternative()
  if (operator === "+") return isSet ? alternative() : ""
  if (operator === "?" && isSet) return value
  if (operator === "?") throw new BuildError(`${name}: ${alternative() || "is not set"}`)
  throw new BuildError(`\`\${${inner.slice(0, 100)}}\` is no substitution that is known here`)
}

const readVariable = (reader: Reader): string => {
  const { text } = reader
  reader.at += 1
  if (text[reader.at] === "{") {
    const end = closing(text, reader.at + 1)
    const inner = text.slice(reader.at + 1, end)
    reader.at = end + 1
    return substitute(reader, inner)
  }
  const name = NAME.exec(text.slice(reader.at, reader.at + 256))?.[0]
  if (name === undefined) return "$"
  reader.at += name.length
  return reader.variables(name) ?? ""
}

const readSingle = (reader: Reader): string => {
  const end = reader.text.indexOf("'", reader.at + 1)
  if (end < 0) throw new BuildError("a single quote is not closed")
  const inner = reader.text.slice(reader.at + 1, end)
  reader.at = end + 1
  return inner
}

const readDouble = (reader: Reader): string => {
  const { text, escaping } = reader
  let out = ""
  reader.at += 1
  for (;;) {
    const character = text[reader.at]
    if (character === undefined) throw new BuildError("a double quote is not closed")
    if (character === '"') break
    const next = text[reader.at + 1]
    if (character === "$") out += readVariable(reader)
    else if (character === escaping && next !== undefined && `"$${escaping}`.includes(next)) {
      out += next
      reader.at += 2
    } else {
      out += character
      reader.at += 1
    }
  }
  reader.at += 1
  return out
}

/** One word from where the reader is, to the first blank outside of quotes where `splits`. */
const readWord = (reader: Reader, splits: boolean): string => {
  const { text, escaping } = reader
  let out = ""
  while (reader.at < text.length) {
    const character = text[reader.at] as string
    if (splits && /\s/.test(character)) break
    if (character === "'") out += readSingle(reader)
    else if (character === '"') out += readDouble(reader)
    else if (character === "$") out += readVariable(reader)
    else if (character === escaping && reader.at + 1 < text.length) {
      out += text[reader.at + 1]
      reader.at += 2
    } else {
      out += character
      reader.at += 1
    }
    if (out.length > LENGTH_MAX) throw new BuildError("a word of the Dockerfile becomes longer than 64 KiB")
  }
  return out
}

/** The whole text as one word. */
export const expand = (text: string, variables: Variables, escaping: string, depth = 0): string => {
  if (depth > DEPTH_MAX) throw new BuildError("substitutions of the Dockerfile are nested too deep")
  return readWord({ text, escaping, variables, depth, at: 0 }, false)
}

/** All words of the text. */
export const words = (text: string, variables: Variables, escaping: string): string[] => {
  const reader: Reader = { text, escaping, variables, depth: 0, at: 0 }
  const found: string[] = []
  for (;;) {
    while (/\s/.test(text[reader.at] ?? "")) reader.at += 1
    if (reader.at >= text.length) return found
    found.push(readWord(reader, true))
  }
}
