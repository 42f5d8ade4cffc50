/** What stays as it was when a database comes back: passwords, its place as the default, the way to its history. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import { platform, type TestPlatform } from "../../testing/platform.ts"

const everything = ["database:manage", "database:query", "database:branch"] as const

const acme = (p: TestPlatform) => p.client("acme", ...everything)

interface Place {
  readonly host: string
  readonly port: number
  readonly branchId: string
}

const placeOf = (
  made: { connection: { host: string; port: number }; id: string },
  branchId: string,
): Place => ({
  host: made.connection.host,
  port: made.connection.port,
  branchId,
})

/** Runs one statement over the wire. */
const runAs = async (t: TestContext, at: Place, role: string, password: string, sql = "SELECT 1 AS n") => {
  const { host, port, branchId } = at
  const client = new pg.Client({ host, port, database: "app", user: `${role}.${branchId}`, password })
  client.on("error", () => undefined)
  t.after(() => client.end().catch(() => undefined))
  await client.connect()
  return (await client.query(sql)).rows
}

const wrongPassword = { code: "28P01" }

/** A moment after everything so far and before everything that follows. */
const momentBetween = async (): Promise<string> => {
  await delay(5)
  const moment = new Date().toISOString()
  await delay(5)
  return moment
}

test("after an in-place restore every role logs in with the password that it had just before", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const made = await svc.databases.create({ name: "orders", pg_version: 18 })
  const at = placeOf(made, made.default_branch_id)
  const run = (sql: string) => svc.sql.execute({ sql, database_id: made.id })
  await run("CREATE ROLE app_user LOGIN PASSWORD 'first'")
  await run("CREATE ROLE old_user LOGIN PASSWORD 'old'")
  const target_time = await momentBetween()
  await run("ALTER ROLE app_user PASSWORD 'second'")
  await run("DROP ROLE old_user")

  await svc.databases.pitr({ id: made.id, target_time, mode: "in_place" })
  assert.deepEqual(await runAs(t, at, "owner", made.password ?? ""), [{ n: 1 }])
  assert.deepEqual(await runAs(t, at, "app_user", "second"), [{ n: 1 }])
  assert.deepEqual(await runAs(t, at, "old_user", "old"), [{ n: 1 }])
})

test("a branch clears the passwords of roles, and keeps them where that is asked for", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const made = await svc.databases.create({ name: "orders", pg_version: 17 })
  const { id } = made
  await svc.sql.execute({ sql: "CREATE ROLE app_user LOGIN PASSWORD 'known'", database_id: id })

  const cleared = await svc.databases.createBranch({ id, name: "cleared" })
  await assert.rejects(runAs(t, placeOf(made, cleared.id), "app_user", "known"), wrongPassword)
  const kept = await svc.databases.createBranch({ id, name: "kept", keep_passwords: true })
  assert.deepEqual(await runAs(t, placeOf(made, kept.id), "app_user", "known"), [{ n: 1 }])
  await assert.rejects(runAs(t, placeOf(made, kept.id), "owner", made.password ?? ""), wrongPassword)
  assert.deepEqual(await runAs(t, placeOf(made, kept.id), "owner", kept.password ?? ""), [{ n: 1 }])

  await svc.sql.execute({
    sql: "CREATE ROLE preview_user LOGIN PASSWORD 'preview'",
    database_id: id,
    branch_id: cleared.id,
  })
  await svc.sql.execute({ sql: "CREATE ROLE preview_user LOGIN PASSWORD 'main'", database_id: id })
  await svc.databases.resetBranch({ id, branch_id: cleared.id })
  assert.deepEqual(await runAs(t, placeOf(made, cleared.id), "preview_user", "preview"), [{ n: 1 }])
  await assert.rejects(runAs(t, placeOf(made, cleared.id), "app_user", "known"), wrongPassword)
})

test("a database that was deleted comes back with its passwords, and as the default that it was", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { database, password = "" } = await svc.databases.provision()
  const at = placeOf(database, database.default_branch_id)
  await svc.sql.execute({ sql: "CREATE TABLE t AS SELECT 7 AS n" })
  await svc.sql.execute({ sql: "CREATE ROLE app_user LOGIN PASSWORD 'known'" })
  await svc.databases.delete({ id: database.id })

  const restored = await svc.databases.restore({ id: database.id })
  assert.equal(restored.is_default, true)
  assert.deepEqual((await svc.sql.execute({ sql: "SELECT n FROM t" })).rows, [{ n: 7 }])
  assert.deepEqual(await runAs(t, at, "owner", password, "SELECT n FROM t"), [{ n: 7 }])
  assert.deepEqual(await runAs(t, at, "app_user", "known"), [{ n: 1 }])
})

test("SQL makes no empty database in place of a deleted default one, and says what to do", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { database } = await svc.databases.provision()
  await svc.databases.delete({ id: database.id })
  await assert.rejects(svc.sql.execute({ sql: "CREATE TABLE t (n integer)" }), (error: Error) => {
    assert.equal((error as { status?: number }).status, 404)
    assert.match(error.message, new RegExp(`POST /v1/databases/${database.id}/restore`))
    assert.match(error.message, /POST \/v1\/databases\/provision/)
    return true
  })
  assert.equal((await svc.databases.list({})).total, 0)
  const [listed] = (await svc.databases.list({ include_deleted: true })).data
  assert.equal(listed?.is_default, false)

  const second = await svc.databases.provision()
  assert.equal(second.created, true)
  await svc.sql.execute({ sql: "CREATE TABLE t (n integer)" })
  const restored = await svc.databases.restore({ id: database.id })
  assert.equal(restored.is_default, false)
  assert.equal((await svc.databases.provision()).database.id, second.database.id)
})

test("a point from before an in-place restore is refused with the branch that has it, and restored from there", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id, default_branch_id } = await svc.databases.create({ name: "orders", pg_version: 18 })
  const run = (sql: string) => svc.sql.execute({ sql, database_id: id })
  await run("CREATE TABLE t AS SELECT 1 AS n")
  const earlier = await momentBetween()
  await run("UPDATE t SET n = 2")
  const target_time = await momentBetween()
  for (const _ of ["once", "and to the same time again"]) {
    await run("DROP TABLE t")
    await svc.databases.pitr({ id, target_time, mode: "in_place" })
    assert.deepEqual((await run("SELECT n FROM t")).rows, [{ n: 2 }])
    // What is kept has its name from the time, which stands still here.
    await p.clock.advance(1)
  }

  let keptId = ""
  for (const mode of ["in_place", "new"] as const) {
    await assert.rejects(svc.databases.pitr({ id, target_time: earlier, mode }), (error: Error) => {
      assert.match(error.message, /lies in the history of branch main_old_\d+T\d+Z/)
      keptId = /source_branch_id ([0-9a-f-]{36})/.exec(error.message)?.[1] ?? ""
      return true
    })
  }
  await svc.databases.restoreBranch({
    id,
    branch_id: default_branch_id,
    source_branch_id: keptId,
    source_timestamp: earlier,
  })
  assert.deepEqual((await run("SELECT n FROM t")).rows, [{ n: 1 }])
})
