/** Sandboxes that were started before somebody asked. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const facts = async (svc: Svc) => {
  const { services } = await svc.identity.services()
  const { capabilities = {} } = services.find(({ name }) => name === "sandboxes") ?? {}
  return capabilities as { running: number; warm: number; host: { workloads: number } }
}

const untilWarm = (svc: Svc, count: number) =>
  eventually(
    `${count} are warm`,
    () => facts(svc),
    ({ warm }) => warm === count,
  )

test("what was asked for lately is at hand for the next who asks, fresh and only once", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const first = await runningSandbox(svc)
  assert.equal((await svc.sandboxes.get({ id: first })).cold_start, true)
  await svc.sandboxes.runCommand({ id: first, command: "echo secret > /workspace/x" })
  await untilWarm(svc, 1)

  const made = await svc.sandboxes.create({ ...SMALL, env: { A: "1" }, timeout_seconds: 60 })
  assert.deepEqual([made.status, made.cold_start], ["RUNNING", false])
  assert.equal(Date.parse(made.expires_at ?? "") - p.clock.now(), 60_000)
  const ran = await svc.sandboxes.runCommand({ id: made.id, command: "echo $A; ls -A /workspace /tmp" })
  assert.equal(ran.stdout.replaceAll(/\s+/g, " ").trim(), "1 /tmp: /workspace:")

  const other = await svc.sandboxes.create({ memory_mb: 300, vcpus: 0.5 })
  assert.equal(other.status, "PROVISIONING")
  const ids = await Promise.all(Array.from({ length: 6 }, async () => (await svc.sandboxes.create(SMALL)).id))
  assert.equal(new Set(ids).size, 6)
})

test("an idle pool empties itself, and one that is switched off stays empty", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  await untilWarm(svc, 1)
  await svc.sandboxes.delete({ id })
  await p.clock.advance(61_000)
  await untilWarm(svc, 0)
  await eventually(
    "no place is taken",
    () => facts(svc),
    ({ host }) => host.workloads === 0,
  )

  const without = await platform(t, { env: { SVC_SANDBOX_POOL: "0" } })
  const other = await without.client("acme", ...SANDBOX_SCOPES)
  await runningSandbox(other)
  await runningSandbox(other)
  assert.equal((await facts(other)).warm, 0)
})

test("the pool gives its places up to those who ask", async t => {
  const p = await platform(t, { env: { SVC_WORKLOADS_MAX: "3" } })
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  await runningSandbox(svc)
  await untilWarm(svc, 1)
  const shapes = [260, 270].map(memory_mb => ({ memory_mb, vcpus: 0.5 }))
  for (const shape of shapes) await runningSandbox(svc, shape)
  assert.deepEqual((await facts(svc)).running, 3)
})

test("a sandbox whose row could not be written leaves nothing: no place is taken, nothing runs", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const { id } = await svc.sandboxes.create(SMALL)
  await svc.sandboxes.delete({ id })
  await untilWarm(svc, 1)
  // The audit entry commits with the row; without its table neither is there.
  await p.database.pool.query("ALTER TABLE core.audit_events RENAME TO audit_away")
  await assert.rejects(svc.sandboxes.create(SMALL), { status: 500 })
  await p.database.pool.query("ALTER TABLE core.audit_away RENAME TO audit_events")
  assert.equal((await svc.sandboxes.list()).total, 0)
  await p.clock.advance(61_000)
  await eventually(
    "no place is taken",
    () => facts(svc),
    ({ host }) => host.workloads === 0,
  )
})
