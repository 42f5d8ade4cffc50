/** Servers that are killed, and disks that are lost, while money moves. */

import assert from "node:assert/strict"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../../../testing/eventually.ts"
import { rejectsAs, type Subject } from "../../../conformance/fixture.ts"
import type { EnginePort } from "../../../port.ts"
import { openTestEngine } from "../testing/engine.ts"
import { findGaps, readArchive } from "../wal/archive.ts"
import { assertHolds, auditBank, chooseSeed, markOf, startTransfers } from "./bank.ts"
import { auditedCopy, clusterOf, hasHistory, killServer, markLsn, markTime, newBank } from "./scene.ts"

const archiveOf = (dataDir: string, { ref }: Subject) =>
  readArchive(join(dataDir, "databases", "records", ref.id, "wal"))

const isIdle = (port: EnginePort, { ref }: Subject) =>
  eventually("the end of the server", async () => !port.running().some(({ id }) => id === ref.id))

for (const who of ["all", "postmaster"] as const) {
  const killed = who === "all" ? "all processes of a server are" : "a postmaster alone is"
  test(`after ${killed} killed under load, what was acknowledged is there, and in copies from before and after`, async t => {
    const seed = chooseSeed()
    t.diagnostic(`seed ${seed}`)
    const { engine: port, dataDir } = await openTestEngine(t)
    const source = await newBank(port, 17)
    const cluster = await clusterOf(dataDir, source)
    const load = startTransfers(port, source, { seed })
    t.after(() => load.stop())
    const { journal } = load
    await load.more(100)
    const earlier = await markTime(load)
    for (let kill = 0; kill < 2; kill++) {
      await load.more(100)
      await killServer(cluster, who)
    }
    await load.more(200)
    const [later, last] = [await markTime(load), await markLsn(port, source, load)]
    await load.more(100)
    const copies: Subject[] = []
    for (const marked of [earlier, later, last])
      copies.push(await auditedCopy(t, port, { source, journal, marked }))
    await load.stop()
    assert.ok(load.errors.length > 0, "nobody noticed the kill")
    assertHolds(await auditBank(port, source), journal, { before: markOf(journal) })
    assert.deepEqual(findGaps(await archiveOf(dataDir, source)), [])

    // A copy across a crash has a history of its own, across another one.
    const copy = copies[1] as Subject
    await hasHistory(port, copy)
    const second = startTransfers(port, copy, { seed: seed + 100, firstId: 5_000_000 })
    t.after(() => second.stop())
    await second.more(100)
    await killServer(await clusterOf(dataDir, copy), who)
    await second.more(100)
    const marked = await markTime(second)
    await second.more(50)
    await second.stop()
    await auditedCopy(t, port, { source: copy, journal: second.journal, marked })
  })
}

test("when the disk of a running server is lost, every acknowledged commit comes back from its history", async t => {
  const seed = chooseSeed()
  t.diagnostic(`seed ${seed}`)
  const { engine: port, dataDir } = await openTestEngine(t)
  const source = await newBank(port, 17)
  const cluster = await clusterOf(dataDir, source)
  const load = startTransfers(port, source, { seed })
  t.after(() => load.stop())
  const { journal } = load
  await load.more(300)
  assert.equal((await port.window(source.ref)).protection, "synchronous")
  const early = await markLsn(port, source, load)
  await load.more(100)
  await killServer(cluster, "all")
  await rm(join(cluster, ".."), { recursive: true })
  await isIdle(port, source)
  await load.stop()

  const at = { before: markOf(journal), after: markOf(journal) }
  const { latestLsn, latest } = await port.window(source.ref)
  assert.ok(latestLsn && latest)
  await auditedCopy(t, port, { source, journal, marked: early })
  const time = new Date()
  await auditedCopy(t, port, { source, journal, marked: { point: { kind: "time", time }, ...at } })
  await auditedCopy(t, port, { source, journal, marked: { point: { kind: "time", time: latest }, ...at } })
  await auditedCopy(t, port, { source, journal, marked: { point: { kind: "lsn", lsn: latestLsn }, ...at } })
  const head = await auditedCopy(t, port, { source, journal })
  await rejectsAs("unavailable", () => port.wake(source.ref))
  await port.size(source.ref)
  await port.prune(source.ref, new Date(0))
  await port.suspend(source.ref)
  await port.destroy(source.ref)
  assertHolds(await auditBank(port, head), journal, at)
})

test("the newest position and time of a window can be restored to, whether its volume runs or rests", async t => {
  const seed = chooseSeed()
  const { engine: port } = await openTestEngine(t)
  const source = await newBank(port, 17)
  const load = startTransfers(port, source, { seed })
  t.after(() => load.stop())
  await load.more(50)
  await load.stop()
  const { journal } = load
  const mark = { before: markOf(journal), after: markOf(journal) }
  for (const isAwake of [true, false]) {
    if (!isAwake) await port.suspend(source.ref)
    const { latestLsn: lsn, latest } = await port.window(source.ref)
    assert.ok(lsn && latest)
    await auditedCopy(t, port, { source, journal, marked: { point: { kind: "lsn", lsn }, ...mark } })
    await auditedCopy(t, port, {
      source,
      journal,
      marked: { point: { kind: "time", time: latest }, ...mark },
    })
  }
})
