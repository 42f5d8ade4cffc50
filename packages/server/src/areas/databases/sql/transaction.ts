/** Several statements in one transaction. */
import { type Fault, isFault } from "../../../kernel/fault.ts"
import type { Target } from "../targets.ts"
import type { Executed, Execution, ExecutorNeeds } from "./executor.ts"
import { roleOf } from "./executor.ts"
import { invalidSql, toFault } from "./failures.ts"
import { controlsTransaction } from "./normalize.ts"
import { ConnectionLost, runUnits } from "./pipeline.ts"
import { createCollector, createWatch, discardAll, parametersOf, type Statement } from "./statement.ts"

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

const LEVELS: ReadonlySet<string> = new Set([
  "READ UNCOMMITTED",
  "READ COMMITTED",
  "REPEATABLE READ",
  "SERIALIZABLE",
])

const beginOf = ({ isolationLevel, deferrable, readOnlyTransaction }: TransactionOptions): string => {
  const level = isolationLevel?.toUpperCase().replaceAll(/(?<=READ|ABLE)(?=\S)(?!ABLE)/g, " ")
  if (level !== undefined && !LEVELS.has(level)) throw invalidSql("the isolation level is not known")
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
  invalidSql("not run, because an earlier statement of the transaction failed", { sqlstate: "25P02" })

const settle = (
  statements: readonly Statement[],
  done: readonly Executed[],
  failure: Fault,
): TransactionOutcome => ({
  committed: false,
  failure,
  outcomes: statements.map((_, at) => {
    if (at < done.length) return undone()
    return at === done.length ? failure : notRun()
  }),
})

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
  const begin = beginOf({ ...options, readOnlyTransaction: readOnly !== false || options.readOnlyTransaction })
  const done: Executed[] = []
  try {
    for (const { sql } of statements) {
      if (controlsTransaction(sql))
        throw invalidSql("the batch is a transaction already", { sqlstate: "25001" })
      if (readOnly) await needs.guard.check(sql, readOnly)
    }
  } catch (error) {
    if (!isFault(error)) throw error
    const at = statements.findIndex(({ sql }) => controlsTransaction(sql))
    return refuseAll(statements, error, at)
  }
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
      outcome = settle(statements, done, failure)
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

const refuseAll = (statements: readonly Statement[], failure: Fault, at: number): TransactionOutcome => ({
  committed: false,
  failure,
  outcomes: statements.map((_, position) => (at < 0 || position === at ? failure : notRun())),
})
