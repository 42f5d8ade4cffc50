import { type areas, OPTIMIZE_SECONDS_MAX, type Output } from "@svc/contract"
import type pg from "pg"
import { fault, isFault } from "../../../kernel/fault.ts"
import { PortError } from "../../../ports/port-error.ts"
import { isServersFault } from "../../../services/postgres/failures.ts"
import { isServerError } from "../../../services/postgres/pipeline.ts"
import type { Target } from "../../../services/postgres/target.ts"
import type { WithTemporaryBranch } from "../../databases/offers.ts"
import { rowsAsJson, withSavepoint } from "../inspect.ts"
import { type Candidate, candidatesOf } from "./candidates.ts"
import { explain, type PlanNode, planNodes, type Values } from "./explain.ts"
import { typicalValues } from "./parameters.ts"
import { createRelations } from "./relations.ts"
import { type Rewrite, rewritesOf } from "./rewrites.ts"
import { readStatement, type Statement } from "./syntax.ts"
import { blocksOf } from "./usage.ts"
import { type Verified, verify } from "./verify.ts"

export type Optimization = Output<(typeof areas)["advice"]["specs"]["optimize"]>
type Suggestion = Optimization["suggestions"][number]
type Skipped = Optimization["skipped"][number]

export interface Request {
  readonly sql?: string
  readonly params?: readonly unknown[]
  readonly limit?: number
}

const STATEMENTS_DEFAULT = 5
const INSPECTION_TIMEOUT_MS = 5_000
/** For reading all statements and their tables; the rest of the time is for trying. */
const SURVEY_TIME_MAX_MS = 8_000
/** Kept for making and dropping the branch, and for the answer's way home. */
const RESERVE_MS = 3_000
/** Estimated rows of a scan with a filter, as a share of the table, up to which an index is likely to help. */
const SELECTIVE_SHARE = 0.1

interface Weight {
  readonly query: string
  readonly query_id: string | null
  readonly calls: number | null
  readonly total_exec_time_ms: number | null
}

interface Looked {
  readonly weight: Weight
  readonly statement: Statement
  readonly values: Values
  readonly plan: PlanNode
  readonly candidates: readonly Candidate[]
  readonly rewrites: readonly Rewrite[]
}

/** The statements that took most time, without those of the platform and of other databases of the server. */
const TOP = `SELECT min(entry.query) AS query, entry.queryid::text AS query_id, sum(entry.calls)::bigint AS calls,
    sum(entry.total_exec_time) AS total_exec_time_ms
  FROM svc_internal.pg_stat_statements AS entry
  JOIN pg_database AS database ON database.oid = entry.dbid
  LEFT JOIN pg_roles AS role ON role.oid = entry.userid
  WHERE database.datname = current_database() AND entry.queryid IS NOT NULL
    AND role.rolname IS DISTINCT FROM 'svc_admin'
    AND entry.query ~* '^[[:space:](]*(select|insert|update|delete|merge|with)'
    AND entry.query !~ 'pg_catalog\\.|svc_internal\\.'
  GROUP BY entry.queryid ORDER BY 4 DESC LIMIT $1::int`

const look = async (
  client: pg.ClientBase,
  weight: Weight,
  schemas: readonly string[],
  given: readonly unknown[] | undefined,
): Promise<Looked | { readonly reason: string; readonly sqlstate?: string }> => {
  const statement = await readStatement(weight.query)
  if ("reason" in statement) return statement
  const relations = createRelations(client, schemas)
  const blocks = blocksOf(statement.tree, statement.sql)
  await client.query("SET LOCAL search_path = pg_catalog, pg_temp")
  const values =
    given ?? (statement.parameterCount > 0 ? await typicalValues(statement, blocks, relations) : [])
  const candidates = await candidatesOf(blocks, relations)
  let plan: PlanNode
  try {
    // The statement alone is read with the tenant's search path; a savepoint that is taken back undoes it.
    await client.query("SAVEPOINT svc_theirs; SET LOCAL search_path TO DEFAULT")
    plan = (await withSavepoint(client, () => explain(client, statement, values))).plan
  } catch (error) {
    if (!isServerError(error) || isServersFault(error)) throw error
    return { reason: error.message, sqlstate: error.code }
  } finally {
    await client.query("ROLLBACK TO SAVEPOINT svc_theirs; RELEASE SAVEPOINT svc_theirs")
  }
  const rewrites = await rewritesOf({ tree: statement.tree, blocks, relations, plan })
  return { weight, statement, values, plan, candidates, rewrites }
}

const SYNTAX_ERROR = "42601"

const refused = ({ reason, sqlstate = SYNTAX_ERROR }: { reason: string; sqlstate?: string }) =>
  fault("invalid_sql", { reason }, { body: { details: { sqlstate } } })

/** Reads everything that is needed of the database itself, where nothing is built and no statement is run. */
const survey = async (client: pg.ClientBase, { sql, params, limit = STATEMENTS_DEFAULT }: Request) => {
  const deadline = performance.now() + SURVEY_TIME_MAX_MS
  await client.query(
    `BEGIN READ ONLY; SET LOCAL statement_timeout = ${INSPECTION_TIMEOUT_MS}; SET LOCAL lock_timeout = 1000;
     SET LOCAL standard_conforming_strings = on`,
  )
  const [path] = await rowsAsJson<{ schemas: string[] }>(
    client,
    "SELECT pg_catalog.current_schemas(true) AS schemas",
  )
  await client.query("SET LOCAL search_path = pg_catalog, pg_temp")
  const own = { query: sql ?? "", query_id: null, calls: null, total_exec_time_ms: null }
  const weights: Weight[] = sql === undefined ? await rowsAsJson<Weight>(client, TOP, [limit]) : [own]
  const looked: Looked[] = []
  const skipped: Skipped[] = []
  for (const weight of weights) {
    if (performance.now() > deadline) {
      skipped.push({
        query: weight.query,
        query_id: weight.query_id,
        reason: "it was not examined: the time limit was reached",
      })
      continue
    }
    const found = await look(client, weight, path?.schemas ?? [], sql === undefined ? undefined : params)
    if (!("reason" in found)) looked.push(found)
    else if (sql !== undefined) throw refused(found)
    else skipped.push({ query: weight.query, query_id: weight.query_id, reason: found.reason })
  }
  await client.query("ROLLBACK")
  return { looked, skipped, examined: weights.length }
}

const statementsOf = (indexes: readonly Candidate[]): string[] => [
  ...(indexes.some(({ trigrams }) => trigrams) ? ["CREATE EXTENSION IF NOT EXISTS pg_trgm"] : []),
  ...indexes.map(({ relation, definition }) => {
    const concurrently = relation.partitioned ? "" : " CONCURRENTLY"
    return `CREATE INDEX${concurrently} ON ${relation.name} ${definition}`
  }),
]

const proven = ({ weight }: Looked, { indexes, before, after, sizeBytes, errors }: Verified): Suggestion => ({
  type: "index",
  ...weight,
  startup_cost_before: before.explained.plan["Startup Cost"],
  startup_cost_after: after.explained.plan["Startup Cost"],
  total_cost_before: before.explained.plan["Total Cost"],
  total_cost_after: after.explained.plan["Total Cost"],
  time_before_ms: before.timeMs,
  time_after_ms: after.timeMs,
  index_statements: statementsOf(indexes),
  errors: [...errors],
  verified_by: "branch",
  estimated_size_bytes: sizeBytes,
})

/** Without a branch: a table that is read whole although few of its rows are wanted. */
const likely = ({ weight, plan, candidates }: Looked): Suggestion[] => {
  const scans = planNodes(plan).filter(node => node["Node Type"] === "Seq Scan" && node.Filter !== undefined)
  const indexes = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const { relation } = candidate
    const helped = scans.some(
      scan =>
        scan["Relation Name"] === relation.relation &&
        scan.Schema === relation.schema &&
        scan["Plan Rows"] <= relation.rows * SELECTIVE_SHARE,
    )
    if (helped && !indexes.has(relation.name)) indexes.set(relation.name, candidate)
  }
  if (indexes.size === 0) return []
  return [
    {
      type: "index",
      ...weight,
      startup_cost_before: plan["Startup Cost"],
      startup_cost_after: null,
      total_cost_before: plan["Total Cost"],
      total_cost_after: null,
      time_before_ms: null,
      time_after_ms: null,
      index_statements: statementsOf([...indexes.values()]),
      errors: [],
      verified_by: "explain",
      estimated_size_bytes: [...indexes.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    },
  ]
}

const rewrites = ({ weight, rewrites }: Looked): Suggestion[] =>
  rewrites.map(rewrite => ({ type: "rewrite", ...weight, ...rewrite }))

/** Verifies every statement that has candidates; what there was no time for is skipped by name. */
const verifyAll = async (
  client: pg.ClientBase,
  looked: readonly Looked[],
  deadline: number,
  skipped: Skipped[],
) => {
  const found: Suggestion[] = []
  for (const one of looked) {
    const { statement, values, candidates, weight } = one
    if (candidates.length === 0) continue
    if (performance.now() >= deadline) {
      skipped.push({
        query: weight.query,
        query_id: weight.query_id,
        reason: "indexes were not tested: the time limit was reached",
      })
      continue
    }
    try {
      const verified = await verify({ client, statement, values, deadline }, candidates)
      if (verified) found.push(proven(one, verified))
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      if (code === undefined) throw error
      skipped.push({ query: weight.query, query_id: weight.query_id, reason: `on the branch: ${message}` })
    }
  }
  return found
}

const reasonOf = (error: unknown): string => {
  if (error instanceof PortError)
    return error.kind === "refused"
      ? "the engine makes none of this database"
      : "the engine cannot make one now"
  if (isFault(error)) return error.message
  throw error
}

export const createOptimizer = (needs: {
  readonly withTemporaryBranch: WithTemporaryBranch
  /** Lends the target's own session, of its owner. */
  readonly withSession: <Result>(
    target: Target,
    work: (client: pg.ClientBase) => Promise<Result>,
    signal: AbortSignal | undefined,
  ) => Promise<Result>
}) => {
  return async (target: Target, request: Request, now: Date, signal?: AbortSignal): Promise<Optimization> => {
    const deadline = performance.now() + OPTIMIZE_SECONDS_MAX * 1000 - RESERVE_MS
    const { looked, skipped, examined } = await needs.withSession(
      target,
      client => survey(client, request),
      signal,
    )
    const rewritten = looked.flatMap(rewrites)
    const generated_at = now.toISOString()
    const answer = (found: readonly Suggestion[], branch: Optimization["branch"]): Optimization => ({
      generated_at,
      suggestions: [...found, ...rewritten],
      examined,
      skipped,
      branch,
    })
    if (looked.every(({ candidates }) => candidates.length === 0))
      return answer([], { used: false, reason: "there was no candidate to test" })
    let begun = false
    try {
      const found = await needs.withTemporaryBranch(
        target,
        ({ client }) => {
          begun = true
          return verifyAll(client, looked, deadline, skipped)
        },
        signal ? { signal } : undefined,
      )
      return answer(found, { used: true, reason: null })
    } catch (error) {
      if (begun) throw error
      return answer(looked.flatMap(likely), { used: false, reason: reasonOf(error) })
    }
  }
}
