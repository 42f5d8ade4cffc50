/** What the handlers of this area read from a call. */
import { SQL_BYTES_MAX, SQL_ROWS_DEFAULT, SQL_TIMEOUT_MS_DEFAULT } from "@svc/contract"
import type { AccountCall } from "../../kernel/call.ts"
import { holds } from "../../kernel/scopes.ts"
import type { ReadOnly } from "../../services/postgres/failures.ts"
import type { Execution } from "./executor.ts"

export interface SqlOptions {
  readonly read_only?: boolean
  readonly timeout_ms?: number
  readonly max_rows?: number
}

export const readOnlyOf = ({ principal }: Pick<AccountCall, "principal">, input: SqlOptions): ReadOnly => {
  if (principal.readOnly || !holds(principal, "database:query")) return "key"
  return input.read_only ? "request" : false
}

export const executionOf = (call: AccountCall, input: SqlOptions): Execution => ({
  readOnly: readOnlyOf(call, input),
  timeoutMs: input.timeout_ms ?? SQL_TIMEOUT_MS_DEFAULT,
  rowsMax: input.max_rows ?? SQL_ROWS_DEFAULT,
  budget: { bytesLeft: SQL_BYTES_MAX },
  signal: call.signal,
})
