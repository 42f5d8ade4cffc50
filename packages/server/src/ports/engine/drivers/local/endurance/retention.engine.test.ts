/** History that is forgotten, while what is kept of it still works. */
import assert from "node:assert/strict"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { PortError } from "../../../../port-error.ts"
import { rejectsAs, type Subject } from "../../../conformance/fixture.ts"
import type { EnginePort } from "../../../port.ts"
import { openTestEngine } from "../testing/engine.ts"
import {
  assertHolds,
  auditBank,
  chooseSeed,
  connectAs,
  type Journal,
  markOf,
  startTransfers,
} from "./bank.ts"
import { auditedCopy, copyOf, type Marked, markLsn, markTime, newBank } from "./scene.ts"

/** More log than what the engine takes no new image for. */
const LOG_MB = 66
const STRETCHES = 4

const writeLog = async (port: EnginePort, subject: Subject): Promise<void> => {
  const client = await connectAs(port, subject)
  const text =
    "SELECT count(pg_logical_emit_message(false, 'fill', repeat('x', 1048576))) FROM generate_series(1, $1)"
  await client.query(text, [LOG_MB])
  await client.end()
}

/** A bank with an image after each stretch of its history, and two points in each. */
const bankWithImages = async (t: TestContext, port: EnginePort, stretches: number) => {
  const seed = chooseSeed()
  t.diagnostic(`seed ${seed}`)
  const source = await newBank(port, 17)
  const sent: number[] = []
  const acknowledged: number[] = []
  const points: { time: Marked; lsn: Marked }[] = []
  for (let stretch = 0; stretch < stretches; stretch++) {
    const load = startTransfers(port, source, { seed: seed + stretch * 10, firstId: stretch * 1_000_000 })
    t.after(() => load.stop())
    await load.more(50)
    const shifted = (marked: Marked): Marked => ({
      point: marked.point,
      before: {
        sent: sent.length + marked.before.sent,
        acknowledged: acknowledged.length + marked.before.acknowledged,
      },
      after: {
        sent: sent.length + marked.after.sent,
        acknowledged: acknowledged.length + marked.after.acknowledged,
      },
    })
    points.push({ time: shifted(await markTime(load)), lsn: shifted(await markLsn(port, source, load)) })
    await load.more(50)
    await load.stop()
    sent.push(...load.journal.sent)
    acknowledged.push(...load.journal.acknowledged)
    await writeLog(port, source)
    await port.suspend(source.ref)
  }
  return { source, points, journal: { sent, acknowledged } satisfies Journal }
}

const timeOf = ({ point }: Marked): Date => {
  assert.ok(point.kind === "time")
  return point.time
}

test("history that is forgotten frees its disk, points after it still work, and points before are refused", async t => {
  const { engine: port, dataDir } = await openTestEngine(t)
  const { source, points, journal } = await bankWithImages(t, port, STRETCHES)
  const [first, second, third, fourth] = points
  assert.ok(first && second && third && fourth)
  const before = await port.window(source.ref)
  const sizeBefore = await port.size(source.ref)
  const from = timeOf(third.time)
  const started = performance.now()
  await port.prune(source.ref, from)
  t.diagnostic(`pruned in ${Math.round(performance.now() - started)} ms`)
  const after = await port.window(source.ref)
  const sizeAfter = await port.size(source.ref)
  assert.ok(before.earliest && before.earliest < timeOf(first.time))
  assert.ok(after.earliest && after.earliest <= from && after.earliest > timeOf(second.time))
  const freedMb = (sizeBefore.historyBytes - sizeAfter.historyBytes) / 1024 ** 2
  t.diagnostic(`${Math.round(freedMb)} of ${Math.round(sizeBefore.historyBytes / 1024 ** 2)} MB are free`)
  assert.ok(freedMb > LOG_MB, `only ${freedMb} MB were freed`)
  const images = await readdir(join(dataDir, "databases", "records", source.ref.id, "bases"))
  assert.equal(images.length, STRETCHES - 1, `images ${images}`)

  for (const marked of [third.time, fourth.lsn])
    await port.destroy((await auditedCopy(t, port, { source, journal, marked })).ref)
  for (const { point } of [first.time, first.lsn, second.time, second.lsn]) {
    const target = copyOf(source)
    await rejectsAs("refused", () => port.branch(source.ref, target.ref, point, target.credentials))
  }
  assertHolds(await auditBank(port, source), journal, { before: markOf(journal) })
})

test("a copy of a point that is forgotten meanwhile is right, or is not made", async t => {
  const { engine: port } = await openTestEngine(t)
  const { source, points, journal } = await bankWithImages(t, port, 2)
  for (const [index, { time: marked }] of points.entries()) {
    const next = points[index + 1]
    const copying = auditedCopy(t, port, { source, journal, marked }).then(
      () => "right",
      error => {
        assert.ok(error instanceof PortError, `${error}`)
        return error.kind
      },
    )
    if (next) await port.prune(source.ref, timeOf(next.time))
    t.diagnostic(`a copy from before what is kept: ${await copying}`)
  }
})
