/** What sandboxes guarantee beside what all workloads do (services/workloads/workloads.test.ts). */

import assert from "node:assert/strict"
import { test } from "node:test"
import pg from "pg"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

test("a sandbox is ephemeral, has a name and a deadline, and says how its start went", async t => {
  const p = await platform(t)
  const { sandboxes } = await p.client("acme", ...SANDBOX_SCOPES)
  const made = await sandboxes.create({ ...SMALL, name: "trial" })
  assert.deepEqual([made.kind, made.status, made.name], ["ephemeral", "PROVISIONING", "trial"])
  await sandboxes.runCommand({ id: made.id, command: "true" })
  const got = await sandboxes.get({ id: made.id })
  assert.deepEqual([got.status, got.cold_start], ["RUNNING", true])
  assert.equal(Date.parse(got.expires_at ?? "") - Date.parse(got.started_at ?? ""), 300_000)
  assert.ok(Number(got.provision_ms) >= 0)
})

test("whoever has used a sandbox finds it running, however late its start comes on record", async t => {
  const p = await platform(t, { env: { SVC_SANDBOX_POOL: "0" } })
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const keeper = new pg.Client({ connectionString: p.database.pool.options.connectionString })
  await keeper.connect()
  try {
    const { id } = await svc.sandboxes.create(SMALL)
    await keeper.query("BEGIN")
    await keeper.query("SELECT FROM sandboxes.sandboxes WHERE id = $1 FOR UPDATE", [id])
    const facts = async () => {
      const { services } = await svc.identity.services()
      return services.find(({ name }) => name === "sandboxes")?.capabilities
    }
    await eventually("it runs", facts, found => found?.running === 1)
    const used = svc.sandboxes.runCommand({ id, command: "true" })
    const seen = used.then(() => svc.sandboxes.get({ id })).then(({ status }) => status)
    // Long enough for a command that waits for nothing.
    for (let asked = 0; asked < 30; asked++) await Promise.race([seen, facts()])
    await keeper.query("COMMIT")
    assert.equal(await seen, "RUNNING")
  } finally {
    await keeper.end()
  }
})
