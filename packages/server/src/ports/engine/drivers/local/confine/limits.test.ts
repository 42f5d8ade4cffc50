import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { createResourceGroups, detectResourceGroups } from "./limits.ts"

const VOLUME = "0b8f7a52-6f5e-4f0e-9a64-8d2f5f2d3c11"

/** A tree of plain files: what is written can be read, though nothing is limited by it. */
const fakeParent = (t: TestContext): string => {
  const directory = mkdtempSync(join(tmpdir(), "svc-groups-"))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

const filesOf = (directory: string): Record<string, string> =>
  Object.fromEntries(readdirSync(directory).map(name => [name, readFileSync(join(directory, name), "utf8")]))

test("a volume's group has the limits in the kernel's units before the process is in it", async t => {
  const parent = fakeParent(t)
  const groups = createResourceGroups(parent)
  await groups.admit(VOLUME, 4711, { memoryBytes: 2 ** 30, cpus: 1.5, processesMax: 256 })
  assert.deepEqual(filesOf(join(parent, VOLUME)), {
    "memory.max": "1073741824",
    "memory.swap.max": "0",
    "cpu.max": "150000 100000",
    "pids.max": "256",
    "cgroup.procs": "4711",
  })
  await groups.admit(VOLUME, 4712, { memoryBytes: 2 ** 20 + 0.5, cpus: 0.001, processesMax: 64 })
  const files = filesOf(join(parent, VOLUME))
  assert.equal(files["memory.max"], "1048576")
  assert.equal(files["cpu.max"], "1000 100000")
  assert.equal(files["cgroup.procs"], "4712")
})

test("a process is not admitted when a limit cannot be set", async t => {
  const parent = fakeParent(t)
  mkdirSync(join(parent, VOLUME, "cpu.max"), { recursive: true })
  await assert.rejects(
    createResourceGroups(parent).admit(VOLUME, 4711, { memoryBytes: 2 ** 30, cpus: 1, processesMax: 10 }),
    { name: "PortError", kind: "unavailable" },
  )
  assert.ok(!readdirSync(join(parent, VOLUME)).includes("cgroup.procs"))
})

test("removing a group that does not exist does nothing", async t => {
  const parent = fakeParent(t)
  const groups = createResourceGroups(parent)
  mkdirSync(join(parent, VOLUME))
  await groups.remove(VOLUME)
  assert.deepEqual(readdirSync(parent), [])
  await groups.remove(VOLUME)
})

test("an id that is no plain name reaches no other directory", async t => {
  const groups = createResourceGroups(join(fakeParent(t), "inner"))
  for (const id of ["..", ".", "", "a/b", "../x", "-x", "a\0"]) {
    await assert.rejects(groups.remove(id), { name: "PortError", kind: "refused" }, id)
    await assert.rejects(groups.admit(id, 1, { memoryBytes: 1, cpus: 1, processesMax: 1 }), {
      kind: "refused",
    })
  }
})

test("without a directory of cgroup v2 the reason is told and nothing is made", async t => {
  const parent = fakeParent(t)
  writeFileSync(join(parent, "cgroup.controllers"), "cpu memory pids")
  assert.match(await reasonOf(join(parent, "svc")), /not in a cgroup v2|no control groups/)
  assert.deepEqual(readdirSync(parent), ["cgroup.controllers"])
  assert.match(await reasonOf(undefined), /is set|no control groups/)
  assert.match(await reasonOf("/no/such/place"), /ENOENT|no control groups/)
})

const reasonOf = async (parentDir: string | undefined): Promise<string> => {
  const found = await detectResourceGroups(parentDir)
  return found.groups ? "works" : found.reason
}

const hierarchy = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].find(directory => {
  try {
    return statfsSync(directory).type === 0x63677270
  } catch {
    return false
  }
})
const testParent = hierarchy && join(hierarchy, `svc-test-${process.pid}`)

const waitingProcess = async (t: TestContext) => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" })
  const exited = once(child, "exit")
  t.after(() => child.kill("SIGKILL"))
  await once(child, "spawn")
  return { pid: child.pid as number, exited }
}

test("removing a real group ends what is left in it", async t => {
  if (!testParent) return t.skip("no cgroup v2 here")
  const group = join(testParent, VOLUME)
  const { pid, exited } = await waitingProcess(t)
  t.after(() => existsSync(testParent) && rmdirSync(testParent))
  try {
    mkdirSync(group, { recursive: true })
    writeFileSync(join(group, "cgroup.procs"), String(pid))
  } catch (error) {
    return t.skip(`control groups cannot be made here: ${error}`)
  }
  await createResourceGroups(testParent).remove(VOLUME)
  assert.equal((await exited)[1], "SIGKILL")
  assert.ok(!existsSync(group))
})

test("a process in a real group has its limits", async t => {
  const found = await detectResourceGroups(testParent)
  if (!testParent || !found.groups) return t.skip(found.groups ? "no cgroup v2" : `not here: ${found.reason}`)
  const { groups } = found
  t.after(async () => {
    await groups.remove(VOLUME)
    rmdirSync(testParent)
  })
  const { pid } = await waitingProcess(t)
  await groups.admit(VOLUME, pid, { memoryBytes: 2 ** 26, cpus: 0.5, processesMax: 8 })
  const read = (name: string) => readFileSync(join(testParent, VOLUME, name), "utf8").trim()
  assert.deepEqual(["memory.max", "cpu.max", "pids.max", "cgroup.procs"].map(read), [
    String(2 ** 26),
    "50000 100000",
    "8",
    String(pid),
  ])
})
