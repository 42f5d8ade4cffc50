/** What a tenant finds of databases that CloudNativePG runs, where it differs from those of this machine. */

import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import pg from "pg"
import { supply } from "../../kernel/token.ts"
import { testSite } from "../../ports/engine/drivers/cnpg/testing/site.ts"
import { engine as enginePort } from "../../ports/engine/port.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { DATABASE_TOPIC } from "./directory.ts"

/** Less than the smallest volume. */
const env = { SVC_DATABASE_DISK_MB: "60" }

const open = async (t: TestContext): Promise<TestPlatform> => {
  // Closes in reverse: the platform ends before the cluster that it uses.
  const opened = new AsyncDisposableStack()
  t.after(() => opened.disposeAsync())
  const ends = { after: (end: () => unknown) => opened.defer(async () => void (await end())) }
  const engine = await (await testSite(ends)).open()
  ends.after(() => engine[Symbol.asyncDispose]())
  return platform(ends, { env, supplies: [supply(enginePort, engine)] })
}

/** Tells the databases that were announced as changed since. */
const announcements = async (p: TestPlatform) => {
  const heard: string[] = []
  const client = new pg.Client({ connectionString: p.config.databaseUrl })
  await client.connect()
  client.on("notification", ({ payload = "" }) => {
    if (payload.startsWith(`${DATABASE_TOPIC}:`)) heard.push(payload)
  })
  await client.query("LISTEN svc_changes")
  return {
    /** What was told before is delivered with the answer to a statement. */
    heard: () => client.query("SELECT").then(() => heard),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

const offered = async (p: TestPlatform) => {
  const { services } = await (await p.client("acme")).identity.services()
  const { capabilities } = services.find(({ name }) => name === "databases") ?? {}
  const { pooler, channel_binding, disk_quota } = capabilities ?? {}
  return { pooler, channel_binding, disk_quota }
}

test("a database that CloudNativePG runs is warned of past its limit, and nobody calls it read-only while it is written", async t => {
  const p = await open(t)
  const svc = await p.client("acme", "database:manage", "database:query")
  const { id } = await svc.databases.create({ name: "orders" })
  await svc.sql.execute({ sql: "CREATE TABLE t (n int)", database_id: id })
  const storage = async () => (await svc.databases.get({ id })).storage
  await eventually("the warning", async () => {
    await p.clock.advance(1_000)
    return (await storage()).state === "warning"
  })

  await using listening = await announcements(p)
  for (let minute = 0; minute < 3; minute++) {
    await p.clock.advance(61_000)
    await svc.sql.execute({ sql: "INSERT INTO t VALUES (1)", database_id: id })
    const { state, limit_bytes, used_bytes } = await storage()
    assert.equal(state, "warning")
    assert.ok(limit_bytes !== null && used_bytes > limit_bytes)
  }
  assert.deepEqual(await listening.heard(), [])
})

test("the list of services says what CloudNativePG's databases lack, and who asks for the pooler is told the setting why", async t => {
  const p = await open(t)
  assert.deepEqual(await offered(p), { pooler: false, channel_binding: false, disk_quota: false })

  const svc = await p.client("acme", "database:manage")
  const made = await svc.databases.create({ name: "orders" })
  assert.equal(made.connection.pooled_uri, null)
  const pooled = `${made.connection_uri}`.replace(made.default_branch_id, `${made.default_branch_id}-pooler`)
  const client = new pg.Client(pooled)
  await assert.rejects(client.connect(), { code: "0A000", hint: /SVC_DATABASE_CLUSTER/ })
})

test("the list of services says that databases of this machine have a pooler, bound logins and a disk quota", async t => {
  const p = await platform(t)
  assert.deepEqual(await offered(p), { pooler: true, channel_binding: true, disk_quota: true })
})
