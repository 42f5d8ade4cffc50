import type { areas, Output } from "@svc/contract"

export interface FieldError {
  /** Where the value travelled, as `body.key` or `query.limit`. */
  readonly location: string
  readonly message: string
}

/** What a refusal tells beside its text, in the words of the wire. Of a SQL statement: what PostgreSQL said. */
export interface ErrorDetails {
  readonly sqlstate?: string
  readonly severity?: string
  /** Where in the statement, in characters from 1. */
  readonly position?: number | null
  readonly hint?: string
  readonly detail?: string
  readonly constraint?: string
  readonly schema?: string
  readonly table?: string
  readonly column?: string
  readonly data_type?: string
  readonly where?: string
  readonly [name: string]: unknown
}

export interface SvcErrorDetails {
  /** HTTP status; 0 when no reply arrived. */
  readonly status: number
  readonly code: string
  readonly message: string
  readonly requestId?: string | undefined
  readonly docsUrl?: string | undefined
  readonly errors?: readonly FieldError[] | undefined
  readonly details?: ErrorDetails | undefined
  /** Seconds. */
  readonly retryAfter?: number | undefined
  readonly cause?: unknown
}

/**
 * Every failure of a call, except an abort by the caller's own signal.
 * Without a reply the status is 0 and the code `network_error` or `timeout`.
 */
export class SvcError extends Error {
  override readonly name: string = "SvcError"
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly docsUrl: string | undefined
  /** The fields at fault, when the code is `validation_failed`. */
  readonly errors: readonly FieldError[] | undefined
  /** What the platform told beside the message, as the SQLSTATE of a statement that PostgreSQL refused. */
  readonly details: ErrorDetails | undefined
  /** Seconds to wait before trying again, when the platform named them. */
  readonly retryAfter: number | undefined

  constructor(details: SvcErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause })
    this.status = details.status
    this.code = details.code
    this.requestId = details.requestId
    this.docsUrl = details.docsUrl
    this.errors = details.errors
    this.details = details.details
    this.retryAfter = details.retryAfter
  }
}

export type Approval = Output<(typeof areas)["approvals"]["specs"]["get"]>

/** The platform stored the request and waits for a person to decide; nothing was done yet. */
export class ApprovalPending extends SvcError {
  override readonly name = "ApprovalPending"
  readonly approval: Approval

  constructor(approval: Approval, details: Omit<SvcErrorDetails, "status" | "code" | "message">) {
    super({
      ...details,
      status: 202,
      code: "approval_required",
      message: `the request waits for a person's approval (${approval.id})`,
    })
    this.approval = approval
  }
}
