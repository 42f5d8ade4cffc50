/** Why an upstream gave no usable answer, and what follows from it. */

/**
 * `transient`: another try may succeed, here or elsewhere. `timeout`: elsewhere. `misconfigured`: not here for a while (a wrong
 * key, no credit, no such model). `refused`: nowhere, because the request itself is wrong.
 */
export type FailureKind = "transient" | "timeout" | "misconfigured" | "refused"

export class UpstreamFailure extends Error {
  override readonly name = "UpstreamFailure"
  readonly kind: FailureKind
  /** Of the upstream's answer; undefined where there was none. */
  readonly status: number | undefined
  /** How long the upstream asks to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(
    kind: FailureKind,
    message: string,
    details: {
      readonly status?: number
      readonly retryAfterMs?: number | undefined
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: details.cause })
    this.kind = kind
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
  }
}

/** The caller hung up, or the platform stops: no upstream is to blame. */
export class Cancelled extends Error {
  override readonly name = "Cancelled"
}

const BILLING_MS = 3_600_000
const MISCONFIGURED_MS = 60_000
const TEXT_MAX = 300

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** The words of an error in OpenAI's shape, or of those that differ a little. */
export const errorText = (body: unknown): string | undefined => {
  const error = field(body, "error")
  const text =
    typeof error === "string"
      ? error
      : (field(error, "message") ?? field(body, "message") ?? field(body, "detail"))
  return typeof text === "string" && text !== "" ? text.slice(0, TEXT_MAX) : undefined
}

const kindOf = (status: number): FailureKind => {
  if ([400, 405, 406, 409, 411, 413, 415, 422].includes(status)) return "refused"
  if ([401, 402, 403, 404].includes(status)) return "misconfigured"
  return "transient"
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
const retryAfterOf = (headers: Readonly<Record<string, string>>, nowMs: number): number | undefined => {
  const ms = Number(headers["retry-after-ms"] ?? headers["x-ms-retry-after-ms"])
  if (Number.isFinite(ms) && ms >= 0) return ms
  const text = headers["retry-after"]
  if (text === undefined) return undefined
  const seconds = Number(text)
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - nowMs
  return Number.isFinite(wait) && wait >= 0 ? wait : undefined
}

export const failureOfStatus = (
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  nowMs: number,
): UpstreamFailure => {
  const kind = kindOf(status)
  const asked = retryAfterOf(headers, nowMs)
  const otherwise = kind === "misconfigured" ? (status === 402 ? BILLING_MS : MISCONFIGURED_MS) : undefined
  return new UpstreamFailure(kind, errorText(body) ?? `status ${status}`, {
    status,
    retryAfterMs: asked ?? otherwise,
  })
}

const CODES: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  insufficient_quota: 402,
  invalid_api_key: 401,
}

/** An error inside an answer of status 200: `{"error": {"message", "code"}}`. */
export const failureInside = (body: unknown, nowMs: number): UpstreamFailure => {
  const code = field(field(body, "error"), "code") ?? field(body, "code")
  const status = typeof code === "string" ? (CODES[code] ?? Number(code)) : Number(code)
  const known = Number.isInteger(status) && status >= 400 && status < 600 ? status : 502
  return failureOfStatus(known, {}, body, nowMs)
}
