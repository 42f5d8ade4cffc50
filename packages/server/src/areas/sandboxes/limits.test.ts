/** How many sandboxes there may be, and how one ends that takes all of its memory. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { SANDBOXES_MAX } from "@svc/contract"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

test("an organization has so many sandboxes and no more, those that ended not counted, and others have theirs", async t => {
  const p = await platform(t, { env: { SVC_SANDBOX_POOL: "0" } })
  const acme = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(acme, { kind: "persistent", memory_mb: 512, vcpus: 1 })
  // Copies of it: persistent ones that are stopped, one less than would fill the plan; and one that has ended.
  await p.database.pool.query(
    `INSERT INTO sandboxes.sandboxes SELECT (copy).* FROM (
       SELECT jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'status', 'STOPPED',
         'kind', CASE n WHEN 0 THEN 'ephemeral' ELSE 'persistent' END)) AS copy
       FROM sandboxes.sandboxes s, generate_series(0, $2::int - 2) n WHERE s.id = $1) copies`,
    [id, SANDBOXES_MAX],
  )
  const last = await acme.sandboxes.create(SMALL)
  await assert.rejects(acme.sandboxes.create(SMALL), refusedAs("plan_limit_reached", 402))
  await (await p.client("globex", ...SANDBOX_SCOPES)).sandboxes.create(SMALL)
  await acme.sandboxes.delete({ id: last.id })
  await acme.sandboxes.create(SMALL)
})

test("a sandbox whose shared memory leaves its own agent none ends, and tells that it was out of memory", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const { services } = await svc.identity.services()
  const limits = services.find(({ name }) => name === "sandboxes")?.capabilities?.limits
  if (!(limits as { memory?: boolean } | undefined)?.memory) return t.skip("the driver cannot limit memory")
  const id = await runningSandbox(svc)
  // Shared memory stays when the command that took it is killed, until there is nobody to kill but the agent.
  const take = `my $id = shmget(0, 2e7, 01600) // die $!; my $part = "x" x 1e5;
    shmwrite($id, $part, $_ * 1e5, 1e5) or die $! for 0 .. 199`
  const taken = async () => {
    for (let n = 0; n < 100; n += 1) await svc.sandboxes.runCommand({ id, command: ["perl", "-e", take] })
  }
  await assert.rejects(taken())
  const ended = await eventually(
    "it has ended",
    () => svc.sandboxes.get({ id }),
    ({ status }) => status === "STOPPED",
  )
  assert.equal(ended.stop_reason, "oom")
  await assert.rejects(
    svc.sandboxes.runCommand({ id, command: "true" }),
    refusedAs("sandbox_not_running", 400),
  )
})

test("a network that is never reached cannot be allowed, and the refusal says why", async t => {
  const svc = await (await platform(t)).client("acme", ...SANDBOX_SCOPES)
  const cases = [
    ["10.0.0.0/8", /10\.0\.0\.0\/8/],
    ["10.1.2.0/24", /within 10\.0\.0\.0\/8/],
    ["192.168.1.7/32", /192\.168\.0\.0\/16/],
    ["169.254.169.254/32", /169\.254/],
    ["fd00::/8", /IPv6/],
  ] as const
  for (const [entry, message] of cases) {
    const network = { mode: "custom" as const, allow: ["example.com", entry] }
    await assert.rejects(svc.sandboxes.create({ ...SMALL, network }), {
      ...{ code: "invalid_parameter", status: 400, message },
    })
  }
})
