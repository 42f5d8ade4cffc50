/** Copies that are made while money moves. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { asAdmin } from "../admin.ts"
import { openTestEngine } from "../testing/engine.ts"
import {
  adminPassword,
  assertHolds,
  auditBank,
  chooseSeed,
  connectAs,
  markOf,
  randomFrom,
  startTransfers,
} from "./bank.ts"
import { auditedCopy, copyOf, type Marked, markLsn, markTime, newBank } from "./scene.ts"

const runs = [
  [17, 2],
  [16, 1],
  [18, 1],
] as const
for (const [pgVersion, rounds] of runs) {
  test(`every copy of PostgreSQL ${pgVersion} under load is one moment of it`, async t => {
    const seed = chooseSeed()
    t.diagnostic(`seed ${seed}`)
    const random = randomFrom(seed)
    const { engine: port } = await openTestEngine(t)
    const source = await newBank(port, pgVersion)
    const load = startTransfers(port, source, { seed })
    t.after(() => load.stop())
    const { journal } = load
    const marks: Marked[] = []
    for (let round = 0; round < rounds; round++) {
      await load.more(100 + Math.floor(random() * 200))
      marks.push(await markTime(load))
      await load.more(50 + Math.floor(random() * 100))
      marks.push(await markLsn(port, source, load))
      await port.destroy((await auditedCopy(t, port, { source, journal })).ref)
    }
    // Earlier points in any order, while the load goes on.
    for (const marked of marks.toSorted(() => random() - 0.5))
      await port.destroy((await auditedCopy(t, port, { source, journal, marked })).ref)
    await load.stop()
    assert.deepEqual(load.errors, [])
    assertHolds(await auditBank(port, source), journal, { before: markOf(journal) })
  })
}

test("where a copy of the newest state parted from its source is where it really did", async t => {
  const seed = chooseSeed()
  t.diagnostic(`seed ${seed}`)
  const { engine: port } = await openTestEngine(t)
  const source = await newBank(port, 17)
  const load = startTransfers(port, source, { seed })
  t.after(() => load.stop())
  await load.more(100)
  const [head, again] = [copyOf(source), copyOf(source)]
  const { lsn } = await port.branch(source.ref, head.ref, { kind: "head" }, head.credentials)
  await load.more(100)
  await load.stop()
  await port.branch(source.ref, again.ref, { kind: "lsn", lsn }, again.credentials)
  assert.deepEqual(await auditBank(port, again), await auditBank(port, head))
})

test("a copy from the middle of a storm of checkpoints and log switches is one moment of it", async t => {
  const seed = chooseSeed()
  t.diagnostic(`seed ${seed}`)
  const { engine: port } = await openTestEngine(t)
  const source = await newBank(port, 17)
  const load = startTransfers(port, source, { seed })
  t.after(() => load.stop())
  const { journal } = load
  let isStormy = true
  const storm = async () => {
    const client = await connectAs(port, source)
    const { host: socketDir } = await port.wake(source.ref)
    const password = await adminPassword()
    while (isStormy) {
      await client.query("CHECKPOINT")
      await asAdmin({ socketDir, password }, admin => admin.query("SELECT pg_switch_wal()"))
    }
    await client.end()
  }
  const raging = storm()
  await load.more(100)
  const marks = [await markTime(load), await markLsn(port, source, load)]
  await load.more(100)
  for (const marked of [...marks, undefined])
    await port.destroy((await auditedCopy(t, port, { source, journal, marked })).ref)
  isStormy = false
  await raging
  await load.stop()
  assert.deepEqual(load.errors, [])
})
