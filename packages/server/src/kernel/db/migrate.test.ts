import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import pg from "pg"
import { cloneDatabase } from "../../testing/database.ts"
import { migrate } from "./migrate.ts"

const CREATE = "CREATE TABLE demo.things (name text)"
const insert = (name: string) => `INSERT INTO demo.things VALUES ('${name}')`

/** An empty database, a folder of migrations, and a way to migrate as one of several processes would. */
const world = async (t: TestContext, files: Readonly<Record<string, string>>) => {
  const database = await cloneDatabase()
  const folder = await mkdtemp(join(tmpdir(), "svc-test-"))
  const pools: pg.Pool[] = []
  t.after(async () => {
    await Promise.all(pools.map(pool => pool.end()))
    await database[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })
  const connect = (options: pg.PoolConfig = {}) => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2, ...options })
    // The database may be dropped before the server has noticed the end of a connection.
    pool.on("error", () => undefined)
    pools.push(pool)
    return pool
  }
  const pool = connect()
  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  const column = async (query: string) => {
    const { rows } = await pool.query({ text: query, rowMode: "array" })
    return rows.map(([value]) => value)
  }

  await pool.query("DROP SCHEMA kernel, core CASCADE")
  for (const [name, text] of Object.entries(files)) await write(name, text)
  return {
    connect,
    write,
    pool,
    remove: (name: string) => rm(join(folder, name)),
    run: (as: pg.Pool = pool) => migrate(as, [{ schema: "demo", folder }]),
    things: () => column("SELECT name FROM demo.things ORDER BY name"),
    ledger: () => column("SELECT name FROM kernel.migrations ORDER BY name"),
  }
}

test("migrations run in the order of their names, each of them once", async t => {
  const { run, things, ledger, write } = await world(t, {
    "0002_a.sql": insert("a"),
    "0001_things.sql": CREATE,
    "README.md": "is no migration",
  })

  await run()
  await run()
  assert.deepEqual(await things(), ["a"])
  await write("0003_b.sql", insert("b"))
  await run()

  assert.deepEqual(await things(), ["a", "b"])
  assert.deepEqual(await ledger(), ["0001_things.sql", "0002_a.sql", "0003_b.sql"])
})

test("of several processes that start at once each migration is run by one", async t => {
  const { run, connect, things, ledger } = await world(t, {
    "0001_things.sql": CREATE,
    "0002_a.sql": insert("a"),
    "0003_b.sql": insert("b"),
  })

  await Promise.all(Array.from({ length: 8 }, () => run(connect())))

  assert.deepEqual(await things(), ["a", "b"])
  assert.equal((await ledger()).length, 3)
})

test("neither a long migration nor the wait for another process's is cut off", async t => {
  const { run, connect, things } = await world(t, {
    "0001_things.sql": `${CREATE}; SELECT pg_sleep(1.5)`,
    "0002_a.sql": insert("a"),
  })
  // It bounds their short queries as well, which take their time on a busy machine.
  const hasty = Array.from({ length: 3 }, () => connect({ statement_timeout: 1_000 }))

  await Promise.all(hasty.map(run))

  assert.deepEqual(await things(), ["a"])
})

test("a database that a newer version has written is refused, and told which migrations are unknown", async t => {
  const { run, remove, things } = await world(t, { "0001_things.sql": CREATE, "0002_a.sql": insert("a") })
  await run()
  await remove("0002_a.sql")

  await assert.rejects(run(), {
    name: "StartupError",
    message: "The database was migrated by a newer version of Svc (demo/0002_a.sql).",
  })
  assert.deepEqual(await things(), ["a"])
})

test("a migration that was changed after it ran is refused, and nothing after it runs", async t => {
  const { run, write, things } = await world(t, { "0001_things.sql": CREATE })
  await run()
  await write("0001_things.sql", `${CREATE} `)
  await write("0002_a.sql", insert("a"))

  await assert.rejects(run(), {
    name: "StartupError",
    message: "Migration demo/0001_things.sql differs from the one this database ran.",
  })
  assert.deepEqual(await things(), [])
})

test("a migration that fails leaves nothing of itself, and those before it in place", async t => {
  const { run, connect, write, pool, things, ledger } = await world(t, {
    "0001_things.sql": CREATE,
    "0002_a.sql": `${insert("a")}; CREATE TABLE demo.half (); SELECT 1 / 0`,
    "0003_b.sql": insert("b"),
  })

  const attempts = await Promise.allSettled([run(), run(connect()), run(connect())])
  for (const attempt of attempts) {
    assert.ok(attempt.status === "rejected")
    assert.equal(attempt.reason.name, "StartupError")
    assert.match(attempt.reason.message, /^Migration demo\/0002_a.sql failed: .*division by zero/)
  }
  assert.deepEqual(await ledger(), ["0001_things.sql"])
  assert.deepEqual(await things(), [])
  const { rows } = await pool.query("SELECT to_regclass('demo.half') AS half")
  assert.deepEqual(rows, [{ half: null }])

  await write("0002_a.sql", insert("a"))
  await run()
  assert.deepEqual(await things(), ["a", "b"])
})
