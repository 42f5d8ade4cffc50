/** Statements on the sessions of a target: lent, run, answered, cleaned, and what went wrong as faults. */

import { type ReadOnly, toFault } from "../../services/postgres/failures.ts"
import type { Sessions } from "../../services/postgres/sessions.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { Guard } from "./guard.ts"
import type { TypeCatalog } from "./pg-types.ts"
import { type Limits, type Outcome, type ResultSet, runStatement, type Statement } from "./statement.ts"

export interface ExecutorNeeds {
  readonly sessions: Sessions
  readonly guard: Guard
  readonly types: TypeCatalog
}

export interface Execution extends Limits {
  readonly readOnly: ReadOnly
  readonly signal?: AbortSignal
}

export interface Executed {
  readonly result: ResultSet
  readonly durationMs: number
  readonly wakeMs: number
}

export const roleOf = (readOnly: ReadOnly) => (readOnly ? "reader" : "owner")

/**
 * Runs one statement by itself. The answer is there before the session is clean again, which the next caller waits for
 * and not this one. Throws faults: `invalid_sql`, `query_timeout`, `key_read_only`, and those of `Sessions.use`.
 */
export const execute = async (
  { sessions, guard, types }: ExecutorNeeds,
  target: Target,
  statement: Statement,
  execution: Execution,
): Promise<Executed> => {
  const { readOnly, signal, timeoutMs } = execution
  if (readOnly) await guard.check(statement.sql, readOnly)
  const answered = Promise.withResolvers<Executed>()
  const answer = (outcome: Outcome, startedMs: number, wakeMs: number) => {
    if ("result" in outcome) {
      answered.resolve({ result: outcome.result, durationMs: performance.now() - startedMs, wakeMs })
    } else answered.reject(toFault(outcome.error, { readOnly, timeoutMs }))
  }
  const volumeId = target.volume.id
  const limits = { ...execution, readOnly: readOnly !== false }
  sessions
    .use(
      target,
      roleOf(readOnly),
      async ({ client, wakeMs }) => {
        const startedMs = performance.now()
        const running = { client, volumeId, types, ...(signal && { signal }) }
        await runStatement(running, statement, limits, outcome => answer(outcome, startedMs, wakeMs))
      },
      { ...(signal && { signal }), cleaned: true },
    )
    // Without effect once the answer is there: what follows concerns the session alone.
    .catch(error => answered.reject(toFault(error, { readOnly, timeoutMs })))
  return answered.promise
}
