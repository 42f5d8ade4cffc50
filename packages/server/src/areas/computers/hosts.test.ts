/** Computers and the hosts that have their disks. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { COMPUTERS_MAX } from "@svc/contract"
import { hostsOf } from "../../testing/hosts.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs, run, runningComputer, SCOPES, SMALL } from "./testing/computers.ts"

test("a computer is its host's: others say that it cannot be reached, and it runs again when the host is back", async t => {
  const host = await platform(t)
  const url = host.database.pool.options.connectionString ?? ""
  const other = await platform(t, { databaseUrl: url })
  const { secret } = await host.key("acme", SCOPES)
  const here = host.as(secret)
  const { computers } = other.as(secret)
  const id = await runningComputer(here, "far")
  await run(here, id, "echo kept > ~/kept")
  for (const act of [
    () => computers.exec({ id, command: "true" }),
    () => computers.terminal({ id }),
    () => computers.readFile({ id, path: "/etc/hostname" }),
    () => computers.writeFiles({ id, files: [{ path: "/tmp/x", content: "x" }] }),
    () => computers.setSshKeys({ id, ssh_keys: [] }),
    () => computers.metrics({ id }),
    () => computers.start({ id }),
    () => computers.stop({ id }),
  ]) {
    await assert.rejects(act(), refusedAs("host_unavailable", 503))
  }
  await other.clock.advance(40_000)
  const lost = await computers.get({ id })
  assert.deepEqual([lost.status, lost.status_reason], ["STOPPED", "its host is gone"])
  await host.clock.advance(10_000)
  const back = await here.computers.get({ id })
  assert.deepEqual([back.status, back.status_reason], ["RUNNING", null])
  assert.equal(await run(here, id, "cat ~/kept"), "kept\n")
})

test("a computer is used through any process, and made where there is room", async t => {
  const narrow = { SVC_WORKLOAD_MEMORY_MB: "300" }
  const [here, there] = (await hostsOf(t, {}, narrow)) as [TestPlatform, TestPlatform]
  const { secret } = await here.key("acme", SCOPES)
  const far = there.as(secret)
  const { id, host_id } = await far.computers.getOrCreate({ name: "far", ...SMALL, memory_mb: 512 })
  assert.equal(await run(far, id, "echo kept > ~/kept; hostname"), "far\n")
  assert.equal((await far.computers.setSshKeys({ id, ssh_keys: [] })).status, "RUNNING")
  assert.equal((await far.computers.stop({ id })).status, "STOPPED")
  assert.equal((await far.computers.start({ id })).status, "RUNNING")
  assert.equal(await run(here.as(secret), id, "cat ~/kept"), "kept\n")
  const again = await there.as(secret).computers.getOrCreate({ name: "far", ...SMALL, memory_mb: 512 })
  assert.deepEqual([again.id, again.host_id], [id, host_id])
})

test("an organization has at most so many computers, however they are asked for", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SCOPES)
  const { id } = await svc.computers.create({ name: "first", ...SMALL })
  await svc.computers.stop({ id })
  await p.database.pool.query(
    `INSERT INTO computers.computers SELECT (json_populate_record(row, json_build_object(
       'id', gen_random_uuid(), 'name', 'c' || n, 'private_ip', 'x' || n))).*
     FROM computers.computers row, generate_series(2, $1::int) n`,
    [COMPUTERS_MAX],
  )
  const full = refusedAs("plan_limit_reached", 402)
  await assert.rejects(svc.computers.create({ name: "more", ...SMALL }), full)
  await assert.rejects(svc.computers.getOrCreate({ name: "more", ...SMALL }), full)
  const { total } = await svc.computers.list()
  assert.equal(total, COMPUTERS_MAX)
})

test("where nothing runs workloads the area says so, and refuses with the reason", async t => {
  const p = await platform(t, { env: { SVC_MODE: "production" } })
  const svc = await p.client("acme", ...SCOPES)
  await assert.rejects(svc.computers.create({ name: "one", ...SMALL }), refusedAs("not_implemented", 501))
  const { services } = await svc.identity.services()
  assert.equal(services.find(({ name }) => name === "computers")?.status, "degraded")
})
