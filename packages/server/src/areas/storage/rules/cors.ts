/** Which pages of other origins may call a bucket: S3's rules, and the headers that tell browsers. */

export const CORS_METHODS = ["GET", "PUT", "POST", "DELETE", "HEAD"] as const
export type CorsMethod = (typeof CORS_METHODS)[number]
export const CORS_RULES_MAX = 100

export interface CorsRule {
  readonly id?: string
  readonly allowed_origins: readonly string[]
  readonly allowed_methods: readonly CorsMethod[]
  readonly allowed_headers?: readonly string[]
  readonly expose_headers?: readonly string[]
  readonly max_age_seconds?: number
}

/** A pattern has one `*` at most. */
const fits = (pattern: string, value: string): boolean => {
  const [before = "", after] = pattern.split("*")
  if (after === undefined) return pattern === value
  return value.length >= before.length + after.length && value.startsWith(before) && value.endsWith(after)
}

/** What is wrong with the rules, or undefined. */
export const corsProblem = (rules: readonly CorsRule[]): string | undefined => {
  for (const { allowed_origins, allowed_methods, allowed_headers = [] } of rules) {
    if (allowed_origins.length === 0 || allowed_methods.length === 0) return "a rule has origins and methods"
    if ([...allowed_origins, ...allowed_headers].some(pattern => pattern.split("*").length > 2))
      return "an origin or a header has one * at most"
  }
  return undefined
}

export interface CorsRequest {
  readonly origin: string
  readonly method: string
  /** That a preflight asks for. */
  readonly headers: readonly string[]
}

const admits = (rule: CorsRule, { origin, method, headers }: CorsRequest): boolean =>
  rule.allowed_methods.some(allowed => allowed === method) &&
  rule.allowed_origins.some(pattern => fits(pattern, origin)) &&
  headers.every(name =>
    (rule.allowed_headers ?? []).some(pattern => fits(pattern.toLowerCase(), name.toLowerCase())),
  )

/** The headers of the first rule that admits the request; undefined when none does. */
export const corsHeaders = (
  rules: readonly CorsRule[],
  request: CorsRequest,
): Readonly<Record<string, string>> | undefined => {
  const rule = rules.find(one => admits(one, request))
  if (!rule) return undefined
  const isAny = rule.allowed_origins.includes("*")
  const { expose_headers = [], max_age_seconds } = rule
  return {
    "access-control-allow-origin": isAny ? "*" : request.origin,
    "access-control-allow-methods": rule.allowed_methods.join(", "),
    vary: "origin, access-control-request-headers, access-control-request-method",
    ...(request.headers.length > 0 && { "access-control-allow-headers": request.headers.join(", ") }),
    ...(expose_headers.length > 0 && { "access-control-expose-headers": expose_headers.join(", ") }),
    ...(max_age_seconds !== undefined && { "access-control-max-age": String(max_age_seconds) }),
  }
}
