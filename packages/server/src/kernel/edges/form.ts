/**
 * The fields of `application/x-www-form-urlencoded`; a field that comes more than once is a list of its values. The runtime's
 * own parser goes over the text once, whatever is in it.
 */
export const parseForm = (text: string): Record<string, string | string[]> => {
  const fields = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = fields.get(name)
    if (values) values.push(value)
    else fields.set(name, [value])
  }
  return Object.fromEntries(
    [...fields].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? "") : values]),
  )
}
