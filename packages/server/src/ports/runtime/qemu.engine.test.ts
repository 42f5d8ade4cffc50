import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { rmSync } from "node:fs"
import { mkdtemp, readdir, readFile, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { eventually } from "../../testing/eventually.ts"
import { PortError } from "../port-error.ts"
import { rejectsAs, shell, specOf } from "./conformance/fixture.ts"
import { runtimeConformance } from "./conformance.ts"
import { openQemuRuntime } from "./drivers/qemu/driver.ts"
import { openRuntime } from "./index.ts"

const log = () => undefined
/** A folder for all, with one template in it, and the kernel that the operator names. */
const dataDir = await mkdtemp(join(tmpdir(), "svc-runtime-"))
process.on("exit", () => rmSync(dataDir, { recursive: true, force: true }))
const { SVC_QEMU_KERNEL: named } = process.env
const qemuKernel = named === undefined ? {} : { qemuKernel: named }
const open = () => openQemuRuntime({ dataDir, log, isDemanded: true, ...qemuKernel })

const NO_START = "no guest of QEMU's starts here"

/** Why nothing of this can be tested here; false when it can, and then there is a template. */
const unable = async (): Promise<string | false> => {
  try {
    await (await open())[Symbol.asyncDispose]()
    return false
  } catch (error) {
    // Emulated it starts wherever all that it needs is: that it does not is no lack of the machine's.
    const isLacking =
      error instanceof PortError && error.kind === "refused" && !error.message.includes(NO_START)
    if (isLacking) return error.message
    throw error
  }
}
const skip = await unable()

if (skip) test("qemu keeps the promises of the runtime port", { skip }, () => undefined)
// An emulated guest has one of two processors.
else runtimeConformance("qemu", open, 2)

/** Processes of users that no one but workloads has. */
const ofWorkloads = async (marker: string): Promise<number> => {
  const pids = (await readdir("/proc")).filter(name => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async pid => {
      const [status, groups] = await Promise.all(
        ["status", "cgroup"].map(name => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")),
      )
      return /^Uid:\t19\d{8}\t/m.test(status ?? "") && (groups ?? "").includes(marker)
    }),
  )
  return found.filter(Boolean).length
}

test("guests are unlike each other and unlike this machine, though they begin as copies of one", {
  skip,
}, async t => {
  const runtime = await open()
  t.after(() => runtime[Symbol.asyncDispose]())
  const told = async (hostname: string) => {
    const spec = specOf({ hostname })
    const guest = await runtime.start(spec)
    assert.ok((await ofWorkloads(spec.id)) >= 2, "QEMU and who serves it are nobody else")
    const script =
      "uname -r; hostname; cat /proc/sys/kernel/random/boot_id; head -c 16 /dev/urandom | od -An -tx1; date +%s"
    const { stdout } = await shell(guest, script)
    return stdout.trim().split("\n")
  }
  const [one, two] = [await told("one"), await told("two")]
  const own = (await readFile("/proc/sys/kernel/osrelease", "utf8")).trim()
  assert.notEqual(one[0], own)
  assert.equal(one[0], two[0])
  for (const index of [1, 2, 3]) assert.notEqual(one[index], two[index])
  assert.ok(Math.abs(Number(two[4]) - Date.now() / 1000) < 60, `${two[4]}`)
})

/** Those that there are, each as the file that tells it from one made anew. */
const templates = async (): Promise<readonly string[]> => {
  const directory = join(dataDir, "workloads", "templates")
  const paths = (await readdir(directory, { recursive: true })).filter(path => path.endsWith("/state"))
  return await Promise.all(
    paths.sort().map(async path => `${path} ${(await stat(join(directory, path))).ino}`),
  )
}

test("what has been booted once serves the next platform too", { skip }, async () => {
  const before = await templates()
  assert.notEqual(before.length, 0)
  await (await open())[Symbol.asyncDispose]()
  assert.deepEqual(await templates(), before)
})

test("kill -9 of the platform ends its guests, and the next one finds what they had written", {
  skip,
}, async t => {
  const [kept, other, frozen] = [randomUUID(), randomUUID(), randomUUID()]
  const program = fileURLToPath(new URL("testing/holder.ts", import.meta.url))
  const child = spawn(process.execPath, [program, "qemu", dataDir, ".5", kept, other, frozen], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  t.after(() => child.kill("SIGKILL"))
  await once(child.stdout, "data")
  assert.ok((await ofWorkloads(kept)) >= 2)
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
  const isGone = async (id: string) => (await ofWorkloads(id)) === 0
  await eventually("only the frozen one is there", async () => (await isGone(kept)) && (await isGone(other)))
  const runtime = await open()
  t.after(() => runtime[Symbol.asyncDispose]())
  await eventually("nothing is left", () => isGone(frozen))
  assert.deepEqual(await runtime.list(), [kept])
  const again = await runtime.start(specOf({ id: kept, disk: { kind: "persistent", bytes: 32 * 2 ** 20 } }))
  assert.equal((await shell(again, "cat /workspace/file")).stdout, "kept\n")
  await runtime.destroy(kept)
  assert.deepEqual(await runtime.list(), [])
})

test("a guest that is emulated has to be named, and where there is no kernel for guests that is said", {
  skip: skip || (process.getuid?.() !== 0 && "it takes root"),
}, async () => {
  const given = { dataDir, log, refusesWeak: true }
  await using runtime = await openRuntime({ ...given, ...qemuKernel, demand: "qemu" })
  const { isolation } = runtime.capabilities
  if (isolation === "microvm-emulated")
    await rejectsAs("refused", () => openQemuRuntime({ dataDir, log, isDemanded: false, ...qemuKernel }))
  await using none = await openRuntime({ ...given, qemuKernel: "/nonexistent", demand: "qemu" })
  assert.match((await none.health()).reason ?? "", /linux-image-cloud-amd64.*SVC_QEMU_KERNEL/)
})
