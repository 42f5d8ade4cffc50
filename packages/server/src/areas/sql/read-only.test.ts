import assert from "node:assert/strict"
import { test } from "node:test"
import { isFault } from "../../kernel/fault.ts"
import { pgVersions } from "../../ports/engine/port.ts"
import { createGuard } from "./guard.ts"
import { admitted, REFUSED_TEXT, refused } from "./testing/read-only-cases.ts"
import { startSql } from "./testing/sessions.ts"

const SETUP = [
  "CREATE TABLE customers (id int PRIMARY KEY, name text, country text, born date, data jsonb)",
  "CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, total numeric, at timestamptz, tags text[])",
  "INSERT INTO customers SELECT i, 'c' || i, CASE i % 2 WHEN 0 THEN 'DE' ELSE 'FR' END, '2000-01-01', '{\"a\": [1, 2]}' FROM generate_series(1, 20) i",
  "INSERT INTO orders SELECT i, 1 + i % 20, i * 1.5, now(), ARRAY['x', 'y'] FROM generate_series(1, 100) i",
  "CREATE SEQUENCE numbers",
  "CREATE TABLE audit (at timestamptz)",
  "CREATE FUNCTION writes() RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit VALUES (now()); RETURN 1; END'",
  "CREATE FUNCTION writes_as_owner() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN INSERT INTO audit VALUES (now()); RETURN 1; END'",
  `CREATE FUNCTION escapes() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN PERFORM set_config('transaction_read_only', 'off', true); INSERT INTO audit VALUES (now()); RETURN 1; END $$`,
  `CREATE FUNCTION escapes_by_statement() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN SET TRANSACTION READ WRITE; INSERT INTO audit VALUES (now()); RETURN 1; END $$`,
  `CREATE FUNCTION counts_up() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('numbers') $$`,
  `CREATE FUNCTION escapes_later() RETURNS int LANGUAGE plpgsql AS $$
    BEGIN PERFORM set_config('default_transaction_read_only', 'off', false); RETURN 1; END $$`,
  "CREATE FUNCTION leaves_a_lock() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_lock(7); RETURN 1; END'",
  "CREATE FUNCTION leaves_a_setting() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('my.left', 'x', false); RETURN 1; END $$",
  "CREATE FUNCTION leaves_a_statement() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'PREPARE left_behind AS SELECT 1'; RETURN 1; END $$",
  "CREATE FUNCTION leaves_a_table() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CREATE TEMP TABLE left_behind (id int)'; RETURN 1; END $$",
  "CREATE FUNCTION leaves_a_role() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SET ROLE pg_read_all_data'; RETURN 1; END $$",
  "CREATE FUNCTION listens() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'LISTEN news'; RETURN 1; END $$",
  "CREATE VIEW writing_view AS SELECT writes() AS w",
  "CREATE FUNCTION plus_writes(int, int) RETURNS int LANGUAGE sql AS 'SELECT writes_as_owner() + $1 + $2'",
  "CREATE OPERATOR @@@ (LEFTARG = int, RIGHTARG = int, FUNCTION = plus_writes)",
  "CREATE AGGREGATE sum_writes (int) (SFUNC = plus_writes, STYPE = int, INITCOND = '0')",
  "CREATE TYPE wrapped AS (n int)",
  "CREATE FUNCTION unwrap(wrapped) RETURNS int LANGUAGE sql AS 'SELECT writes_as_owner()'",
  "CREATE CAST (wrapped AS int) WITH FUNCTION unwrap(wrapped)",
  "CREATE PROCEDURE proc() LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit VALUES (now()); COMMIT; END'",
]

const STATE = `SELECT (SELECT count(*) FROM audit)::int + (SELECT count(*) FROM customers)::int,
  (SELECT is_called FROM numbers), (SELECT count(*) FROM pg_largeobject_metadata),
  (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
  (SELECT count(*) FROM pg_prepared_xacts), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')`

/** Reach the database, because no parser can know what a function of the tenant does; it refuses them itself. */
const STOPPED_BY_DATABASE = [
  "SELECT writes()",
  "SELECT writes_as_owner()",
  "SELECT escapes()",
  "SELECT escapes_by_statement()",
  "SELECT counts_up()",
  "SELECT * FROM writing_view",
  "SELECT 1 @@@ 2",
  "SELECT sum_writes(1) FROM customers",
  "SELECT ROW(1)::wrapped::int",
  "SELECT CASE WHEN true THEN writes_as_owner() END",
  "SELECT * FROM customers WHERE id = writes_as_owner()",
  "EXPLAIN ANALYZE SELECT writes_as_owner()",
  "SELECT leaves_a_table()",
]

/** Change nothing, and leave nothing to the next caller either. */
const HARMLESS = [
  "SELECT leaves_a_lock()",
  "SELECT leaves_a_setting()",
  "SELECT leaves_a_statement()",
  "SELECT escapes_later()",
  "SELECT leaves_a_role()",
  "SELECT listens()",
]

for (const version of pgVersions) {
  test(`a read-only session changes nothing, whatever it is sent (PostgreSQL ${version})`, async t => {
    const rig = await startSql(t, version)
    for (const sql of SETUP) await rig.run(sql)
    const before = await rig.rows(STATE)
    const readOnly = "key" as const

    for (const sql of refused) {
      await assert.rejects(rig.run(sql, [], { readOnly }), error => {
        assert.ok(isFault(error), sql)
        assert.ok(error.status === 403 || error.status === 400, `${sql}: ${error}`)
        if (error.status === 403) assert.equal(error.message, REFUSED_TEXT)
        return true
      })
    }
    for (const sql of STOPPED_BY_DATABASE) {
      await assert.rejects(rig.run(sql, [], { readOnly }), error => {
        assert.ok(
          isFault(error) && ["key_read_only", "invalid_sql"].includes(error.publicCode),
          `${sql}: ${error}`,
        )
        return true
      })
    }
    const backend = await rig.rows("SELECT pg_backend_pid()", [], { readOnly })
    for (const sql of HARMLESS) {
      await rig.run(sql, [], { readOnly }).catch(error => assert.ok(isFault(error), sql))
      const [state] = (await rig.rows(
        `SELECT current_setting('transaction_read_only'), current_setting('default_transaction_read_only'),
          coalesce(current_setting('my.left', true), ''), current_user, (SELECT count(*) FROM pg_listening_channels()),
          (SELECT count(*) FROM pg_prepared_statements WHERE from_sql),
          (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')`,
        [],
        { readOnly },
      )) as string[][]
      assert.deepEqual(state, ["on", "on", "", "svc_reader", "0", "0", "0"], sql)
    }
    assert.deepEqual(
      await rig.rows("SELECT pg_backend_pid()", [], { readOnly }),
      backend,
      "one session for all",
    )
    assert.deepEqual(await rig.rows(STATE), before)
    // What the guard lets pass, PostgreSQL 17 and 16 may not know yet; nothing else may fail.
    for (const sql of admitted) {
      await rig.run(sql, [], { readOnly }).catch(error => {
        assert.ok(isFault(error) && version < 17 && /json_table/i.test(sql), `${sql}: ${error}`)
      })
    }
    assert.deepEqual(await rig.rows(STATE), before)
  })
}

test("the database's own settings make no string mean another thing to the guard than to the server", async t => {
  const rig = await startSql(t, 17)
  await rig.run("ALTER DATABASE app SET standard_conforming_strings = off")
  await rig.run("ALTER DATABASE app SET statement_timeout = 0")
  const fresh = rig.cluster.pool("owner")
  assert.equal(
    (await fresh.query("SHOW standard_conforming_strings")).rows[0].standard_conforming_strings,
    "off",
  )
  // The sessions of the rig so far are older than the setting.
  await assert.rejects(rig.run("SELECT pg_terminate_backend(pg_backend_pid())"))
  assert.deepEqual(await rig.rows("SHOW standard_conforming_strings"), [["on"]])
  assert.deepEqual(await rig.rows("SHOW statement_timeout"), [["30s"]])
})

test("a text that the parser cannot stand is refused, and the next one is judged as ever", async t => {
  const guard = createGuard()
  t.after(() => guard[Symbol.asyncDispose]())
  const deep = [
    `SELECT ${"(".repeat(60_000)}1${")".repeat(60_000)}`,
    `SELECT ${"1+".repeat(60_000)}1`,
    `SELECT ${"NOT ".repeat(30_000)}true`,
    `SELECT ${"(SELECT ".repeat(10_000)}1${")".repeat(10_000)}`,
    `SELECT 1 ${"UNION SELECT 1 ".repeat(8_000)}`,
    `SELECT '${"x".repeat(200_000)}'`,
  ]
  for (const sql of deep) {
    await guard.check(sql, "key").catch(error => assert.ok(isFault(error, "invalid_sql"), String(error)))
    await guard.check("SELECT 1", "key")
    await assert.rejects(guard.check("DELETE FROM t", "key"), { code: "key_read_only" })
  }
})
