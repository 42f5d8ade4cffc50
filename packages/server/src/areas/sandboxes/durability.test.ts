/** What a kill of the platform leaves of sandboxes and computers: what should run runs again, and nothing else is left. */

import assert from "node:assert/strict"
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { createSvc, type Svc } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { readFirstRun, type SvcProcess, spawnSvc } from "../../testing/process.ts"
import { runningSandbox, SMALL } from "./testing/sandboxes.ts"

const connect = async (svc: SvcProcess): Promise<Svc> => {
  const baseUrl = await svc.ready
  return createSvc({ baseUrl, apiKey: readFirstRun(svc.dataDir).api_key, retries: 0 })
}

/** Processes in whose arguments the mark stands: what tests start in workloads carries one. */
const marked = (mark: string): number =>
  readdirSync("/proc").filter(pid => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return (
        readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(mark) &&
        readlinkSync(`/proc/${pid}/exe`) !== ""
      )
    } catch {
      return false
    }
  }).length

const mounts = (dataDir: string): number =>
  readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .filter(line => line.includes(dataDir)).length

const disks = (dataDir: string): string[] => readdirSync(join(dataDir, "workloads", "disks")).sort()

const LASTING = { kind: "persistent", memory_mb: 512, vcpus: 1 } as const
const COMPUTER = { memory_mb: 256, vcpus: 0.5, disk_gb: 1 } as const

/** A computer with a file, and something that runs in it. */
const newComputer = async ({ computers }: Svc, name: string, mark: string) => {
  const { id } = await computers.create({ name, ...COMPUTER })
  await computers.exec({ id, command: "echo kept > ~/kept" })
  await computers.exec({ id, command: `sh -c 'sleep 1000; : ${mark}' &` })
  return id
}

test("after a kill of the platform what ran for good runs again, the rest has ended, and nothing is left", async t => {
  const mark = `mark-${process.pid}`
  let platform = spawnSvc(t)
  let svc = await connect(platform)
  const running = await newComputer(svc, "running", mark)
  const stopped = await newComputer(svc, "stopped", mark)
  await svc.computers.stop({ id: stopped })
  const lasting = await runningSandbox(svc, LASTING)
  await svc.sandboxes.runCommand({ id: lasting, command: "echo kept > kept" })
  const brief = await runningSandbox(svc, { ...SMALL, idle_timeout_seconds: 0 })
  const busy = svc.sandboxes
    .runCommand({ id: brief, command: `sh -c 'trap "" TERM HUP; sleep 1000; : ${mark}'` })
    .catch(() => undefined)
  await eventually("the commands run", () => marked(mark) >= 2)

  platform.signal("SIGKILL")
  await platform.exited
  await busy
  await eventually("no process of a workload outlives the platform", () => marked(mark) === 0)

  platform = spawnSvc(t, { dataDir: platform.dataDir })
  svc = await connect(platform)
  assert.equal((await svc.computers.exec({ id: running, command: "cat ~/kept" })).stdout, "kept\n")
  assert.equal((await svc.computers.get({ id: running })).status, "RUNNING")
  assert.equal((await svc.computers.get({ id: stopped })).status, "STOPPED")
  assert.equal((await svc.sandboxes.runCommand({ id: lasting, command: "cat kept" })).stdout, "kept\n")
  assert.equal((await svc.sandboxes.get({ id: lasting })).status, "RUNNING")
  const ended = await svc.sandboxes.get({ id: brief })
  assert.deepEqual([ended.status, ended.stop_reason], ["STOPPED", "host_lost"])
  const kept = [running, stopped, lasting]
  await eventually("only disks that stay are there", () =>
    disks(platform.dataDir).every(name => kept.some(id => name.startsWith(id))),
  )

  await svc.computers.start({ id: stopped })
  assert.equal((await svc.computers.exec({ id: stopped, command: "cat ~/kept" })).stdout, "kept\n")
  for (const id of [running, stopped]) await svc.computers.delete({ id })
  await svc.sandboxes.delete({ id: lasting })
  assert.deepEqual(disks(platform.dataDir), [])
  assert.deepEqual(await platform.stop(), { code: 0, signal: null })
  assert.equal(marked(mark), 0)
  assert.equal(mounts(platform.dataDir), 0)
})

test("a kill while machines are made leaves every one that was answered, and no disk without a record", async t => {
  let platform = spawnSvc(t)
  let svc = await connect(platform)
  const told: string[] = []
  const make = async (n: number) => {
    const { id } = await svc.computers.create({ name: `c${n}`, ...COMPUTER })
    told.push(id)
    if (told.length === 3) platform.signal("SIGKILL")
  }
  await Promise.allSettled(Array.from({ length: 8 }, (_, n) => make(n)))
  await platform.exited

  platform = spawnSvc(t, { dataDir: platform.dataDir })
  svc = await connect(platform)
  const all = () => svc.computers.list()
  const { computers } = await eventually("all that are on record run", all, list =>
    list.computers.every(({ status }) => status === "RUNNING"),
  )
  const ids = computers.map(({ id }) => id)
  for (const id of told) assert.ok(ids.includes(id), id)
  await eventually("no disk is without a record", () =>
    disks(platform.dataDir).every(name => ids.some(id => name.startsWith(id))),
  )
  assert.deepEqual(await platform.stop(), { code: 0, signal: null })
})
