/** Rows that were told to be committed outlive the platform's process, and databases half made do not. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc, type Svc } from "@svc/sdk"
import { killPostgres, readFirstRun, type SvcProcess, spawnSvc } from "../../testing/process.ts"

const WRITERS = 4
const ROWS_PER_ROUND = 60

const connect = async (svc: SvcProcess): Promise<Svc> => {
  const baseUrl = await svc.ready
  return createSvc({ baseUrl, retries: 0, apiKey: readFirstRun(svc.dataDir).api_key })
}

/** Inserts on several sides until the kill; gives the rows that were told to be there. */
const insertUntil = async (svc: Svc, round: number, kill: () => void): Promise<number[]> => {
  const told: number[] = []
  const write = async (writer: number) => {
    for (let n = 0; ; n++) {
      const row = round * 1_000_000 + writer * 100_000 + n
      try {
        await svc.sql.execute({ sql: "INSERT INTO t VALUES ($1)", params: [row] })
      } catch {
        return
      }
      if (told.push(row) === ROWS_PER_ROUND) kill()
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  return told
}

test("every row that was told to be committed is there after the platform was killed, and work goes on", async t => {
  let process = spawnSvc(t)
  let svc = await connect(process)
  await svc.sql.execute({ sql: "CREATE TABLE t (n integer PRIMARY KEY)" })
  const told: number[] = []
  for (const round of [1, 2]) {
    const killed = process
    told.push(...(await insertUntil(svc, round, () => killed.signal("SIGKILL"))))
    await killed.exited
    process = spawnSvc(t, { dataDir: killed.dataDir })
    svc = await connect(process)
    const { rows } = await svc.sql.execute({ sql: "SELECT n FROM t" })
    const there = new Set(rows.map(row => (row as { n: number }).n))
    assert.deepEqual(
      told.filter(row => !there.has(row)),
      [],
    )
  }
  assert.ok(told.length >= 2 * ROWS_PER_ROUND)
})

test("a database whose making was cut off is gone, and its name is free", async t => {
  const first = spawnSvc(t)
  const svc = await connect(first)
  const making = svc.databases.create({ name: "orders" }).catch(() => undefined)
  // Sent and under way: the template alone takes a second.
  await svc.databases.list({})
  first.signal("SIGKILL")
  killPostgres(first.dataDir)
  await first.exited
  await making
  const again = await connect(spawnSvc(t, { dataDir: first.dataDir }))
  assert.equal((await again.databases.list({ include_deleted: true })).total, 0)
  assert.equal((await again.databases.create({ name: "orders" })).name, "orders")
})
