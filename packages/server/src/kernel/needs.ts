/** What the kernel asks of the core. The kernel knows these interfaces and not who satisfies them. */
import type { Meter, Reply } from "@svc/contract"
import type { AuditTarget, Principal, ProjectFacts, SignedRequest } from "./call.ts"
import type { Db } from "./db/database.ts"
import type { Exchange, Incoming } from "./exchange.ts"

type Awaitable<A> = A | Promise<A>

export interface Credentials {
  /** The principal of a key by its secret. Throws the 401 fault that fits. Synchronous when the cache knows it. */
  key(secret: string, nowMs: number): Awaitable<Principal>
  /** The principal of a console session, in the organization that the request names or the first of its user's. */
  session(
    token: string,
    organizationId: string | undefined,
    projectId: string | undefined,
    nowMs: number,
  ): Promise<Principal>
  /** The user of an application that an access token was issued to. Throws the 401 fault that fits. */
  endUser(token: string, nowMs: number): Awaitable<Principal>
}

/** Requests that carry a signature in the place of a key. */
export interface Signatures {
  /** Whether the request claims to be signed, rightly or not. */
  claims(incoming: Incoming): boolean
  /** Who signed it. Throws the 401 or 403 fault that fits. */
  check(
    incoming: Incoming,
    method: string,
    nowMs: number,
  ): Promise<{ readonly principal: Principal; readonly signed: SignedRequest }>
}

export interface Projects {
  /** The project, when it belongs to the organization. Synchronous when the cache knows it. */
  find(organizationId: string, projectId: string): Awaitable<ProjectFacts | undefined>
}

export interface AuditEntry {
  readonly tenantId: string
  readonly action: string
  readonly occurredAt: Date
  readonly outcome: "intent" | "success" | "failure"
  readonly actor: { readonly type: string; readonly id: string; readonly name: string }
  readonly targets: readonly AuditTarget[]
  readonly context: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface Audit {
  /** Appends to the tenant's hash chain, in the transaction of what it records. */
  append(db: Db, entry: AuditEntry): Promise<void>
  /** Counts one more of the same; written within a second, one entry for all. */
  count(entry: AuditEntry): void
}

export interface Meters {
  /** Counts a request of this caller, answered with this status. */
  request(exchange: Exchange, status: number): void
  add(exchange: Exchange, metric: Meter, quantity: number): void
}

export interface Approvals {
  /** Stores the request, sealed, and answers 202 with the record that a person decides on. */
  request(exchange: Exchange, detail?: string): Promise<Reply>
}

/** Seals texts with the tenant's key. `context` says what and whose a text is; it must be the same to open it. */
export interface Sealer {
  seal(tenantId: string, context: string, plaintext: string): Promise<string>
  open(tenantId: string, context: string, sealed: string): Promise<string>
}

/** Credit and quota (402). */
export interface Admission {
  admit(exchange: Exchange): Awaitable<void>
}
