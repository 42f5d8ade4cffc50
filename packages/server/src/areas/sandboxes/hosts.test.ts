/** What memory sandboxes take of their host; services/workloads/hosts.test.ts has the rest. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const full = refusedAs("no_host_capacity", 503)
const NO_POOL = { SVC_SANDBOX_POOL: "0" }

test("a host takes no more than it has memory for, and takes others when some end", async t => {
  const narrow = await platform(t, { env: { ...NO_POOL, SVC_WORKLOAD_MEMORY_MB: "600" } })
  const svc = await narrow.client("acme", ...SANDBOX_SCOPES)
  const first = await runningSandbox(svc)
  await runningSandbox(svc)
  await assert.rejects(svc.sandboxes.create(SMALL), full)
  assert.equal((await svc.sandboxes.list()).total, 2)
  await svc.sandboxes.delete({ id: first })
  await runningSandbox(svc)
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
