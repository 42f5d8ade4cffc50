import { type FieldError, SvcError } from "./errors.ts"
import { type NumberMode, parseNumbers } from "./numbers.ts"
import { readRetryAfter } from "./retry.ts"
import type { Route } from "./route.ts"
import { readEvents } from "./sse.ts"

/** A reply that has arrived: read whole, or, for a streamed one, as the open Response. */
export interface ParsedResponse {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON, else text; undefined without a body; a Response where the operation streams. */
  readonly body: unknown
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

export const readAnswer = async (
  response: Response,
  route: Route,
  mode: NumberMode,
): Promise<ParsedResponse> => {
  const { status, headers } = response
  if (response.ok && streams(response, route)) return { status, headers, body: response }
  const text = await response.text()
  const json = headers.get("content-type")?.includes("json")
  return { status, headers, body: text === "" ? undefined : json ? parseJson(text, mode) : text }
}

/** An operation that can stream may still answer with JSON, as AI routes do without `stream: true`. */
const streams = ({ headers, status, body }: Response, { reply, method }: Route): boolean => {
  if (!reply || method === "HEAD" || status === 202 || !body) return false
  return reply === "sse" ? (headers.get("content-type")?.startsWith("text/event-stream") ?? false) : true
}

const parseJson = (text: string, mode: NumberMode): unknown => {
  try {
    return parseNumbers(text, mode)
  } catch {
    return text
  }
}

/** The payload without its envelope: lists keep `data`, `total`, `limit` and `offset`. */
export const unwrap = (route: Route, body: unknown): unknown => {
  if (body instanceof Response) return route.reply === "sse" ? readEvents(body) : body
  if (route.envelope || !isRecord(body) || !("data" in body)) return body
  if (!route.list) return body.data
  const { request_id: _, ...list } = body
  return list
}

/** The error of a reply, whatever its shape: ours, the registry's `{errors: [{code, message}]}`, or a proxy's page. */
export const errorFrom = ({ status, headers, body }: ParsedResponse): SvcError => {
  const fields = isRecord(body) ? body : {}
  const listed = (Array.isArray(fields.errors) ? fields.errors : []).filter(isRecord)
  const first = listed[0] ?? {}
  const located = listed.filter((entry): entry is Record<string, unknown> & FieldError => "location" in entry)
  return new SvcError({
    status,
    code: textOf(fields.code) ?? textOf(first.code) ?? `http_${status}`,
    message:
      textOf(fields.error) ?? textOf(fields.message) ?? textOf(first.message) ?? `the reply was ${status}`,
    requestId: textOf(fields.request_id) ?? requestIdOf(headers),
    docsUrl: textOf(fields.docs_url),
    errors: located.length > 0 ? located : undefined,
    details: isRecord(fields.details) ? fields.details : undefined,
    retryAfter: readRetryAfter(headers),
  })
}

export const requestIdOf = (headers: Headers): string | undefined => headers.get("x-request-id") ?? undefined
