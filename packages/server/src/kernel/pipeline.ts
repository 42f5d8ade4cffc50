import { randomUUID } from "node:crypto"
import { faultSpec, mutates, type Reply } from "@svc/contract"
import type { Clock } from "./clock.ts"
import type { Database } from "./db/database.ts"
import { anonymous, type Exchange, type Incoming, none, type Stage } from "./exchange.ts"
import { type Elsewhere, Fault, fault } from "./fault.ts"
import type { BoundOperation } from "./implement.ts"
import type { Logger } from "./log.ts"
import type { Metrics } from "./metrics.ts"
import type {
  Admission,
  Approvals,
  Audit,
  Credentials,
  Meters,
  Projects,
  Sealer,
  Signatures,
} from "./needs.ts"
import type { Replays } from "./replays.ts"
import { address } from "./stages/address.ts"
import { approve } from "./stages/approve.ts"
import { authenticate } from "./stages/authenticate.ts"
import { authorize } from "./stages/authorize.ts"
import type { Limits } from "./stages/limit.ts"
import { auditEntry, emptyNote, perform } from "./stages/perform.ts"
import { conclude, replay } from "./stages/replay.ts"
import { restrict } from "./stages/restrict.ts"
import { validate } from "./stages/validate.ts"

export interface KernelNeeds {
  readonly clock: Clock
  readonly log: Logger
  readonly database: Database
  readonly limits: Limits
  readonly replays: Replays
  readonly sealer: Sealer
  readonly credentials: Credentials
  readonly signatures?: Signatures | undefined
  readonly projects: Projects
  readonly approvals: Approvals
  readonly admission: Admission
  readonly audit: Audit
  readonly meters: Meters
  readonly metrics: Pick<Metrics, "observe">
  readonly baseUrl: string
  readonly isOwnOrigin: (origin: string) => boolean
}

/** What a call ends with: the payload not yet in its envelope, and the headers that every reply has. */
export interface PipelineResult {
  readonly reply: Reply
  /** The edge adds its own. */
  readonly headers: Record<string, string>
  readonly requestId: string
  /** Who else may serve it, where this process could not; it has counted nothing then. */
  readonly elsewhere?: Elsewhere
}

/** Runs one operation through every stage. Never rejects: a refusal is an answer too. */
export type Pipeline = (bound: BoundOperation, incoming: Incoming) => Promise<PipelineResult>

const VALID_REQUEST_ID = /^[A-Za-z0-9_.-]{8,128}$/

/** The caller's own id when it sent a usable one, so that a trace can cross systems. */
export const requestIdFor = (given: string | undefined): string =>
  given !== undefined && VALID_REQUEST_ID.test(given) ? given : randomUUID()

/** A caller that hung up while it sent gets no answer, and what broke for want of its bytes is no fault of ours. */
const asFault = (error: unknown, { isBroken }: Incoming): Fault => {
  const known = error instanceof Fault ? error : fault("internal_error", undefined, { internal: error })
  return isBroken && known.status >= 500 ? fault("request_timeout") : known
}

/**
 * Only what nobody foresaw is an error with a stack. That something is missing, busy or not reached is told without one, with
 * its cause, for the operator.
 */
export const logRefusal = (log: Logger, known: Fault, request: Readonly<Record<string, string>>): void => {
  if (known.status < 500) return
  const { internal } = known.details
  if (known.code === "internal_error") {
    log.error({ ...request, err: internal }, known.code)
    return
  }
  const reason = internal instanceof Error ? internal.message : internal
  log.warn({ ...request, status: known.status, ...(reason !== undefined && { reason }) }, known.code)
}

/** Statuses after which clients repeat a request by themselves. */
const REPEATED: ReadonlySet<number> = new Set([429, 500, 501, 502, 503, 504])

/** Tells clients not to, where the same request cannot succeed however often it is sent. */
const retryHeader = ({ code, status, details }: Fault): Readonly<Record<string, string>> =>
  REPEATED.has(status) &&
  code !== "internal_error" &&
  !faultSpec(code).retryable &&
  !details.headers?.["retry-after"]
    ? { "x-should-retry": "false" }
    : {}

/** Names the document that says where access tokens for this API come from (RFC 9728, 5.1). */
const challenge = ({ code }: Fault, baseUrl: string): string => {
  const refused = code === "missing_credentials" ? "" : 'error="invalid_token", '
  return `Bearer ${refused}resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`
}

/** The wire form of a refusal. */
export const refusal = (error: Fault, baseUrl: string, requestId: string): Reply => ({
  status: error.status,
  body: {
    code: error.publicCode,
    error: error.message,
    docs_url: `${baseUrl}/docs/errors/${error.publicCode}`,
    request_id: requestId,
    ...(error.details.errors && { errors: error.details.errors }),
    ...error.details.body,
  },
  headers: {
    ...retryHeader(error),
    ...(error.status === 401 && { "www-authenticate": challenge(error, baseUrl) }),
    ...error.details.headers,
  },
})

export const createPipeline = (needs: KernelNeeds): Pipeline => {
  const { clock, log, meters, metrics, audit, baseUrl } = needs

  /** The order is part of the interface: docs/decisions/0006-stage-order.md says why. */
  const stages: readonly Stage[] = [
    authenticate(needs.credentials, needs.signatures, needs.limits),
    address,
    needs.limits.stage,
    restrict(needs.isOwnOrigin),
    authorize(needs.projects),
    validate,
    load,
    replay(needs.replays, needs.sealer),
    approve(needs.approvals),
    admit(needs.admission),
    perform(needs),
  ]

  const identify = (bound: BoundOperation, incoming: Incoming): Exchange => ({
    bound,
    operation: bound.operation,
    incoming,
    log,
    nowMs: clock.now(),
    requestId: requestIdFor(incoming.header("x-request-id")),
    headers: {},
    principal: anonymous,
    signed: null,
    organization: null,
    project: null,
    input: {},
    note: emptyNote,
    meters: none,
    commits: none,
    rollbacks: none,
    replay: null,
  })

  const refuse = (exchange: Exchange, error: unknown): Reply => {
    const known = asFault(error, exchange.incoming)
    logRefusal(log, known, { request_id: exchange.requestId, operation: exchange.operation.name })
    if (known.status === 403 && exchange.organization) {
      audit.count({ ...auditEntry(exchange, "failure", { code: known.publicCode }), action: "access_denied" })
    }
    return refusal(known, baseUrl, exchange.requestId)
  }

  return async (bound, incoming) => {
    const startedMs = performance.now()
    const exchange = identify(bound, incoming)
    let reply: Reply | undefined
    let elsewhere: Elsewhere | undefined
    try {
      for (const stage of stages) {
        const outcome = stage(exchange)
        // A promise only where a stage waited for something: the common path stays in one turn.
        reply = outcome instanceof Promise ? await outcome : outcome
        if (reply) break
      }
    } catch (error) {
      if (error instanceof Fault && incoming.canGoOn) elsewhere = error.details.elsewhere
      reply = elsewhere ? refusal(error as Fault, baseUrl, exchange.requestId) : refuse(exchange, error)
    }
    reply ??= refuse(exchange, new Error("no stage answered"))
    if (exchange.replay)
      await conclude(exchange.replay, needs.database.db, reply).catch(error =>
        log.error({ err: error }, "storing the reply of an idempotent request failed"),
      )
    const answer = { reply, headers: exchange.headers, requestId: exchange.requestId }
    if (elsewhere) return { ...answer, elsewhere }
    meters.request(exchange, reply.status)
    metrics.observe(bound.operation.name, reply.status, (performance.now() - startedMs) / 1000)
    return answer
  }
}

/** Loads the area at its first call: before there is a transaction that would have to wait for it. */
const load: Stage = ({ bound }) => bound.ready?.()?.then(() => undefined)

/** Credit and quota, last before the effect (402). */
const admit =
  (admission: Admission): Stage =>
  exchange => {
    if (!mutates(exchange.operation)) return undefined
    const admitted = admission.admit(exchange)
    return admitted instanceof Promise ? admitted.then(() => undefined) : undefined
  }
