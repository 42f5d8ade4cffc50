/** Many volumes that are asked to wake at the same moment. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { mkdir, readdir, realpath, writeFile } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { created, newSubject, runSql, type Subject } from "../../../conformance/fixture.ts"
import { type EnginePort, OWNER_ROLE } from "../../../port.ts"
import { inParallel } from "../copy.ts"
import { SOCKET_PORT } from "../settings.ts"
import { openTestEngine } from "../testing/engine.ts"
import { processesIn } from "./scene.ts"

const VOLUMES = 60
const STARTS_AT_ONCE = Math.max(2, availableParallelism() * 2)
const SAMPLE_EVERY_MS = 2

/** Memory of processes in MB, what they share counted once; undefined where the kernel does not tell. */
const memoryOf = (processes: readonly string[]): number | undefined => {
  try {
    const kilobytes = processes.map(pid =>
      Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0),
    )
    return Math.round(kilobytes.reduce((sum, one) => sum + one, 0) / 1024)
  } catch {
    return undefined
  }
}

const answers = async (
  { endpoint }: { endpoint: Awaited<ReturnType<EnginePort["wake"]>> },
  subject: Subject,
) => runSql({ endpoint, role: OWNER_ROLE, password: subject.credentials.owner }, "SELECT 1")

/** The most volumes that were seen starting at once. */
const watchStarts = (t: TestContext, port: EnginePort) => {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, port.running().filter(({ state }) => state === "starting").length)
  }, SAMPLE_EVERY_MS)
  t.after(() => clearInterval(timer))
  return () => most
}

test(`${VOLUMES} volumes that are asked to wake at once all answer, in the order of asking, and go again`, async t => {
  const { engine: port, dataDir } = await openTestEngine(t)
  const root = await realpath(join(dataDir, "databases"))
  const subjects = Array.from({ length: VOLUMES }, () => newSubject({ port }))
  await inParallel(subjects, async ({ ref, credentials }) => {
    await port.create(ref, credentials)
    await port.suspend(ref)
  })
  assert.deepEqual(processesIn(root), [])

  const mostStarting = watchStarts(t, port)
  const finished: number[] = []
  const startedMs = performance.now()
  await Promise.all(
    subjects.map(async (subject, asked) => {
      const endpoint = await port.wake(subject.ref)
      finished.push(asked)
      await answers({ endpoint }, subject)
    }),
  )
  const tookMs = Math.round(performance.now() - startedMs)
  assert.equal(port.running().filter(({ state }) => state === "active").length, VOLUMES)
  assert.ok(mostStarting() > 0 && mostStarting() <= STARTS_AT_ONCE, `${mostStarting()} started at once`)
  // Whoever is let in first need not be ready first, but nobody is let in before those who asked earlier.
  for (const [place, asked] of finished.entries())
    assert.ok(asked < place + STARTS_AT_ONCE, `number ${asked} was ready at place ${place}`)
  const memoryMb = memoryOf(processesIn(root))
  t.diagnostic(
    `all awake after ${tookMs} ms, ${mostStarting()} at once; ${memoryMb} MB in ${VOLUMES} servers`,
  )

  const stoppedMs = performance.now()
  await Promise.all(subjects.map(({ ref }) => port.suspend(ref)))
  t.diagnostic(`all at rest after ${Math.round(performance.now() - stoppedMs)} ms`)
  assert.deepEqual(port.running(), [])
  assert.deepEqual(processesIn(root), [])
  await Promise.all(subjects.map(({ ref }) => port.destroy(ref)))
  for (const folder of ["volumes", "records", "run"]) assert.deepEqual(await readdir(join(root, folder)), [])
})

test("a rest that is asked for while a volume waits for its start comes after it", async t => {
  const { engine: port } = await openTestEngine(t)
  const { ref } = await created({ port })
  await port.suspend(ref)
  const waking = port.wake(ref)
  await port.suspend(ref)
  await waking
  assert.deepEqual(port.running(), [])
})

test("files that a killed server left at a socket's place keep no volume from starting", async t => {
  const { engine: port } = await openTestEngine(t)
  const { ref } = await created({ port })
  const { host } = await port.wake(ref)
  await port.suspend(ref)
  await mkdir(host, { recursive: true })
  // A lock that names a living process, ours, as a server's does whose number was given to somebody else.
  await writeFile(join(host, `.s.PGSQL.${SOCKET_PORT}`), "")
  await writeFile(join(host, `.s.PGSQL.${SOCKET_PORT}.lock`), `${process.ppid}\n`)
  assert.equal((await port.wake(ref)).host, host)
})
