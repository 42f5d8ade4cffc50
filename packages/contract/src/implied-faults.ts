/**
 * Errors that follow from the declaration of an operation alone: those of the pipeline stages that every call passes.
 * A declaration's `faults` has only those that its handler adds.
 */
import { type Access, isForgeable, isWebSocket, mutates, type Operation, takesOrganization } from "./dsl.ts"
import { type FaultCode, faults } from "./faults.ts"
import { refusesReadOnly } from "./read-only.ts"

/** Errors of the transport, which every operation can return. */
export const transportFaults = [
  "method_not_allowed",
  "not_acceptable",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  "upstream_timeout",
] as const satisfies readonly FaultCode[]

/** 401 of every operation that authenticates its caller. */
export const callerFaults: readonly FaultCode[] = [
  "missing_credentials",
  "invalid_api_key",
  "api_key_revoked",
  "api_key_expired",
  "session_expired",
]

const UNSCOPED: ReadonlySet<Access> = new Set<Access>(["any", "session", "publishable", "end-user", "public"])

const UNREPLAYED: ReadonlySet<Access> = new Set<Access>(["public", "publishable", "end-user"])

/** Whether the call must hold a scope, or one of several. */
export const isScoped = ({ scope }: Operation): boolean => !UNSCOPED.has(scope)

/**
 * True if a repeated Idempotency-Key gets the first reply again. An anonymous caller's key could be anyone's, as a
 * publishable key is everyone's; tokens of end users are not kept for a second reply; neither streams nor bytes are stored.
 */
export const isReplayed = (operation: Operation): boolean =>
  mutates(operation) && !UNREPLAYED.has(operation.scope) && (operation.content?.reply ?? "json") === "json"

const when = (condition: boolean, ...codes: FaultCode[]): FaultCode[] => (condition ? codes : [])

/** True if a body is parsed as JSON: also an undeclared one, so that its fields are rejected by name. */
const readsJson = ({ method, body, content }: Operation): boolean =>
  content?.request !== "form" &&
  (body !== undefined || (method !== "GET" && method !== "HEAD" && (content?.request ?? "json") === "json"))

/** 400. Every operation rejects undeclared query fields, so every operation has one. */
const badInput = (operation: Operation): FaultCode[] => [
  "validation_failed",
  "header_duplicated",
  ...when(operation.params !== undefined, "uri_invalid"),
  ...when(readsJson(operation), "invalid_json", "json_too_deep"),
  ...when(operation.project !== "none", "invalid_request"),
  ...when(operation.project !== "none" && operation.pathProject === undefined, operation.refusals.project),
  ...when(isReplayed(operation), "idempotency_key_invalid", "idempotency_key_mismatch"),
]

/** A signed-in person may belong to no organization; every other caller of an operation without scope has one. */
const actsInOrganization = ({ scope, belongs }: Operation): boolean =>
  (scope === "session" || scope === "any") && (belongs === "project" || belongs === "organization")

const notPermitted = (operation: Operation): FaultCode[] => [
  "ip_not_allowed",
  "tenant_mismatch",
  ...when(operation.scope !== "end-user", "token_audience_mismatch"),
  ...when(operation.scope !== "publishable", "publishable_key_not_allowed"),
  ...when(operation.scope === "session", operation.refusals.session),
  ...when(actsInOrganization(operation), "role_insufficient"),
  ...when(isScoped(operation), "missing_scope"),
  ...when(operation.project !== "none", "project_not_in_organization"),
  ...when(takesOrganization(operation), "organization_reach_required"),
  ...when(refusesReadOnly(operation), "key_read_only"),
  ...when(isForgeable(operation), "csrf_failed"),
  ...when(operation.risk !== undefined && operation.envelope === "s3", "approval_not_possible"),
]

const tooMany = (operation: Operation): FaultCode[] => [
  ...when(operation.limit === "auth", "auth_rate_limited"),
  // Addresses that guess credentials are limited on every operation.
  ...when(operation.limit !== "auth" || operation.scope !== "public", "rate_limited"),
  ...when(operation.risk !== undefined && operation.envelope !== "s3", "too_many_pending_approvals"),
]

/** Error codes that follow from the declaration, without those of the transport. */
export const impliedFaults = (operation: Operation): FaultCode[] => [
  ...badInput(operation),
  ...when(operation.scope !== "public", ...callerFaults, ...notPermitted(operation)),
  ...when(operation.scope === "end-user", "token_invalid", "token_expired"),
  ...when(isReplayed(operation), "idempotency_key_in_use"),
  ...when(isWebSocket(operation), "upgrade_required"),
  ...tooMany(operation),
  "internal_error",
  "service_unavailable",
]

/** Error statuses that an operation may return without declaring them, those of the transport included. */
export const impliedStatuses = (operation: Operation): ReadonlySet<number> =>
  new Set([...impliedFaults(operation), ...transportFaults].map(code => faults[code].status))
