/** The page of each error: shared by docs/errors, the pages that the server serves, and the API reference. */

import type { FaultSpec, FaultStatus } from "./faults/spec.ts"
import { type FaultCode, type FaultParam, faultCodes, faultSpec, faultText, wireCode } from "./faults.ts"

/** The words of a status line. */
export const statusPhrases = {
  202: "Accepted",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  408: "Request Timeout",
  409: "Conflict",
  412: "Precondition Failed",
  413: "Payload Too Large",
  415: "Unsupported Media Type",
  416: "Range Not Satisfiable",
  426: "Upgrade Required",
  429: "Too Many Requests",
  460: "Checksum Mismatch",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
} as const satisfies Record<FaultStatus, string>

// One value for each placeholder, so that the example on a page reads like a real reply. A reason is the text of
// another program, so a page shows the error without it.
const exampleParams: Readonly<Record<Exclude<FaultParam, "reason">, string | number>> = {
  actual: 384,
  address: "198.51.100.7",
  algorithm: "sha256",
  bytes: 1_048_576,
  digest: `sha256:${"0".repeat(64)}`,
  decision: "rejected",
  domain: "mail.example.com",
  expected: 768,
  field: "query.path",
  grant_type: "password",
  header: "authorization",
  id: "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10",
  index: 3,
  isolation: "dedicated",
  key: "images/logo.png",
  limit: 20,
  method: "GET",
  methods: "GET or POST",
  model: "large-1",
  module: "infrastructure",
  name: "photos",
  names: "first_name",
  path: "/etc/passwd",
  number: 7,
  plan: "free",
  provider: "acme",
  resource: "bucket",
  resources: "projects",
  type: "TypeError",
  roles: "owner or admin",
  scopes: "kv:write",
  seconds: 30,
  state: "stopped",
  types: "application/json",
  value: "10.0.0.0/33",
}

const requestId = "01980d5e-9f00-7d2c-8a11-6b7c8d9e0f12"

const retryAdvice = ({ status, retryable }: FaultSpec): string => {
  if (status < 400) return "This is not an error: the request was accepted and is waiting."
  if (retryable)
    return "The same request may succeed later. Wait as `Retry-After` says, or longer after each failure."
  if (status === 429) return "Repeating the request at once does not help."
  if (status >= 500) return "Repeating the request without a change on the server is unlikely to help."
  return "The same request fails again until its cause is removed."
}

/** A reply with this error, as a caller might get it. */
export const faultExample = (code: FaultCode, baseUrl: string): Record<string, unknown> => {
  const wire = wireCode(code)
  if (faultSpec(code).status < 400)
    return {
      data: { status: "pending_approval", approval: { id: exampleParams.id } },
      request_id: requestId,
    }
  const text = faultText(code, exampleParams)
  const rest = { docs_url: `${baseUrl}/docs/errors/${wire}`, request_id: requestId }
  if (wire.startsWith("oauth_"))
    return { error: wire.slice("oauth_".length), error_description: text, code: wire, ...rest }
  if (wire === "validation_failed")
    return {
      code: wire,
      error: text,
      errors: [{ location: "body.name", message: "must be a string" }],
      ...rest,
    }
  return { code: wire, error: text, ...rest }
}

/** One error, as its page explains it. `help` and `advice` are Markdown of words and code spans only. */
export interface FaultArticle {
  readonly status: FaultStatus
  readonly phrase: string
  readonly text: string
  readonly help: string
  readonly advice: string
  readonly example: Readonly<Record<string, unknown>>
}

const codesByWireCode = Map.groupBy(faultCodes, wireCode)

/** Every code that a reply can carry; each has a page of its own. */
export const wireCodes: readonly string[] = [...codesByWireCode.keys()]

const PLANNED =
  "No operation of this version returns this code: it belongs to operations that are not implemented yet, and the text below may name them."

/** The articles of a wire code's page, several where several texts share the code; none for an unknown code. */
export const faultArticles = (wire: string, baseUrl: string): readonly FaultArticle[] =>
  (codesByWireCode.get(wire) ?? []).map(code => {
    const spec = faultSpec(code)
    return {
      status: spec.status,
      phrase: statusPhrases[spec.status],
      text: faultText(code, exampleParams),
      help: spec.planned ? `${PLANNED} ${spec.help}` : spec.help,
      advice: retryAdvice(spec),
      example: faultExample(code, baseUrl),
    }
  })

/** The page of a wire code as Markdown. */
export const faultMarkdown = (wire: string, baseUrl: string): string => {
  const sections = faultArticles(wire, baseUrl).map(({ status, phrase, text, help, advice, example }) =>
    [
      `Status **${status} ${phrase}**`,
      `> ${text}`,
      "## What it means and what to do",
      help,
      advice,
      "## Example",
      `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
    ].join("\n\n"),
  )
  return `# ${wire}\n\n${sections.join("\n\n---\n\n")}\n`
}
