/** Copies that are used before their files are on disk. */

import assert from "node:assert/strict"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../../testing/eventually.ts"
import { created, newSubject, runSql, sessionsOf } from "../../conformance/fixture.ts"
import { newEngineDir, openTestEngine } from "./testing/engine.ts"

const recordOf = (dataDir: string, id: string): string =>
  join(dataDir, "databases", "records", id, "volume.json")

test("a copy has a history at once, which shares the files of its source's", async t => {
  const { engine: port, dataDir } = await openTestEngine(t)
  const fixture = { port, sql: runSql }
  const { owner } = sessionsOf(fixture, runSql)
  const source = await created(fixture)
  await owner(
    source,
    "CREATE TABLE number AS SELECT n, repeat('x', 900) AS x FROM generate_series(1, 100000) n",
  )
  await eventually("an image", async () => {
    await port.prune(source.ref, new Date(0))
    return readdirSync(join(dataDir, "databases", "records", source.ref.id)).includes("bases")
  })
  const [now] = await owner(source, "SELECT clock_timestamp() AS at")
  await owner(source, "DROP TABLE number")
  const first = newSubject(fixture)
  const point = { kind: "time", time: now?.at as Date } as const
  await port.branch(source.ref, first.ref, point, first.credentials)
  assert.ok((await port.window(first.ref)).earliest)
  const { historyBytes } = await port.size(first.ref)
  const apart = (await port.size(source.ref)).historyBytes
  assert.ok(historyBytes <= apart, `${historyBytes} of the copy, ${apart} of its source`)

  await owner(first, "DELETE FROM number WHERE n > 10")
  const [later] = await owner(first, "SELECT clock_timestamp() AS at")
  await owner(first, "DROP TABLE number")
  await port.destroy(source.ref)
  const second = newSubject(fixture)
  const again = { kind: "time", time: later?.at as Date } as const
  await port.branch(first.ref, second.ref, again, second.credentials)
  assert.deepEqual(await owner(second, "SELECT count(*)::int AS n FROM number"), [{ n: 10 }])
})

for (const kind of ["time", "head"] as const) {
  test(`a copy of the ${kind} that a machine lost before it was on disk is made again, with all that was committed in it`, async t => {
    const dataDir = await newEngineDir(t)
    const source = await (async () => {
      const { engine: port } = await openTestEngine(t, dataDir)
      const fixture = { port, sql: runSql }
      const { owner } = sessionsOf(fixture, runSql)
      const from = await created(fixture)
      await eventually("the history", async () => (await port.window(from.ref)).earliest)
      await owner(from, "CREATE TABLE number AS SELECT 1 AS n")
      const copy = newSubject(fixture)
      const point = kind === "head" ? { kind } : { kind, time: new Date(Date.now() - 1) }
      await port.branch(from.ref, copy.ref, point, copy.credentials)
      await owner(copy, "CREATE TABLE IF NOT EXISTS number (n integer)")
      await owner(copy, "INSERT INTO number VALUES (2)")
      await owner(from, "INSERT INTO number VALUES (3)")
      await eventually("the archive", async () => (await port.window(copy.ref)).protection === "synchronous")
      await owner(copy, "INSERT INTO number VALUES (4)")
      await port[Symbol.asyncDispose]()
      return copy
    })()

    // As after a start of the machine: the files are damaged, the record says since when they were not on disk.
    const path = recordOf(dataDir, source.ref.id)
    writeFileSync(
      path,
      JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), unsyncedSince: "another" }),
    )
    rmSync(join(dataDir, "databases", "volumes", source.ref.id, "data", "global"), { recursive: true })

    const { engine: port } = await openTestEngine(t, dataDir)
    const { owner } = sessionsOf({ port, sql: runSql }, runSql)
    const rows = await owner(source, "SELECT n FROM number WHERE n > 1 ORDER BY n")
    assert.deepEqual(rows, [{ n: 2 }, { n: 4 }])
    await owner(source, "INSERT INTO number VALUES (5)")
    assert.equal("unsyncedSince" in JSON.parse(readFileSync(path, "utf8")), false)
  })
}
