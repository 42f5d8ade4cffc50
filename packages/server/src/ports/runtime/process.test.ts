import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { chown, mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { eventually } from "../../testing/eventually.ts"
import { PortError } from "../port-error.ts"
import { persistent, processesWith, rejectsAs, shell, specOf } from "./conformance/fixture.ts"
import { runtimeConformance } from "./conformance.ts"
import { openProcessRuntime } from "./drivers/process/driver.ts"
import { openRuntime } from "./index.ts"

const log = () => undefined

/** Why nothing of this can be tested here; false when it can. */
const unable = async (): Promise<string | false> => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-runtime-"))
  try {
    await (await openProcessRuntime({ dataDir, log }))[Symbol.asyncDispose]()
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

if (skip) test("process keeps the promises of the runtime port", { skip }, () => undefined)
else
  runtimeConformance("process", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "svc-runtime-"))
    const runtime = await openProcessRuntime({ dataDir, log })
    return {
      ...runtime,
      async [Symbol.asyncDispose]() {
        await runtime[Symbol.asyncDispose]()
        await rm(dataDir, { recursive: true, force: true })
      },
    }
  })

const namesBelow = async (directory: string, name: RegExp): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true }).catch(() => [])).filter(path => name.test(path))

/** What workloads of these ids have left on this machine beside their disks. */
const tracesOf = async (ids: readonly string[], marker: string) => {
  const named = new RegExp(ids.join("|"))
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n")
  const loops = await Promise.all(
    (await readdir("/sys/block").catch(() => []))
      .filter(name => name.startsWith("loop"))
      .map(name => readFile(`/sys/block/${name}/loop/backing_file`, "utf8").catch(() => "")),
  )
  return {
    processes: (await processesWith(marker)).length,
    mounts: mounts.filter(line => named.test(line)).length,
    loops: loops.filter(path => named.test(path)).length,
    groups: (await namesBelow("/sys/fs/cgroup", new RegExp(`(${ids.join("|")})$`))).length,
  }
}
const nothing = { processes: 0, mounts: 0, loops: 0, groups: 0 }

const holdWorkloads = async (t: TestContext, ...words: readonly string[]): Promise<ChildProcess> => {
  const program = fileURLToPath(new URL("testing/holder.ts", import.meta.url))
  const child = spawn(process.execPath, [program, "process", ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  t.after(() => child.kill("SIGKILL"))
  assert.ok(child.stdout)
  await once(child.stdout, "data")
  return child
}

test("kill -9 of the platform ends its workloads, and the next one finds the disks and nothing else", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const [kept, other, frozen] = [randomUUID(), randomUUID(), randomUUID()]
  const child = await holdWorkloads(t, dataDir, marker, kept, other, frozen)
  const before = await tracesOf([kept, other, frozen], marker)
  assert.ok(before.processes > 6, JSON.stringify(before))
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
  await eventually("only the frozen one is there", async () => {
    const { processes, mounts, loops } = await tracesOf([kept, other], marker)
    return processes < before.processes / 2 && mounts + loops === 0
  })

  const runtime = await openProcessRuntime({ dataDir, log })
  t.after(() => runtime[Symbol.asyncDispose]())
  await eventually("nothing is left", async () => {
    const after = await tracesOf([kept, other, frozen], marker)
    return Object.entries(nothing).every(([name, count]) => after[name as keyof typeof nothing] === count)
  })
  assert.deepEqual(await runtime.list(), [kept])
  const again = await runtime.start(specOf({ id: kept, disk: { kind: "persistent", bytes: 32 * 2 ** 20 } }))
  assert.equal((await shell(again, "cat /workspace/file")).stdout, "kept\n")
  await runtime.destroy(kept)
  assert.deepEqual(await tracesOf([kept], marker), nothing)
  assert.deepEqual(await readdir(join(dataDir, "workloads", "disks")), [])
})

test("workloads that were used and destroyed leave no process, mount, group, device or file behind", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  const runtime = await openProcessRuntime({ dataDir, log })
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const specs = Array.from({ length: 10 }, (_, n) => specOf(n % 2 ? persistent : {}))
  await Promise.all(
    specs.map(async spec => {
      const guest = await runtime.start(spec)
      await shell(guest, `setsid sleep 1000${marker} & echo`)
      await runtime.destroy(spec.id)
    }),
  )
  assert.deepEqual(
    await tracesOf(
      specs.map(({ id }) => id),
      marker,
    ),
    nothing,
  )
  assert.deepEqual(await runtime.list(), [])
  await runtime[Symbol.asyncDispose]()
  assert.deepEqual(await namesBelow(dataDir, /./), [
    "workloads",
    "workloads/disks",
    "workloads/host-settings",
    "workloads/root",
  ])
})

test("closing ends what runs, and refuses what comes later", { skip }, async t => {
  const runtime = await openProcessRuntime({ dataDir: await temporaryFolder(t), log })
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const guest = await runtime.start(specOf())
  await guest.exec({ argv: ["/bin/sh", "-c", `trap "" TERM; sleep 1000${marker}; sleep 1000${marker}`] })
  await runtime[Symbol.asyncDispose]()
  assert.equal(await guest.ended, "stopped")
  assert.deepEqual(await processesWith(marker), [])
  await rejectsAs("unavailable", () => runtime.start(specOf()))
})

test("a launcher that dies takes its workloads with it, and another one takes its place", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  const runtime = await openProcessRuntime({ dataDir, log })
  t.after(() => runtime[Symbol.asyncDispose]())
  const spec = specOf()
  const guest = await runtime.start(spec)
  const [launcher] = await launchersIn(join(dataDir, "workloads"))
  assert.ok(launcher)
  process.kill(launcher, "SIGKILL")
  assert.equal(await guest.ended, "died")
  await rejectsAs("unavailable", () => guest.exec({ argv: ["true"] }))
  assert.equal((await shell(await runtime.start(spec), "echo again")).stdout, "again\n")
})

test("what the operator refuses or demands is not replaced by something weaker", { skip }, async t => {
  const dataDir = await temporaryFolder(t)
  for (const demand of ["auto", "process"] as const) {
    await using runtime = await openRuntime({ dataDir, log, demand, refusesWeak: true })
    assert.notEqual(runtime.capabilities.driver, "process")
    // This machine may have something stronger.
    if (runtime.capabilities.driver !== "none") continue
    await rejectsAs("unavailable", () => runtime.start(specOf()))
    assert.match((await runtime.health()).reason ?? "", /SVC_MODE=production.*SVC_RUNTIME/)
  }
})

const NOBODY = 65_534

test("where the kernel forbids namespaces the driver is refused, with the reason", {
  skip: skip || (process.getuid?.() !== 0 && "only root can become somebody else"),
}, async t => {
  const folder = await temporaryFolder(t)
  await chown(folder, NOBODY, NOBODY)
  const driver = new URL("drivers/process/driver.ts", import.meta.url).href
  const program = `const { openProcessRuntime } = await import(${JSON.stringify(driver)})
    await openProcessRuntime({ dataDir: ${JSON.stringify(folder)}, log() {} }).catch(error => console.log(error.kind, error.message))`
  const forbid = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
  const inner = [process.execPath, "--input-type=module", "-e", program]
  const args = ["--user", "--map-current-user", "--keep-caps", "--", "sh", "-c", forbid, "sh", ...inner]
  const child = spawn("unshare", args, { uid: NOBODY, gid: NOBODY, stdio: ["ignore", "pipe", "pipe"] })
  const [said, told] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (/EACCES/.test(said + told)) return t.skip("nobody may read the program")
  assert.match(said, /^refused this machine forbids what isolates processes: namespaces: /, told)
})

const asNobody =
  "to the letter|SIGKILL all|owner, mode|after a stop and a start|kill -9|mounted|installed in a computer|agent cannot|megabytes|takes all"

test("started by an ordinary user, workloads keep what does not take root", {
  skip: skip || (process.getuid?.() !== 0 && "only root can become somebody else"),
}, async t => {
  const folder = await temporaryFolder(t)
  await chown(folder, NOBODY, NOBODY)
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const args = ["--test", "--test-name-pattern", asNobody, fileURLToPath(import.meta.url)]
  const options = { uid: NOBODY, gid: NOBODY, env: { ...inherited, TMPDIR: folder } }
  const program = spawn(process.execPath, args, { ...options, stdio: ["ignore", "pipe", "inherit"] })
  t.after(() => program.kill("SIGKILL"))
  const [said, [code]] = await Promise.all([text(program.stdout), once(program, "close")])
  if (/EACCES/.test(said)) return t.skip("nobody may read the program")
  assert.equal(code, 0, said)
  assert.match(said, /pass [1-9]\d/)
})

const launchersIn = async (directory: string): Promise<readonly number[]> => {
  const launchers = await processesWith("svc-launcher")
  const places = await Promise.all(launchers.map(pid => readlink(`/proc/${pid}/cwd`).catch(() => "")))
  return launchers.filter((_, index) => places[index] === directory)
}
