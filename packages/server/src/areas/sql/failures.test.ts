/** Who is told what of a failure: what a statement brings about is its caller's, whatever SQLSTATE it has. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { serveSql } from "./testing/server.ts"
import { startSql } from "./testing/sessions.ts"

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the test is about
type Answer = any

const raise = (sqlstate: string) =>
  `DO $$ BEGIN RAISE EXCEPTION 'raised: timeout' USING ERRCODE = '${sqlstate}'; END $$`

test("a wrong number of parameters and any SQLSTATE that a statement raises are refused with 400", async t => {
  const server = await serveSql(t, await startSql(t, 18))
  const ask = async (sql: string, params: unknown[] = []) => {
    const response = await server.post("/api/v1/sql", { sql, params })
    const { code, details } = (await response.json()) as Answer
    return [response.status, code, details?.sqlstate]
  }
  assert.deepEqual(await ask("SELECT $1::int", [1, 2]), [400, "invalid_sql", "08P01"])
  assert.deepEqual(await ask("SELECT $1::int"), [400, "invalid_sql", "08P01"])
  for (const sqlstate of [
    "XX000",
    "XX001",
    "53300",
    "53200",
    "08006",
    "58000",
    "57P01",
    "57P03",
    "57014",
    "25006",
  ])
    assert.deepEqual(await ask(raise(sqlstate)), [400, "invalid_sql", sqlstate])
  assert.deepEqual(await ask("SELECT pg_terminate_backend(pg_backend_pid())"), [
    503,
    "service_unavailable",
    undefined,
  ])
})

test("in a batch of independent statements no failure of one takes the others' results away", async t => {
  const server = await serveSql(t, await startSql(t, 18))
  const batch = async (...list: string[]): Promise<Answer> => {
    const statements = list.map(sql => ({ sql }))
    const response = await server.post("/api/v1/sql/batch", { statements })
    assert.equal(response.status, 200)
    return ((await response.json()) as Answer).results
  }
  await server.post("/api/v1/sql", { sql: "CREATE TABLE t (id int)" })
  const results = await batch(
    "INSERT INTO t VALUES (1)",
    "SELECT $1::int",
    raise("XX000"),
    raise("53300"),
    "SELECT pg_terminate_backend(pg_backend_pid())",
    "INSERT INTO t VALUES (2) RETURNING id",
  )
  assert.deepEqual(
    results.map(({ ok, error }: Answer) => (ok ? "done" : (error.details?.sqlstate ?? error.code))),
    ["done", "08P01", "XX000", "53300", "service_unavailable", "done"],
  )
  assert.deepEqual(results.at(-1).rows, [{ id: 2 }])
})
