/** From what went wrong in a database to what its caller is told. */
import { type Fault, fault, isFault } from "../../kernel/fault.ts"
import { ConnectionLost, CopyRefused, isServerError, type ServerError } from "./pipeline.ts"

/** Why a session may only read, if so: its key, or the request's own wish. */
export type ReadOnly = "key" | "request" | false

export interface FailureContext {
  readonly readOnly: ReadOnly
  readonly timeoutMs: number
}

const QUERY_CANCELED = "57014"
const READ_ONLY_TRANSACTION = "25006"
const INSUFFICIENT_PRIVILEGE = "42501"
/** Operator intervention: the server is going down, or is not up yet. */
const GOING_DOWN: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03", "57P05"])
/** Files of the database cannot be read or written, or what is in them is damaged. */
const BROKEN_FILES: ReadonlySet<string> = new Set(["58030", "XX001", "XX002"])
/** The function of PostgreSQL's language for procedures that raises what their author says, with any SQLSTATE. */
const RAISED = "exec_stmt_raise"
/** The function that ends a statement which was cancelled or took too long. */
const INTERRUPTED = "ProcessInterrupts"

const endsSession = ({ severity }: ServerError): boolean => severity === "FATAL" || severity === "PANIC"

/**
 * Whether the server is to blame, and not the statement. The SQLSTATE alone does not tell: statements raise any, and
 * PostgreSQL answers 08P01 to a wrong number of parameters. What ends the session never comes of a RAISE.
 */
export const isServersFault = (error: ServerError): boolean =>
  endsSession(error) || (error.routine !== RAISED && BROKEN_FILES.has(error.code))

/** The fields of a server error that its caller may see: all of its own making. */
export const detailsOf = (error: ServerError): Record<string, unknown> => {
  const position = error.position === undefined ? null : Number(error.position)
  const optional = {
    hint: error.hint,
    detail: error.detail,
    constraint: error.constraint,
    schema: error.schema,
    table: error.table,
    column: error.column,
    data_type: error.dataType,
    where: error.where,
  }
  return {
    sqlstate: error.code,
    severity: error.severity,
    position,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  }
}

export const invalidSql = (
  reason: string,
  details: Record<string, unknown> = {},
  internal?: unknown,
): Fault => fault("invalid_sql", { reason }, { body: { details }, internal })

/** A write to a database that is read-only for its size. */
export const databaseFull = (): Fault =>
  invalidSql(
    "the database takes more disk than it may, and is read-only: over HTTP, DELETE, TRUNCATE, DROP and VACUUM " +
      "free space, one statement at a time and each by itself",
    { sqlstate: READ_ONLY_TRANSACTION },
  )

const ofServer = (error: ServerError, { readOnly, timeoutMs }: FailureContext): Fault => {
  const { code, routine } = error
  const details = { body: { details: detailsOf(error) }, internal: error }
  // The same code when another session of the tenant cancels this one.
  if (code === QUERY_CANCELED && routine === INTERRUPTED && error.message.includes("timeout"))
    return fault("query_timeout", { seconds: timeoutMs / 1000 }, details)
  if (
    readOnly === "key" &&
    routine !== RAISED &&
    (code === READ_ONLY_TRANSACTION || code === INSUFFICIENT_PRIVILEGE)
  )
    return fault("key_read_only", undefined, details)
  if (endsSession(error) && GOING_DOWN.has(code))
    return fault("service_unavailable", { reason: "the database is restarting" }, { internal: error })
  if (isServersFault(error)) return fault("internal_error", undefined, { internal: error })
  return fault("invalid_sql", { reason: error.message }, details)
}

/** The fault for whatever a statement ended in. Faults pass. */
export const toFault = (error: unknown, context: FailureContext): Fault => {
  if (isFault(error)) return error
  if (isServerError(error)) return ofServer(error, context)
  if (error instanceof CopyRefused)
    return invalidSql("COPY to or from the client needs a connection of its own", { sqlstate: "0A000" })
  if (error instanceof ConnectionLost) {
    return error.message === "a row is too large"
      ? invalidSql("a row of the result is larger than 64 MiB", { sqlstate: "54000" }, error)
      : fault(
          "service_unavailable",
          {
            reason: "the connection to the database was lost; whether the statement took effect is not known",
          },
          { internal: error },
        )
  }
  return fault("internal_error", undefined, { internal: error })
}

/** What PostgreSQL itself said, where it was PostgreSQL. */
export const serverErrorOf = (known: Fault): ServerError | undefined =>
  isServerError(known.details.internal) ? known.details.internal : undefined
