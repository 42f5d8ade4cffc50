import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { eventually } from "../../testing/eventually.ts"
import { PortError } from "../port-error.ts"
import { persistent, processesWith, shell, specOf } from "./conformance/fixture.ts"
import { runtimeConformance } from "./conformance.ts"
import { openGvisorRuntime } from "./drivers/gvisor/driver.ts"
import { openProcessRuntime } from "./drivers/process/driver.ts"
import { openRuntime } from "./index.ts"

const log = () => undefined
const { SVC_RUNSC: runsc } = process.env
const openIn = (dataDir: string) => openGvisorRuntime({ dataDir, log, isDemanded: true, runsc })

/** Why nothing of this can be tested here; false when it can. */
const unable = async (): Promise<string | false> => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-runtime-"))
  try {
    await (await openIn(dataDir))[Symbol.asyncDispose]()
    return false
  } catch (error) {
    if (error instanceof PortError && error.kind === "refused") return error.message
    throw error
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
const skip = await unable()

const temporaryFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-runtime-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

if (skip) test("gvisor keeps the promises of the runtime port", { skip }, () => undefined)
else
  runtimeConformance("gvisor", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "svc-runtime-"))
    const runtime = await openIn(dataDir)
    return {
      ...runtime,
      async [Symbol.asyncDispose]() {
        await runtime[Symbol.asyncDispose]()
        await rm(dataDir, { recursive: true, force: true })
      },
    }
  })

/** What workloads of these ids have left on this machine beside their disks. */
const tracesOf = async (...ids: readonly string[]): Promise<readonly string[]> => {
  const named = new RegExp(ids.join("|"))
  const places = await readdir("/sys/fs/cgroup", { recursive: true }).catch(() => [])
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n")
  const loops = await Promise.all(
    (await readdir("/sys/block").catch(() => []))
      .filter(name => name.startsWith("loop"))
      .map(name => readFile(`/sys/block/${name}/loop/backing_file`, "utf8").catch(() => "")),
  )
  const processes = await Promise.all(ids.map(processesWith))
  const texts = [...places.filter(path => ids.some(id => path.endsWith(id))), ...mounts, ...loops]
  return [...texts.filter(text => named.test(text)), ...processes.flat().map(String)]
}

test("workloads of gvisor call another kernel than this machine's, and their processes are not its processes", {
  skip,
}, async t => {
  const runtime = await openIn(await temporaryFolder(t))
  t.after(() => runtime[Symbol.asyncDispose]())
  const guest = await runtime.start(specOf())
  const { stdout } = await shell(guest, "cat /proc/version")
  assert.notEqual(stdout, await readFile("/proc/version", "utf8"))
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  await guest.exec({ argv: ["sleep", `1000${marker}`] })
  assert.deepEqual(await processesWith(marker), [])
})

test("kill -9 of the platform ends its sandboxes, and the next one finds the disks and nothing else", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  const ids = [randomUUID(), randomUUID(), randomUUID()] as const
  const [kept, other] = ids
  const program = fileURLToPath(new URL("testing/holder.ts", import.meta.url))
  const words = [program, "gvisor", dataDir, ".5", ...ids]
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] })
  t.after(() => child.kill("SIGKILL"))
  await once(child.stdout, "data")
  assert.ok((await processesWith(kept)).length > 1)
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
  await eventually("only the frozen one is there", async () =>
    (await Promise.all([kept, other].map(processesWith))).every(found => found.length === 0),
  )

  const runtime = await openIn(dataDir)
  t.after(() => runtime[Symbol.asyncDispose]())
  await eventually("nothing is left", async () => (await tracesOf(...ids)).length === 0)
  assert.deepEqual(await runtime.list(), [kept])
  const again = await runtime.start(specOf({ id: kept, disk: { kind: "persistent", bytes: 32 * 2 ** 20 } }))
  assert.equal((await shell(again, "cat /workspace/file")).stdout, "kept\n")
  await runtime.destroy(kept)
  await eventually("nothing is left", async () => (await tracesOf(kept)).length === 0)
  assert.deepEqual(await readdir(join(dataDir, "workloads", "disks")), [])
})

test("a disk that one driver made is read and written by the other, with the same owners", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  const spec = specOf(persistent)
  const owners = `perl -e 'print join " ", map { (stat)[4] } @ARGV'`
  for (const open of [openProcessRuntime, openGvisorRuntime, openProcessRuntime]) {
    await using runtime = await open({ dataDir, log, isDemanded: true, runsc })
    const guest = await runtime.start(spec)
    const told = await shell(guest, `echo x >>file && wc -l <file && ${owners} file /workspace /etc/passwd`)
    assert.match(told.stdout, /^\d\n1000 1000 0$/, told.stderr)
    await runtime.stop(spec.id, 5_000)
  }
})

test("gvisor is good enough for production, and is taken by itself where usual programs get on with it", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  const flaw = await (async () => {
    await using runtime = await openRuntime({ dataDir, log, runsc, demand: "gvisor", refusesWeak: true })
    assert.equal(runtime.capabilities.driver, "gvisor")
    assert.equal(runtime.capabilities.isolation, "gvisor")
    return runtime.capabilities.reasons.find(reason => reason.includes("`ls`"))
  })()
  await using runtime = await openRuntime({ dataDir, log, runsc, demand: "auto", refusesWeak: false })
  assert.equal(runtime.capabilities.driver === "gvisor", flaw === undefined)
})

test("a fork bomb costs its own workload alone, which can be started again", { skip }, async t => {
  const runtime = await openIn(await temporaryFolder(t))
  t.after(() => runtime[Symbol.asyncDispose]())
  const spec = specOf({ processesMax: 8 })
  const [guest, neighbour] = [await runtime.start(spec), await runtime.start(specOf())]
  const bomb = await guest.exec({ argv: ["perl", "-e", "while (1) { fork; }"] })
  await assert.rejects(bomb.exited, { kind: "unavailable" })
  assert.equal(await guest.ended, "died")
  assert.equal((await shell(neighbour, "echo well")).stdout, "well\n")
  assert.equal((await shell(await runtime.start(spec), "echo again")).stdout, "again\n")
})

test("why a sandbox does not start is told, also when others have ended before", { skip }, async t => {
  const folder = await temporaryFolder(t)
  const runtime = await openIn(folder)
  t.after(() => runtime[Symbol.asyncDispose]())
  for (let round = 0; round < 2; round += 1) {
    const spec = specOf()
    await runtime.start(spec)
    await runtime.destroy(spec.id)
    const mounts = [{ source: folder, target: "/proc/none" }]
    await assert.rejects(runtime.start(specOf({ mounts })), {
      kind: "unavailable",
      message: /^runsc: .*creating container/,
    })
  }
})

test("a runsc that is named and is none is refused, and the setting is told", { skip }, async t => {
  const given = { dataDir: await temporaryFolder(t), log, demand: "gvisor", refusesWeak: false } as const
  for (const [named, reason] of [
    ["/nonexistent", /SVC_RUNSC/],
    [process.execPath, /runsc starts no sandbox here: runsc: /],
  ] as const) {
    await using none = await openRuntime({ ...given, runsc: named })
    assert.equal(none.capabilities.driver, "none")
    assert.match((await none.health()).reason ?? "", reason)
  }
})

test("what a terminal makes of Ctrl-C is as the capability says, and Ctrl-C ends what it may", {
  skip,
}, async t => {
  const runtime = await openIn(await temporaryFolder(t))
  t.after(() => runtime[Symbol.asyncDispose]())
  const { terminalSignals, reasons } = runtime.capabilities
  assert.equal(terminalSignals, !reasons.some(reason => reason.includes("Ctrl-C")))
  const guest = await runtime.start(specOf())
  const script = "echo up; read line; echo character"
  const typed = await guest.exec({ argv: ["sh", "-c", script], terminal: { columns: 80, rows: 24 } })
  let heard = ""
  for await (const part of typed.stdout) {
    if (heard === "") typed.stdin.write("\x03\n")
    heard += part
  }
  assert.equal(heard.includes("character"), !terminalSignals, heard)
  assert.equal((await typed.exited).signal, terminalSignals ? "SIGINT" : null)
})
