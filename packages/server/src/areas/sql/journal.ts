/** What an HTTP call writes to the query log. */

import type { AccountCall } from "../../kernel/call.ts"
import { type Fault, isFault } from "../../kernel/fault.ts"
import type { ReadOnly } from "../../services/postgres/failures.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { Executed } from "./executor.ts"
import type { LoggedCall, QueryLog } from "./query-log.ts"

const sqlstateOf = ({ details }: Fault): string | null => {
  const told = details.body?.details as { sqlstate?: string } | undefined
  return told?.sqlstate ?? null
}

const reasonOf = ({ details, message }: Fault): string => String(details.params?.reason ?? message)

type Outcome = Pick<LoggedCall, "command" | "rows" | "durationMs" | "wakeMs" | "sqlstate" | "error">

export const createJournal = (
  queryLog: QueryLog,
  call: AccountCall,
  target: Target,
  { readOnly, user }: { readonly readOnly: ReadOnly; readonly user: string },
) => {
  const { principal, requestId, ip, userAgent } = call
  const shared = {
    target,
    source: "http",
    keyId: principal.key?.id ?? null,
    user,
    applicationName: userAgent,
    clientAddress: ip,
    readOnly: readOnly !== false,
    requestId,
  } as const

  const record = (sql: string, startedAtMs: number, outcome: Outcome) =>
    queryLog.record({ ...shared, sql, startedAtMs, ...outcome })

  return {
    executed(sql: string, startedAtMs: number, { result, durationMs, wakeMs }: Executed) {
      const { command, rowCount: rows } = result
      record(sql, startedAtMs, { command, rows, durationMs, wakeMs, sqlstate: null, error: null })
    },
    failed(sql: string, startedAtMs: number, error: unknown) {
      const known = isFault(error) ? error : undefined
      record(sql, startedAtMs, {
        command: null,
        rows: null,
        durationMs: Math.max(0, Date.now() - startedAtMs),
        wakeMs: 0,
        sqlstate: known ? sqlstateOf(known) : null,
        error: known ? reasonOf(known) : "internal error",
      })
    },
  }
}

export type Journal = ReturnType<typeof createJournal>
