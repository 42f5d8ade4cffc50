import type { KeyObject } from "node:crypto"
import type { BlockList } from "node:net"
import type { Readable } from "node:stream"
import type { KeyType, Meter, Operation, PlanName, Role, Scope, ScopeMask } from "@svc/contract"
import type { Logger } from "pino"
import type { WebSocket } from "ws"
import type { Db } from "./db/database.ts"

export interface OrganizationFacts {
  readonly id: string
  readonly name: string
  readonly plan: PlanName
  /** Requests a second: the plan's, or what the operator granted. */
  readonly requestsPerSecond: number
}

export interface ProjectFacts {
  readonly id: string
  readonly name: string
}

export interface KeyFacts {
  readonly id: string
  readonly type: KeyType
  readonly prefix: string
  readonly allowlist: readonly string[]
  readonly expiresAt: Date | null
  readonly createdAt: Date
}

export interface UserFacts {
  readonly id: string
  readonly email: string
  readonly name: string
}

export interface SessionFacts {
  readonly id: string
  /** When the person last proved the password. */
  readonly authenticatedAt: Date
}

/** A user of an application, by an access token that its project signed. Such a caller holds no scope. */
export interface EndUserFacts {
  readonly id: string
  readonly sessionId: string
  /** `aal2`: with a second factor. */
  readonly level: "aal1" | "aal2"
}

/** Who is calling, as far as every stage and handler needs to know. Frozen: it lives in the cache. */
export interface Principal {
  readonly type: "key" | "session" | "end_user" | "anonymous"
  /** Key id, user id or the id of an application's user; empty when anonymous. */
  readonly id: string
  readonly name: string
  readonly key: KeyFacts | null
  readonly user: UserFacts | null
  readonly session: SessionFacts | null
  readonly endUser?: EndUserFacts
  readonly organization: OrganizationFacts | null
  readonly role: Role | null
  /** As granted; what they imply is in `held`. */
  readonly scopes: readonly Scope[]
  readonly held: ScopeMask
  /** The project that a key is bound to. */
  readonly project: ProjectFacts | null
  /** The projects a restricted member may enter; null: all. */
  readonly projectIds: ReadonlySet<string> | null
  /** Whether the caller changes what belongs to the whole organization. */
  readonly organizationReach: boolean
  readonly readOnly: boolean
  readonly requireApproval: boolean
  readonly allowlist: BlockList | null
}

/** A request signed with AWS Signature Version 4, once its signature was found right. The body is not checked yet. */
export interface SignedRequest {
  /** Signs the chunks of a body that is sent in signed chunks. */
  readonly signingKey: KeyObject
  /** `20260102T030405Z` */
  readonly time: string
  /** `20260102/us-east-1/s3/aws4_request` */
  readonly credentialScope: string
  /** Hexadecimal; the chain of chunk signatures starts with it. */
  readonly signature: string
  /** The value of `x-amz-content-sha256`: a digest in hexadecimal, or one of the words that begin with `UNSIGNED-` or `STREAMING-`. */
  readonly payloadHash: string
}

export interface AuditTarget {
  readonly type: string
  readonly id: string
  readonly name?: string
}

/** What a handler adds to the audit entry of its call. */
export interface AuditNote {
  readonly action?: string
  readonly targets?: readonly AuditTarget[]
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The chain to write to, for calls that name no organization: an organization's id or a user's. */
  readonly tenantId?: string
}

export type { WebSocket }

/** A call that goes on as a WebSocket once it is answered with 101. */
export interface Handshake {
  /**
   * `taker` gets the connection; undefined where there is none, because the call was answered otherwise in the end or the
   * caller went away. What was opened for it is then its to close.
   */
  take(taker: (socket: WebSocket | undefined) => void): void
}

/** Whose data a call may touch. */
export interface Tenant {
  readonly organizationId: string
  /** Null when the call names no project. */
  readonly projectId: string | null
  /** The project, or the organization when none is named. */
  readonly ownerId: string
}

/** The tenant of an operation that is always made in a project. */
export interface ProjectTenant {
  readonly organizationId: string
  readonly projectId: string
}

/** One call as its handler sees it. */
export interface Call {
  readonly operation: Operation
  readonly requestId: string
  readonly now: Date
  readonly principal: Principal
  readonly signed: SignedRequest | null
  readonly organization: OrganizationFacts
  readonly project: ProjectFacts | null
  /** The project, or the organization when none is named: whose data this call may touch. */
  readonly owner: string
  readonly tenant: Tenant
  /** Throws `project_required` without a project, which authorization rules out where the operation requires one. */
  readonly projectTenant: ProjectTenant
  readonly readOnly: boolean
  readonly ip: string
  readonly userAgent: string | null
  /** Path and query exactly as they came. */
  readonly target: string
  /** A header of the request, by its lower-case name; callers inside the process send few. */
  header(name: string): string | undefined
  /** The names of all its headers, in lower case: for those that only share a beginning. */
  headerNames(): readonly string[]
  readonly log: Logger
  /** The pool; in a mutation, its transaction. Audit entry and replay record commit with it. */
  readonly db: Db
  /** Aborts when the caller hangs up or the platform stops. */
  readonly signal: AbortSignal
  /** The body of an operation whose content is not JSON. */
  readonly stream: Readable
  /** Throws `upgrade_required` where the request asks for no WebSocket. */
  readonly handshake: Handshake
  /**
   * Counts the request against an organization's limit, or the address's where there is none; for operations that declare
   * `limit: "handler"`. Throws `rate_limited`.
   */
  countRequest(organization: OrganizationFacts | null): void
  describe(note: AuditNote): void
  meter(metric: Meter, quantity: number): void
  /** Runs once the transaction has committed; never when it rolls back. */
  committed(act: () => void | Promise<void>): void
  /** Runs once the transaction has rolled back: gives back what was taken outside the database. */
  rolledBack(act: () => void | Promise<void>): void
  setHeader(name: string, value: string): void
}

/** What a call without an organization (sign-up, account) sees. */
export type AccountCall = Omit<Call, "organization" | "owner" | "tenant" | "projectTenant">
