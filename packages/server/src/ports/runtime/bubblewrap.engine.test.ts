import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { chown, mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { eventually } from "../../testing/eventually.ts"
import { PortError } from "../port-error.ts"
import { perl, persistent, processesWith, rejectsAs, shell, specOf } from "./conformance/fixture.ts"
import { runtimeConformance } from "./conformance.ts"
import { openBubblewrapRuntime } from "./drivers/bubblewrap/driver.ts"
import { openProcessRuntime } from "./drivers/process/driver.ts"
import { openRuntime } from "./index.ts"

const log = () => undefined

const makeFolder = () => mkdtemp(join(tmpdir(), "svc-runtime-"))

/** Why nothing of this can be tested here; false when it can. */
const unable = async (): Promise<string | false> => {
  const dataDir = await makeFolder()
  try {
    await (await openBubblewrapRuntime({ dataDir, log }))[Symbol.asyncDispose]()
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
  const folder = await makeFolder()
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

if (skip) test("bubblewrap keeps the promises of the runtime port", { skip }, () => undefined)
else
  runtimeConformance("bubblewrap", async () => {
    const dataDir = await makeFolder()
    const runtime = await openBubblewrapRuntime({ dataDir, log })
    return {
      ...runtime,
      async [Symbol.asyncDispose]() {
        await runtime[Symbol.asyncDispose]()
        await rm(dataDir, { recursive: true, force: true })
      },
    }
  })

test("the agent is under the filter of system calls too, can gain no rights, and is alone with its commands", {
  skip,
}, async t => {
  const runtime = await openBubblewrapRuntime({ dataDir: await temporaryFolder(t), log })
  t.after(() => runtime[Symbol.asyncDispose]())
  const guest = await runtime.start(specOf())
  const status = (await shell(guest, "cat /proc/1/status")).stdout
  const field = (name: string) => new RegExp(`^${name}:\\t(.*)$`, "m").exec(status)?.[1]
  assert.deepEqual([field("Seccomp"), field("NoNewPrivs")], ["2", "1"])
  assert.deepEqual([field("CapBnd"), field("CapInh")], [field("CapEff"), "0".repeat(16)])
  // CAP_SYS_ADMIN
  assert.equal(Number.parseInt(field("CapEff") ?? "", 16) & (1 << 21), 0)
  // Beside it and its command none that the launcher or bwrap started.
  const count = 'opendir my $d, "/proc"; print scalar grep { /^\\d+$/ } readdir $d'
  assert.equal((await perl(guest, count)).stdout, "2")
})

/** What workloads of these ids have left on this machine beside their disks. */
const tracesOf = async (marker: string, ...ids: readonly string[]): Promise<readonly string[]> => {
  const named = new RegExp(ids.join("|"))
  const places = await readdir("/sys/fs/cgroup", { recursive: true }).catch(() => [])
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n")
  const loops = await Promise.all(
    (await readdir("/sys/block").catch(() => []))
      .filter(name => name.startsWith("loop"))
      .map(name => readFile(`/sys/block/${name}/loop/backing_file`, "utf8").catch(() => "")),
  )
  const groups = places.filter(path => ids.some(id => path.endsWith(id)))
  return [
    ...[...groups, ...mounts, ...loops].filter(line => named.test(line)),
    ...(await processesWith(marker)).map(String),
  ]
}

test("kill -9 of the platform ends its workloads, and the next one finds the disks and nothing else", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const ids = [randomUUID(), randomUUID(), randomUUID()] as const
  const [kept, , frozen] = ids
  const program = fileURLToPath(new URL("testing/holder.ts", import.meta.url))
  const words = [program, "bubblewrap", dataDir, marker, ...ids]
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] })
  t.after(() => child.kill("SIGKILL"))
  const exited = once(child, "exit")
  const [said] = await Promise.race([once(child.stdout, "data"), exited])
  assert.equal(String(said), "ready\n")
  child.kill("SIGKILL")
  await exited
  await eventually("only the frozen one is there", async () => {
    const groups = (await processesWith(marker)).map(pid => readFile(`/proc/${pid}/cgroup`, "utf8"))
    return (await Promise.allSettled(groups)).every(
      group => group.status === "rejected" || group.value.includes(frozen),
    )
  })

  const runtime = await openBubblewrapRuntime({ dataDir, log })
  t.after(() => runtime[Symbol.asyncDispose]())
  await eventually("nothing is left", async () => (await tracesOf(marker, ...ids)).length === 0)
  assert.deepEqual(await runtime.list(), [kept])
  const again = await runtime.start(specOf({ id: kept, disk: { kind: "persistent", bytes: 32 * 2 ** 20 } }))
  assert.equal((await shell(again, "cat /workspace/file")).stdout, "kept\n")
  await runtime.destroy(kept)
  await eventually("nothing is left", async () => (await tracesOf(marker, kept)).length === 0)
})

test("a disk goes from one driver to the other and back, with its owners", { skip }, async t => {
  const dataDir = await temporaryFolder(t)
  const spec = specOf(persistent)
  const owners = `perl -e 'print join " ", map { (stat)[4] } @ARGV'`
  for (const open of [openProcessRuntime, openBubblewrapRuntime, openProcessRuntime]) {
    await using runtime = await open({ dataDir, log })
    const guest = await runtime.start(spec)
    const told = await shell(guest, `echo x >>file && wc -l <file && ${owners} file /workspace /etc/passwd`)
    assert.match(told.stdout, /^\d\n(1000 1000 0|1000 1000 1000)$/, told.stderr)
    await runtime.stop(spec.id, 5_000)
  }
})

test("bubblewrap is refused for production, by name and by choice, for its workloads share the machine's kernel", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  await using runtime = await openRuntime({ dataDir, log, demand: "bubblewrap", refusesWeak: true })
  assert.equal(runtime.capabilities.driver, "none")
  await rejectsAs("unavailable", () => runtime.start(specOf()))
  await using named = await openRuntime({ dataDir, log, demand: "bubblewrap", refusesWeak: false })
  assert.deepEqual([named.capabilities.driver, named.capabilities.isolation], ["bubblewrap", "process"])
})

const NOBODY = 65_534
const asNobody =
  "to the letter|SIGKILL all|owner, mode|after a stop and a start|kill -9|mounted|agent|megabytes|takes all|other driver"

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
