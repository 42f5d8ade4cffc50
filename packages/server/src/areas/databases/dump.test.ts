/** A tenant's way out and in: pg_dump of one database, restored into a new one by psql. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { promisify } from "node:util"
import { platform } from "../../testing/platform.ts"

const run = promisify(execFile)

/** pg_dump copies servers of its own version and of earlier ones. */
const dumpVersion = async (): Promise<number> => {
  const { stdout } = await run("pg_dump", ["--version"]).catch(() => ({ stdout: "" }))
  return Number(/(\d+)\./.exec(stdout)?.[1] ?? 0)
}

test("a dump restores into a new database without an error, rows, owners and rights included", async t => {
  const version = await dumpVersion()
  const pg_version = [18, 17, 16].find(known => known <= version)
  if (pg_version === undefined) return t.skip("no pg_dump of version 16 or later is installed")
  const p = await platform(t)
  const svc = await p.client("acme", "database:manage", "database:query")
  const reader = p.as((await p.key("acme", ["database:query"], { read_only: true })).secret)
  const environment = (uri = "") => {
    const { hostname, port, username, password } = new URL(uri)
    const login = {
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: decodeURIComponent(username),
      PGPASSWORD: password,
    }
    return { env: { PATH: process.env.PATH, PGDATABASE: "app", ...login }, maxBuffer: 64 * 1024 ** 2 }
  }

  const from = await svc.databases.create({ name: "from", pg_version })
  const sql = [
    "CREATE SCHEMA shop",
    "CREATE TABLE shop.orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text UNIQUE, at timestamptz)",
    "INSERT INTO shop.orders (note, at) SELECT 'été ' || n, now() FROM generate_series(1, 500) n",
    "CREATE VIEW shop.recent AS SELECT * FROM shop.orders ORDER BY at DESC LIMIT 10",
    "CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM shop.orders",
    "CREATE EXTENSION citext",
    "CREATE EXTENSION pg_trgm SCHEMA shop",
    "CREATE TYPE mood AS ENUM ('good', 'bad')",
    "CREATE FUNCTION half(n integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN n / 2; END'",
    "CREATE TABLE t (c citext, m mood, n serial)",
    "REVOKE ALL ON SCHEMA public FROM PUBLIC",
  ]
  for (const statement of sql) await svc.sql.execute({ sql: statement, database_id: from.id })

  const to = await svc.databases.create({ name: "to", pg_version })
  const { stdout: dump } = await run("pg_dump", [], environment(from.connection_uri))
  const restored = run("psql", ["-q", "-v", "ON_ERROR_STOP=1", "-f", "-"], environment(to.connection_uri))
  restored.child.stdin?.end(dump)
  assert.doesNotMatch((await restored).stderr, /ERROR/)

  for (const client of [svc, reader]) {
    const text =
      "SELECT (SELECT count(*) FROM shop.orders)::int AS orders, (SELECT n FROM counted)::int AS counted"
    const { rows } = await client.sql.execute({ sql: text, database_id: to.id })
    assert.deepEqual(rows, [{ orders: 500, counted: 500 }])
  }
})
