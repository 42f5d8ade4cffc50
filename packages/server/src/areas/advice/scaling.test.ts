/** What is proposed follows from use, and a database that fits is left alone. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { pgVersions } from "../../ports/engine/port.ts"
import type { BranchFacts } from "../databases/offers.ts"
import { inspect } from "./inspect.ts"
import { busyShare, readUsage, suggestScaling, type Usage } from "./scaling.ts"
import { startInstance } from "./testing/instance.ts"

const MIB = 1024 * 1024
const GIB = 1024 * MIB

const FACTS: BranchFacts = {
  tier: "shared",
  suspendTimeoutSeconds: 300,
  historyRetentionSeconds: 86_400,
  wakes: { count: 70, hoursAwake: 20 },
  physicalBytes: 50 * MIB,
  historyBytes: 20 * MIB,
  connectionsMax: 95,
}

const USAGE: Usage = {
  connections: { used: 5, idle: 3 },
  cache: { hitBlocks: 1_000_000, readBlocks: 10_000 },
  sharedBuffersBytes: 64 * MIB,
  databaseBytes: 40 * MIB,
  workingSetBytes: 30 * MIB,
  execution: { totalMs: 20 * 3_600_000 * 0.1, seconds: 7 * 86_400 },
  wal: { bytes: 20 * MIB, fullPages: 100, records: 10_000, seconds: 7 * 86_400 },
  unusedIndexBytes: 0,
  deadRowBytes: MIB,
}

const suggested = (facts: Partial<BranchFacts>, usage: Partial<Usage> = {}) =>
  suggestScaling({ ...FACTS, ...facts }, { ...USAGE, ...usage }).map(
    ({ resource, current, recommended }) => [resource, current, recommended] as const,
  )

test("a database that fits its size gets no suggestion", () => {
  assert.deepEqual(suggested({}), [])
  assert.deepEqual(suggested({ tier: "dedicated" }), [])
})

test("each resource that does not fit is named with what would", () => {
  assert.deepEqual(suggested({}, { connections: { used: 90, idle: 82 } }), [["connections", 90, 10]])
  const cold = { cache: { hitBlocks: 500_000, readBlocks: 500_000 }, workingSetBytes: 700 * MIB }
  assert.deepEqual(suggested({}, cold), [["memory", "64 MB", "dedicated tier"]])
  assert.deepEqual(suggested({ tier: "dedicated" }, cold), [["memory", "64 MB", "1.0 GB"]])
  const busy = { execution: { totalMs: 20 * 3_600_000 * 0.7, seconds: 7 * 86_400 } }
  assert.deepEqual(suggested({ tier: "isolated" }, busy), [["tier", "isolated", "dedicated"]])
  const idle = { execution: { totalMs: 1000, seconds: 7 * 86_400 } }
  assert.deepEqual(suggested({ tier: "dedicated" }, idle), [["tier", "dedicated", "isolated"]])
  assert.deepEqual(suggested({ wakes: { count: 700, hoursAwake: 60 } }), [
    ["suspend_timeout_seconds", 300, 900],
  ])
  const awake = { suspendTimeoutSeconds: 0, wakes: { count: 1, hoursAwake: 168 } }
  assert.deepEqual(suggested(awake, idle), [["suspend_timeout_seconds", 0, 300]])
  assert.deepEqual(
    suggested(awake, { execution: { totalMs: 168 * 3_600_000 * 0.3, seconds: 7 * 86_400 } }),
    [],
  )
  assert.deepEqual(suggested({}, { databaseBytes: GIB, unusedIndexBytes: 400 * MIB }), [
    ["storage", "1.0 GB", "623 MB"],
  ])
  const long = { historyBytes: 3 * GIB, historyRetentionSeconds: 7 * 86_400 }
  assert.deepEqual(suggested(long), [["history_retention_seconds", 604_800, 302_400]])
  assert.deepEqual(suggested({ ...long, historyRetentionSeconds: 86_400 }), [])
  const writes = { wal: { bytes: 60 * GIB, fullPages: 1000, records: 1e6, seconds: 7 * 86_400 } }
  assert.deepEqual(suggested({}, writes)[0]?.[0], "write_ahead_log")
})

test("how busy a database is counts the time it was awake, and says nothing after too little of it", () => {
  const half = { ...USAGE, execution: { totalMs: 10 * 3_600_000, seconds: 7 * 86_400 } }
  assert.equal(busyShare(FACTS, half), 0.5)
  assert.equal(busyShare({ ...FACTS, wakes: { count: 1, hoursAwake: 0.5 } }, half), null)
  assert.equal(busyShare(FACTS, { ...half, execution: { totalMs: 5, seconds: 60 } }), null)
})

for (const version of pgVersions) {
  test(`use is read from PostgreSQL ${version}, and a new database needs nothing`, async t => {
    const cluster = await startInstance(t, version)
    const pool = cluster.pool("owner", { max: 2 })
    await pool.query(
      "CREATE TABLE t AS SELECT n, repeat('x', 100) FROM generate_series(1, 10000) n; ANALYZE t; DELETE FROM t WHERE n > 5000",
    )
    await pool.query("SELECT count(*) FROM t")
    await pool.query("SELECT pg_stat_force_next_flush()")
    const client = await pool.connect()
    const usage = await inspect(client, version, readUsage)
    client.release()
    assert.ok(usage.connections.used >= 1 && usage.connections.used <= 4)
    assert.ok(usage.databaseBytes > MIB)
    assert.equal(usage.sharedBuffersBytes, 64 * MIB)
    assert.ok(usage.execution.totalMs > 0 && usage.execution.seconds >= 0)
    assert.ok(usage.wal.bytes > MIB && usage.wal.records > 1000)
    assert.ok(usage.workingSetBytes > MIB)
    assert.ok(usage.deadRowBytes > 0)
    assert.deepEqual(suggestScaling(FACTS, usage), [])
  })
}
