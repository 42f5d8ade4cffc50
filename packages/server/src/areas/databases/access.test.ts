/** What a tenant, and a read-only key, can and cannot do to the platform's own way into a database. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import type pg from "pg"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { openSession } from "./testing/wire-client.ts"

const everything = ["database:manage", "database:query", "database:branch"] as const

/** A database with a session of its owner's in `postgres`, which outlives whatever becomes of `app`. */
const world = async (t: TestContext, p: TestPlatform, pg_version: number) => {
  const svc = await p.client("acme", ...everything)
  const reader = p.as((await p.key("acme", everything, { read_only: true })).secret)
  const made = await svc.databases.create({ name: "orders", pg_version, suspend_timeout_seconds: 0 })
  const { host, port } = made.connection
  const login = {
    ...{ host, port, branchId: made.default_branch_id },
    ...{ role: "owner", password: made.password ?? "" },
  }
  const outside = await openSession(t, { ...login, database: "postgres" })
  const run = (sql: string) => svc.sql.execute({ sql, database_id: made.id })
  const read = (sql: string) => reader.sql.execute({ sql, database_id: made.id })
  return { svc, made, login, outside, run, read }
}

/** The next call over HTTP needs a new connection. */
const endOwnSessions = (outside: pg.Client) =>
  outside.query(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'svc-http'",
  )

/** What a tenant can do to itself, in `app` by HTTP or from outside it. */
const acts: readonly { readonly in: "app" | "postgres"; readonly sql: string }[] = [
  { in: "app", sql: "ALTER ROLE owner PASSWORD 'another'" },
  { in: "app", sql: "ALTER ROLE owner SET local_preload_libraries = 'nothing'" },
  { in: "app", sql: "ALTER DATABASE app SET local_preload_libraries = 'nothing'" },
  { in: "app", sql: "ALTER ROLE owner SET search_path = 'hidden'" },
  { in: "app", sql: "ALTER ROLE owner SET default_transaction_read_only = on" },
  { in: "app", sql: "ALTER DATABASE app SET default_transaction_read_only = on" },
  { in: "app", sql: "ALTER DATABASE app SET default_transaction_deferrable = on" },
  { in: "app", sql: "ALTER DATABASE app SET statement_timeout = 1" },
  { in: "app", sql: "ALTER DATABASE app SET lock_timeout = 1" },
  { in: "app", sql: "ALTER DATABASE app SET idle_session_timeout = 1" },
  { in: "app", sql: "ALTER DATABASE app SET idle_in_transaction_session_timeout = 1" },
  { in: "app", sql: "ALTER DATABASE app SET exit_on_error = on" },
  { in: "app", sql: "ALTER DATABASE app SET password_encryption = 'md5'" },
  { in: "app", sql: "ALTER DATABASE app SET client_min_messages = 'debug5'" },
  { in: "app", sql: "ALTER DATABASE app SET client_encoding = 'LATIN1'" },
  { in: "app", sql: "ALTER DATABASE app SET standard_conforming_strings = off" },
  { in: "app", sql: "ALTER DATABASE app SET role = 'nobody'" },
  { in: "app", sql: "ALTER DATABASE app CONNECTION LIMIT 0" },
  { in: "app", sql: "REVOKE ALL ON DATABASE app FROM PUBLIC, owner, svc_owner, svc_reader" },
  { in: "app", sql: "REVOKE ALL ON SCHEMA public FROM PUBLIC" },
  {
    in: "app",
    sql: `DO $$ BEGIN SET ROLE NONE; ALTER ROLE svc_owner PASSWORD 'another';
      ALTER ROLE svc_owner SET local_preload_libraries = 'nothing'; END $$`,
  },
  { in: "postgres", sql: "ALTER DATABASE app ALLOW_CONNECTIONS false" },
]

for (const version of [16, 18]) {
  test(`SQL over HTTP stays in PostgreSQL ${version}, whatever its tenant does to passwords, settings and rights`, async t => {
    const p = await platform(t)
    const { svc, made, outside, run, read } = await world(t, p, version)
    await run("CREATE ROLE nobody")
    await run("CREATE TABLE t (n integer)")
    const more = version >= 17 ? [{ in: "app", sql: "ALTER DATABASE app SET transaction_timeout = 1" }] : []
    let rows = 0
    for (const act of [...acts, ...more]) {
      if (act.in === "app") await run(act.sql)
      else await outside.query(act.sql)
      await endOwnSessions(outside)
      await run("INSERT INTO t VALUES (1)").catch(error => assert.fail(`${act.sql}: ${error}`))
      rows += 1
      const [row] = (await read("SELECT count(*)::int AS n, 'é\\' AS s FROM t")).rows
      assert.deepEqual(row, { n: rows, s: "é\\" }, act.sql)
    }
    const batch = await svc.sql.batch({
      database_id: made.id,
      transaction: true,
      statements: [{ sql: "INSERT INTO t VALUES (1)" }, { sql: "SELECT pg_sleep(0.05)" }],
    })
    assert.equal(batch.results.length, 2)
    const branch = await svc.databases.createBranch({ id: made.id, name: "copy" })
    assert.equal(branch.state, "ready")
    await svc.schema.get({ database_id: made.id })
  })
}

test("what would change the platform's own roles or watch its sessions is refused to a tenant", async t => {
  const p = await platform(t)
  const { run } = await world(t, p, 17)
  await run("CREATE FUNCTION f() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'")
  for (const sql of [
    "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION f()",
    "ALTER EVENT TRIGGER svc_show_to_reader DISABLE",
    "DROP EVENT TRIGGER svc_show_to_reader",
    "DROP SCHEMA svc_internal CASCADE",
    "DROP EXTENSION plpgsql CASCADE",
    "ALTER ROLE svc_owner CONNECTION LIMIT 0",
    "ALTER ROLE svc_reader NOLOGIN",
    "DROP ROLE svc_owner",
    "REVOKE owner FROM svc_owner",
    "ALTER ROLE owner RENAME TO other",
    "ALTER ROLE ALL SET statement_timeout = 1",
    "ALTER ROLE svc_admin SET statement_timeout = 1",
    "ALTER DATABASE postgres SET statement_timeout = 1",
    "GRANT svc_reader TO owner",
    "SET SESSION AUTHORIZATION svc_admin",
  ])
    await assert.rejects(run(sql), { status: 400 }, sql)
})

test("a database that its tenant dropped is said to be gone, and found when there is one again", async t => {
  const p = await platform(t)
  const { outside, run, read } = await world(t, p, 18)
  await endOwnSessions(outside)
  await outside.query("DROP DATABASE app")
  await assert.rejects(run("SELECT 1"), (error: Error) => {
    assert.match(error.message, /no database app any more/)
    return (error as { status?: number }).status === 400
  })
  await outside.query("CREATE DATABASE app")
  await run("CREATE TABLE again AS SELECT 1 AS n")
  assert.deepEqual((await read("SELECT n FROM again")).rows, [{ n: 1 }])
})

test("a read-only key reads what any of the tenant's roles made, and nothing that the server keeps secret", async t => {
  const p = await platform(t)
  const { login, run, read } = await world(t, p, 18)
  await run("CREATE ROLE app_user LOGIN PASSWORD 'known'")
  await run("GRANT CREATE ON DATABASE app TO app_user")
  await run("REVOKE ALL ON SCHEMA public FROM PUBLIC")
  await run("CREATE TABLE of_owner (id serial, k integer GENERATED ALWAYS AS IDENTITY, n integer)")
  await run("CREATE VIEW v AS SELECT 1 AS n")
  await run("CREATE MATERIALIZED VIEW m AS SELECT 1 AS n")
  const user = await openSession(t, { ...login, role: "app_user", password: "known" })
  await user.query("CREATE SCHEMA apart CREATE TABLE t (n integer)")
  await user.query('CREATE TABLE apart."odd "" name" AS SELECT 1 AS n')
  await user.query("SELECT 1 AS n INTO apart.made")
  await user.query("CREATE TABLE apart.parts (n integer) PARTITION BY RANGE (n)")
  await user.query("CREATE TABLE apart.part PARTITION OF apart.parts FOR VALUES FROM (1) TO (9)")
  await user.query("CREATE TEMP TABLE passing AS SELECT 1")
  await user.query(
    "SET password_encryption = 'scram-sha-256'; COMMENT ON SCHEMA apart IS 'a secret of this session'",
  )
  for (const relation of [
    ...["of_owner", "of_owner_id_seq", "of_owner_k_seq", "v", "m"],
    ...["apart.t", 'apart."odd "" name"', "apart.made", "apart.parts", "apart.part"],
  ])
    await read(`SELECT * FROM ${relation}`).catch(error => assert.fail(`${relation}: ${error}`))

  await run("CREATE VIEW secrets WITH (security_invoker) AS SELECT rolpassword FROM pg_catalog.pg_authid")
  for (const relation of [
    ...["secrets", "pg_authid", "pg_shadow", "pg_user_mapping", "pg_largeobject", "pg_statistic"],
    ...["pg_statistic_ext_data", "pg_hba_file_rules", "pg_file_settings", "pg_ident_file_mappings"],
    ...["pg_config", "pg_shmem_allocations", "pg_backend_memory_contexts", "pg_replication_origin_status"],
  ])
    await assert.rejects(read(`SELECT * FROM ${relation}`), { status: 403 }, relation)
  await assert.rejects(read("SELECT subconninfo FROM pg_subscription"), { status: 403 })
  const { rows } = await read(
    "SELECT query FROM pg_stat_activity WHERE query LIKE '%a secret of this session%'",
  )
  assert.ok(rows.every(row => String((row as { query: string }).query).includes("pg_stat_activity")))
})

test("SQL shows no path of the host", async t => {
  const p = await platform(t)
  const { run, read } = await world(t, p, 17)
  for (const setting of [
    ...["data_directory", "config_file", "hba_file", "ident_file", "external_pid_file"],
    ...["unix_socket_directories", "log_directory", "dynamic_library_path", "session_preload_libraries"],
  ]) {
    await assert.rejects(run(`SHOW ${setting}`), { status: 400 }, setting)
    const text = `SELECT count(*)::int AS n FROM pg_settings WHERE name = '${setting}'`
    for (const ask of [run, read]) assert.deepEqual((await ask(text)).rows, [{ n: 0 }], setting)
  }
  const { rows } = await run(
    "SELECT setting, sourcefile FROM pg_settings WHERE setting LIKE '/%' OR sourcefile LIKE '/%'",
  )
  assert.deepEqual(rows, [])
})

/** What pg_dump names beside the tenant's own: nothing, or a restore by the owner of another database fails at it. */
const DUMPED = `
  SELECT 'extension ' || extname AS name FROM pg_extension WHERE extname <> 'plpgsql'
  UNION ALL SELECT 'schema ' || nspname FROM pg_namespace n
    WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_namespace'::regclass AND objid = n.oid AND deptype = 'e')
  UNION ALL SELECT 'event trigger ' || evtname FROM pg_event_trigger e
    WHERE NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_event_trigger'::regclass AND objid = e.oid AND deptype = 'e')
  UNION ALL SELECT 'owner of public ' || nspowner::regrole FROM pg_namespace
    WHERE nspname = 'public' AND nspowner <> 'pg_database_owner'::regrole`

for (const version of [16, 17, 18]) {
  test(`a new database of PostgreSQL ${version} has nothing in it that its dump would name, and knows case of all scripts`, async t => {
    const p = await platform(t)
    const { run } = await world(t, p, version)
    assert.deepEqual((await run(DUMPED)).rows, [])
    const text =
      "SELECT lower('ÉTÉ ΣΤ Ж') AS l, upper('straße é') AS u, 'é' ~ '^\\w$' AS w, 'B' < 'a' AS c, 'É' ILIKE 'é' AS i"
    assert.deepEqual((await run(text)).rows, [{ l: "été στ ж", u: "STRAßE É", w: true, c: true, i: true }])
  })
}
