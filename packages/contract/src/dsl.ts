/** The language of the contract: an area is a named set of operations, and an operation is data. */
import { type Static, type TObject, type TSchema, Type } from "typebox"
import type { FaultCode } from "./faults.ts"
import type { Meter } from "./meters.ts"
import type { Scope } from "./scopes.ts"

export { type Static, type TObject, type TSchema, Type as T }

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS"

/**
 * Who may call: a scope, or a list of scopes of which any one is enough; or
 * `any`: every key but a publishable one, and sessions; `session`: a signed-in person only;
 * `publishable`: the public routes of end-user auth; `end-user`: a signed-in user of an application, by an access token;
 * `public`: no credential at all.
 */
export type Access =
  | Scope
  | readonly [Scope, Scope, ...Scope[]]
  | "any"
  | "session"
  | "publishable"
  | "end-user"
  | "public"

/** What a call does to state. `read-or-write` depends on the input: a read-only key may call it, and its handler honours `call.readOnly`. */
export type Effect = "read" | "write" | "destroy" | "read-or-write"

/** Whether a call acts inside a project: never, if the request names one, or always. */
export type ProjectRule = "none" | "optional" | "required"

/**
 * Who owns the resources of an operation. `project`: the project of the call, or the organization if the call names none;
 * resources of other projects are treated as nonexistent. `organization`: all projects share them, and only callers that
 * are not limited to a project can change them. `caller`: the calling key or person. `installation`: all tenants; the
 * operation needs `admin:full` without a project.
 */
export type Belonging = "project" | "organization" | "caller" | "installation"

/** `form`: `application/x-www-form-urlencoded`; a field that comes twice is a list. */
export type ContentKind = "json" | "bytes" | "multipart" | "form" | "gzip" | "sse"

/** The kinds of a reply: those of content, or the connection itself, which becomes a WebSocket after 101. */
export type ReplyKind = ContentKind | "websocket"

/**
 * `data`: `{data, request_id}`; `bare`: the reply itself; `oci`, `s3`, `oauth`: bare, with the protocol's own error shape;
 * `page`: HTML for a person's browser, refusals too.
 */
export type Envelope = "data" | "bare" | "oci" | "s3" | "oauth" | "page"

/**
 * How a mutation is audited. `each`: one entry per call, committed with the mutation. `rollup`: one entry per second
 * for every key and action, with a count, for data-plane writes that run thousands of times a second.
 */
export type AuditRule = "each" | "rollup"

export interface OperationSpec {
  /** The operationId of the specification. */
  readonly id: string
  /** Method and path exactly as the specification's row, so that grep finds both. */
  readonly http: `${Method} /${string}`
  readonly summary: string
  readonly description?: string
  readonly scope: Access
  readonly effect: Effect
  /**
   * `none`: the effect of this mutation is outside the control database (a machine, a mail), or its writes must persist
   * when it fails. Its handler runs without a transaction; the audit trail gets an entry before and the result after.
   */
  readonly transaction?: "none"
  /**
   * A high-risk operation waits for a person's approval if its key has `require_approval`. `by-input`: the handler decides
   * from the input, such as an SQL statement, whether the call is high-risk.
   */
  readonly risk?: "high" | "by-input"
  readonly project?: ProjectRule
  readonly belongs?: Belonging
  readonly envelope?: Envelope
  readonly audit?: AuditRule
  /**
   * `idempotency-key` (default for mutations): the SDK sends an Idempotency-Key. `natural`: repeating it has no further
   * effect. `none`: repeating it acts again, and a record of each call would cost too much; the SDK repeats it only when
   * the server did nothing.
   */
  readonly idempotency?: "idempotency-key" | "natural" | "none"
  readonly content?: {
    readonly request?: ContentKind
    readonly reply?: ReplyKind
    /** Media types of bytes, if others than `application/octet-stream` are accepted. */
    readonly requestTypes?: readonly string[]
    /** A request without a body is rejected. */
    readonly bytesRequired?: true
    readonly replyTypes?: readonly string[]
  }
  /** Subprotocol of a WebSocket: the name in `Sec-WebSocket-Protocol`. */
  readonly subprotocol?: string
  readonly params?: TObject
  /** The last path parameter is the rest of the path, slashes included. */
  readonly rest?: true
  readonly query?: TObject
  /** Headers that the handler reads and validates itself. The pipeline handles credentials, project and the like. */
  readonly headers?: TObject
  readonly body?: TObject
  /** The field of `body` whose value is the whole JSON body of the request, such as an event of the caller. */
  readonly bodyAs?: string
  /** Other spellings of a field that are accepted and never emitted, as `{ ttl: "ttl_seconds" }`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** Success status → schema of the payload; `null` is a reply without body. */
  readonly replies: Readonly<Record<number, TSchema | null>>
  readonly faults?: readonly FaultCode[]
  readonly meters?: readonly Meter[]
  /** Fields of the reply with a secret that is shown once: the stored reply for replays is encrypted with the tenant's key. */
  readonly secrets?: readonly string[]
  /** Also accepts JSON as text/plain, which `fetch` sends for clients that set no type. */
  readonly textAsJson?: true
  /** Largest message of a WebSocket in bytes; 1 MiB by default. */
  readonly messageBytesMax?: number
  /** Largest request body in bytes; 1 MiB by default. */
  readonly bodyBytesMax?: number
  /** Error of a larger JSON body, if not `payload_too_large`. */
  readonly tooLarge?: FaultCode
  /**
   * `auth`: the stricter limit of sign-up, login and password reset, 3 per minute and address (specification 8.1).
   * `handler`: the handler determines whose limit the request counts against.
   */
  readonly limit?: "auth" | "handler"
  /** The audit action, if not the name of the operation. */
  readonly action?: string
  /** Pages of any origin may call it, without cookies. The public routes of end-user auth always allow this. */
  readonly crossOrigin?: true
  /** Headers of the reply to `OPTIONS` on its path, for protocols that query a server's capabilities this way. */
  readonly optionsHeaders?: Readonly<Record<string, string>>
  /**
   * Fields of the body whose strings may contain null characters, because they are stored as bytes or JSON. PostgreSQL's
   * text, file names and environment variables cannot contain them.
   */
  readonly nulFields?: readonly string[]
  /** The specification has no row for it. */
  readonly extension?: true
  /** A valid input: shown in the documentation, sent by the derived tests. */
  readonly example?: Readonly<Record<string, unknown>>
}

export interface AreaSpec {
  readonly title: string
  readonly summary: string
  readonly project: ProjectRule
  readonly belongs: Belonging
  readonly envelope?: Envelope
  readonly audit?: AuditRule
  /** Errors with a text of the area's own, where the specification gives one. */
  readonly refusals?: AreaRefusals
  /** The project in which a call acts is `{project_id}` of the path; the error where that is none of the caller's. */
  readonly pathProject?: FaultCode
}

export interface AreaRefusals {
  /** A key calls an operation that needs a signed-in person. */
  readonly session?: FaultCode
  /** A key of the whole organization names no project. */
  readonly project?: FaultCode
}

/** An operation with its area's defaults filled in. */
export type Operation = Omit<OperationSpec, "project" | "belongs" | "envelope" | "audit"> & {
  readonly area: string
  readonly key: string
  /** `kv.set`: the SDK's name, the CLI's words and the audit action. */
  readonly name: string
  readonly method: Method
  readonly path: string
  readonly project: ProjectRule
  readonly belongs: Belonging
  readonly envelope: Envelope
  readonly audit: AuditRule
  readonly refusals: Required<AreaRefusals>
  readonly pathProject?: FaultCode
  readonly bodyBytesMax: number
}

export interface Area<Ops extends Record<string, OperationSpec> = Record<string, OperationSpec>>
  extends AreaSpec {
  readonly name: string
  readonly specs: Ops
  readonly operations: { readonly [K in keyof Ops]: Operation }
}

export const MIB = 1024 * 1024

/** Bytes of any type; the first is the default. */
export const ANY_TYPE = ["application/octet-stream", "*/*"] as const

const complete = (areaName: string, area: AreaSpec, key: string, spec: OperationSpec): Operation => {
  const [method, path] = spec.http.split(" ") as [Method, string]
  return {
    ...spec,
    area: areaName,
    key,
    name: `${areaName}.${key}`,
    method,
    path,
    project: spec.project ?? area.project,
    belongs: spec.belongs ?? area.belongs,
    envelope: spec.envelope ?? area.envelope ?? "data",
    audit: spec.audit ?? area.audit ?? "each",
    refusals: { session: "session_required", project: "project_required", ...area.refusals },
    ...(area.pathProject !== undefined && path.includes("{project_id}") && { pathProject: area.pathProject }),
    bodyBytesMax: spec.bodyBytesMax ?? MIB,
  }
}

export const area = <const Ops extends Record<string, OperationSpec>>(
  name: string,
  spec: AreaSpec,
  specs: Ops,
): Area<Ops> => ({
  ...spec,
  name,
  specs,
  operations: Object.fromEntries(
    Object.entries(specs).map(([key, operation]) => [key, complete(name, spec, key, operation)]),
  ) as { [K in keyof Ops]: Operation },
})

export const mutates = ({ effect }: { effect: Effect }): boolean => effect === "write" || effect === "destroy"

/**
 * True if keys and members limited to projects may not call it. Operations for signed-in persons check the role instead.
 */
export const takesOrganization = (operation: Operation): boolean => {
  if (operation.scope === "session" || operation.scope === "public") return false
  if (operation.belongs === "organization") return mutates(operation)
  return operation.belongs === "installation" && operation.scope === "admin:full"
}

/** True if the connection becomes a WebSocket. */
export const isWebSocket = ({ content }: Pick<OperationSpec, "content">): boolean =>
  content?.reply === "websocket"

/** True for requests that a foreign page could abuse: it cannot read the reply of a GET, but it can use a WebSocket. */
export const isForgeable = (
  operation: Pick<OperationSpec, "content"> & { readonly method: Method },
): boolean => (operation.method !== "GET" && operation.method !== "HEAD") || isWebSocket(operation)

/** True if the SDK, CLI and documents include the operation; the S3 protocol has clients and documents of its own, and pages have readers. */
export const isOurs = ({ envelope }: { readonly envelope: Envelope }): boolean =>
  envelope !== "s3" && envelope !== "page"

type Fields<S> = S extends TSchema ? Static<S> : unknown
type Simplify<A> = { [K in keyof A]: A[K] } & {}

/** The flat input of an operation: the declaration says which field is sent in path, query or body. */
export type Input<O extends OperationSpec> = Simplify<
  Fields<O["params"]> & Fields<O["query"]> & Fields<O["body"]>
>

export interface Reply<Status extends number = number, Body = unknown> {
  readonly status: Status
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

export const reply = <const Status extends number, Body>(
  status: Status,
  body: Body,
  headers?: Readonly<Record<string, string>>,
): Reply<Status, Body> => (headers ? { status, body, headers } : { status, body })

type PayloadOf<S> = S extends TSchema ? Static<S> : undefined
type Payloads<R> = { [S in keyof R]: PayloadOf<R[S]> }[keyof R]
type IsUnion<A, B = A> = A extends unknown ? ([B] extends [A] ? false : true) : never

/** What a client gets: the payload of the success status of the reply. */
export type Output<O extends OperationSpec> = Payloads<O["replies"]>

/** What a handler returns: the payload, or `reply(status, payload)` where the operation has several success statuses. */
export type Result<O extends OperationSpec> =
  true extends IsUnion<keyof O["replies"]>
    ? { [S in keyof O["replies"]]: Reply<S & number, PayloadOf<O["replies"][S]>> }[keyof O["replies"]]
    : Output<O>
