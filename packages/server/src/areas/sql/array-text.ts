/** PostgreSQL's text form of arrays (manual, 8.15.6). */

export type ArrayValue = string | null | readonly ArrayValue[]

/** `[2:4]={…}`: bounds that do not begin at 1 are written out; JSON has no place for them. */
const BOUNDS = /^(?:\[[-+]?\d+:[-+]?\d+\])+=/

const DEPTH_MAX = 6

/** Parses an array as the server writes it: elements as text, NULL as null. Throws on anything else. */
export const parseArray = (text: string, delimiter = ","): ArrayValue[] => {
  let at = BOUNDS.exec(text)?.[0].length ?? 0
  const malformed = () => new Error("malformed array")

  const quoted = (): string => {
    let value = ""
    for (at += 1; at < text.length; at += 1) {
      const character = text[at] as string
      if (character === '"') {
        at += 1
        return value
      }
      if (character === "\\") at += 1
      value += text[at]
    }
    throw malformed()
  }

  const plain = (): string | null => {
    const from = at
    while (at < text.length && text[at] !== delimiter && text[at] !== "}") at += 1
    const value = text.slice(from, at)
    if (value === "") throw malformed()
    return value === "NULL" ? null : value
  }

  const list = (depth: number): ArrayValue[] => {
    if (text[at] !== "{" || depth > DEPTH_MAX) throw malformed()
    at += 1
    const values: ArrayValue[] = []
    if (text[at] === "}") {
      at += 1
      return values
    }
    for (;;) {
      values.push(text[at] === "{" ? list(depth + 1) : text[at] === '"' ? quoted() : plain())
      const next = text[at]
      at += 1
      if (next === "}") return values
      if (next !== delimiter) throw malformed()
    }
  }

  const values = list(1)
  if (at !== text.length) throw malformed()
  return values
}

const quote = (text: string): string => `"${text.replaceAll(/["\\]/g, "\\$&")}"`

/** Writes JSON values as an array; `element` gives the text of what is neither null nor a list. */
export const formatArray = (
  values: readonly unknown[],
  element: (value: unknown) => string,
  delimiter = ",",
): string =>
  `{${values
    .map(value => {
      if (value === null) return "NULL"
      return Array.isArray(value) ? formatArray(value, element, delimiter) : quote(element(value))
    })
    .join(delimiter)}}`
