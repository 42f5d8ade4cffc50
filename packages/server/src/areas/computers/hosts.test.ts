/** Computers and the hosts that have their disks. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { COMPUTERS_MAX } from "@svc/contract"
import { hostsOf } from "../../testing/hosts.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs, run, SCOPES, SMALL } from "./testing/computers.ts"

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
