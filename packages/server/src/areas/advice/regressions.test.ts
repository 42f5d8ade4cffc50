/** A statement that fails or slows down against its own past is found; chance and small numbers are not. */
import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { openDatabase } from "../../kernel/db/database.ts"
import type { StatementHistory } from "../sql/offers.ts"
import { createStatementLog } from "../sql/statement-histories.ts"
import { CALLS_MIN, regressions, zOf } from "./regressions.ts"
import { startInstance } from "./testing/instance.ts"
import { createQueryLog } from "./testing/query-log.ts"
import { TARGET } from "./testing/statements.ts"

const HISTORY: StatementHistory = {
  query_id: "42",
  sql: "SELECT $1",
  calls: 100,
  errors: 0,
  p95_ms: 10,
  last_sqlstate: null,
  baseline_calls: 1000,
  baseline_errors: 1,
  baseline_p95_ms: 10,
}

const namesOf = (history: Partial<StatementHistory>) =>
  regressions([{ ...HISTORY, ...history }]).map(({ name }) => name)

test("a statement like its own past is no finding", () => {
  assert.deepEqual(namesOf({}), [])
  assert.deepEqual(namesOf({ errors: 2 }), [])
  assert.deepEqual(namesOf({ calls: 20, errors: 1, baseline_calls: 50, baseline_errors: 0 }), [])
  assert.deepEqual(namesOf({ errors: 20, baseline_errors: 200 }), [])
  assert.deepEqual(namesOf({ p95_ms: 19 }), [])
  assert.deepEqual(namesOf({ p95_ms: 3, baseline_p95_ms: 1 }), [])
  assert.deepEqual(namesOf({ p95_ms: null }), [])
})

test("a rise of failures and a slowdown are found, with the figures of both times", () => {
  assert.deepEqual(namesOf({ errors: 20, last_sqlstate: "23505" }), ["error_rate_regression"])
  assert.deepEqual(namesOf({ p95_ms: 55 }), ["latency_regression"])
  const [finding] = regressions([{ ...HISTORY, errors: 20, last_sqlstate: "23505" }])
  assert.match(finding?.detail ?? "", /20 of 100 .* 23505/)
})

test("the same share of failures is never a rise, however many calls there are", () => {
  const count = fc.integer({ min: 50, max: 1_000_000 })
  fc.assert(
    fc.property(count, fc.double({ min: 0, max: 1, noNaN: true }), (calls, share) => {
      const errors = Math.round(calls * share)
      const history = { ...HISTORY, calls, errors, baseline_calls: calls, baseline_errors: errors }
      assert.ok(Math.abs(zOf(history)) < 1e-9)
      assert.deepEqual(regressions([history]), [])
    }),
  )
})

test("the log is compared by statement, in its own window, tenant and branch", async t => {
  const cluster = await startInstance(t, 16)
  const owner = cluster.pool("owner", { max: 1 })
  await createQueryLog(owner)
  const insert = (
    tenant: string,
    queryId: string,
    calls: number,
    age: string,
    status: string,
    durationMs: number,
  ) =>
    owner.query(
      `INSERT INTO databases.query_log (id, tenant_id, project_id, database_id, branch_id, query_id, sql, sqlstate,
         duration_ms, wake_ms, started_at, source, read_only)
       SELECT gen_random_uuid(), $1, $9, $2, $3, $4, 'SELECT ' || $4::text, CASE WHEN $5::text = 'error' THEN '42P01' END,
         $6::float8 + n % 3, 0, timestamptz '2026-11-20T12:00:00Z' - $7::interval - n * interval '1 second', 'http', false
       FROM generate_series(1, $8::int) n`,
      [tenant, TARGET.databaseId, TARGET.branchId, queryId, status, durationMs, age, calls, TARGET.projectId],
    )
  const { organizationId } = TARGET
  await insert(organizationId, "slow", 60, "1 hour", "ok", 200)
  await insert(organizationId, "slow", 100, "2 days", "ok", 20)
  await insert(organizationId, "failing", 30, "1 hour", "error", 1)
  await insert(organizationId, "failing", 30, "1 hour", "ok", 1)
  await insert(organizationId, "failing", 100, "3 days", "ok", 1)
  await insert(organizationId, "steady", 60, "1 hour", "ok", 5)
  await insert(organizationId, "steady", 100, "2 days", "ok", 5)
  await insert(organizationId, "new", 60, "1 hour", "ok", 500)
  await insert(organizationId, "old", 100, "20 days", "ok", 1)
  await insert(organizationId, "old", 60, "1 hour", "ok", 500)
  await insert(TARGET.projectId, "another tenant's", 60, "1 hour", "ok", 500)
  await insert(TARGET.projectId, "another tenant's", 60, "2 days", "ok", 1)

  const connectionString = `postgresql://owner:${cluster.password}@/app?host=${encodeURIComponent(cluster.socketDir)}`
  await using database = openDatabase({ connectionString, connectionsMax: 1, onError: () => undefined })
  const to = new Date("2026-11-20T12:00:00Z")
  const from = new Date("2026-11-19T12:00:00Z")
  const baselineFrom = new Date("2026-11-12T12:00:00Z")
  const histories = await createStatementLog(database.db).histories(
    TARGET,
    { baselineFrom, from, to },
    CALLS_MIN,
  )

  assert.deepEqual(histories.map(({ query_id }) => query_id).sort(), ["failing", "slow", "steady"])
  assert.deepEqual(
    regressions(histories)
      .map(({ name, metadata }) => [name, metadata.query_id])
      .sort(),
    [
      ["error_rate_regression", "failing"],
      ["latency_regression", "slow"],
    ],
  )
})
