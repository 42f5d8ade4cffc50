/** Disks that are full: small file systems in memory, which only root may mount. */

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chmod, mkdir, mkdtemp, readdir, rm, stat, statfs, truncate, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { promisify } from "node:util"
import { eventually } from "../../../../../testing/eventually.ts"
import { PortError } from "../../../../port-error.ts"
import { created, newSubject, rejectsAs } from "../../../conformance/fixture.ts"
import { openLocalEngine } from "../driver.ts"
import { sharedTemplates } from "../testing/engine.ts"
import { findGaps, readArchive } from "../wal/archive.ts"
import { assertHolds, auditBank, chooseSeed, connectAs, markOf, openBank, startTransfers } from "./bank.ts"
import { auditedCopy, copyOf, markTime } from "./scene.ts"

const run = promisify(execFile)

const MB = 1024 ** 2
const NO_MOUNT = "file systems cannot be mounted here"
const ROOM_BYTES = 600 * 1024
const CLEAR_CODES: ReadonlySet<string | undefined> = new Set([
  ...["53100", "57P01", "57P02", "57P03", "ECONNRESET", "ECONNREFUSED", "ENOENT", "EPIPE"],
])

/** What a client can tell from a mistake of its own: no room, or a server that ended. */
const isClear = (error: unknown): boolean => {
  const { code, message } = error as { code?: string; message: string }
  if (error instanceof PortError) return error.kind === "unavailable"
  return CLEAR_CODES.has(code) || message.startsWith("Connection terminated")
}

/** A small file system at the path; undefined where that is not permitted. */
const mountSmall = async (path: string, megabytes: number): Promise<AsyncDisposable | undefined> => {
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=711`, "svc-test", path])
  } catch {
    return undefined
  }
  return { [Symbol.asyncDispose]: () => run("umount", ["--lazy", path]).then(() => undefined) }
}

/** An engine whose folder, or only its histories' folder, is on a small disk. */
const openOnSmallDisk = async (
  t: TestContext,
  { small, megabytes }: { small: "everything" | "records"; megabytes: number },
) => {
  const ending = new AsyncDisposableStack()
  t.after(() => ending.disposeAsync())
  const dataDir = await mkdtemp(join(tmpdir(), "svc-engine-"))
  ending.defer(() => rm(dataDir, { recursive: true, force: true }))
  await chmod(dataDir, 0o711)
  const records = join(dataDir, "databases", "records")
  const disk = small === "everything" ? dataDir : records
  if (small === "records") await mkdir(records, { recursive: true, mode: 0o711 })
  const mounted = await mountSmall(disk, megabytes)
  if (!mounted) return undefined
  ending.use(mounted)
  await chmod(join(dataDir), 0o711)
  const lines: string[] = []
  const templatesDir = await sharedTemplates()
  const port = ending.use(await openLocalEngine({ dataDir, templatesDir, log: line => lines.push(line) }))
  return { port, disk, dataDir, lines }
}

/** Takes all room but so much, while others take theirs. */
const fill = async (disk: string, leftBytes = 0): Promise<string> => {
  const freeBytes = async () => {
    const { bavail, bsize } = await statfs(disk)
    return bavail * bsize
  }
  const ballast = join(disk, "ballast")
  await writeFile(ballast, Buffer.alloc(Math.max(0, (await freeBytes()) - leftBytes))).catch(() => undefined)
  const missingBytes = leftBytes - (await freeBytes())
  if (missingBytes > 0) await truncate(ballast, Math.max(0, (await stat(ballast)).size - missingBytes))
  return ballast
}

test("on a full disk statements fail clearly, copies are refused, and nothing acknowledged is lost", async t => {
  const seed = chooseSeed()
  t.diagnostic(`seed ${seed}`)
  const opened = await openOnSmallDisk(t, { small: "everything", megabytes: 160 })
  if (!opened) return t.skip(NO_MOUNT)
  const { port, disk, dataDir, lines } = opened
  const source = await created({ port })
  await openBank(port, source)
  const load = startTransfers(port, source, { seed, writers: 3 })
  t.after(() => load.stop())
  await load.more(50)

  const ballast = await fill(disk, 6 * MB)
  const target = copyOf(source)
  await rejectsAs("unavailable", () =>
    port.branch(source.ref, target.ref, { kind: "head" }, target.credentials),
  )
  const fresh = newSubject({ port })
  await assert.rejects(port.create(fresh.ref, fresh.credentials), /the disk is full/)
  for (const folder of ["volumes", "records"])
    assert.deepEqual(await readdir(join(dataDir, "databases", folder)), [source.ref.id])

  const client = await connectAs(port, source)
  const bulk =
    "CREATE TABLE bulk AS SELECT n, repeat(md5(n::text), 20) AS text FROM generate_series(1, 100000) n"
  const refusal = await client.query(bulk).then(
    () => assert.fail("100 MB went where 6 were free"),
    error => error,
  )
  await client.end().catch(() => undefined)
  t.diagnostic(`a large statement: ${refusal.code} ${refusal.message}`)
  assert.ok(isClear(refusal), `${refusal}`)

  // Too little for another segment of the archive: commits wait for it at first, and then go on until nothing fits.
  await rm(ballast)
  await fill(disk, ROOM_BYTES)
  await eventually("an error of a full disk", async () => load.errors.length > 0)
  for (const error of load.errors) assert.ok(isClear(error), `${error}`)
  t.diagnostic(`a small one: ${load.errors[0]}`)
  const acknowledged = markOf(load.journal)
  await rm(ballast)
  await load.more(50).catch(error => {
    t.diagnostic(lines.slice(-40).join("\n"))
    throw error
  })
  await load.stop()
  const found = await auditBank(port, source)
  assertHolds(found, load.journal, { before: acknowledged })
  assertHolds(found, load.journal, { before: markOf(load.journal) })
  await port.branch(source.ref, target.ref, { kind: "head" }, target.credentials)
  assertHolds(await auditBank(port, target), load.journal, { before: markOf(load.journal) })
  assert.ok(lines.length > 0)
})

test("when only the archive's disk is full, commits go on without it, and wait for it again when there is room", async t => {
  const seed = chooseSeed()
  t.diagnostic(`seed ${seed}`)
  const opened = await openOnSmallDisk(t, { small: "records", megabytes: 24 })
  if (!opened) return t.skip(NO_MOUNT)
  const { port, disk, dataDir, lines } = opened
  const source = await created({ port })
  await openBank(port, source)
  const load = startTransfers(port, source, { seed })
  t.after(() => load.stop())
  const { journal } = load
  const protectionIs = (wanted: string) =>
    eventually(wanted, async () => (await port.window(source.ref)).protection === wanted)
  await protectionIs("synchronous")
  await load.more(50)
  const earlier = await markTime(load)

  const ballast = await fill(disk)
  const startedMs = performance.now()
  await eventually("the failure", async () => lines.some(line => line.includes("go on without the archive")))
  t.diagnostic(`asynchronous after ${Math.round(performance.now() - startedMs)} ms of a full disk`)
  await protectionIs("asynchronous")
  await load.more(500)

  await rm(ballast)
  await protectionIs("synchronous")
  await load.more(50)
  const later = await markTime(load)
  await load.more(20)
  await load.stop()
  assert.deepEqual(load.errors, [])
  assertHolds(await auditBank(port, source), journal, { before: markOf(journal) })
  assert.deepEqual(
    findGaps(await readArchive(join(dataDir, "databases", "records", source.ref.id, "wal"))),
    [],
  )
  for (const marked of [earlier, later]) {
    const { ref } = await auditedCopy(t, port, { source, journal, marked })
    await port.destroy(ref)
  }
})
