import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { type Fault, isFault } from "../../kernel/fault.ts"
import { type PgVersion, pgVersions } from "../../ports/engine/port.ts"
import { eventually } from "../../testing/eventually.ts"
import { converterOf } from "./pg-types.ts"
import { type SqlRig, startSql } from "./testing/sessions.ts"

const forEachVersion = (name: string, run: (t: TestContext, version: PgVersion) => Promise<void>) => {
  for (const version of pgVersions) test(`${name} (PostgreSQL ${version})`, t => run(t, version))
}

const valuesOf = async (rig: SqlRig, sql: string, params: readonly unknown[] = []) => {
  const { result } = await rig.run(sql, params)
  const types = rig.types.of(rig.target.volume.id)
  const convert = result.fields.map(({ dataTypeID }) => converterOf(types, dataTypeID))
  return result.rows.map(row => row.map((text, at) => (text === null ? null : convert[at]?.(text))))
}

const toldOf = ({ details }: Fault) => (details.body?.details ?? {}) as Record<string, unknown>

const fails = async (promise: Promise<unknown>, code: string, sqlstate?: string) => {
  const error = await promise.then(
    () => assert.fail("it did not fail"),
    (reason: unknown) => reason,
  )
  if (!isFault(error)) throw error
  assert.equal(error.publicCode, code, String(error))
  if (sqlstate !== undefined) assert.equal(toldOf(error).sqlstate, sqlstate)
  return error
}

forEachVersion("values become JSON that loses nothing", async (t, version) => {
  const rig = await startSql(t, version)
  const cases: [string, unknown][] = [
    ["1::int2", 1],
    ["2147483647", 2147483647],
    ["9007199254740993::int8", "9007199254740993"],
    ["1.50::numeric", "1.50"],
    ["1.5::float8", 1.5],
    ["'NaN'::float8", "NaN"],
    ["'-Infinity'::float4", "-Infinity"],
    ["true", true],
    ["'{\"a\": [1, null]}'::jsonb", { a: [1, null] }],
    ["'null'::json", null],
    ["'\\x00ff'::bytea", "\\x00ff"],
    ["'2026-01-02 03:04:05.678+00'::timestamptz", "2026-01-02T03:04:05.678Z"],
    ["'infinity'::timestamptz", "infinity"],
    ["'2026-01-02'::date", "2026-01-02"],
    ["ARRAY[1,NULL,3]", [1, null, 3]],
    [
      "ARRAY[[1,2],[3,4]]",
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ["'[5:6]={7,8}'::int[]", [7, 8]],
    ["ARRAY['a,b','c\"d','\\','NULL','',NULL]", ["a,b", 'c"d', "\\", "NULL", "", null]],
    ["ARRAY['{\"a\":1}'::jsonb]", [{ a: 1 }]],
    ["'{}'::text[]", []],
    ["ARRAY[box '((1,2),(3,4))', box '((5,6),(7,8))']", ["(3,4),(1,2)", "(7,8),(5,6)"]],
    ["NULL::int", null],
    ["'[1,5)'::int4range", "[1,5)"],
    ["interval '1 day 2 hours'", "1 day 02:00:00"],
    ["''::text", ""],
  ]
  const [row] = await valuesOf(rig, `SELECT ${cases.map(([sql]) => sql).join(", ")}`)
  for (const [at, [sql, expected]] of cases.entries()) assert.deepEqual(row?.[at], expected, sql)

  await rig.run("CREATE TYPE mood AS ENUM ('sad', 'ok')")
  await rig.run("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
  const made = await rig.run("SELECT 'ok'::mood, ARRAY['sad','ok']::mood[], 5::positive, ROW(1,'x')")
  const types = rig.types.of(rig.target.volume.id)
  assert.deepEqual(
    made.result.fields.map(({ dataTypeID }) => types.get(dataTypeID).name),
    ["mood", "_mood", "int4", "record"],
  )
  assert.deepEqual(await valuesOf(rig, "SELECT 'ok'::mood, ARRAY['sad','ok']::mood[], 5::positive"), [
    ["ok", ["sad", "ok"], 5],
  ])
  // The table of built-in types says what this version says.
  for (const [oid, name, element] of (await rig.rows(
    "SELECT oid::int, typname, CASE WHEN typoutput = 'array_out'::regproc THEN typelem::int ELSE 0 END FROM pg_type WHERE oid < 10000",
  )) as string[][]) {
    const known = types.has(Number(oid)) ? types.get(Number(oid)) : undefined
    if (known) assert.deepEqual([known.name, known.element], [name, Number(element)])
  }
})

forEachVersion("JSON parameters become values of the type they are for", async (t, version) => {
  const rig = await startSql(t, version)
  const cases: [string, unknown, unknown][] = [
    ["$1::int", 7, 7],
    ["$1::int8", "9007199254740993", "9007199254740993"],
    ["$1::bool", false, false],
    ["$1::text", null, null],
    ["$1::text", 'it\'s "q" \\ {}', 'it\'s "q" \\ {}'],
    ["$1::jsonb", { a: [1, "x"] }, { a: [1, "x"] }],
    ["$1::jsonb", [1, { b: null }], [1, { b: null }]],
    ["$1::json", [], []],
    ["$1::int[]", [1, null, 3], [1, null, 3]],
    [
      "$1::text[]",
      ["a,b", 'c"d', "\\", "NULL", "", null, "{}"],
      ["a,b", 'c"d', "\\", "NULL", "", null, "{}"],
    ],
    [
      "$1::int[]",
      [
        [1, 2],
        [3, 4],
      ],
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ["$1::jsonb[]", [{ a: 1 }, { b: "x,y" }], [{ a: 1 }, { b: "x,y" }]],
    ["$1::text", { a: 1 }, '{"a":1}'],
    ["$1::numeric", 1.25, "1.25"],
  ]
  // Twice: the second time the session has the statement already.
  for (const [sql, value, expected] of [...cases, ...cases]) {
    assert.deepEqual(await valuesOf(rig, `SELECT ${sql}`, [value]), [[expected]], sql)
  }
  await rig.run("CREATE TYPE mood AS ENUM ('sad', 'ok')")
  assert.deepEqual(await valuesOf(rig, "SELECT $1::mood[]", [["ok", "sad"]]), [[["ok", "sad"]]])
  await fails(rig.run("SELECT $1::int", ["x"]), "invalid_sql", "22P02")
  await fails(rig.run("SELECT $1::int[]", [["x"]]), "invalid_sql", "22P02")
  await fails(rig.run("SELECT $1::int", []), "invalid_sql", "08P01").catch(() => undefined)
})

forEachVersion("results end at the row limit and at the byte limit, and say so", async (t, version) => {
  const rig = await startSql(t, version)
  const cut = await rig.run("SELECT generate_series(1, 100)", [], { rowsMax: 10 })
  assert.deepEqual([cut.result.rows.length, cut.result.truncated, cut.result.rowCount], [10, true, 10])
  const exact = await rig.run("SELECT generate_series(1, 10)", [], { rowsMax: 10 })
  assert.deepEqual([exact.result.rows.length, exact.result.truncated], [10, false])
  const wide = await rig.run("SELECT repeat('x', 1000) FROM generate_series(1, 100)", [], {
    budget: { bytesLeft: 10_500 },
  })
  assert.deepEqual([wide.result.rows.length, wide.result.truncated], [10, true])
  // Every row of a statement that is cut short is written all the same.
  await rig.run("CREATE TABLE t (id int)")
  const written = await rig.run("INSERT INTO t SELECT generate_series(1, 50) RETURNING id", [], {
    rowsMax: 5,
  })
  assert.deepEqual([written.result.rows.length, written.result.truncated], [5, true])
  assert.deepEqual(await rig.rows("SELECT count(*) FROM t"), [["50"]])
})

forEachVersion(
  "a row that would not fit in memory ends its connection, and nothing else",
  async (t, version) => {
    const rig = await startSql(t, version)
    await fails(rig.run("SELECT repeat('x', 200 * 1024 * 1024)"), "invalid_sql", "54000")
    assert.deepEqual(await rig.rows("SELECT 1"), [["1"]])
  },
)

forEachVersion("commands tell their tag and how many rows they changed", async (t, version) => {
  const rig = await startSql(t, version)
  const told = async (sql: string) => {
    const { command, rowCount } = (await rig.run(sql)).result
    return [command, rowCount]
  }
  assert.deepEqual(await told("CREATE TABLE t (id int)"), ["CREATE TABLE", null])
  assert.deepEqual(await told("INSERT INTO t VALUES (1), (2)"), ["INSERT", 2])
  assert.deepEqual(await told("UPDATE t SET id = 3"), ["UPDATE", 2])
  assert.deepEqual(await told("SELECT * FROM t"), ["SELECT", 2])
  assert.deepEqual(await told("DELETE FROM t"), ["DELETE", 2])
  assert.deepEqual(await told("SHOW work_mem"), ["SHOW", 1])
  assert.deepEqual(await told("VACUUM t"), ["VACUUM", null])
  assert.deepEqual(await told("  -- nothing"), [null, null])
})

forEachVersion("PostgreSQL's errors reach the caller with every detail", async (t, version) => {
  const rig = await startSql(t, version)
  await rig.run("CREATE TABLE people (id int PRIMARY KEY, age int CONSTRAINT adult CHECK (age > 17))")
  await rig.run("INSERT INTO people VALUES (1, 20)")
  const told = toldOf(await fails(rig.run("INSERT INTO people VALUES (1, 20)"), "invalid_sql", "23505"))
  assert.equal(told.constraint, "people_pkey")
  assert.equal(told.table, "people")
  assert.equal(told.detail, "Key (id)=(1) already exists.")
  const syntax = await fails(rig.run("SELECT * FORM people"), "invalid_sql", "42601")
  assert.equal(toldOf(syntax).position, 10)
  await fails(rig.run("SELECT 1; SELECT 2"), "invalid_sql", "42601")
  await fails(rig.run("SELECT 1/0"), "invalid_sql", "22012")
  await fails(rig.run("COPY people TO STDOUT"), "invalid_sql", "0A000")
  await fails(rig.run("COPY people FROM STDIN"), "invalid_sql", "0A000")
  await fails(rig.run("COPY people TO PROGRAM 'true'"), "invalid_sql", "42501")
  assert.deepEqual(await rig.rows("SELECT count(*) FROM people"), [["1"]])
})

forEachVersion(
  "a statement ends at its time limit, and the next caller has the usual one",
  async (t, version) => {
    const rig = await startSql(t, version)
    await fails(rig.run("SELECT pg_sleep(60)", [], { timeoutMs: 50 }), "query_timeout", "57014")
    assert.deepEqual(await rig.rows("SHOW statement_timeout"), [["30s"]])
    assert.deepEqual(await rig.rows("SHOW statement_timeout", [], { timeoutMs: 5000 }), [["5s"]])
    assert.deepEqual(await rig.rows("SHOW statement_timeout"), [["30s"]])
  },
)

forEachVersion("a caller who leaves has its statement cancelled, and nobody else's", async (t, version) => {
  const rig = await startSql(t, version, 2)
  await rig.run("CREATE TABLE t (id int)")
  const leaving = new AbortController()
  const left = rig.run("INSERT INTO t SELECT 1 FROM pg_sleep(60)", [], { signal: leaving.signal })
  left.catch(() => undefined)
  const running =
    "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'INSERT INTO t%'"
  const active = async () => ((await rig.rows(running)) as string[][])[0]?.[0]
  await eventually("it runs", async () => (await active()) === "1")
  leaving.abort()
  await assert.rejects(left)
  await eventually("it has ended", async () => (await active()) === "0")
  assert.deepEqual(await rig.rows("SELECT count(*) FROM t"), [["0"]])
})

const OPEN_TRANSACTIONS = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"

forEachVersion("nothing of a session is left to the next caller", async (t, version) => {
  const rig = await startSql(t, version)
  const backend = async () => rig.rows("SELECT pg_backend_pid()")
  const before = await backend()
  await rig.run("CREATE ROLE other")
  await rig.run("GRANT other TO owner")
  await rig.run("CREATE SEQUENCE s")
  await rig.run(
    "CREATE FUNCTION leave(text) RETURNS int LANGUAGE plpgsql AS 'BEGIN EXECUTE $1; RETURN 1; END'",
  )
  for (const sql of [
    "SET work_mem = '7MB'",
    "SELECT set_config('work_mem', '7MB', false)",
    "SELECT leave('SET work_mem = ''7MB''')",
    "SELECT set_config('my.secret', 'x', false)",
    "SET ROLE other",
    "SELECT leave('SET ROLE other')",
    "LISTEN news",
    "SELECT pg_advisory_lock(1)",
    "CREATE TEMP TABLE left_behind (id int)",
    "SELECT leave('CREATE TEMP TABLE left_behind (id int)')",
    "PREPARE mine AS SELECT 1",
    "SELECT leave('PREPARE mine AS SELECT 1')",
    "SELECT nextval('s')",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SELECT leave('DEALLOCATE ALL')",
    "DEALLOCATE ALL",
    "DISCARD ALL",
    "SELECT 1/0",
  ]) {
    await rig.run(sql).catch(error => assert.ok(isFault(error), sql))
    const [state] = (await rig.rows(`SELECT current_setting('work_mem'), current_setting('my.secret', true),
      current_user, (SELECT count(*) FROM pg_listening_channels()),
      (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), to_regclass('left_behind'),
      (SELECT count(*) FROM pg_prepared_statements WHERE from_sql), (SELECT count(*) FROM pg_cursors WHERE is_holdable),
      current_setting('transaction_read_only')`)) as (string | null)[][]
    assert.deepEqual(state?.slice(0, 1), ["4MB"], sql)
    assert.ok(state?.[1] === null || state?.[1] === "", sql)
    assert.deepEqual(state?.slice(2), ["owner", "0", "0", null, "0", "0", "off"], sql)
  }
  await fails(rig.run("SELECT currval('s')"), "invalid_sql", "55000")
  assert.deepEqual(await backend(), before, "all on one session")
  for (const sql of ["BEGIN", "START TRANSACTION READ ONLY"]) {
    await fails(rig.run(sql), "invalid_sql", "25000")
    // Its session may be cleaned while the next caller has another.
    await eventually("no transaction is left open", async () => {
      const [[open] = []] = (await rig.rows(OPEN_TRANSACTIONS)) as string[][]
      return open === "0"
    })
  }
})

forEachVersion("prepared statements survive changes of what they read", async (t, version) => {
  const rig = await startSql(t, version)
  await rig.run("CREATE TABLE t (id int)")
  await rig.run("INSERT INTO t VALUES (1)")
  const read = () => rig.rows("SELECT * FROM t")
  assert.deepEqual([await read(), await read()], [[["1"]], [["1"]]])
  await rig.run("ALTER TABLE t ADD COLUMN name text DEFAULT 'x'")
  assert.deepEqual(await read(), [["1", "x"]])
  for (let at = 0; at < 130; at += 1) assert.deepEqual(await rig.rows(`SELECT ${at}`), [[String(at)]])
  for (let at = 0; at < 130; at += 1) await rig.run(`SELECT ${at}::int/0`).catch(() => undefined)
  const [[count]] = (await rig.rows("SELECT count(*) FROM pg_prepared_statements")) as [[string]]
  assert.ok(Number(count) <= 101, `the session keeps ${count} statements`)
})

test("connections that are lost answer as unavailable, and others take their place", async t => {
  const rig = await startSql(t, 17)
  const [[pid]] = (await rig.rows("SELECT pg_backend_pid()")) as [[string]]
  const admin = rig.cluster.pool("svc_admin")
  const sleeping = rig.run("SELECT pg_sleep(60)")
  sleeping.catch(() => undefined)
  await admin.query("SELECT pg_terminate_backend($1)", [pid])
  await fails(sleeping, "service_unavailable")
  assert.deepEqual(await rig.rows("SELECT 1"), [["1"]])
})
