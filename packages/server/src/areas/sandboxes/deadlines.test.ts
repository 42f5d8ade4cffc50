/** When sandboxes end by themselves, and what is on record of it. */

import assert from "node:assert/strict"
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES } from "./testing/sandboxes.ts"

const SECOND = 1_000

const open = async (p: TestPlatform) => await p.client("acme", ...SANDBOX_SCOPES)

test("a sandbox ends within a second of its hard deadline, however busy it is", async t => {
  const p = await platform(t)
  const svc = await open(p)
  const id = await runningSandbox(svc, { timeout_seconds: 60, idle_timeout_seconds: 0 })
  const busy = svc.sandboxes.runCommand({ id, command: "sleep 1000" })
  const refused = assert.rejects(busy, refusedAs("sandbox_not_running", 400))

  await p.clock.advance(59 * SECOND)
  assert.equal((await svc.sandboxes.get({ id })).status, "RUNNING")
  await p.clock.advance(SECOND)

  const ended = await svc.sandboxes.get({ id })
  assert.deepEqual([ended.status, ended.stop_reason, ended.expires_at], ["STOPPED", "deadline", null])
  const lived = Date.parse(ended.stopped_at ?? "") - Date.parse(ended.started_at ?? "")
  assert.ok(lived >= 60_000 && lived < 61_000, `${lived}`)
  await refused
  for (const act of [
    () => svc.sandboxes.runCommand({ id, command: "true" }),
    () => svc.sandboxes.extend({ id, duration_seconds: 60 }),
    () => svc.sandboxes.metrics({ id }),
    () => svc.sandboxes.readFile({ id, path: "tmp/x" }),
    () => svc.sandboxes.writeFiles({ id, files: [{ path: "x", content: "x" }] }),
    () => svc.sandboxes.putFile({ id, path: "tmp/x" }, { body: "x" }),
    () => svc.sandboxes.streamCommand({ id, command: "true" }),
  ]) {
    await assert.rejects(act(), refusedAs("sandbox_not_running", 400))
  }
})

test("extending adds to the deadline, up to the longest timeout of an ephemeral one from now", async t => {
  const p = await platform(t)
  const svc = await open(p)
  const id = await runningSandbox(svc, { timeout_seconds: 100, idle_timeout_seconds: 0 })
  const { expires_at } = await svc.sandboxes.get({ id })
  const begin = Date.parse(expires_at ?? "")
  const extend = async (duration_seconds: number) => {
    const { expires_at, granted_seconds } = await svc.sandboxes.extend({ id, duration_seconds })
    return [(Date.parse(expires_at ?? "") - begin) / SECOND, granted_seconds]
  }

  assert.deepEqual(await extend(50), [50, 50])
  assert.deepEqual(await extend(1000), [200, 150])
  assert.deepEqual(await extend(1000), [200, 0])
  await p.clock.advance(10 * SECOND)
  assert.deepEqual(await extend(5), [205, 5])
  await p.clock.advance(280 * SECOND)
  assert.equal((await svc.sandboxes.get({ id })).status, "RUNNING")
  await p.clock.advance(20 * SECOND)
  assert.equal((await svc.sandboxes.get({ id })).stop_reason, "deadline")

  const lasting = await runningSandbox(svc, { kind: "persistent", memory_mb: 512, vcpus: 1 })
  const without = await svc.sandboxes.extend({ id: lasting, duration_seconds: 5 })
  assert.deepEqual([without.expires_at, without.granted_seconds], [null, null])
})

test("a command that eats its memory is killed alone", async t => {
  const p = await platform(t)
  const svc = await open(p)
  const id = await runningSandbox(svc)
  const ran = await svc.sandboxes.runCommand({
    id,
    command: "head -c 2000000000 /dev/zero | tail",
    timeout_seconds: 30,
  })
  assert.notEqual(ran.exit_code, 0)
  assert.equal((await svc.sandboxes.runCommand({ id, command: "echo alive" })).stdout, "alive\n")
})

test("a sandbox that has ended is forgotten after a day", async t => {
  const p = await platform(t)
  const svc = await open(p)
  const id = await runningSandbox(svc)
  await svc.sandboxes.stop({ id })
  assert.equal((await svc.sandboxes.list()).total, 1)
  await p.clock.advance(26 * 3_600 * SECOND)
  await eventually(
    "it is forgotten",
    () => svc.sandboxes.list(),
    ({ total }) => total === 0,
  )
})

/** The first process of the workload in which a process has the mark in its arguments. */
const initOf = (mark: string): number => {
  const pids = readdirSync("/proc").filter(name => /^\d+$/.test(name))
  const read = (path: string, how: (path: string) => string): string => {
    try {
      return how(path)
    } catch {
      return ""
    }
  }
  const text = (path: string) => read(path, path => readFileSync(path, "latin1"))
  const namespace = (pid: string) => read(`/proc/${pid}/ns/pid`, readlinkSync)
  const marked = pids.find(pid => text(`/proc/${pid}/cmdline`).split("\0").includes(mark)) ?? ""
  const wanted = namespace(marked)
  return Number(
    pids.find(pid => namespace(pid) === wanted && /^NSpid:.*\t1$/m.test(text(`/proc/${pid}/status`))),
  )
}

test("a sandbox that dies by itself says so, gives its place back and leaves nothing", async t => {
  const p = await platform(t, { env: { SVC_WORKLOADS_MAX: "1" } })
  const svc = await open(p)
  const id = await runningSandbox(svc)
  const mark = `mark-${id}`
  await svc.sandboxes.runCommand({ id, command: ["sh", "-c", "sh -c 'sleep 1000; true' sh $0 &", mark] })
  process.kill(initOf(mark), "SIGKILL")
  const ended = await eventually(
    "it has ended",
    () => svc.sandboxes.get({ id }),
    ({ status }) => status === "STOPPED",
  )
  assert.equal(ended.stop_reason, "error")
  await runningSandbox(svc)
})
