/** Where sandboxes run: what room there is, and what becomes of them when their host is gone. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { eventually, refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const full = refusedAs("no_host_capacity", 503)
const NO_POOL = { SVC_SANDBOX_POOL: "0" }

test("a host takes no more than it has memory for, nor more than so many, and takes others when some end", async t => {
  const narrow = await platform(t, { env: { ...NO_POOL, SVC_WORKLOAD_MEMORY_MB: "600" } })
  const svc = await narrow.client("acme", ...SANDBOX_SCOPES)
  const first = await runningSandbox(svc)
  await runningSandbox(svc)
  await assert.rejects(svc.sandboxes.create(SMALL), full)
  assert.equal((await svc.sandboxes.list()).total, 2)
  await svc.sandboxes.delete({ id: first })
  await runningSandbox(svc)

  const few = await platform(t, { env: { ...NO_POOL, SVC_WORKLOADS_MAX: "1" } })
  const other = await few.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(other, { kind: "persistent", memory_mb: 512, vcpus: 1 })
  await assert.rejects(other.sandboxes.create(SMALL), full)
  await other.sandboxes.stop({ id })
  const taken = await runningSandbox(other)
  await assert.rejects(other.sandboxes.start({ id }), full)
  await other.sandboxes.delete({ id: taken })
  assert.equal((await other.sandboxes.start({ id })).status, "RUNNING")
})

test("what the driver takes beside a sandbox takes room of its host too", async t => {
  const env = { ...NO_POOL, SVC_RUNTIME: "bubblewrap", SVC_WORKLOAD_MEMORY_MB: "515" }
  const svc = await (await platform(t, { env })).client("acme", ...SANDBOX_SCOPES)
  const { services } = await svc.identity.services()
  const { status, reason, capabilities } = services.find(({ name }) => name === "sandboxes") ?? {}
  if (status !== "available") return t.skip(reason ?? "bubblewrap does not work here")
  assert.equal(capabilities?.driver, "bubblewrap")
  await runningSandbox(svc)
  await assert.rejects(svc.sandboxes.create(SMALL), full)
})

test("a host that is gone has lost its sandboxes, and starts the persistent ones when it is back", async t => {
  const host = await platform(t, { env: NO_POOL })
  const url = host.database.pool.options.connectionString ?? ""
  const other = await platform(t, { env: NO_POOL, databaseUrl: url })
  const { secret } = await host.key("acme", SANDBOX_SCOPES)
  const here = host.as(secret)
  const there = other.as(secret)
  const brief = await runningSandbox(here, { idle_timeout_seconds: 0 })
  const lasting = await runningSandbox(here, { kind: "persistent", memory_mb: 512, vcpus: 1 })
  await here.sandboxes.writeFiles({ id: lasting, files: [{ path: "kept", content: "kept" }] })

  for (const act of [
    () => there.sandboxes.runCommand({ id: brief, command: "true" }),
    () => there.sandboxes.streamCommand({ id: brief, command: "true" }),
    () => there.sandboxes.terminal({ id: brief }),
    () => there.sandboxes.metrics({ id: brief }),
    () => there.sandboxes.readFile({ id: brief, path: "tmp/x" }),
    () => there.sandboxes.writeFiles({ id: brief, files: [{ path: "x", content: "x" }] }),
    () => there.sandboxes.putFile({ id: brief, path: "tmp/x" }, { body: "x" }),
    () => there.sandboxes.start({ id: lasting }),
    () => there.sandboxes.stop({ id: lasting }),
  ]) {
    await assert.rejects(act(), refusedAs("host_unavailable", 503))
  }

  await other.clock.advance(40_000)
  for (const id of [brief, lasting]) {
    const { status, stop_reason } = await there.sandboxes.get({ id })
    assert.deepEqual([status, stop_reason], ["STOPPED", "host_lost"])
  }

  await host.clock.advance(40_000)
  assert.equal((await here.sandboxes.get({ id: brief })).status, "STOPPED")
  await assert.rejects(
    here.sandboxes.runCommand({ id: brief, command: "true" }),
    refusedAs("sandbox_not_running", 400),
  )
  assert.equal((await here.sandboxes.runCommand({ id: lasting, command: "cat kept" })).stdout, "kept")
  assert.equal((await here.sandboxes.get({ id: lasting })).status, "RUNNING")
})

test("what is deleted through another process ends where it runs", async t => {
  const host = await platform(t, { env: NO_POOL })
  const url = host.database.pool.options.connectionString ?? ""
  const other = await platform(t, { env: NO_POOL, databaseUrl: url })
  const { secret } = await host.key("acme", SANDBOX_SCOPES)
  const id = await runningSandbox(host.as(secret))
  await other.as(secret).sandboxes.delete({ id })
  await eventually(
    "it has ended",
    () => host.as(secret).identity.services(),
    ({ services }) => services.find(({ name }) => name === "sandboxes")?.capabilities?.running === 0,
  )
})

test("where nothing runs workloads the area says so, and refuses with the reason", async t => {
  const p = await platform(t, { env: { SVC_MODE: "production" } })
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  await assert.rejects(svc.sandboxes.create(SMALL), refusedAs("not_implemented", 501))
  const { services } = await svc.identity.services()
  const state = services.find(({ name }) => name === "sandboxes")
  assert.equal(state?.status, "degraded")
  assert.match(state?.reason ?? "", /SVC_MODE/)
})
