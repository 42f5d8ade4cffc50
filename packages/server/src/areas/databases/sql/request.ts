/** What the handlers of this area read from a call. */
import { acceptedMask, admits, SQL_BYTES_MAX, SQL_ROWS_DEFAULT, SQL_TIMEOUT_MS_DEFAULT } from "@svc/contract"
import type { AccountCall } from "../../../kernel/call.ts"
import type { Execution } from "./executor.ts"
import type { ReadOnly } from "./failures.ts"

const WRITES = acceptedMask("database:query")

export interface SqlOptions {
  readonly read_only?: boolean
  readonly timeout_ms?: number
  readonly max_rows?: number
}

const readOnlyOf = ({ readOnly, principal }: AccountCall, input: SqlOptions): ReadOnly => {
  if (readOnly || !admits(principal.held, WRITES)) return "key"
  return input.read_only ? "request" : false
}

export const executionOf = (call: AccountCall, input: SqlOptions): Execution => ({
  readOnly: readOnlyOf(call, input),
  timeoutMs: input.timeout_ms ?? SQL_TIMEOUT_MS_DEFAULT,
  rowsMax: input.max_rows ?? SQL_ROWS_DEFAULT,
  budget: { bytesLeft: SQL_BYTES_MAX },
  signal: call.signal,
})
