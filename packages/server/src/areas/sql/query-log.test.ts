import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { pino } from "pino"
import { platform } from "../../testing/platform.ts"
import { createQueryLog, type LoggedCall } from "./query-log.ts"
import { queryLogStore } from "./query-log-store.ts"

const DAY_MS = 86_400_000

test("statements are logged in batches without their constants, newest first, and for a week", async t => {
  const { clock, database } = await platform(t)
  const log = pino({ level: "silent" })
  await using queryLog = createQueryLog({ db: database.db, clock, log })
  const store = queryLogStore(database.db)
  const tenantId = randomUUID()
  const target = {
    organizationId: tenantId,
    projectId: randomUUID(),
    databaseId: randomUUID(),
    branchId: randomUUID(),
  }
  const call = (sql: string, more: Partial<LoggedCall> = {}): LoggedCall => ({
    ...{ target, sql, command: "SELECT", sqlstate: null, error: null, rows: 1, startedAtMs: clock.now() },
    ...{
      durationMs: 1.5,
      wakeMs: 0,
      source: "http",
      keyId: randomUUID(),
      user: "owner",
      applicationName: "x",
    },
    ...{ clientAddress: "192.0.2.1", readOnly: false, requestId: "request-1", ...more },
  })
  const filter = {
    tenantId,
    projectId: target.projectId,
    databaseId: undefined,
    branchId: undefined,
    limit: 100,
  }

  queryLog.record(call("SELECT 'old'", { startedAtMs: clock.now() - 8 * DAY_MS }))
  queryLog.record(call("SELECT 'secret' /* secret */", { startedAtMs: clock.now() - 2 }))
  const error = 'invalid input syntax for type integer: "secret"'
  queryLog.record(call("SELECT 'secret'::int", { sqlstate: "22P02", error, rows: null, command: null }))
  queryLog.recordWire(
    [
      {
        ...{
          branchId: target.branchId,
          user: "owner\0",
          applicationName: "psql",
          clientAddress: "192.0.2.2",
        },
        ...{ sql: "DELETE FROM t WHERE id = 5", startedAtMs: clock.now() + 1, durationMs: 2, rows: 3 },
        ...{ sqlstate: null, error: null, command: "DELETE" },
      },
    ],
    id => (id === target.branchId ? target : undefined),
  )
  assert.deepEqual(await store.list(filter), [], "nothing is written at once")
  await clock.advance(1_000)
  const rows = await store.list(filter)
  assert.deepEqual(
    rows.map(({ sql, source, error }) => [sql, source, error]),
    [
      ["DELETE FROM t WHERE id = ?", "wire", null],
      ["SELECT ? :: int", "http", 'invalid input syntax for type integer: "?"'],
      ["SELECT ?", "http", null],
      ["SELECT ?", "http", null],
    ],
  )
  assert.deepEqual(await store.list({ ...filter, projectId: randomUUID() }), [])
  assert.equal((await store.list({ ...filter, branchId: target.branchId, limit: 2 })).length, 2)
  await clock.advance(60_000)
  assert.equal((await store.list(filter)).length, 3, "the old one is gone")
  assert.equal(await store.prune(new Date(0), 2, 100), 1)
  assert.equal((await store.list(filter)).length, 2, "of a tenant with too many the newest stay")
})

test("a flood is bounded, and what has gathered is written at the end", async t => {
  const { clock, database } = await platform(t)
  const target = {
    organizationId: randomUUID(),
    projectId: randomUUID(),
    databaseId: randomUUID(),
    branchId: randomUUID(),
  }
  const queryLog = createQueryLog({ db: database.db, clock, log: pino({ level: "silent" }) })
  for (let at = 0; at < 21_000; at += 1) {
    queryLog.record({
      ...{ target, sql: `SELECT ${at}`, command: "SELECT", sqlstate: null, error: null, rows: 1 },
      ...{ startedAtMs: clock.now(), durationMs: 1, wakeMs: 0, source: "http", keyId: null, user: null },
      ...{ applicationName: null, clientAddress: null, readOnly: false, requestId: null },
    })
  }
  await queryLog[Symbol.asyncDispose]()
  const { rows } = await database.pool.query("SELECT count(*)::int AS n FROM databases.query_log")
  assert.equal(rows[0].n, 20_000)
})
