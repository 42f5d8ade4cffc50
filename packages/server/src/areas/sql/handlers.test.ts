import assert from "node:assert/strict"
import { test } from "node:test"
import { neon, neonConfig } from "@neondatabase/serverless"
import { pgVersions } from "../../ports/engine/port.ts"
import { eventually } from "../../testing/eventually.ts"
import { serveSql } from "./testing/server.ts"
import { startSql } from "./testing/sessions.ts"

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the test is about
type Answer = any

const LOGIN = "postgresql://owner.00000000-0000-7000-8000-000000000001:x@db.example.com/app"

for (const version of pgVersions) {
  test(`results, errors and batches come in the declared form (PostgreSQL ${version})`, async t => {
    const rig = await startSql(t, version)
    const server = await serveSql(t, rig)
    const run = async (body: object): Promise<Answer> => (await server.post("/api/v1/sql", body)).json()
    const one = await run({ query: "SELECT $1::int AS id, 'x' AS name, 1 AS id", parameters: [7] })
    assert.deepEqual(one.rows, [{ id: 7, name: "x", id_2: 1 }])
    assert.deepEqual([one.row_count, one.command, one.truncated], [1, "SELECT", false])
    assert.deepEqual(
      one.columns.map(({ name, type }: Answer) => [name, type]),
      [
        ["id", "int4"],
        ["name", "text"],
        ["id", "int4"],
      ],
    )
    assert.deepEqual((await run({ sql: "SELECT 1, 2", array_mode: true })).rows, [[1, 2]])
    assert.deepEqual((await run({ sql: 'SELECT 1 AS "__proto__"' })).rows.length, 1)
    const cut = await run({ sql: "WITH a AS (SELECT 1) SELECT generate_series(1, 9) FROM a", max_rows: 3 })
    assert.deepEqual([cut.row_count, cut.truncated, cut.command], [3, true, "SELECT"])
    const refused = await run({ sql: "SELECT nothing" })
    assert.deepEqual(
      [refused.code, refused.details.sqlstate, refused.details.position],
      ["invalid_sql", "42703", 8],
    )

    await run({ sql: "CREATE TABLE t (id int PRIMARY KEY)" })
    const batch = async (body: object): Promise<Answer> =>
      (await server.post("/api/v1/sql/batch", body)).json()
    const statements = ["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"]
    const list = statements.map(sql => ({ sql }))
    const apart = await batch({ statements: list })
    assert.deepEqual(
      apart.results.map(({ ok }: Answer) => ok),
      [true, false, true],
    )
    assert.equal(apart.results[1].error.details.sqlstate, "23505")
    await run({ sql: "DELETE FROM t" })
    const stopped = await batch({ statements: list, stop_on_error: true })
    assert.equal(stopped.results.length, 2)
    await run({ sql: "DELETE FROM t" })
    const together = await batch({ statements: list, transaction: true, isolation_level: "serializable" })
    assert.equal(together.committed, false)
    assert.deepEqual(
      together.results.map(({ error }: Answer) => error.details.sqlstate),
      ["40000", "23505", "25P02"],
    )
    assert.deepEqual((await run({ sql: "SELECT * FROM t" })).rows, [])
    const done = await batch({
      statements: [list[0], { sql: "SHOW transaction_isolation" }],
      transaction: true,
      isolation_level: "repeatable read",
    })
    assert.deepEqual(
      [done.committed, done.results[1].rows],
      [true, [{ transaction_isolation: "repeatable read" }]],
    )
    const ended = await batch({ statements: [list[2], { sql: "/* x */ COMMIT" }], transaction: true })
    assert.equal(ended.committed, false)
    assert.deepEqual((await run({ sql: "SELECT * FROM t" })).rows, [{ id: 1 }])
    const slow = await batch({
      statements: [list[2], { sql: "SELECT pg_sleep(30)" }],
      transaction: true,
      timeout_ms: 1_000,
    })
    assert.equal(slow.results[1].error.code, "query_timeout")
    assert.deepEqual((await run({ sql: "SELECT * FROM t" })).rows, [{ id: 1 }])
    const readers = await batch({
      statements: [{ sql: "SELECT 1" }, { sql: "DELETE FROM t" }],
      read_only: true,
    })
    assert.deepEqual(
      readers.results.map(({ ok }: Answer) => ok),
      [true, false],
    )
    const log = server.logged.find(({ sqlstate }) => sqlstate === "23505")
    assert.equal(log?.sql, "INSERT INTO t VALUES (1)")
  })

  test(`rows are streamed as lines, and a reader who leaves ends the statement (PostgreSQL ${version})`, async t => {
    const rig = await startSql(t, version, 2)
    const server = await serveSql(t, rig)
    const ndjson = { accept: "application/x-ndjson" }
    const lines = async (sql: string, more: object = {}): Promise<Answer[]> => {
      const text = await (await server.post("/api/v1/sql", { sql, ...more }, ndjson)).text()
      return text
        .trimEnd()
        .split("\n")
        .map(line => JSON.parse(line))
    }
    const all = await lines("SELECT i, repeat('x', 100) AS x FROM generate_series(1, 20000) i")
    assert.equal(all.length, 20_002)
    assert.deepEqual(
      all[0].columns.map(({ name }: Answer) => name),
      ["i", "x"],
    )
    assert.equal(all[20_000].i, 20_000)
    assert.deepEqual([all.at(-1).row_count, all.at(-1).command], [20_000, "SELECT"])
    assert.equal((await lines("SELECT 1 WHERE false")).length, 2)
    assert.deepEqual((await lines("SELECT 1 AS n", { read_only: true, array_mode: true }))[1], [1])
    const broken = await lines("SELECT 1 / (3000 - i) FROM generate_series(1, 5000) i")
    assert.equal(broken.at(-1).error.details.sqlstate, "22012")
    const early = await server.post("/api/v1/sql", { sql: "SELECT nothing" }, ndjson)
    assert.equal(early.status, 400)
    await lines("CREATE TABLE streamed AS SELECT 1 AS id")
    assert.deepEqual(
      (await lines("INSERT INTO streamed SELECT generate_series(2, 5) RETURNING id")).length,
      6,
    )

    const leaving = new AbortController()
    const left = await fetch(`${server.url}/api/v1/sql`, {
      method: "POST",
      body: JSON.stringify({
        // A series that is selected comes row by row; one that is selected from is kept whole before the first.
        sql: "SELECT generate_series(1, 100000000), repeat('x', 1000) -- left",
      }),
      headers: ndjson,
      signal: leaving.signal,
    })
    await left.body?.getReader().read()
    leaving.abort()
    await eventually("it has ended", async () => {
      const [row] = (await rig.rows(
        "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%-- left'",
      )) as string[][]
      return row?.[0] === "0"
    })
  })

  test(`Neon's own driver works unchanged (PostgreSQL ${version})`, async t => {
    const rig = await startSql(t, version)
    const server = await serveSql(t, rig)
    neonConfig.fetchEndpoint = () => `${server.url}/api/v1/sql`
    const sql = neon(LOGIN, { authToken: "svc_sk_x" })
    assert.deepEqual(
      await sql`SELECT ${1}::int AS one, ${"a"} AS a, now() AS at, ${["x", "y"]}::text[] AS list`.then(
        ([row]) => [row?.one, row?.a, row?.at instanceof Date, row?.list],
      ),
      [1, "a", true, ["x", "y"]],
    )
    const full = await sql.query("SELECT 1 AS n UNION ALL SELECT 2", [], { fullResults: true })
    assert.deepEqual([full.command, full.rowCount, full.fields[0]?.name], ["SELECT", 2, "n"])
    assert.deepEqual(full.rows, [{ n: 1 }, { n: 2 }])
    assert.deepEqual(await sql.query("SELECT 1, NULL", [], { arrayMode: true }), [[1, null]])
    assert.deepEqual(
      await sql.query("SELECT $1::jsonb AS j, $2::bytea AS b", [{ a: 1 }, Buffer.from("hi")]),
      [{ j: { a: 1 }, b: Buffer.from("hi") }],
    )
    await sql`CREATE TABLE t (id int PRIMARY KEY)`
    const results = await sql.transaction(
      [sql`INSERT INTO t VALUES (1)`, sql`SELECT count(*)::int AS n FROM t`, sql`SHOW transaction_isolation`],
      { isolationLevel: "RepeatableRead" },
    )
    assert.deepEqual(results, [[], [{ n: 1 }], [{ transaction_isolation: "repeatable read" }]])
    await assert.rejects(sql.transaction([sql`INSERT INTO t VALUES (2)`, sql`INSERT INTO t VALUES (1)`]), {
      code: "23505",
      constraint: "t_pkey",
      table: "t",
      severity: "ERROR",
      message: 'duplicate key value violates unique constraint "t_pkey"',
    })
    assert.deepEqual(await sql`SELECT * FROM t`, [{ id: 1 }])
    await assert.rejects(sql.transaction([sql`DELETE FROM t`], { readOnly: true }), { code: "25006" })
    await assert.rejects(sql`SELECT * FORM t`, { code: "42601", position: "10" })
    await assert.rejects(sql.query("SELECT pg_sleep($1)", ["x"]), { code: "22P02" })
  })
}

test("a key that may only read changes nothing by batch, by stream or in Neon's form", async t => {
  const rig = await startSql(t, 17)
  await rig.run("CREATE TABLE t (id int)")
  const server = await serveSql(t, rig, ["database:read"])
  neonConfig.fetchEndpoint = () => `${server.url}/api/v1/sql`
  const statements = [{ sql: "SELECT 1" }, { sql: "INSERT INTO t VALUES (1)" }]
  const answers: Answer[] = [
    await (await server.post("/api/v1/sql/batch", { statements })).json(),
    await (await server.post("/api/v1/sql/batch", { statements, transaction: true })).json(),
  ]
  for (const { results } of answers) assert.equal(results[1].error.code, "key_read_only")
  const streamed = await server.post("/api/v1/sql", statements[1] ?? {}, { accept: "application/x-ndjson" })
  assert.equal(streamed.status, 403)
  const sql = neon(LOGIN, { authToken: "svc_sk_x" })
  assert.deepEqual(await sql`SELECT 1 AS n`, [{ n: 1 }])
  await assert.rejects(sql`INSERT INTO t VALUES (1)`, /key is read-only/)
  await assert.rejects(
    sql.transaction([sql`SELECT 1`, sql`DELETE FROM t`], { readOnly: false }),
    /key is read-only/,
  )
  assert.deepEqual(await rig.rows("SELECT count(*) FROM t"), [["0"]])
})
