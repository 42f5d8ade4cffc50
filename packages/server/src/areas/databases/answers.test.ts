/** What callers are told: by every question to a database, by names that are taken, and by a database that is lost. */
import assert from "node:assert/strict"
import { realpathSync } from "node:fs"
import { readdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { platform, type TestPlatform } from "../../testing/platform.ts"

const everything = ["database:manage", "database:query", "database:branch"] as const
const acme = (p: TestPlatform) => p.client("acme", ...everything)

const refused = (status: number, code: string) => (error: unknown) => {
  const { status: actual, code: actualCode } = error as { status: number; code: string }
  assert.deepEqual([actual, actualCode], [status, code])
  return true
}

test("every question to a database has its answer", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { results } = await svc.sql.batch({
    statements: [
      { sql: "CREATE TABLE customers (id integer PRIMARY KEY, email text)" },
      { sql: "CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customers)" },
      { sql: "SELECT 1 / 0" },
      { sql: "INSERT INTO customers VALUES (1, 'ada@example.com')" },
    ],
  })
  assert.deepEqual(
    results.map(({ ok }) => ok),
    [true, true, false, true],
  )
  assert.deepEqual((await svc.schema.get({})).tables.map(({ name }) => name).sort(), ["customers", "orders"])
  assert.ok((await svc.schema.searchColumns({ q: "mail" })).columns.some(({ name }) => name === "email"))
  assert.equal((await svc.schema.relationships({})).relationships.length, 1)
  assert.ok((await svc.schema.pii({})).columns.some(({ entity_type }) => entity_type === "EMAIL_ADDRESS"))
  assert.ok(Array.isArray((await svc.advice.anomalies({})).findings))
  assert.ok(Array.isArray((await svc.advice.scaling({})).suggestions))
  const { sql, valid } = await svc.advice.naturalLanguageToSql({ question: "how many customers?" })
  assert.equal(valid, true)
  assert.match(sql, /count/i)
})

test("a name that is taken is refused wherever a name is given", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id, default_branch_id } = await svc.databases.create({ name: "orders" })
  const other = await svc.databases.create({ name: "other" })
  const taken = refused(409, "name_taken")
  await assert.rejects(svc.databases.update({ id: other.id, name: "orders" }), taken)
  const target_time = new Date().toISOString()
  await assert.rejects(svc.databases.pitr({ id, target_time, name: "other" }), taken)
  const { id: branch_id } = await svc.databases.createBranch({ id, name: "preview" })
  await assert.rejects(svc.databases.updateBranch({ id, branch_id, name: "main" }), taken)
  const kept = { preserve_under_name: "main" }
  await assert.rejects(
    svc.databases.restoreBranch({ id, branch_id, source_branch_id: default_branch_id, ...kept }),
    taken,
  )
  await assert.rejects(svc.databases.resetBranch({ id, branch_id, ...kept }), taken)
  await assert.rejects(
    svc.databases.resetBranch({ id, branch_id: default_branch_id }),
    refused(409, "branch_in_use"),
  )
})

test("a database that cannot be started says so, and no other is the worse for it", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "lost" })
  await svc.databases.suspend({ id })
  const volumes = join(realpathSync(join(p.config.dataDir, "databases")), "volumes")
  const [volume = ""] = await readdir(volumes)
  await rename(join(volumes, volume), join(volumes, `${volume}.away`))
  const down = refused(503, "service_unavailable")
  const database_id = id
  await assert.rejects(svc.sql.execute({ sql: "SELECT 1", database_id }), down)
  await assert.rejects(
    svc.sql.batch({ statements: [{ sql: "SELECT 1" }], transaction: true, database_id }),
    down,
  )
  await assert.rejects(svc.schema.get({ database_id }), down)
  await assert.rejects(svc.schema.searchColumns({ database_id, q: "a" }), down)
  await assert.rejects(svc.schema.pii({ database_id }), down)
  await assert.rejects(svc.schema.relationships({ database_id }), down)
  await assert.rejects(svc.schema.table({ database_id, name: "t" }), down)
  await assert.rejects(svc.advice.anomalies({ database_id }), down)
  await assert.rejects(svc.advice.optimize({ database_id, sql: "SELECT 1" }), down)
  await assert.rejects(svc.advice.scaling({ database_id }), down)
  await assert.rejects(svc.advice.naturalLanguageToSql({ database_id, question: "how many t?" }), down)
  await assert.rejects(svc.databases.resetPassword({ id }), down)
  const other = await svc.databases.create({ name: "well" })
  assert.equal((await svc.sql.execute({ sql: "SELECT 1", database_id: other.id })).row_count, 1)
})
