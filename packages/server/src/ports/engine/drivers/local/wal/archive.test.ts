import assert from "node:assert/strict"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { PortError } from "../../../../port-error.ts"
import {
  archiveBytes,
  findGaps,
  latestTimeline,
  pruneArchive,
  readArchive,
  replayFiles,
  timelineSpan,
} from "./archive.ts"
import { formatLsn, historyName, segmentName } from "./position.ts"
import { type LogPlace, planStart } from "./start-plan.ts"
import { makeWalDir } from "./testing/cluster.ts"

const MB = 1024 ** 2
const SYSTEM_ID = 7_300_000_000_000_000_001n
const at = (segment: number, offset = 0) => BigInt(segment) * BigInt(MB) + BigInt(offset)
const lsn = (segment: number, offset = 0) => formatLsn(at(segment, offset))

/** The long page header with which each segment begins; an empty file is one that was not written yet. */
const put = (
  walDir: string,
  timeline: number,
  number: number,
  options: { partial?: true; empty?: true } = {},
) => {
  const header = Buffer.alloc(8192)
  if (!options.empty) {
    header.writeUInt16LE(2, 2)
    header.writeBigUInt64LE(SYSTEM_ID, 24)
    header.writeUInt32LE(MB, 32)
  }
  const name = segmentName(timeline, BigInt(number), MB)
  writeFileSync(join(walDir, options.partial ? `${name}.partial` : name), header)
  return name
}

const putHistory = (walDir: string, timeline: number, ancestors: readonly [number, string][]) =>
  writeFileSync(
    join(walDir, historyName(timeline)),
    ancestors.map(([past, end]) => `${past}\t${end}\tno recovery target specified\n`).join(""),
  )

/** Timeline 1 up to the middle of segment 5, then timeline 2, whose segment 7 is not finished. */
const branched = (t: TestContext) => {
  const walDir = makeWalDir(t)
  for (const number of [2, 3, 4]) put(walDir, 1, number)
  put(walDir, 1, 5, { partial: true })
  for (const number of [5, 6]) put(walDir, 2, number)
  put(walDir, 2, 7, { partial: true })
  putHistory(walDir, 2, [[1, lsn(5, 4096)]])
  return walDir
}

const name = (timeline: number, number: number) => segmentName(timeline, BigInt(number), MB)
const names = ({ files }: ReturnType<typeof replayFiles>) => files.map(file => file.name)

test("an archive that does not exist yet, or holds nothing, is empty", async t => {
  const walDir = makeWalDir(t)
  for (const folder of [walDir, join(walDir, "nowhere")]) {
    const archive = await readArchive(folder)
    assert.deepEqual([archive.segmentBytes, archive.segments, archive.histories.size], [undefined, [], 0])
    assert.deepEqual(findGaps(archive), [])
    assert.equal(await pruneArchive(archive, "FF/0"), 0)
    assert.ok(replayFiles(archive, { from: { timeline: 1, redo: lsn(2) } }).gap)
  }
})

test("files that are not the archive's are left alone, and a finished segment counts before its draft", async t => {
  const walDir = makeWalDir(t)
  put(walDir, 1, 2, { partial: true })
  put(walDir, 1, 2)
  put(walDir, 1, 3, { partial: true, empty: true })
  writeFileSync(join(walDir, "00000002.history.new"), "half")
  writeFileSync(join(walDir, "notes.txt"), "")
  const archive = await readArchive(walDir)
  assert.deepEqual(
    archive.segments.map(segment => [segment.name, segment.isPartial]),
    [
      [name(1, 2), false],
      [name(1, 3), true],
    ],
  )
  assert.equal(archive.systemId, SYSTEM_ID)
  assert.deepEqual(timelineSpan(archive, 1), { first: lsn(2), end: lsn(4) })
  assert.equal(timelineSpan(archive, 2), undefined)
  assert.ok((await archiveBytes(archive)) >= 2 * 8192)
})

test("replaying goes over to the next timeline in the segment where the last one ended", async t => {
  const archive = await readArchive(branched(t))
  assert.equal(latestTimeline(archive, 1), 2)
  const from = { timeline: 1, redo: lsn(3, 40) }
  const all = replayFiles(archive, { from })
  assert.deepEqual(names(all), [
    "00000002.history",
    name(1, 3),
    name(1, 4),
    name(2, 5),
    name(2, 6),
    name(2, 7),
  ])
  assert.equal(all.gap, undefined)
  assert.match(all.files.at(-1)?.path ?? "", /\.partial$/)
  const some = replayFiles(archive, { from, to: lsn(4) })
  assert.deepEqual(names(some), ["00000002.history", name(1, 3)])
  const past = replayFiles(archive, { from, timeline: 1 })
  assert.deepEqual(names(past).slice(1), [name(1, 3), name(1, 4), name(1, 5)])
})

test("a gap is told, wherever it is", async t => {
  const walDir = branched(t)
  put(walDir, 2, 9)
  const archive = await readArchive(walDir)
  // Segment 7 was never finished, and 8 is missing.
  assert.deepEqual(findGaps(archive), [{ timeline: 2, from: lsn(7), to: lsn(9) }])
  const from = { timeline: 1, redo: lsn(3) }
  assert.deepEqual(replayFiles(archive, { from }).gap, { timeline: 2, from: lsn(7), to: lsn(8) })
  assert.equal(replayFiles(archive, { from, to: lsn(7) }).gap, undefined)
  assert.deepEqual(replayFiles(archive, { from: { timeline: 1, redo: lsn(1) }, to: lsn(3) }).gap, {
    ...{ timeline: 1, from: lsn(1), to: lsn(2) },
  })
  const far = replayFiles(archive, { from: { timeline: 2, redo: lsn(9) }, to: "FFFFFFFF/0" })
  assert.equal(far.gap?.from, lsn(10))
})

test("pruning keeps the segment of the position, what follows it, and where the archive goes on", async t => {
  const walDir = branched(t)
  const left = async (before: string) => {
    await pruneArchive(await readArchive(walDir), before)
    return readdirSync(walDir).sort()
  }
  const all = readdirSync(walDir).sort()
  assert.deepEqual(await left(lsn(2, MB - 1)), all)
  assert.deepEqual(
    await left(lsn(4)),
    all.filter(file => ![name(1, 2), name(1, 3)].includes(file)),
  )
  assert.deepEqual(await left("FF/0"), ["00000002.history", `${name(2, 7)}.partial`].sort())
})

test("an archive goes on after what it has, on the timeline that it has it of", async t => {
  const server = { systemId: SYSTEM_ID, timeline: 1, flushed: at(9), segmentBytes: MB }
  const slot = { timeline: 1, position: at(4, 500) }
  const walDir = makeWalDir(t)
  const plan = async (changes: Partial<Parameters<typeof planStart>[0]> = {}): Promise<LogPlace> =>
    planStart({ archive: await readArchive(walDir), server, history: [], slot, ...changes })
  assert.deepEqual(await plan(), { timeline: 1, position: at(4) })

  for (const number of [4, 5]) put(walDir, 1, number)
  assert.deepEqual(await plan(), { timeline: 1, position: at(6) })
  put(walDir, 1, 6, { partial: true })
  assert.deepEqual(await plan(), { timeline: 1, position: at(6) })

  const promoted = { ...server, timeline: 3 }
  const history = (end: bigint) => [
    { timeline: 1, at: end },
    { timeline: 2, at: at(8) },
  ]
  assert.deepEqual(await plan({ server: promoted, history: history(at(6, 80)) }), {
    timeline: 1,
    position: at(6),
  })
  assert.deepEqual(await plan({ server: promoted, history: history(at(5, 80)) }), {
    timeline: 2,
    position: at(5),
  })
  await assert.rejects(plan({ server: promoted, history: [{ timeline: 2, at: at(8) }] }), PortError)
  await assert.rejects(plan({ server: { ...server, flushed: at(5) } }), PortError)
  await assert.rejects(plan({ server: { ...server, systemId: 1n } }), PortError)
  put(walDir, 2, 6)
  await assert.rejects(plan(), PortError)
})
