/** What of a matched value is written down: enough to recognize an attack, too little to know a secret. */
const SHOWN_FROM = 12
const SHOWN_MAX = 200
const BEFORE = 200

const SECRET = /pass|pwd|secret|token|api[-_]?key|auth|session|credential|cookie/i
/** The name of the field in whose value a text ends. */
const FIELD = /([\w.[\]-]{1,64})["']?\s{0,4}[=:]\s{0,4}["']?[^&;,\n"']{0,200}$/

const masked = (text: string): string => {
  if (text.length <= SHOWN_FROM) return "***"
  return `${text.slice(0, 4)}***${text.slice(-2)}`
}

export const redact = (
  part: string,
  text: string,
  found: { readonly start: number; readonly end: number } | undefined,
): string => {
  // An address and a method are columns of the event.
  if (part === "ip" || part === "method") return text.slice(0, SHOWN_MAX)
  if (!found || SECRET.test(part)) return "***"
  const value = text.slice(found.start, found.end)
  const [, field = ""] = FIELD.exec(text.slice(Math.max(0, found.start - BEFORE), found.start)) ?? []
  return SECRET.test(field) || SECRET.test(value) ? "***" : masked(value)
}
