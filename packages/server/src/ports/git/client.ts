/** One way of asking a provider's HTTP API, with its refusals as PortErrors. */
import { PortError } from "../port-error.ts"
import { type GitHttp, RateLimitError } from "./port.ts"

const TIMEOUT_MS = 15_000
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** How long to wait where a provider says that there were too many requests, and not until when. */
const PATIENCE_MS = 60_000
const PATIENCE_MS_MAX = 3_600_000

export interface ApiRequest {
  readonly method?: "GET" | "POST"
  /** After the base URL, or a whole URL below it that the provider gave. */
  readonly path: string
  readonly body?: unknown
  readonly etag?: string | undefined
  readonly signal: AbortSignal
}

export interface ApiAnswer {
  /** 304 where nothing changed since the ETag; else a 2xx. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly json: unknown
}

export type Api = (request: ApiRequest) => Promise<ApiAnswer>

export interface ApiOptions {
  readonly http: GitHttp
  readonly now: () => number
  readonly baseUrl: string
  /** Made for each request: tokens end. */
  readonly headers: (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>
}

const headerSeconds = (headers: Readonly<Record<string, string>>, name: string): number | undefined => {
  const text = headers[name]
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined
}

/** Until when a refused caller has to wait; undefined where it was not for asking too often. */
const patienceOf = (
  status: number,
  headers: Readonly<Record<string, string>>,
  nowMs: number,
): number | undefined => {
  const wait = headerSeconds(headers, "retry-after")
  // GitHub answers 403 with `x-ratelimit-remaining: 0`; GitLab and Bitbucket 429 with `ratelimit-…`.
  const isUsedUp = (headers["x-ratelimit-remaining"] ?? headers["ratelimit-remaining"]) === "0"
  if (status !== 429 && !(status === 403 && (isUsedUp || wait !== undefined))) return undefined
  const reset = headerSeconds(headers, "x-ratelimit-reset") ?? headerSeconds(headers, "ratelimit-reset")
  const untilMs =
    wait !== undefined ? nowMs + wait * 1_000 : reset === undefined ? nowMs + PATIENCE_MS : reset * 1_000
  return Math.min(Math.max(untilMs, nowMs + 1_000), nowMs + PATIENCE_MS_MAX)
}

/** The URL of a request. A next page must not lead the credentials elsewhere. */
const urlOf = (baseUrl: string, path: string): string => {
  if (path.startsWith("/")) return `${baseUrl}${path}`
  if (path.startsWith(`${baseUrl}/`)) return path
  throw new PortError("refused", "the provider's next page is at another address")
}

const parse = (body: Buffer): unknown => {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString("utf8"))
  } catch (error) {
    throw new PortError("unavailable", "the provider's answer is not JSON", error)
  }
}

const refusalOf = (status: number): PortError => {
  if (status === 404 || status === 410) return new PortError("missing", "the provider knows nothing of it")
  if (status === 401 || status === 403) {
    return new PortError("refused", `the provider does not accept the credentials (${status})`)
  }
  return status >= 500
    ? new PortError("unavailable", `the provider answered ${status}`)
    : new PortError("refused", `the provider refused the request (${status})`)
}

export const createApi =
  ({ http, now, baseUrl, headers }: ApiOptions): Api =>
  async ({ method = "GET", path, body, etag, signal }) => {
    const answer = await http.request({
      ...{ url: urlOf(baseUrl, path), method, signal },
      headers: {
        accept: "application/json",
        "user-agent": "svc",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(etag !== undefined && { "if-none-match": etag }),
        ...(await headers(signal)),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...{ timeoutMs: TIMEOUT_MS, responseBytesMax: ANSWER_BYTES_MAX, decompress: true, overflow: "fail" },
    })
    if (answer.kind !== "answered") {
      const kind = answer.kind === "refused" || answer.kind === "too_large" ? "refused" : "unavailable"
      throw new PortError(kind, answer.message)
    }
    const { status, headers: given } = answer
    const untilMs = patienceOf(status, given, now())
    if (untilMs !== undefined) throw new RateLimitError(new Date(untilMs))
    if (status === 304 && etag !== undefined) return { status, headers: given, json: undefined }
    // Redirects are not followed: a repository that was renamed has to be connected by its new name.
    if (status < 200 || status >= 300) throw refusalOf(status)
    return { status, headers: given, json: parse(answer.body) }
  }
