/** The ways to read what a caller wrote for a table's name. */

export interface TableName {
  /** Undefined: any schema, `public` before the others. */
  readonly schema: string | undefined
  readonly name: string
}

/** The end of a quoted identifier that begins at `start`, past its closing quote; -1 when it does not close. */
const endOfQuoted = (text: string, start: number): number => {
  let at = start + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return -1
    if (text[quote + 1] !== '"') return quote + 1
    at = quote + 2
  }
}

const unquote = (part: string): string =>
  part.startsWith('"') && endOfQuoted(part, 0) === part.length && part.length > 2
    ? part.slice(1, -1).replaceAll('""', '"')
    : part

/** Offsets of the dots that are outside quotes. */
const dots = (text: string): number[] => {
  const found: number[] = []
  for (let at = 0; at < text.length; at++) {
    const quoted = text[at] === '"' && (at === 0 || text[at - 1] === ".")
    const end = quoted ? endOfQuoted(text, at) : -1
    if (end !== -1) at = end
    if (text[at] === ".") found.push(at)
  }
  return found
}

/**
 * What `text` can mean, likeliest first: the name itself; unquoted; a schema and a name, at each dot outside quotes; and
 * last in lower case, as SQL reads a name without quotes. Names that do hold dots or quotes are found without any ceremony.
 */
export const readTableName = (text: string, schema?: string): TableName[] => {
  const split = (whole: string): TableName[] =>
    schema === undefined
      ? dots(whole).map(at => ({ schema: unquote(whole.slice(0, at)), name: unquote(whole.slice(at + 1)) }))
      : []
  const exact = [{ schema, name: text }, { schema, name: unquote(text) }, ...split(text)]
  const folded = text.toLowerCase()
  return [...exact, { schema, name: folded }, ...(text.includes('"') ? [] : split(folded))].filter(
    ({ schema, name }) => name !== "" && schema !== "",
  )
}
