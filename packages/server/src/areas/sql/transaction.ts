/** Several statements in one transaction. */

import { type Fault, isFault } from "../../kernel/fault.ts"
import { invalidSql, toFault } from "../../services/postgres/failures.ts"
import { ConnectionLost, runUnits } from "../../services/postgres/pipeline.ts"
import { discardAll } from "../../services/postgres/session-state.ts"
import type { Target } from "../../services/postgres/target.ts"
import { type Executed, type Execution, type ExecutorNeeds, roleOf } from "./executor.ts"
import { controlsTransaction } from "./normalize.ts"
import { createCollector, createWatch, parametersOf, type Statement } from "./statement.ts"

export interface TransactionOptions {
  readonly isolationLevel?: string | undefined
  readonly deferrable?: boolean | undefined
  /** The transaction itself is read-only, whoever runs it. */
  readonly readOnlyTransaction?: boolean | undefined
}

export type StatementOutcome = Executed | Fault

export interface TransactionOutcome {
  readonly committed: boolean
  readonly outcomes: readonly StatementOutcome[]
  /** Why it was not committed. */
  readonly failure: Fault | undefined
}

/** By their names without case and spaces: Neon's driver writes `RepeatableRead`. */
const LEVELS: Readonly<Record<string, string>> = {
  readuncommitted: "READ UNCOMMITTED",
  readcommitted: "READ COMMITTED",
  repeatableread: "REPEATABLE READ",
  serializable: "SERIALIZABLE",
}

const beginOf = ({ isolationLevel, deferrable, readOnlyTransaction }: TransactionOptions): string => {
  const name = isolationLevel?.toLowerCase().replaceAll(" ", "")
  const level = name === undefined || !Object.hasOwn(LEVELS, name) ? undefined : LEVELS[name]
  if (name !== undefined && !level)
    throw invalidSql("the isolation level is not known", { sqlstate: "22023" })
  const parts = [
    "BEGIN",
    ...(level === undefined ? [] : [`ISOLATION LEVEL ${level}`]),
    ...(readOnlyTransaction ? ["READ ONLY"] : []),
    ...(deferrable ? ["DEFERRABLE"] : []),
  ]
  return parts.join(" ")
}

const undone = () =>
  invalidSql("rolled back, because another statement of the transaction failed", { sqlstate: "40000" })
const notRun = () =>
  invalidSql("not run, because another statement of the transaction failed", { sqlstate: "25P02" })

/** `failedAt`: the statement that failed; those before it ran. */
const settle = (statements: readonly Statement[], failedAt: number, failure: Fault): TransactionOutcome => ({
  committed: false,
  failure,
  outcomes: statements.map((_, at) => {
    // When all ran, it was their COMMIT that failed.
    if (at === failedAt || failedAt === statements.length) return failure
    return at < failedAt ? undone() : notRun()
  }),
})

/** Refuses what no statement of a transaction may be before any of them runs. */
const vet = async (
  { guard }: ExecutorNeeds,
  statements: readonly Statement[],
  readOnly: Execution["readOnly"],
): Promise<TransactionOutcome | undefined> => {
  for (const [at, { sql }] of statements.entries()) {
    try {
      if (controlsTransaction(sql))
        throw invalidSql("the batch is a transaction already", { sqlstate: "25001" })
      if (readOnly) await guard.check(sql, readOnly)
    } catch (error) {
      if (!isFault(error)) throw error
      const outcomes = statements.map((_, position) => (position === at ? error : notRun()))
      return { committed: false, failure: error, outcomes }
    }
  }
  return undefined
}

/** Runs the statements on the session; throws what the first of them failed with. `done` gets the others' results. */
const runAll = async (
  needs: ExecutorNeeds,
  running: Parameters<typeof parametersOf>[0],
  statements: readonly Statement[],
  limits: Execution,
  done: Executed[],
) => {
  const { client, volumeId } = running
  const startedMs = performance.now()
  for (const statement of statements) {
    const beganMs = performance.now()
    const leftMs = Math.max(1, Math.ceil(startedMs + limits.timeoutMs - beganMs))
    const values = await parametersOf(running, statement)
    const collector = createCollector(limits, 0)
    const ends = runUnits(client, [{}, collector.unit], wire => {
      wire.query(`SET LOCAL statement_timeout = ${leftMs}`)
      wire.parse({ text: statement.sql })
      wire.bind({ values })
      wire.describe({ type: "P", name: "" })
      wire.execute({ portal: "", rows: limits.rowsMax + 1 })
      wire.sync()
    })
    const end = await ends[1]
    if (end?.error) throw end.error
    // A procedure or a text that slipped by ended the transaction: what follows would run without one.
    if (end?.status !== "T") throw new ConnectionLost("the transaction ended by itself")
    const result = collector.result()
    await needs.types.load(
      volumeId,
      client,
      result.fields.map(({ dataTypeID }) => dataTypeID),
    )
    done.push({ result, durationMs: performance.now() - beganMs, wakeMs: 0 })
  }
}

/**
 * All statements take effect, or none. `timeoutMs` bounds them together. Throws only what concerns the session: that
 * there is none to be had, or that it was lost.
 */
export const runTransaction = async (
  needs: ExecutorNeeds,
  target: Target,
  statements: readonly Statement[],
  execution: Execution,
  options: TransactionOptions,
): Promise<TransactionOutcome> => {
  const { readOnly, signal, timeoutMs } = execution
  const begin = beginOf({
    ...options,
    readOnlyTransaction: readOnly !== false || options.readOnlyTransaction,
  })
  const done: Executed[] = []
  const refused = await vet(needs, statements, readOnly)
  if (refused) return refused
  const volumeId = target.volume.id
  const work = async (client: Parameters<typeof createWatch>[0]["client"], wakeMs: number) => {
    const running = { client, volumeId, types: needs.types, ...(signal && { signal }) }
    using watch = createWatch(running, timeoutMs)
    let outcome: TransactionOutcome
    try {
      await client.query(begin)
      await runAll(needs, running, statements, execution, done)
      await client.query(readOnly ? "ROLLBACK" : "COMMIT")
      outcome = { committed: true, outcomes: done.map(each => ({ ...each, wakeMs })), failure: undefined }
    } catch (error) {
      const failure = toFault(error, { readOnly, timeoutMs })
      if (failure.status >= 500) throw failure
      await client.query("ROLLBACK")
      outcome = settle(statements, done.length, failure)
    }
    await discardAll(client)
    if (watch.stopped) throw new ConnectionLost("cancelled")
    return outcome
  }
  try {
    return await needs.sessions.use(target, roleOf(readOnly), ({ client, wakeMs }) => work(client, wakeMs), {
      ...(signal && { signal }),
      cleaned: true,
    })
  } catch (error) {
    throw toFault(error, { readOnly, timeoutMs })
  }
}
