/** Sandboxes whose disk stays, and the limits of both kinds. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const LASTING = { kind: "persistent", memory_mb: 512, vcpus: 1, disk_gb: 10 } as const

test("a persistent sandbox keeps its disk over stop and start, and an ephemeral one keeps nothing", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc, { ...LASTING, env: { COLOR: "red" } })
  assert.equal((await svc.sandboxes.get({ id })).expires_at, null)
  await svc.sandboxes.writeFiles({ id, files: [{ path: "kept.txt", content: "kept" }] })

  const stopped = await svc.sandboxes.stop({ id })
  assert.deepEqual([stopped.status, stopped.stop_reason], ["STOPPED", "stopped"])
  assert.equal((await svc.sandboxes.stop({ id })).status, "STOPPED")
  await assert.rejects(
    svc.sandboxes.runCommand({ id, command: "true" }),
    refusedAs("sandbox_not_running", 400),
  )

  const started = await svc.sandboxes.start({ id })
  assert.deepEqual([started.status, started.stop_reason, started.stopped_at], ["RUNNING", null, null])
  assert.equal((await svc.sandboxes.start({ id })).status, "RUNNING")
  const ran = await svc.sandboxes.runCommand({ id, command: "cat kept.txt; echo $COLOR" })
  assert.equal(ran.stdout, "keptred\n")
  await svc.sandboxes.delete({ id })
  await assert.rejects(svc.sandboxes.start({ id }), refusedAs("sandbox_not_found", 404))
})

test("what a kind may not have is 402, and too little of it 400", async t => {
  const p = await platform(t)
  const { sandboxes } = await p.client("acme", ...SANDBOX_SCOPES)
  for (const input of [
    { memory_mb: 4_097 },
    { vcpus: 2.25 },
    { disk_gb: 2 },
    { timeout_seconds: 301 },
    { ...LASTING, memory_mb: 16_385 },
    { ...LASTING, vcpus: 8.25 },
    { ...LASTING, disk_gb: 101 },
  ]) {
    await assert.rejects(sandboxes.create(input), refusedAs("plan_limit_reached", 402), JSON.stringify(input))
  }
  for (const input of [
    { memory_mb: 255 },
    { vcpus: 0.25 },
    { ...LASTING, memory_mb: 511 },
    { ...LASTING, vcpus: 0.5 },
    { ...LASTING, disk_gb: 9 },
  ]) {
    await assert.rejects(
      sandboxes.create(input),
      refusedAs("invalid_resource_shape", 400),
      JSON.stringify(input),
    )
  }
  for (const input of [
    { timeout_seconds: 0 },
    { env: { "A=B": "x" } },
    { labels: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`l${n}`, "x"])) },
    { network: { mode: "custom" as const, allow: ["not a name"] } },
    { network: { mode: "custom" as const, allow: ["1.2.3.4/33"] } },
    { network: { mode: "custom" as const, deny: ["1.2.3/8"] } },
    { network: { mode: "deny_all" as const, deny: ["10.0.0.0/8"] } },
  ]) {
    await assert.rejects(sandboxes.create(input), refusedAs("invalid_parameter", 400), JSON.stringify(input))
  }
  assert.equal((await sandboxes.list()).total, 0)
})

test("nothing weaker than demanded is given: isolation and network that are not there are 501", async t => {
  const p = await platform(t)
  const { sandboxes } = await p.client("acme", ...SANDBOX_SCOPES)
  await assert.rejects(
    sandboxes.create({ isolation: "microvm" }),
    refusedAs("isolation_tier_unavailable", 501),
  )
  await assert.rejects(
    sandboxes.create({ network: { mode: "allow_all" } }),
    refusedAs("not_implemented", 501),
  )
  const { id, network } = await sandboxes.create({ ...SMALL, isolation: "process" })
  assert.equal(network.mode, "deny_all")
  await assert.rejects(sandboxes.snapshot({ id }), refusedAs("snapshots_unavailable", 501))
})

test("lists are newest first, by page, state in either case and kind, and each project has its own", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const globex = await p.client("globex", ...SANDBOX_SCOPES)
  const first = await runningSandbox(svc)
  await p.clock.advance(1)
  const second = await runningSandbox(svc)
  await svc.sandboxes.stop({ id: first })
  const ids = async (input: Parameters<typeof svc.sandboxes.list>[0]) => {
    const { sandboxes, total } = await svc.sandboxes.list(input)
    return [total, ...sandboxes.map(({ id }) => id)]
  }
  assert.deepEqual(await ids({}), [2, second, first])
  assert.deepEqual(await ids({ limit: 1, offset: 1 }), [2, first])
  assert.deepEqual(await ids({ status: "stopped" }), [1, first])
  assert.deepEqual(await ids({ status: "RUNNING", kind: "ephemeral" }), [1, second])
  assert.deepEqual(await ids({ kind: "persistent" }), [0])
  await assert.rejects(ids({ status: "asleep" }), refusedAs("validation_failed", 400))

  assert.equal((await globex.sandboxes.list()).total, 0)
  for (const act of [
    () => globex.sandboxes.runCommand({ id: second, command: "true" }),
    () => globex.sandboxes.streamCommand({ id: second, command: "true" }),
    () => globex.sandboxes.metrics({ id: second }),
  ]) {
    await assert.rejects(act(), refusedAs("sandbox_not_found", 404))
  }
})

test("a key of the whole organization has sandboxes beside those of its projects", async t => {
  const p = await platform(t)
  const inProject = await p.client("acme", ...SANDBOX_SCOPES)
  const wide = p.as((await p.key("acme", SANDBOX_SCOPES, { project_id: null })).secret)
  const id = await runningSandbox(wide)
  assert.equal((await wide.sandboxes.get({ id })).project_id, null)
  await assert.rejects(inProject.sandboxes.get({ id }), refusedAs("sandbox_not_found", 404))
  await assert.rejects(
    inProject.sandboxes.runCommand({ id, command: "true" }),
    refusedAs("sandbox_not_found", 404),
  )
})
