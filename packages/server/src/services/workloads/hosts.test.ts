/** Where workloads of every kind run: what room a host has, and what becomes of them when it is gone. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { refusedAs } from "../../areas/sandboxes/testing/sandboxes.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { type Kind, type KindClient, kinds, SCOPES } from "./testing/kinds.ts"

const NO_POOL = { SVC_SANDBOX_POOL: "0" }

/** Two hosts of one installation that cannot reach each other, and a client of each for one tenant. */
const twoHosts = async (t: Parameters<typeof platform>[0]) => {
  const host = await platform(t, { env: NO_POOL })
  const databaseUrl = host.database.pool.options.connectionString ?? ""
  const other = await platform(t, { env: NO_POOL, databaseUrl })
  const { secret } = await host.key("acme", SCOPES)
  return { host, other, here: host.as(secret), there: other.as(secret) }
}

const running = async (p: TestPlatform, secret: string, { area }: Kind) => {
  const { services } = await p.as(secret).identity.services()
  return services.find(({ name }) => name === area)?.capabilities?.running
}

const start = async (client: KindClient) => {
  const { id } = await client.create()
  await client.run(id, { command: "echo kept > kept; sleep 1000 &" })
  return id
}

test("a workload is its host's: others say that they cannot reach it, lose it when the host is gone, and it is back with it", async t => {
  const { host, other, here, there } = await twoHosts(t)
  const started = await Promise.all(kinds.map(kind => start(kind.on(here))))
  const all = kinds.map((kind, at) => ({ kind, id: started[at] ?? "" }))
  for (const { kind, id } of all) {
    const client = kind.on(there)
    const calls = [...client.uses(id), ...client.changes(id)]
    for (const call of calls) await assert.rejects(call(), refusedAs("host_unavailable", 503), kind.name)
  }

  await other.clock.advance(40_000)
  for (const { kind, id } of all) {
    const lost = await kind.on(there).get(id)
    assert.partialDeepStrictEqual(lost, { ...kind.reasons.hostLost, status: "STOPPED" })
    assert.notEqual(lost.stopped_at, null)
  }

  await host.clock.advance(40_000)
  for (const { kind, id } of all) {
    const client = kind.on(here)
    const { status, status_reason } = await client.get(id)
    if (!kind.keepsDisk) {
      assert.equal(status, "STOPPED")
      await assert.rejects(client.run(id, { command: "true" }), refusedAs(...kind.notRunning))
      continue
    }
    assert.deepEqual([status, status_reason], ["RUNNING", null], kind.name)
    // It ran on, and so did what ran in it.
    const { stdout } = await client.run(id, { command: "cat kept; cat /proc/[0-9]*/comm | grep -c ^sleep" })
    assert.equal(stdout, "kept\n1\n", kind.name)
  }
})

test("what is deleted through another process ends where it runs, whether or not its host hears of it", async t => {
  const { host, other, here, there } = await twoHosts(t)
  const { secret } = await host.key("acme", SCOPES)
  for (const kind of kinds) {
    const ended = () =>
      eventually(
        `${kind.name} has ended`,
        () => running(host, secret, kind),
        n => n === 0,
      )
    const heard = await start(kind.on(here))
    await kind.on(there).delete(heard)
    await ended()
    const unheard = await start(kind.on(here))
    // Connections that bring notifications; that of the host is back within a second.
    await other.database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'svc-changes' AND datname = current_database()`,
    )
    await kind.on(there).delete(unheard)
    await ended()
  }
})

test("a host that is full takes no more and starts none, of whatever kind, until some end", async t => {
  const p = await platform(t, { env: { ...NO_POOL, SVC_WORKLOADS_MAX: "1" } })
  const svc = await p.client("acme", ...SCOPES)
  const full = refusedAs("no_host_capacity", 503)
  for (const kind of kinds) {
    const client = kind.on(svc)
    const first = await start(client)
    for (const another of kinds) await assert.rejects(another.on(svc).create(), full)
    assert.equal((await client.list()).total, 1)
    await client.stop(first)
    const second = await start(client)
    if (kind.keepsDisk) {
      await assert.rejects(client.start(first), full)
      assert.equal((await client.get(first)).status, "STOPPED")
    }
    await client.delete(second)
    if (kind.keepsDisk) assert.equal((await client.start(first)).status, "RUNNING")
    await client.delete(first)
  }
})

test("where nothing runs workloads each area says so, and refuses with the reason", async t => {
  const p = await platform(t, { env: { SVC_MODE: "production" } })
  const svc = await p.client("acme", ...SCOPES)
  for (const kind of kinds) {
    await assert.rejects(kind.on(svc).create(), refusedAs("not_implemented", 501), kind.name)
    const { services } = await svc.identity.services()
    const state = services.find(({ name }) => name === kind.area)
    assert.equal(state?.status, "degraded")
    assert.match(state?.reason ?? "", /SVC_MODE/)
  }
})
