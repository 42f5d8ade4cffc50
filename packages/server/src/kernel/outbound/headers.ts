import { CONNECTION_HEADERS } from "../connection-headers.ts"

const HEADERS_MAX = 64
const BYTES_MAX = 16_384

/** Those that frame a message or belong to one connection, which the client writes itself. */
const RESERVED: ReadonlySet<string> = new Set([
  ...CONNECTION_HEADERS,
  ...["content-length", "host", "http2-settings", "proxy-authenticate", "proxy-authorization"],
])

/** RFC 9110, sections 5.1 and 5.5. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Why these headers cannot be sent: a sentence, or undefined. A value is never part of it: it may be a credential. */
export const headersProblem = (headers: Readonly<Record<string, string>>): string | undefined => {
  const entries = Object.entries(headers)
  if (entries.length > HEADERS_MAX) return `There are more than ${HEADERS_MAX} headers.`
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (bytes > BYTES_MAX) return `The headers are longer than ${BYTES_MAX} bytes.`
  for (const [name, value] of entries) {
    if (!NAME.test(name)) return "A header's name has characters that no header may have."
    if (RESERVED.has(name.toLowerCase())) return `The header ${name} cannot be set.`
    if (!VALUE.test(value)) return `The header ${name} has characters that no header may have.`
  }
  return undefined
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** What a request sends beside its framing. */
export const requestHeaders = (
  headers: Readonly<Record<string, string>>,
  decompress: boolean,
): Record<string, string> => ({
  accept: "*/*",
  "user-agent": "svc",
  ...lowerCased(headers),
  ...(decompress ? { "accept-encoding": "gzip, br" } : {}),
})

/** Headers that say nothing about the caller, and so may follow a redirect to another origin. */
const TRAVELLING: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "user-agent",
])

export const acrossOrigins = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => TRAVELLING.has(name)))

/** Raw name and value pairs as a record, the values of a repeated name joined. */
export const responseHeaders = (raw: readonly string[]): Record<string, string> => {
  const headers: Record<string, string> = Object.create(null)
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = "", value = ""] = [raw[at]?.toLowerCase(), raw[at + 1]]
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  return headers
}
