import assert from "node:assert/strict"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { openGroups } from "./groups.ts"
import { hierarchies } from "./hierarchies.ts"

const limits = { memoryBytes: 2 ** 28, vcpus: 0.5, processesMax: 64 }

/** A folder with the files of a hierarchy: what is written can be read, what the kernel would do is not done. */
const hierarchy = async (t: TestContext, files: Readonly<Record<string, string>>): Promise<string> => {
  const root = await mkdtemp(join(tmpdir(), "svc-groups-"))
  t.after(() => rm(root, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true })
    await writeFile(join(root, path), content)
  }
  return root
}

test("cgroup v2: one group has all limits, and is asked what was used", async t => {
  const root = await hierarchy(t, { "cgroup.controllers": "cpu memory pids" })
  await mkdir(join(root, "svc", "folder", "w1"), { recursive: true })
  const { used } = await hierarchies(root, "svc/folder")
  const [only] = used
  assert.ok(only)
  const group = join(only.parentDir, "w1")
  await writeFile(join(group, "memory.swap.max"), "max")
  await only.limit(group, limits)
  const read = (file: string) => readFile(join(group, file), "utf8")
  assert.deepEqual(await Promise.all(["memory.max", "memory.swap.max", "cpu.max", "pids.max"].map(read)), [
    ...["268435456", "0", "50000 100000", "65"],
  ])
  assert.equal(await readFile(join(root, "svc", "cgroup.subtree_control"), "utf8"), "+cpu +memory +pids")
  await writeFile(join(group, "cpu.stat"), "usage_usec 1500000\nuser_usec 1\n")
  await writeFile(join(group, "memory.current"), "9000\n")
  await writeFile(join(group, "memory.stat"), "anon 1\ninactive_file 4000\n")
  await writeFile(join(group, "memory.events"), "low 0\noom 2\noom_kill 3\n")
  await writeFile(join(group, "pids.current"), "4\n")
  const told = { cpuMs: 1500, memoryBytes: 5000, memoryPeakBytes: 9000, outOfMemoryKills: 3, processes: 4 }
  assert.deepEqual(await only.stats(group), told)
  // As if the workload had taken more between one file and the next.
  await writeFile(join(group, "memory.peak"), "8000\n")
  assert.deepEqual(await only.stats(group), told)
  await only.freeze?.(group)
  assert.equal(await read("cgroup.freeze"), "1")
})

test("where there are no control groups nothing is enforced, and why is told", async t => {
  const groups = await openGroups("folder", await hierarchy(t, {}))
  assert.deepEqual(groups.limits, { memory: false, cpu: false, processes: false })
  assert.equal(groups.freeze, false)
  assert.match(groups.reasons.join(), /no control groups for memory/)
  const group = await groups.create("w1", limits)
  assert.deepEqual(group.joinFiles, [])
  await group.remove()
  assert.deepEqual(await groups.list(), [])
})
