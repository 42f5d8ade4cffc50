/** The language of the contract: an area is a named set of operations, and an operation is data. */
import { type Static, type TObject, type TSchema, Type } from "typebox"
import type { FaultCode } from "./faults.ts"
import type { Meter } from "./meters.ts"
import type { Scope } from "./scopes.ts"

export { type Static, type TObject, type TSchema, Type as T }

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"

/**
 * Who may call. A scope, or a list of which any one admits; otherwise
 * `any`: every key but a publishable one, and console sessions; `session`: a signed-in person only;
 * `publishable`: the public routes of end-user auth; `public`: no credential at all.
 */
export type Access =
  | Scope
  | readonly [Scope, Scope, ...Scope[]]
  | "any"
  | "session"
  | "publishable"
  | "public"

/** What a call does to state. `read-or-write` depends on the input: a read-only key may call it, and its handler honours `call.readOnly`. */
export type Effect = "read" | "write" | "destroy" | "read-or-write"

/** Whether the call acts inside a project: never, if one is named, or always. */
export type ProjectRule = "none" | "optional" | "required"

/**
 * Whose things the calls of an operation touch. `project`: those of the project that the call is in, or of the organization
 * itself where it is in none; another project's are like those that never existed. `organization`: all projects of an
 * organization share them; only who is not limited to a project changes them. `caller`: the key's or the person's own.
 * `installation`: everybody's, or all tenants', which take `admin:full` without a project.
 */
export type Belonging = "project" | "organization" | "caller" | "installation"

export type ContentKind = "json" | "bytes" | "multipart" | "gzip" | "sse"

/** The kinds of a reply: those of content, or the connection itself, which becomes a WebSocket after 101. */
export type ReplyKind = ContentKind | "websocket"

/** `data`: `{data, request_id}`; `bare`: the reply itself; `oci`, `s3`: bare, with the protocol's own error shape. */
export type Envelope = "data" | "bare" | "oci" | "s3"

/**
 * How a mutation is audited. `each`: one entry a call, committed with the mutation. `rollup`: one entry a second
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
   * `none`: the effect of this mutation lies outside the control database (a machine, a mail), or what it wrote must stay
   * when it refuses. Its handler runs in no transaction, and the audit trail has its intent before and its result after.
   */
  readonly transaction?: "none"
  /**
   * A high-risk operation waits for a person when its key says `require_approval`; `by-input` does where what is asked
   * is high-risk, as a statement may be, which its handler judges.
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
    /** Media types of bytes, where they are not `application/octet-stream` alone. */
    readonly requestTypes?: readonly string[]
    /** A request without a body, and so without its type, is refused. */
    readonly bytesRequired?: true
    readonly replyTypes?: readonly string[]
  }
  /** What a WebSocket speaks: the name in `Sec-WebSocket-Protocol`. */
  readonly subprotocol?: string
  readonly params?: TObject
  /** The last path parameter is the rest of the path, slashes included. */
  readonly rest?: true
  readonly query?: TObject
  /** Headers that the handler reads and checks itself. The credential, the project and the like are of the platform. */
  readonly headers?: TObject
  readonly body?: TObject
  /** The one field of `body` as which the whole JSON body travels: a value of the caller's own, such as an event. */
  readonly bodyAs?: string
  /** Other spellings of a field that are accepted and never emitted, as `{ ttl: "ttl_seconds" }`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** Success status → schema of the payload; `null` is a reply without body. */
  readonly replies: Readonly<Record<number, TSchema | null>>
  readonly faults?: readonly FaultCode[]
  readonly meters?: readonly Meter[]
  /** Fields of the reply that hold a secret shown once: the reply is kept sealed with the tenant's key for its replays. */
  readonly secrets?: readonly string[]
  /** JSON that comes as text/plain is read too: some clients name no type, and `fetch` then names that one. */
  readonly textAsJson?: true
  /** Largest message of a WebSocket in bytes: 1 MiB unless told. */
  readonly messageBytesMax?: number
  /** Largest request body in bytes. JSON bodies: 1 MiB unless told. */
  readonly bodyBytesMax?: number
  /** The refusal of a larger JSON body, where it is not `payload_too_large`. */
  readonly tooLarge?: FaultCode
  /**
   * `auth`: the stricter limit of sign-up, login and password reset, 3 a minute and address (specification 8.1).
   * `handler`: its handler finds out whose limit the request counts against.
   */
  readonly limit?: "auth" | "handler"
  /** The audit action, where it is not the operation's name. */
  readonly action?: string
  /** Pages of any origin may call it; it takes no cookie. The public routes of end-user auth always are. */
  readonly crossOrigin?: true
  /** What `OPTIONS` on its path tells, for protocols that ask so what a server can. */
  readonly optionsHeaders?: Readonly<Record<string, string>>
  /**
   * Fields of the body whose strings may hold null characters, because they are kept as bytes or as JSON. PostgreSQL's text,
   * names of files and variables of a process cannot hold them.
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
  /** Faults with the area's own wording, where the specification gives one. */
  readonly refusals?: AreaRefusals
}

export interface AreaRefusals {
  /** A key calls what takes a signed-in person. */
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
  readonly bodyBytesMax: number
}

export interface Area<Ops extends Record<string, OperationSpec> = Record<string, OperationSpec>>
  extends AreaSpec {
  readonly name: string
  readonly specs: Ops
  readonly operations: { readonly [K in keyof Ops]: Operation }
}

export const MIB = 1024 * 1024

/** Bytes of whatever type the caller names; the first is for those who name none. */
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
 * Whether a key or a member limited to projects may not call it. What takes a signed-in person checks the person's role
 * instead.
 */
export const takesOrganization = (operation: Operation): boolean => {
  if (operation.scope === "session" || operation.scope === "public") return false
  if (operation.belongs === "organization") return mutates(operation)
  return operation.belongs === "installation" && operation.scope === "admin:full"
}

/** Whether the call goes on as a WebSocket. */
export const isWebSocket = ({ content }: Pick<OperationSpec, "content">): boolean =>
  content?.reply === "websocket"

/** A foreign page may send a GET as it likes, and reads nothing of the answer; but a WebSocket is open to it both ways. */
export const isForgeable = (
  operation: Pick<OperationSpec, "content"> & { readonly method: Method },
): boolean => (operation.method !== "GET" && operation.method !== "HEAD") || isWebSocket(operation)

/** Whether our own clients and documents have the operation: S3's protocol has clients and documents of its own. */
export const isOurs = ({ envelope }: { readonly envelope: Envelope }): boolean => envelope !== "s3"

type Fields<S> = S extends TSchema ? Static<S> : unknown
type Simplify<A> = { [K in keyof A]: A[K] } & {}

/** One flat object: the declaration says which field travels in path, query or body. */
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

/** What a client gets back: the payload of whichever success status was answered. */
export type Output<O extends OperationSpec> = Payloads<O["replies"]>

/** What a handler returns: the payload, or `reply(status, payload)` where the operation has several success statuses. */
export type Result<O extends OperationSpec> =
  true extends IsUnion<keyof O["replies"]>
    ? { [S in keyof O["replies"]]: Reply<S & number, PayloadOf<O["replies"][S]>> }[keyof O["replies"]]
    : Output<O>
