/** What of HTTP passes between a caller and a function. */
import { validateHeaderName, validateHeaderValue } from "node:http"
import type { AccountCall } from "../../kernel/call.ts"
import { CONNECTION_HEADERS } from "../../kernel/connection-headers.ts"

/** Of the connection, not of the message, or ours. */
const HOP: ReadonlySet<string> = new Set([
  ...CONNECTION_HEADERS,
  ...["proxy-authenticate", "proxy-authorization", "content-length", "host"],
])
/** A cookie is the console's, and the key is nobody else's. */
const PRIVATE: ReadonlySet<string> = new Set([
  ...["cookie", "x-svc-project", "x-project-id", "x-svc-organization"],
  // Told by the platform, which knows.
  ...["x-forwarded-for", "x-request-id"],
])
/** What a function may not say in the platform's name. */
const OURS: ReadonlySet<string> = new Set([
  ...["set-cookie", "x-request-id", "x-error-code", "strict-transport-security", "clear-site-data"],
  ...["content-security-policy", "x-content-type-options", "service-worker-allowed"],
])

const HEADERS_MAX = 100
const HEADER_BYTES_MAX = 65_536

/** A function's pages have no part in the console's origin. */
const ISOLATION = {
  "content-security-policy": "sandbox allow-forms allow-popups allow-scripts",
  "x-content-type-options": "nosniff",
} as const

/** The headers of a request that its function sees. */
export const shownHeaders = (
  call: Pick<AccountCall, "header" | "headerNames" | "ip" | "requestId">,
  isKeyed: boolean,
): [string, string][] => {
  const given = call.headerNames().flatMap(name => {
    const isKept = !HOP.has(name) && !PRIVATE.has(name) && !(isKeyed && name === "authorization")
    const value = isKept ? call.header(name) : undefined
    return value === undefined ? [] : [[name, value] satisfies [string, string]]
  })
  return [...given, ["x-forwarded-for", call.ip], ["x-request-id", call.requestId]]
}

export interface ReplyHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

const isHeader = (name: string, value: string): boolean => {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}

const readHeaders = (given: unknown): Record<string, string> | undefined => {
  if (!Array.isArray(given) || given.length > HEADERS_MAX) return undefined
  const headers: Record<string, string> = {}
  let bytes = 0
  for (const pair of given) {
    const [name, value] = Array.isArray(pair) ? pair : []
    if (typeof name !== "string" || typeof value !== "string" || !isHeader(name, value)) return undefined
    bytes += name.length + value.length
    const lower = name.toLowerCase()
    if (!HOP.has(lower) && !OURS.has(lower) && !lower.startsWith("access-control-")) headers[lower] = value
  }
  return bytes <= HEADER_BYTES_MAX ? headers : undefined
}

const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** Undefined for what is no beginning of an HTTP reply. */
export const readHead = (given: unknown): ReplyHead | undefined => {
  if (typeof given !== "object" || given === null) return undefined
  const { status, headers } = given as Readonly<Record<string, unknown>>
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599)
    return undefined
  const read = readHeaders(headers)
  return read && { status, headers: { ...read, ...ISOLATION } }
}

/** Undefined for what is no HTTP reply. */
export const readReply = (given: unknown): (ReplyHead & { readonly body: Uint8Array }) | undefined => {
  const head = readHead(given)
  const { body } = (given ?? {}) as Readonly<Record<string, unknown>>
  if (!head || typeof body !== "string") return undefined
  return { ...head, body: BODILESS.has(head.status) ? Buffer.alloc(0) : Buffer.from(body, "base64") }
}
