/**
 * The form of Neon's SQL over HTTP, as `@neondatabase/serverless` speaks it. A request is in that form when one of its
 * headers says so; the key in `Authorization` stays the proof, and the connection string only names the branch.
 */

import { type Fault, fault, isFault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import { OWNER_ROLE } from "../../ports/engine/port.ts"
import { serverErrorOf } from "../../services/postgres/failures.ts"
import type { Executed } from "./executor.ts"
import { commandOf } from "./normalize.ts"
import type { Types } from "./pg-types.ts"
import { createRowWriter } from "./results.ts"
import type { TransactionOptions } from "./transaction.ts"

type ReadHeader = (name: string) => string | undefined

export interface NeonRequest {
  /** Values as PostgreSQL's text, and not as JSON. */
  readonly rawText: boolean
  readonly arrayMode: boolean
  /** The branch that the connection string's user names: `owner.<branch id>`. */
  readonly branchId: string | undefined
  readonly batch: TransactionOptions
}

const isTrue = (value: string | undefined): boolean => value?.toLowerCase() === "true"

const branchOf = (connectionString: string | undefined): string | undefined => {
  if (connectionString === undefined || !URL.canParse(connectionString)) return undefined
  let user: string
  try {
    user = decodeURIComponent(new URL(connectionString).username)
  } catch {
    return undefined
  }
  const [role, branchId = ""] = user.split(".", 2)
  return role === OWNER_ROLE && isUuid(branchId) ? branchId : undefined
}

export const neonRequestOf = (header: ReadHeader): NeonRequest | undefined => {
  const marks = ["neon-connection-string", "neon-raw-text-output", "neon-array-mode"]
  return marks.some(name => header(name) !== undefined) ? neonFormOf(header) : undefined
}

export const neonFormOf = (header: ReadHeader): NeonRequest => ({
  rawText: isTrue(header("neon-raw-text-output")),
  arrayMode: isTrue(header("neon-array-mode")),
  branchId: branchOf(header("neon-connection-string")),
  batch: {
    isolationLevel: header("neon-batch-isolation-level"),
    readOnlyTransaction: isTrue(header("neon-batch-read-only")),
    deferrable: isTrue(header("neon-batch-deferrable")),
  },
})

/** Its `command` is the first word of the tag. */
export const toNeonResult = (
  sql: string,
  { result }: Executed,
  types: Types,
  { rawText, arrayMode }: Pick<NeonRequest, "rawText" | "arrayMode">,
) => {
  const { fields } = result
  const command = result.command ?? (result.truncated ? commandOf(sql) : null)
  // This form has no field that says rows are missing.
  if (result.truncated)
    throw fault("invalid_sql", { reason: "it was run, but its result is too large for one reply" })
  const names = fields.map(({ name }) => name)
  const asText = (row: readonly (string | null)[]) =>
    arrayMode ? row : Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]))
  const asJson = createRowWriter(fields, types, arrayMode)
  return {
    command: command?.split(" ", 1)[0] ?? null,
    rowCount: result.rowCount,
    rowAsArray: arrayMode,
    fields: fields.map(({ name, tableID, columnID, dataTypeID, dataTypeSize, dataTypeModifier }) => ({
      name,
      tableID,
      columnID,
      dataTypeID,
      dataTypeSize,
      dataTypeModifier,
      format: "text",
    })),
    rows: result.rows.map(row => (rawText ? asText(row) : asJson(row))),
  }
}

/** The same refusal with a body that the driver turns into its own error: `code` is the SQLSTATE. */
export const toNeonFault = (error: unknown): unknown => {
  if (!isFault(error)) return error
  const known: Fault = error
  const server = serverErrorOf(known)
  const details = (known.details.body?.details ?? {}) as { sqlstate?: string }
  const { params, headers, internal } = known.details
  const body = {
    ...known.details.body,
    message: server?.message ?? String(params?.reason ?? known.message),
    code: server?.code ?? details.sqlstate ?? known.publicCode,
    severity: server?.severity ?? "ERROR",
    detail: server?.detail ?? null,
    hint: server?.hint ?? null,
    position: server?.position ?? null,
    internalPosition: server?.internalPosition ?? null,
    internalQuery: server?.internalQuery ?? null,
    where: server?.where ?? null,
    schema: server?.schema ?? null,
    table: server?.table ?? null,
    column: server?.column ?? null,
    dataType: server?.dataType ?? null,
    constraint: server?.constraint ?? null,
    file: server?.file ?? null,
    line: server?.line ?? null,
    routine: server?.routine ?? null,
  }
  return fault(known.code, params, { body, internal, ...(headers && { headers }) })
}
