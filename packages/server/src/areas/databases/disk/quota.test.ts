/** A database that takes more disk than it may, as its tenant meets it: over HTTP and over PostgreSQL's protocol. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import { signIn } from "../../../core/accounts/testing/people.ts"
import { platform, type TestPlatform } from "../../../testing/platform.ts"

const everything = ["database:manage", "database:query", "database:branch"] as const
const MB = 2 ** 20
/** A new database takes some 35 MB. */
const LIMIT_MB = 60
const READ_ONLY_TRANSACTION = "25006"

const open = async (t: TestContext, env: Record<string, string> = {}) => {
  const p = await platform(t, { env: { SVC_DATABASE_DISK_MB: String(LIMIT_MB), ...env } })
  return { p, svc: await p.client("acme", ...everything) }
}

type Client = Awaited<ReturnType<typeof open>>["svc"]

/** Turns the clock until the database is in that state. */
const reaches = async (p: TestPlatform, svc: Client, id: string, state: string) => {
  const deadline = performance.now() + 60_000
  for (;;) {
    await p.clock.advance(1_000)
    const { storage } = await svc.databases.get({ id })
    if (storage.state === state) return storage
    assert.ok(performance.now() < deadline, `${state} did not come: ${JSON.stringify(storage)}`)
    await delay(20)
  }
}

const fill = (svc: Client, database_id: string, megabytes: number) =>
  svc.sql.execute({
    sql: "INSERT INTO t SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, $1) n",
    params: [megabytes * 1_000],
    database_id,
  })

const isFull = { message: /takes more disk than it may, and is read-only/ }
const onlyDropIsLeft = { message: /so only DROP is left/ }

const connect = async (t: TestContext, uri: string | undefined) => {
  const client = new pg.Client({ connectionString: uri })
  client.on("error", () => undefined)
  await client.connect()
  t.after(() => client.end().catch(() => undefined))
  return client
}

test("a database at its limit is read-only by every way in, and its tenant frees space and writes again", async t => {
  const { p, svc } = await open(t)
  const { id, connection_uri } = await svc.databases.create({ name: "orders" })
  const sql = (text: string) => svc.sql.execute({ sql: text, database_id: id })
  await sql("CREATE TABLE t (n int, text text)")
  await sql("CREATE TABLE kept AS SELECT 7 AS n")

  await t.test("its size is right while it is awake", async () => {
    await fill(svc, id, 5)
    const { used_bytes } = await reaches(p, svc, id, "ok")
    const { logical_size_bytes, physical_size_bytes } = await svc.databases.get({ id })
    const { rows } = await sql(
      "SELECT sum(pg_database_size(oid))::float8 AS bytes FROM pg_database WHERE NOT datistemplate",
    )
    assert.ok(Math.abs(logical_size_bytes - Number((rows[0] as { bytes: number }).bytes)) < MB)
    assert.ok(used_bytes >= logical_size_bytes && physical_size_bytes > used_bytes)
  })

  await t.test("it warns before", async () => {
    await fill(svc, id, 15)
    await reaches(p, svc, id, "warning")
    await sql("INSERT INTO t VALUES (0, 'still written')")
  })

  const wire = await connect(t, connection_uri)
  await fill(svc, id, 15)
  const full = await reaches(p, svc, id, "read_only")
  assert.ok(full.used_bytes > LIMIT_MB * MB && full.limit_bytes === LIMIT_MB * MB)

  await t.test("nobody writes, whatever they set", async () => {
    await assert.rejects(wire.query("SELECT 1"))
    const attacker = await connect(t, connection_uri)
    assert.deepEqual((await attacker.query("SELECT n FROM kept")).rows, [{ n: 7 }])
    for (const text of [
      "INSERT INTO t VALUES (1)",
      "SET default_transaction_read_only = off; INSERT INTO t VALUES (1)",
      "CREATE TABLE more (n int)",
      "ALTER ROLE owner SET default_transaction_read_only = off",
    ])
      await assert.rejects(attacker.query(text), { code: READ_ONLY_TRANSACTION }, text)
    await attacker.end()
    for (const text of [
      "INSERT INTO t VALUES (1)",
      "UPDATE t SET n = 0",
      "WITH x AS (INSERT INTO t VALUES (1) RETURNING n) DELETE FROM kept",
    ])
      await assert.rejects(sql(text), isFull, text)
    assert.deepEqual((await sql("SELECT n FROM kept")).rows, [{ n: 7 }])
  })

  await t.test("rows are deleted over HTTP, and their space is free after VACUUM FULL", async () => {
    await sql("DELETE FROM t WHERE n > 100")
    await sql("VACUUM FULL t")
    const { used_bytes } = await reaches(p, svc, id, "ok")
    assert.ok(used_bytes < (LIMIT_MB * MB * 8) / 10)
    await sql("INSERT INTO t VALUES (1, 'written again')")
    const again = await connect(t, connection_uri)
    await again.query("INSERT INTO t VALUES (1, 'by the wire too')")
    await again.end()
  })

  await t.test("a trigger that writes when rows are deleted makes DROP the only way left", async () => {
    await sql(`CREATE FUNCTION grow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO t SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, 30000) n; RETURN NULL; END $$`)
    await sql("CREATE TRIGGER grows AFTER DELETE ON kept EXECUTE FUNCTION grow()")
    await fill(svc, id, 30)
    await reaches(p, svc, id, "read_only")
    await sql("DELETE FROM kept").catch(() => undefined)
    await assert.rejects(sql("DELETE FROM kept"), onlyDropIsLeft)
    await sql("DROP TABLE t")
    await reaches(p, svc, id, "ok")
    assert.deepEqual((await sql("SELECT n FROM kept")).rows, [])
  })
})

test("branches count, a project's databases count together, and deleting one makes the others writable", async t => {
  const { p, svc } = await open(t)
  const first = await svc.databases.create({ name: "first" })
  await svc.sql.execute({ sql: "CREATE TABLE t (n int, text text)", database_id: first.id })
  await reaches(p, svc, first.id, "ok")
  const branch = await svc.databases.createBranch({ id: first.id, name: "copy" })
  await svc.sql.execute({ sql: "SELECT 1", branch_id: branch.id })
  const { used_bytes } = await reaches(p, svc, first.id, "read_only")
  assert.ok(used_bytes > LIMIT_MB * MB)
  await svc.databases.deleteBranch({ id: first.id, branch_id: branch.id })
  await p.clock.advance(61_000)
  await reaches(p, svc, first.id, "ok")

  const others = []
  for (const name of ["second", "third", "fourth"]) others.push(await svc.databases.create({ name }))
  const full = await reaches(p, svc, first.id, "read_only")
  assert.ok(full.used_bytes < LIMIT_MB * MB && full.project_used_bytes > 2 * LIMIT_MB * MB)
  for (const { id } of others) await svc.databases.delete({ id })
  await p.clock.advance(61_000)
  await reaches(p, svc, first.id, "ok")
  await svc.sql.execute({ sql: "INSERT INTO t VALUES (1)", database_id: first.id })
})

test("a larger plan makes a database that stands at its plan's limit writable again, without a row deleted", async t => {
  const p = await platform(t)
  const { organizationId: org_id } = await p.tenant("acme", "free")
  const svc = await p.client("acme", ...everything)
  const { id, connection_uri } = await svc.databases.create({ name: "orders" })
  const sql = (text: string) => svc.sql.execute({ sql: text, database_id: id })
  await sql("CREATE TABLE t (n int, text text)")
  // The smallest plan's databases may have 1 GB.
  for (let part = 0; part < 21; part++) await fill(svc, id, 50)
  const full = await reaches(p, svc, id, "read_only")
  assert.equal(full.limit_bytes, 1024 * MB)
  await assert.rejects(sql("INSERT INTO t VALUES (1)"), isFull)

  const operator = p.firstRun
  assert.ok(operator)
  const { svc: owner } = await signIn(p, operator.email, operator.password)
  await owner.organizations.setPlan({ org_id, plan: "pro" })

  const { limit_bytes, used_bytes } = await reaches(p, svc, id, "ok")
  assert.ok(limit_bytes !== null && limit_bytes > 1024 * MB && used_bytes > 1024 * MB)
  await sql("INSERT INTO t VALUES (1, 'written again')")
  const wire = await connect(t, connection_uri)
  await wire.query("INSERT INTO t VALUES (1, 'by the wire too')")
  assert.deepEqual((await wire.query("SELECT count(*)::int AS n FROM t")).rows, [{ n: 1_050_002 }])
})
