/** Builds candidates where nobody is disturbed, and keeps those that make the statement faster. */
import type pg from "pg"
import { rowsAsJson, withSavepoint } from "../inspect.ts"
import type { Candidate } from "./candidates.ts"
import { type Explained, explain, planNodes, type Values } from "./explain.ts"
import type { Statement } from "./syntax.ts"

export interface Measured {
  readonly explained: Explained
  /** The best of the runs; null where the statement was not run or did not end in time. */
  readonly timeMs: number | null
}

export interface Verified {
  readonly indexes: readonly Candidate[]
  readonly before: Measured
  readonly after: Measured
  readonly sizeBytes: number
  readonly errors: readonly string[]
}

const RUNS = 3
/** A statement that takes longer than this is slow enough without being run again. */
const RUN_AGAIN_BELOW_MS = 1_000
const STATEMENT_TIMEOUT_MAX_MS = 5_000
/** PostgreSQL ends an autovacuum that stands in the way of an index, but only after its `deadlock_timeout` of a second. */
const LOCK_TIMEOUT_MS = 3_000
const COST_SHARE_MAX = 0.9
const TIME_SHARE_MAX = 0.9
const INDEXES_OF_STATEMENT_MAX = 3
const ERRORS_MAX = 10
const CANDIDATE_NAME = "svc_candidate_"

const QUERY_CANCELED = "57014"

const messageOf = (error: unknown): string => {
  const { code, message } = error as { code?: string; message?: string }
  return code === QUERY_CANCELED ? "it took too long" : (message ?? "it failed")
}

const boundBy = async (client: pg.ClientBase, deadline: number) => {
  const left = Math.floor(deadline - performance.now())
  if (left < 1) throw Object.assign(new Error("out of time"), { code: QUERY_CANCELED })
  await client.query(`SET LOCAL statement_timeout = ${Math.min(left, STATEMENT_TIMEOUT_MAX_MS)}`)
}

/** Runs in a savepoint that is always taken back, and can write nothing: what it calls may try to. */
const aside = async <Result>(client: pg.ClientBase, act: () => Promise<Result>): Promise<Result> => {
  await client.query("SAVEPOINT svc_aside; SET LOCAL transaction_read_only = on")
  try {
    return await act()
  } finally {
    await client.query("ROLLBACK TO SAVEPOINT svc_aside; RELEASE SAVEPOINT svc_aside")
  }
}

const measure = async (
  client: pg.ClientBase,
  statement: Statement,
  values: Values,
  deadline: number,
): Promise<Measured> => {
  await boundBy(client, deadline)
  const explained = await withSavepoint(client, () => explain(client, statement, values))
  if (!statement.reads || (statement.parameterCount > 0 && !values)) return { explained, timeMs: null }
  let timeMs: number | null = null
  try {
    for (let run = 0; run < RUNS; run += 1) {
      await boundBy(client, deadline)
      const ran = await aside(client, () => explain(client, statement, values, { run: true }))
      timeMs = Math.min(timeMs ?? Number.POSITIVE_INFINITY, ran.timeMs ?? Number.POSITIVE_INFINITY)
      if (timeMs > RUN_AGAIN_BELOW_MS) break
    }
  } catch (error) {
    if ((error as { code?: string }).code !== QUERY_CANCELED) throw error
  }
  return { explained, timeMs }
}

const costOf = ({ explained }: Measured) => explained.plan["Total Cost"]

const usesIndex = ({ plan }: Explained, name: string) =>
  planNodes(plan).some(node => node["Index Name"]?.startsWith(name))

/** Partitions get indexes of other names, so there the cost alone has to tell. */
const helps = (before: number, explained: Explained, name: string) =>
  explained.plan["Total Cost"] <= before * COST_SHARE_MAX &&
  (usesIndex(explained, name) || planNodes(explained.plan).some(node => node["Index Name"]?.endsWith("_idx")))

interface Trial {
  readonly client: pg.ClientBase
  readonly statement: Statement
  readonly values: Values
  readonly deadline: number
}

const build = async (
  { client, deadline }: Trial,
  { relation, definition, expression, trigrams }: Candidate,
  name: string,
) => {
  await boundBy(client, deadline)
  if (trigrams) await client.query("CREATE EXTENSION IF NOT EXISTS pg_trgm")
  await client.query(`CREATE INDEX ${name} ON ${relation.name} ${definition}`)
  if (expression) await client.query(`ANALYZE ${relation.name}`)
}

/** The cost with the candidate; undefined when it does not help. The candidate is gone again afterwards. */
const tryOne = async (
  trial: Trial,
  candidate: Candidate,
  name: string,
  before: number,
): Promise<number | undefined> => {
  const { client, statement, values } = trial
  await client.query("SAVEPOINT svc_trial")
  try {
    await build(trial, candidate, name)
    const explained = await explain(client, statement, values)
    return helps(before, explained, name) ? explained.plan["Total Cost"] : undefined
  } finally {
    await client.query("ROLLBACK TO SAVEPOINT svc_trial; RELEASE SAVEPOINT svc_trial")
  }
}

/** Of indexes that save nearly the same, the smaller one is the better. */
const NEARLY = 1.05

/** Takes the best candidate, then the best beside it, as long as each saves a tenth. */
const choose = async (trial: Trial, candidates: readonly Candidate[], before: number, errors: string[]) => {
  const chosen: Candidate[] = []
  let [cost, left] = [before, [...candidates]]
  while (chosen.length < INDEXES_OF_STATEMENT_MAX && left.length > 0) {
    const name = `${CANDIDATE_NAME}${chosen.length}`
    const helping: { candidate: Candidate; cost: number }[] = []
    for (const candidate of left) {
      if (performance.now() >= trial.deadline) break
      try {
        const found = await tryOne(trial, candidate, name, cost)
        if (found !== undefined) helping.push({ candidate, cost: found })
      } catch (error) {
        if (chosen.length === 0 && errors.length < ERRORS_MAX)
          errors.push(`${candidate.definition}: ${messageOf(error)}`)
      }
    }
    const lowest = Math.min(...helping.map(({ cost }) => cost))
    const [best] = helping
      .filter(one => one.cost <= lowest * NEARLY)
      .sort((a, b) => a.candidate.sizeBytes - b.candidate.sizeBytes || a.cost - b.cost)
    if (!best) break
    await build(trial, best.candidate, name)
    chosen.push(best.candidate)
    cost = best.cost
    // What did not help alone seldom helps beside another, and each trial costs time.
    left = helping.map(({ candidate }) => candidate).filter(candidate => candidate !== best.candidate)
  }
  return chosen
}

const sizeOfChosen = async (client: pg.ClientBase, count: number): Promise<number> => {
  const names = Array.from({ length: count }, (_, at) => `${CANDIDATE_NAME}${at}`)
  await client.query("SET LOCAL search_path = pg_catalog, pg_temp")
  const [size] = await rowsAsJson<{ bytes: number }>(
    client,
    `SELECT sum(pg_relation_size(class.oid) + coalesce((
        SELECT sum(pg_relation_size(part.relid)) FROM pg_partition_tree(class.oid) AS part
        WHERE part.relid::oid <> class.oid), 0)) AS bytes
      FROM pg_class AS class WHERE class.relname = ANY ($1::text[]) AND class.relkind IN ('i', 'I')`,
    [names],
  )
  return size?.bytes ?? 0
}

const isFaster = (before: Measured, after: Measured): boolean =>
  costOf(after) <= costOf(before) * COST_SHARE_MAX &&
  (before.timeMs === null || (after.timeMs !== null && after.timeMs <= before.timeMs * TIME_SHARE_MAX))

/**
 * Tries the candidates in one transaction that is taken back, so nothing stays for the next statement. Undefined when
 * none of them makes the statement faster.
 */
export const verify = async (
  trial: Trial,
  candidates: readonly Candidate[],
): Promise<Verified | undefined> => {
  const { client, statement, values, deadline } = trial
  const errors: string[] = []
  await client.query(
    `BEGIN; SET LOCAL standard_conforming_strings = on; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
  )
  try {
    const before = await measure(client, statement, values, deadline)
    const indexes = await choose(trial, candidates, costOf(before), errors)
    if (indexes.length === 0) return undefined
    const after = await measure(client, statement, values, deadline)
    if (!isFaster(before, after)) return undefined
    const sizeBytes = await sizeOfChosen(client, indexes.length)
    return { indexes, before, after, sizeBytes, errors }
  } finally {
    await client.query("ROLLBACK")
  }
}
