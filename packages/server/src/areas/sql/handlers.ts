import type { Duplex } from "node:stream"
import { areas, type Input, QUERY_LOG_LIMIT_DEFAULT, SQL_ROWS_MAX } from "@svc/contract"
import type { AccountCall, Call } from "../../kernel/call.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import { implement, type JudgeRisk, withRisk } from "../../kernel/implement.ts"
import { OWNER_ROLE, READER_ROLE } from "../../ports/engine/port.ts"
import { databaseFull } from "../../services/postgres/failures.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { BranchServers, Targets } from "../databases/offers.ts"
import { type Executed, type Execution, type ExecutorNeeds, execute } from "./executor.ts"
import { createJournal, type Journal } from "./journal.ts"
import type { LoginSessions } from "./login-sessions.ts"
import { type NeonRequest, neonFormOf, neonRequestOf, toNeonFault, toNeonResult } from "./neon.ts"
import type { QueryLog } from "./query-log.ts"
import { type QueryLogRow, queryLogStore } from "./query-log-store.ts"
import { executionOf, readOnlyOf, type SqlOptions } from "./request.ts"
import { type SqlResult, toFailure, toResult } from "./results.ts"
import type { Statement } from "./statement.ts"
import { streamStatement } from "./stream.ts"
import { runTransaction, type TransactionOptions } from "./transaction.ts"

export interface SqlHandlerNeeds extends ExecutorNeeds {
  readonly targets: Targets
  readonly servers: Pick<BranchServers, "sessionsToFree">
  readonly queryLog: QueryLog
  readonly logins: LoginSessions
  /** Opens a connection to the port of PostgreSQL's protocol, as of a client at that address. */
  readonly tunnel: (address: string) => Promise<Duplex>
}

type Operations = typeof areas.sql.specs
type ExecuteInput = Input<Operations["execute"]>
type BatchInput = Input<Operations["batch"]>
type BatchItem = ({ ok: true } & SqlResult) | { ok: false; error: ReturnType<typeof toFailure> }

const NDJSON = "application/x-ndjson"

const statementOf = ({ sql, params = [] }: { sql?: string; params?: unknown[] }): Statement => {
  if (sql === undefined) throw fault("missing_parameter", { field: "sql" })
  return { sql, params }
}

const DETAIL_LENGTH_MAX = 4_000

/** The statements that a person decides on are shown to them with what is high-risk about them. */
const judgeStatements =
  <Asked extends SqlOptions>(
    { guard }: SqlHandlerNeeds,
    statementsOf: (input: Asked) => readonly string[],
  ): JudgeRisk<Asked> =>
  async (input, question) => {
    if (readOnlyOf(question, input)) return undefined
    const found: string[] = []
    for (const sql of statementsOf(input)) {
      const risk = await guard.risk(sql)
      if (risk !== undefined) found.push(`${risk}: ${sql}`)
    }
    if (found.length === 0) return undefined
    // Its driver takes every success for a result.
    if (neonRequestOf(question.header)) throw fault("approval_not_possible")
    return { detail: found.join("\n").slice(0, DETAIL_LENGTH_MAX) }
  }

/** One call's target, limits and place in the log. */
interface Work {
  readonly needs: SqlHandlerNeeds
  readonly target: Target
  readonly execution: Execution
  readonly journal: Journal
}

const workOf = async (
  needs: SqlHandlerNeeds,
  call: Call,
  input: ExecuteInput | BatchInput,
): Promise<Work> => {
  const target = await needs.targets.of(call, input)
  const execution = executionOf(call, input)
  return {
    needs,
    target,
    execution,
    journal: createJournal(needs.queryLog, call, target, {
      readOnly: execution.readOnly,
      user: execution.readOnly ? READER_ROLE : OWNER_ROLE,
    }),
  }
}

/** In a database that is read-only for its size, what frees space runs on sessions of its own. */
const sessionsOf = async ({ needs, target, execution }: Work, { sql }: Statement) => {
  if (!target.isFull || execution.readOnly) return needs.sessions
  const frees = await needs.guard.frees(sql)
  return frees ? needs.servers.sessionsToFree(frees) : needs.sessions
}

const READ_ONLY_TRANSACTION = "25006"

/** PostgreSQL says that the transaction is read-only; why it is, only the platform knows. */
const withReason = (error: unknown, { target, execution }: Work): unknown => {
  if (!target.isFull || execution.readOnly || !isFault(error)) return error
  const { details } = (error.details.body ?? {}) as { details?: { sqlstate?: string; severity?: string } }
  // Only what the server itself refused has a severity.
  const isServers = details?.severity !== undefined && details.sqlstate === READ_ONLY_TRANSACTION
  return isServers ? databaseFull() : error
}

const runOne = async (work: Work, statement: Statement): Promise<Executed> => {
  const { needs, target, execution, journal } = work
  const startedAtMs = Date.now()
  try {
    const sessions = await sessionsOf(work, statement)
    const executed = await execute({ ...needs, sessions }, target, statement, execution)
    journal.executed(statement.sql, startedAtMs, executed)
    return executed
  } catch (error) {
    journal.failed(statement.sql, startedAtMs, error)
    throw withReason(error, work)
  }
}

const runTogether = async (
  { needs, target, execution, journal }: Work,
  statements: readonly Statement[],
  options: TransactionOptions,
) => {
  const startedAtMs = Date.now()
  const outcome = await runTransaction(needs, target, statements, execution, options)
  for (const [at, each] of outcome.outcomes.entries()) {
    const { sql } = statements[at] as Statement
    if (isFault(each)) journal.failed(sql, startedAtMs, each)
    else journal.executed(sql, startedAtMs, each)
  }
  return outcome
}

const resultOf = ({ needs, target }: Work, sql: string, executed: Executed, arrayMode = false): SqlResult =>
  toResult(sql, executed, {
    types: needs.types.of(target.volume.id),
    arrayMode,
    normalize: needs.queryLog.normalize,
    branchId: target.branchId,
  })

const stream = (work: Work, statement: Statement, arrayMode = false) => {
  const { needs, target, execution, journal } = work
  const startedAtMs = Date.now()
  return streamStatement(needs, target, statement, execution, {
    arrayMode,
    queryId: needs.queryLog.normalize(statement.sql).queryId,
    ended(outcome) {
      if ("error" in outcome) journal.failed(statement.sql, startedAtMs, outcome.error)
      else journal.executed(statement.sql, startedAtMs, outcome)
    },
  })
}

/** Who brings a key: the branch is the one that the connection string names, unless the request names another. */
const neonWorkOfKey = (
  needs: SqlHandlerNeeds,
  call: Call,
  input: ExecuteInput,
  { branchId }: NeonRequest,
) => {
  const named = branchId !== undefined && input.branch_id === undefined && input.database_id === undefined
  const whole = { ...input, max_rows: SQL_ROWS_MAX, ...(named && { branch_id: branchId }) }
  return workOf(needs, call, whole)
}

/** Who brings a connection string alone, and may what its role may. */
const neonWorkOfLogin = async (needs: SqlHandlerNeeds, call: AccountCall): Promise<Work> => {
  const connectionString = call.header("neon-connection-string")
  if (connectionString === undefined) {
    call.countRequest(null)
    throw fault("missing_parameter", { field: "Neon-Connection-String" })
  }
  const { logins, queryLog } = needs
  call.countRequest((await logins.payerOf(connectionString)) ?? null)
  const login = await logins.find(connectionString)
  const execution = { ...executionOf(call, { max_rows: SQL_ROWS_MAX }), readOnly: false as const }
  const journal = createJournal(queryLog, call, login.branch, { readOnly: false, user: login.user })
  return { needs: { ...needs, sessions: logins.of(login) }, target: login.target, execution, journal }
}

const answerNeon = async (
  input: Pick<ExecuteInput, "sql" | "params" | "queries">,
  neon: NeonRequest,
  open: () => Promise<Work>,
) => {
  try {
    const work = await open()
    const types = () => work.needs.types.of(work.target.volume.id)
    if (!input.queries) {
      const statement = statementOf(input)
      return toNeonResult(statement.sql, await runOne(work, statement), types(), neon)
    }
    const statements = input.queries.map(({ query, params }) =>
      statementOf({ sql: query, params: params ?? [] }),
    )
    const { outcomes, failure } = await runTogether(work, statements, neon.batch)
    if (failure) throw failure
    const results = outcomes.map((each, at) =>
      toNeonResult(statements[at]?.sql ?? "", each as Executed, types(), {
        rawText: neon.rawText,
        arrayMode: input.queries?.[at]?.arrayMode ?? neon.arrayMode,
      }),
    )
    return { results }
  } catch (error) {
    throw toNeonFault(error)
  }
}

const runApart = async (work: Work, input: BatchInput, statements: readonly Statement[]) => {
  const results: BatchItem[] = []
  let wasUnavailable = false
  for (const statement of statements) {
    try {
      const executed = await runOne(work, statement)
      results.push({ ok: true, ...resultOf(work, statement.sql, executed, input.array_mode) })
      wasUnavailable = false
    } catch (error) {
      if (!isFault(error)) throw error
      // That no session is to be had is no answer of a statement, unless others have had one.
      const unavailable = error.status >= 429
      if (unavailable && results.length === 0) throw error
      results.push({ ok: false, error: toFailure(error) })
      // A database that is away twice in a row is not asked for the rest.
      if (input.stop_on_error || (unavailable && wasUnavailable)) break
      wasUnavailable = unavailable
    }
  }
  return { results, committed: null }
}

const runBatch = async (work: Work, input: BatchInput) => {
  const statements = input.statements.map(statementOf)
  if (!input.transaction) return runApart(work, input, statements)
  const { committed, outcomes } = await runTogether(work, statements, {
    isolationLevel: input.isolation_level,
    deferrable: input.deferrable,
  })
  const results = outcomes.map((each, at): BatchItem => {
    if (isFault(each)) return { ok: false, error: toFailure(each) }
    return { ok: true, ...resultOf(work, statements[at]?.sql ?? "", each, input.array_mode) }
  })
  return { results, committed }
}

const toEntry = (row: QueryLogRow) => {
  const { user_name: user, project_id: _, started_at, rows, source, ...rest } = row
  return {
    ...rest,
    user,
    // The table says `wire` for the PostgreSQL protocol.
    source: source === "http" ? ("http" as const) : ("postgres" as const),
    rows: rows === null ? null : Number(rows),
    started_at: started_at.toISOString(),
    status: row.error === null && row.sqlstate === null ? ("ok" as const) : ("error" as const),
  }
}

export const sqlHandlers = implement(areas.sql, (needs: SqlHandlerNeeds) => ({
  execute: withRisk(
    judgeStatements(needs, ({ sql, queries = [] }: ExecuteInput) => [
      ...(sql === undefined ? [] : [sql]),
      ...queries.map(({ query }) => query),
    ]),
    async (input, call) => {
      const neon = neonRequestOf(call.header)
      // Their own form, which the declaration of the operation leaves to its description.
      if (neon) {
        if (input.queries) call.meter("sql_statements", Math.max(0, input.queries.length - 1))
        const open = () => neonWorkOfKey(needs, call, input, neon)
        return (await answerNeon(input, neon, open)) as never
      }
      const statement = statementOf(input)
      const work = await workOf(needs, call, input)
      if (call.header("accept")?.includes(NDJSON)) {
        call.setHeader("content-type", NDJSON)
        return (await stream(work, statement, input.array_mode)) as never
      }
      const executed = await runOne(work, statement)
      return { ...resultOf(work, statement.sql, executed, input.array_mode), request_id: call.requestId }
    },
  ),

  batch: withRisk(
    judgeStatements(needs, ({ statements }: BatchInput) => statements.map(({ sql }) => sql)),
    async (input, call) => {
      call.meter("sql_statements", input.statements.length - 1)
      const work = await workOf(needs, call, input)
      return { ...(await runBatch(work, input)), request_id: call.requestId }
    },
  ),

  async neonQuery({ query, ...input }, call) {
    const neon = neonFormOf(call.header)
    const statement = { ...input, ...(query !== undefined && { sql: query }) }
    return (await answerNeon(statement, neon, () => neonWorkOfLogin(needs, call))) as never
  },

  async neonSocket(_input, call) {
    const { handshake, ip, log } = call
    const { serveTunnel } = await import("./wire/tunnel.ts")
    handshake.take(socket => {
      if (!socket) return
      const warn = (reason: unknown) => log.warn({ err: reason }, "database tunnel failed; connection closed")
      void serveTunnel(socket, { connect: () => needs.tunnel(ip), warn })
    })
  },

  async listQueryLogs({ database_id, branch_id, limit = QUERY_LOG_LIMIT_DEFAULT }, call) {
    // The call's own statements may not have been written yet.
    await needs.queryLog.flush()
    const rows = await queryLogStore(call.db).list({
      tenantId: call.organization.id,
      projectId: call.owner,
      databaseId: database_id,
      branchId: branch_id,
      limit,
    })
    return rows.map(toEntry)
  },
}))
