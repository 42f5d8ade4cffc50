/** Databases as their users meet them: through HTTP and through PostgreSQL's protocol, on a whole platform. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { SvcError } from "@svc/sdk"
import pg from "pg"
import { platform, type TestPlatform } from "../../testing/platform.ts"

const everything = ["database:manage", "database:query", "database:branch"] as const

const acme = (p: TestPlatform) => p.client("acme", ...everything)

const refused = (status: number, code: string) => (error: unknown) => {
  const { status: actual, code: actualCode } = error as { status: number; code: string }
  assert.deepEqual([actual, actualCode], [status, code])
  return true
}

/** A client of the wire protocol; ended with the test. */
const connect = async (t: TestContext, uri: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: uri })
  client.on("error", () => undefined)
  await client.connect()
  t.after(() => client.end().catch(() => undefined))
  return client
}

const uriOf = ({ connection_uri }: { connection_uri?: string }): string => {
  assert.ok(connection_uri)
  return connection_uri
}

const numbers = (rows: readonly unknown[]): number[] => rows.map(row => (row as { n: number }).n)

/** The proxy reports its connections by a timer of its own, so the clock is turned in steps that are short beside a timeout. */
const CLOCK_STEP_MS = 2_000

/** Waits for what comes by itself, at most a minute. */
const eventually = async (what: string, look: () => Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + 60_000
  while (!(await look())) {
    assert.ok(performance.now() < deadline, `${what} did not come`)
    await delay(20)
  }
}

test("the first SQL of a project makes its database, and finds the same one from then on", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  await svc.sql.execute({ sql: "CREATE TABLE t (n integer)" })
  await svc.sql.execute({ sql: "INSERT INTO t VALUES ($1), ($2)", params: [1, 2] })
  const { rows, columns } = await svc.sql.execute({ sql: "SELECT n FROM t ORDER BY n" })
  assert.deepEqual(rows, [{ n: 1 }, { n: 2 }])
  assert.deepEqual(
    columns.map(({ name, type }) => [name, type]),
    [["n", "int4"]],
  )
  assert.equal((await svc.databases.list({})).total, 1)
})

test("a sleeping database wakes by HTTP and by the wire, with its data", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const made = await svc.databases.create({ name: "orders", pg_version: 17 })
  await svc.sql.execute({ sql: "CREATE TABLE t AS SELECT 7 AS n", database_id: made.id })
  await svc.databases.suspend({ id: made.id })
  const { rows, meta } = await svc.sql.execute({ sql: "SELECT n FROM t", database_id: made.id })
  assert.deepEqual(rows, [{ n: 7 }])
  assert.ok(meta.wake_ms > 0)
  await svc.databases.suspend({ id: made.id })
  const client = await connect(t, uriOf(made))
  assert.deepEqual((await client.query("SELECT n FROM t")).rows, [{ n: 7 }])
})

test("who merely stays connected is cut when the database sleeps; who is in a transaction or listens keeps it awake", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const stateOf = async (id: string) => (await svc.databases.get({ id })).compute_state

  const idle = await svc.databases.create({ name: "idle", suspend_timeout_seconds: 60 })
  const lounger = await connect(t, uriOf(idle))
  let isCut = false
  lounger.once("end", () => {
    isCut = true
  })
  const busy = await svc.databases.create({ name: "busy", suspend_timeout_seconds: 60 })
  await (await connect(t, uriOf(busy))).query("BEGIN")
  const listening = await svc.databases.create({ name: "listening", suspend_timeout_seconds: 60 })
  await (await connect(t, uriOf(listening))).query("LISTEN news")

  await eventually("the end of the idle one", async () => {
    await p.clock.advance(CLOCK_STEP_MS)
    return isCut
  })
  assert.equal(await stateOf(idle.id), "idle")
  assert.equal(await stateOf(busy.id), "active")
  assert.equal(await stateOf(listening.id), "active")
})

test("a pooled client that is idle does not keep its database awake, and wakes it when it comes back", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const made = await svc.databases.create({ name: "orders", suspend_timeout_seconds: 60 })
  const { pooled_connection_uri: uri = "", connection, password } = made
  assert.equal(connection.pooled_uri, uri.replace(`:${password}`, ""))
  assert.ok(uri.includes(`owner.${made.default_branch_id}-pooler:`))
  const client = await connect(t, uri)
  await client.query("CREATE TABLE t AS SELECT 7 AS n")
  await eventually("its sleep", async () => {
    await p.clock.advance(CLOCK_STEP_MS)
    return (await svc.databases.get({ id: made.id })).compute_state === "idle"
  })
  assert.deepEqual((await client.query("SELECT n FROM t")).rows, [{ n: 7 }])
  await client.query("BEGIN")
  await p.clock.advance(65_000)
  assert.equal((await svc.databases.get({ id: made.id })).compute_state, "active")
  await client.query("COMMIT")
  const others = await Promise.all(Array.from({ length: 100 }, () => connect(t, uri)))
  const counts = await Promise.all(others.map(other => other.query("SELECT n FROM t")))
  assert.equal(counts.length, 100)
})

test("another tenant's database answers like none, by HTTP and by the wire", async t => {
  const p = await platform(t)
  const mine = await (await acme(p)).databases.create({ name: "orders" })
  const globex = await p.client("globex", ...everything)
  const theirs = await globex.databases.create({ name: "orders" })
  await assert.rejects(
    globex.sql.execute({ sql: "SELECT 1", database_id: mine.id }),
    refused(404, "database_not_found"),
  )
  const crossed = uriOf(theirs).replace(theirs.default_branch_id, mine.default_branch_id)
  await assert.rejects(connect(t, crossed), { code: "28P01" })
  const unknown = uriOf(theirs).replace(theirs.default_branch_id, "01a1fdf8-fc4f-7451-b5b9-000000000000")
  await assert.rejects(connect(t, unknown), { code: "28P01" })
})

test("a new password lets in, and the old one no more", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const made = await svc.databases.create({ name: "orders" })
  const { connection_uri = "" } = await svc.databases.resetPassword({ id: made.id })
  await assert.rejects(connect(t, uriOf(made)), { code: "28P01" })
  await connect(t, connection_uri)
  assert.deepEqual((await svc.sql.execute({ sql: "SELECT 1 AS n", database_id: made.id })).rows, [{ n: 1 }])
})

test("a password that is reset while its branch is deleted is refused as gone or not served now", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders" })
  for (let n = 0; n < 3; n += 1) {
    const branch = { id, branch_id: (await svc.databases.createBranch({ id })).id }
    const [, reset] = await Promise.allSettled([
      svc.databases.deleteBranch(branch),
      svc.databases.resetPassword(branch),
    ])
    const code = reset.status === "rejected" ? (reset.reason as { code?: string }).code : undefined
    assert.ok([undefined, "branch_not_found", "service_unavailable"].includes(code), code)
  }
})

test("new passwords that are asked for at once are given one after the other, and the last one lets in", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders" })
  const asked = await Promise.all(Array.from({ length: 6 }, () => svc.databases.resetPassword({ id })))
  const entered = await Promise.allSettled(asked.map(({ connection_uri = "" }) => connect(t, connection_uri)))
  assert.equal(entered.filter(({ status }) => status === "fulfilled").length, 1)
  const { secret } = await p.key("acme", everything, { read_only: true })
  for (const client of [svc, p.as(secret)])
    assert.deepEqual((await client.sql.execute({ sql: "SELECT 1 AS n", database_id: id })).rows, [{ n: 1 }])
})

test("a read-only key reads, and writes nothing by any statement", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  await svc.sql.execute({ sql: "CREATE TABLE t AS SELECT 1 AS n" })
  const { secret } = await p.key("acme", everything, { read_only: true })
  const reader = p.as(secret)
  assert.deepEqual((await reader.sql.execute({ sql: "SELECT n FROM t" })).rows, [{ n: 1 }])
  for (const sql of [
    "DELETE FROM t",
    "WITH d AS (DELETE FROM t RETURNING n) SELECT * FROM d",
    "COMMIT",
    "DO ''",
  ]) {
    await assert.rejects(reader.sql.execute({ sql }), (error: Error) => {
      assert.equal(error.message, "key is read-only — only SELECT, SHOW, and EXPLAIN are allowed")
      assert.equal(error instanceof SvcError && error.details?.sqlstate, "25006")
      return refused(403, "key_read_only")(error)
    })
  }
  assert.deepEqual((await svc.sql.execute({ sql: "SELECT n FROM t" })).rows, [{ n: 1 }])
})

test("a database goes back to any moment in place, under the same connection string, and keeps what it was", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const made = await svc.databases.create({ name: "orders", pg_version: 18 })
  const { id } = made
  const client = await connect(t, uriOf(made))
  await client.query("CREATE TABLE t AS SELECT 1 AS n")
  const { rows } = await client.query<{ at: Date }>("SELECT clock_timestamp() AS at")
  const target_time = new Date((rows[0]?.at.getTime() ?? 0) + 1).toISOString()
  await delay(5)
  await client.query("DROP TABLE t")

  const restored = await svc.databases.pitr({ id, target_time, mode: "in_place" })
  assert.equal(restored.id, id)
  assert.equal(restored.pg_version, 18)
  const again = await connect(t, uriOf(made))
  assert.deepEqual(numbers((await again.query("SELECT n FROM t")).rows), [1])
  const { data } = await svc.databases.listBranches({ id })
  const kept = data.find(({ name }) => name.startsWith("main_old_"))
  assert.ok(kept, "what it was is a branch")
  await assert.rejects(
    svc.sql.execute({ sql: "SELECT n FROM t", database_id: id, branch_id: kept.id }),
    refused(400, "invalid_sql"),
  )
})

test("a branch goes its own way, back to its parent's state, or without rows", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders" })
  const on = (branch_id: string | undefined, sql: string) =>
    svc.sql.execute({ sql, database_id: id, ...(branch_id && { branch_id }) })
  await on(undefined, "CREATE TABLE t AS SELECT 1 AS n")
  const branch = await svc.databases.createBranch({ id, name: "preview" })
  await on(branch.id, "INSERT INTO t VALUES (2)")
  assert.equal((await on(undefined, "SELECT n FROM t")).rows.length, 1)
  await svc.databases.resetBranch({ id, branch_id: branch.id })
  assert.equal((await on(branch.id, "SELECT n FROM t")).rows.length, 1)
  const empty = await svc.databases.createBranch({ id, name: "empty", init_source: "schema" })
  assert.equal((await on(empty.id, "SELECT n FROM t")).rows.length, 0)
})

test("what is outside the recovery window is refused, and says so", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders" })
  const invalid = refused(400, "recovery_point_invalid")
  await assert.rejects(svc.databases.pitr({ id, target_time: "2020-01-01T00:00:00Z" }), invalid)
  await assert.rejects(svc.databases.pitr({ id, target_time: "2999-01-01T00:00:00Z" }), invalid)
  await assert.rejects(svc.databases.pitr({ id }), invalid)
  const both = { target_time: new Date().toISOString(), target_lsn: "0/1" }
  await assert.rejects(svc.databases.pitr({ id, ...both }), invalid)
  const window = await svc.databases.recoveryWindow({ id })
  assert.ok(window.earliest && window.latest && window.earliest <= window.latest)
})

test("a server that is killed is started again by the next query, with every row it acknowledged", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders", pg_version: 17 })
  const run = (sql: string) => svc.sql.execute({ sql, database_id: id })
  await run("CREATE TABLE t (n integer)")
  await run("INSERT INTO t SELECT generate_series(1, 100)")
  // A backend's parent is its postmaster, whatever namespaces it lives in.
  const { rows } = await run("SELECT pg_backend_pid() AS pid")
  const backend = Number((rows[0] as { pid: number }).pid)
  const { readFileSync } = await import("node:fs")
  const postmaster = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${backend}/status`, "utf8"))?.[1])
  process.kill(postmaster, "SIGKILL")
  await eventually("the database", () =>
    run("SELECT count(*)::int AS n FROM t").then(
      ({ rows: [row] }) => (row as { n: number }).n === 100,
      () => false,
    ),
  )
})

test("statements of both entrances are in the query log, without their constants", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { organizationId: tenant_id } = await p.tenant("acme")
  const made = await svc.databases.create({ name: "orders" })
  await svc.sql.execute({ sql: "SELECT 'over http' AS said", database_id: made.id })
  await (await connect(t, uriOf(made))).query("SELECT 'over the wire' AS said")
  await eventually("the log", async () => {
    await p.clock.advance(1_000)
    const logged = await svc.sql.listQueryLogs({ tenant_id })
    const said = logged.filter(({ sql }) => sql.includes("said"))
    assert.ok(said.every(({ sql }) => !sql.includes("over")))
    return said.some(({ source }) => source === "http") && said.some(({ source }) => source === "postgres")
  })
})

test("an index that helps is proposed after it was tried on a copy, and the copy is gone", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  await svc.sql.execute({
    sql: "CREATE TABLE t AS SELECT g AS id, md5(g::text) AS email FROM generate_series(1, 60000) g",
  })
  await svc.sql.execute({ sql: "ANALYZE t" })
  const { suggestions, branch } = await svc.advice.optimize({
    sql: "SELECT * FROM t WHERE email = $1",
    params: ["x"],
  })
  assert.equal(branch.used, true)
  assert.ok(
    suggestions.some(suggestion => suggestion.type === "index" && suggestion.verified_by === "branch"),
  )
  const { rows } = await p.database.pool.query("SELECT count(*)::int AS n FROM databases.volumes")
  assert.equal(rows[0].n, 1)
})

test("an operator reads which databases are awake, how soon they woke, and how far their history is behind", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders" })
  await svc.databases.suspend({ id })
  await svc.sql.execute({ sql: "CREATE TABLE t AS SELECT 1 AS n", database_id: id })
  const figure = async (name: string) => {
    const text = await (await fetch(`${p.url}/metrics`)).text()
    return Number(
      text
        .split("\n")
        .find(line => line.startsWith(`${name} `))
        ?.split(" ")
        .at(-1),
    )
  }
  assert.equal(await figure('svc_database_instances{state="active"}'), 1)
  assert.equal(await figure('svc_database_wakes_total{within_ms="+Inf"}'), 1)
  await eventually("the archive", async () => (await figure("svc_database_wal_lag_bytes")) === 0)
  await eventually("protection", async () => (await figure("svc_database_unprotected_instances")) === 0)
})
