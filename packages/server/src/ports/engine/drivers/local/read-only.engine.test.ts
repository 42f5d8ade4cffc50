import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { type TestContext, test } from "node:test"
import pg from "pg"
import { DATABASE_NAME, type Endpoint, OWNER_ROLE, pgVersions, type VolumeRef } from "../../port.ts"
import { openTestEngine } from "./testing/engine.ts"

const credentials = { owner: "owner-password", reader: "reader-password" }
const READ_ONLY_TRANSACTION = "25006"

const login = async (t: TestContext, { host, port }: Endpoint, password = credentials.owner) => {
  const client = new pg.Client({
    ...{ host, port, user: OWNER_ROLE, password, database: DATABASE_NAME, ssl: false },
  })
  client.on("error", () => undefined)
  await client.connect()
  t.after(() => client.end().catch(() => undefined))
  return client
}

const count = async (client: pg.Client): Promise<number> =>
  (await client.query("SELECT count(*)::int AS n FROM t")).rows[0].n

/** What a tenant tries who is told to read only. */
const attempts: readonly (readonly string[])[] = [
  ["INSERT INTO t VALUES (1)"],
  ["SET default_transaction_read_only = off", "INSERT INTO t VALUES (1)"],
  ["BEGIN READ WRITE"],
  ["BEGIN", "SET TRANSACTION READ WRITE"],
  ["SELECT set_config('transaction_read_only', 'off', false)"],
  [
    "DO $$ BEGIN PERFORM set_config('default_transaction_read_only', 'off', false); INSERT INTO t VALUES (1); END $$",
  ],
  ["SELECT grow()"],
  ["CREATE TABLE more (n int)"],
  ["CREATE TEMP TABLE more (n int)"],
  ["CREATE UNLOGGED TABLE more (n int)"],
  ["CREATE DATABASE more"],
  ["SELECT lo_create(0)"],
  ["COPY t FROM PROGRAM 'true'"],
  ["SELECT nextval('s')"],
  [`ALTER ROLE ${OWNER_ROLE} SET default_transaction_read_only = off`],
  ["SELECT pg_promote()"],
]

for (const version of pgVersions)
  test(`nobody writes in a read-only volume of PostgreSQL ${version}, whatever they set, and it writes again with all it had`, async t => {
    const { engine, dataDir } = await openTestEngine(t)
    const volume: VolumeRef = { id: randomUUID(), pgVersion: version, tier: "isolated" }
    await engine.create(volume, credentials)
    const before = await login(t, await engine.wake(volume))
    await before.query(
      "CREATE TABLE t AS SELECT n FROM generate_series(1, 1000) n; CREATE SEQUENCE s;" +
        "CREATE FUNCTION grow() RETURNS void LANGUAGE sql AS 'INSERT INTO t VALUES (1)'",
    )
    await engine.setReadOnly(volume, true)
    await assert.rejects(before.query("SELECT 1"))

    const attacker = await login(t, await engine.wake(volume))
    for (const statements of attempts) {
      const attempt = async () => {
        for (const statement of statements) await attacker.query(statement)
      }
      await assert.rejects(attempt(), (error: { code?: string }) => {
        assert.match(String(error.code), /^(25006|25001|0A000|42501|55000)$/, statements.join("; "))
        return true
      })
      await attacker.query("ROLLBACK")
    }
    assert.equal(await count(attacker), 1000)

    await t.test("also after it slept, and after the platform started again", async () => {
      await engine.suspend(volume)
      const awake = await login(t, await engine.wake(volume))
      await assert.rejects(awake.query("INSERT INTO t VALUES (1)"), { code: READ_ONLY_TRANSACTION })
      await awake.end()
      await engine[Symbol.asyncDispose]()
    })
    const { engine: again } = await openTestEngine(t, dataDir)
    const second = await login(t, await again.wake(volume))
    await assert.rejects(second.query("INSERT INTO t VALUES (1)"), { code: READ_ONLY_TRANSACTION })

    await t.test("one task of the platform's writes, and passwords change", async () => {
      await again.whileWritable(volume, async endpoint => {
        const inside = await login(t, endpoint)
        await inside.query("DELETE FROM t WHERE n > 10")
        await inside.end()
      })
      await again.setCredentials(volume, { ...credentials, owner: "another" })
      const third = await login(t, await again.wake(volume), "another")
      assert.equal(await count(third), 10)
      await assert.rejects(third.query("INSERT INTO t VALUES (1)"), { code: READ_ONLY_TRANSACTION })
    })

    await t.test("a branch of it writes, and has the same rows", async () => {
      const copy = { ...volume, id: randomUUID() }
      await again.branch(volume, copy, { kind: "head" }, credentials)
      const client = await login(t, await again.wake(copy))
      await client.query("INSERT INTO t VALUES (11)")
      assert.equal(await count(client), 11)
    })

    await again.setReadOnly(volume, false)
    const writer = await login(t, await again.wake(volume), "another")
    await writer.query("INSERT INTO t VALUES (11)")
    assert.equal(await count(writer), 11)
    await writer.query("INSERT INTO t VALUES (12)")
    const { rows } = await writer.query("SELECT timeline_id AS timeline FROM pg_control_checkpoint()")
    assert.equal(rows[0].timeline, 1)
    const copy = { ...volume, id: randomUUID() }
    await again.branch(volume, copy, { kind: "time", time: new Date() }, credentials)
    assert.equal(await count(await login(t, await again.wake(copy))), 12)
  })

test("history beyond its bound goes oldest first, and the earliest time to restore says so", async t => {
  const { engine } = await openTestEngine(t)
  const volume: VolumeRef = { id: randomUUID(), pgVersion: 18, tier: "isolated" }
  await engine.create(volume, credentials)
  const client = await login(t, await engine.wake(volume))
  await client.query("CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 1200000) n")
  const { earliest: first } = await engine.window(volume)
  const before = await engine.size(volume)
  const MB = 2 ** 20
  assert.ok(before.historyBytes > 60 * MB, `${before.historyBytes}`)
  await engine.prune(volume, new Date(0))
  assert.deepEqual((await engine.window(volume)).earliest, first)

  await client.query("DELETE FROM t")
  await client.query("VACUUM FULL t")
  await engine.prune(volume, new Date(0), 60 * MB)
  const after = await engine.size(volume)
  assert.ok(after.historyBytes <= 60 * MB, `${after.historyBytes}`)
  const { earliest } = await engine.window(volume)
  assert.ok(first && earliest && earliest > first)
  await assert.rejects(
    engine.branch(volume, { ...volume, id: randomUUID() }, { kind: "time", time: first }, credentials),
    { kind: "refused" },
  )
  const copy = { ...volume, id: randomUUID() }
  await engine.branch(volume, copy, { kind: "time", time: new Date() }, credentials)
  assert.equal(await count(await login(t, await engine.wake(copy))), 0)
})
