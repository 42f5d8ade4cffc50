/** What comes back: success replies in their envelope, and refusals by status. */
import {
  callerFaults,
  type FaultCode,
  faultSpec,
  impliedFaults,
  isList,
  isReplayed,
  type Operation,
  PendingApproval,
  statusPhrases,
  type TSchema,
  transportFaults,
  wireCode,
} from "@svc/contract"
import type { Links } from "./links.ts"
import { bytesContent, mediaTypes } from "./parameters.ts"
import { type JsonSchema, pascalCase, type SchemaCache } from "./schemas.ts"

const text = { type: "string" }
const number = { type: "integer" }

/** Headers that many replies have alike. */
export const sharedHeaders = {
  RequestId: {
    description: "Names this request in logs and audit; your own `X-Request-Id`, when it was usable.",
    schema: text,
  },
  RateLimit: { description: "Requests that this caller may make at once.", schema: number },
  RateLimitRemaining: { description: "Requests left of them now.", schema: number },
  RateLimitReset: { description: "When all of them are there again, in Unix seconds.", schema: number },
  RetryAfter: { description: "Seconds to wait before another attempt.", schema: number },
  Location: { description: "Path of the approval that the request waits for.", schema: text },
  Replayed: {
    description: "`true` when this is the first answer to a repeated Idempotency-Key.",
    schema: text,
  },
} as const

const header = (name: keyof typeof sharedHeaders) => ({ $ref: `#/components/headers/${name}` })

const REQUEST_ID = { "x-request-id": header("RequestId") }
const LIMITS = {
  ...REQUEST_ID,
  "x-ratelimit-limit": header("RateLimit"),
  "x-ratelimit-remaining": header("RateLimitRemaining"),
  "x-ratelimit-reset": header("RateLimitReset"),
}

const object = (properties: JsonSchema, required = Object.keys(properties)): JsonSchema => ({
  type: "object",
  required,
  properties,
})

/** Bodies of refusals. */
export const errorSchemas = {
  Error: object(
    {
      code: { ...text, description: "What went wrong, for programs; the list of codes is closed." },
      error: { ...text, description: "What went wrong, for people." },
      docs_url: { ...text, format: "uri", description: "The page that says what to do." },
      request_id: { ...text, description: "The same as the header `x-request-id`." },
      errors: {
        type: "array",
        description: "With `validation_failed`: each field that is wrong.",
        items: object({ location: text, message: text }),
      },
      details: {
        type: "object",
        description: "Of a refused SQL statement: `sqlstate`, `position` and what else PostgreSQL said.",
        additionalProperties: true,
      },
      error_description: { ...text, description: "On OAuth routes, whose `error` is the registered name." },
    },
    ["code", "error", "docs_url", "request_id"],
  ),
  RegistryErrors: object({
    errors: { type: "array", items: object({ code: text, message: text, detail: {} }, ["code"]) },
  }),
} as const

/** The payload as it is on the wire. */
const enveloped = ({ envelope }: Operation, schema: TSchema, replies: SchemaCache): JsonSchema => {
  if (envelope !== "data") return replies.at(schema)
  if (!isList(schema)) return object({ data: replies.at(schema), request_id: text })
  const { properties, required } = schema as unknown as { properties: JsonSchema; required: string[] }
  const fields = Object.entries(properties).map(([name, field]) => [name, replies.at(field)])
  return object({ ...Object.fromEntries(fields), request_id: text }, [...required, "request_id"])
}

const successContent = (operation: Operation, schema: TSchema, replies: SchemaCache): JsonSchema => {
  const kind = operation.content?.reply ?? "json"
  if (kind === "websocket") return {}
  const json = () => ({ [mediaTypes.json]: { schema: enveloped(operation, schema, replies) } })
  if (kind === "json") return json()
  // A stream is asked for by a field of the request; without it the same operation answers in one piece.
  if (kind === "sse")
    return { ...json(), [mediaTypes.sse]: { schema: { description: "A stream of events." } } }
  return bytesContent(operation.content?.replyTypes ?? [mediaTypes[kind]])
}

const successPhrases: Readonly<Record<string, string>> = {
  101: "Switching Protocols: the connection goes on as a WebSocket",
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
}

const renderSuccesses = (
  operation: Operation,
  replies: SchemaCache,
  linksOf: Links,
): [string, JsonSchema][] =>
  Object.entries(operation.replies).map(([status, schema]) => {
    const links = schema ? linksOf(operation, schema) : {}
    return [
      status,
      {
        description: successPhrases[status] ?? "Success",
        headers: { ...LIMITS, ...(isReplayed(operation) && { "idempotent-replayed": header("Replayed") }) },
        ...(schema && { content: successContent(operation, schema, replies) }),
        ...(Object.keys(links).length > 0 && { links }),
      },
    ]
  })

const renderWaiting = (operation: Operation, replies: SchemaCache): JsonSchema => ({
  description: "Nothing was done yet: the key needs a person's approval for this.",
  headers: { ...LIMITS, location: header("Location"), "retry-after": header("RetryAfter") },
  "x-svc-codes": ["approval_required"],
  content: { [mediaTypes.json]: { schema: enveloped(operation, PendingApproval, replies) } },
})

const WAITS: ReadonlySet<number> = new Set([408, 429, 503])

interface Refusal {
  readonly description: string
  readonly status: number
  readonly codes: readonly FaultCode[]
  readonly schema: keyof typeof errorSchemas
}

const renderRefusal = ({ description, status, codes, schema }: Refusal): JsonSchema => {
  const wire = [...new Set(codes.map(wireCode))]
  const examples = wire.map(code => [code, { $ref: `#/components/examples/${code}` }])
  return {
    description,
    headers: {
      ...(status < 500 ? LIMITS : REQUEST_ID),
      ...(WAITS.has(status) && { "retry-after": header("RetryAfter") }),
    },
    "x-svc-codes": wire,
    content: {
      [mediaTypes.json]: {
        schema: { $ref: `#/components/schemas/${schema}` },
        ...(schema === "Error" && { examples: Object.fromEntries(examples) }),
      },
    },
  }
}

/** The refusals that an operation can answer, those of the transport aside. */
export const refusalsOf = (operation: Operation): FaultCode[] =>
  [...new Set([...(operation.faults ?? []), ...impliedFaults(operation)])].filter(
    code => faultSpec(code).status >= 400,
  )

/** What only a request that may have a body can get. */
const OF_BODIES: ReadonlySet<FaultCode> = new Set([
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
])

/** The refusals of the transport. 405 answers methods that the document does not have. */
export const transportOf = ({ method }: Operation): FaultCode[] =>
  transportFaults.filter(
    code =>
      code !== "method_not_allowed" && !(OF_BODIES.has(code) && (method === "GET" || method === "HEAD")),
  )

/** The parser's own refusal, of headers that are larger than it reads. */
const HEADERS_TOO_LARGE = 431

/** The refusal replies that many operations have alike, by the name they get when an operation first has them. */
export type SharedRefusals = Record<string, JsonSchema>

const place = (shared: SharedRefusals, refusal: Refusal): JsonSchema => {
  const name = sharedName(refusal)
  if (name === undefined) return renderRefusal(refusal)
  shared[name] ??= renderRefusal(refusal)
  return { $ref: `#/components/responses/${name}` }
}

/** A refusal of one code is the same wherever it is answered; so are those of the credentials. */
const sharedName = ({ status, codes, schema }: Refusal): string | undefined => {
  const suffix = schema === "Error" ? "" : schema
  if (status === HEADERS_TOO_LARGE) return `HeadersTooLarge${suffix}`
  if (
    status === 401 &&
    codes.length === callerFaults.length &&
    codes.every(code => callerFaults.includes(code))
  )
    return `Unauthorized${suffix}`
  return codes.length === 1 && codes[0] ? `${pascalCase(wireCode(codes[0]))}${suffix}` : undefined
}

const renderRefusals = (operation: Operation, shared: SharedRefusals): [string, JsonSchema][] => {
  const schema = operation.envelope === "oci" ? "RegistryErrors" : "Error"
  const codes = new Set([...refusalsOf(operation), ...transportOf(operation)])
  const byStatus = Map.groupBy(codes, code => faultSpec(code).status)
  const listed = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]): [string, JsonSchema] => [
      String(status),
      place(shared, { description: statusPhrases[status], status, codes, schema }),
    ])
  const tooLarge: Refusal = {
    description: "Request Header Fields Too Large",
    status: HEADERS_TOO_LARGE,
    codes: ["invalid_request"],
    schema,
  }
  return [...listed, [String(HEADERS_TOO_LARGE), place(shared, tooLarge)]]
}

export interface ReplyCaches {
  readonly replies: SchemaCache
  readonly refusals: SharedRefusals
  readonly links: Links
}

export const renderReplies = (operation: Operation, { replies, refusals, links }: ReplyCaches): JsonSchema =>
  Object.fromEntries([
    ...renderSuccesses(operation, replies, links),
    ...(operation.risk !== undefined && operation.envelope !== "s3"
      ? [["202", renderWaiting(operation, replies)] as const]
      : []),
    ...renderRefusals(operation, refusals),
  ])
