/** Sandboxes whose disk stays, and the limits of both kinds. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const LASTING = { kind: "persistent", memory_mb: 512, vcpus: 1, disk_gb: 10 } as const

test("a persistent sandbox has no deadline, also after it was started again", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc, LASTING)
  assert.equal((await svc.sandboxes.get({ id })).expires_at, null)
  await svc.sandboxes.stop({ id })
  const started = await svc.sandboxes.start({ id })
  assert.deepEqual([started.status, started.stop_reason, started.expires_at], ["RUNNING", null, null])
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
})
