/** What schedules do besides requests. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { platform, uniqueName } from "../../testing/platform.ts"
import { startReceiver } from "../../testing/receiver.ts"
import { LOCAL, settled } from "./testing/settled.ts"

test("a schedule runs a statement on a database of its project, and tells how many rows it touched", async t => {
  const p = await platform(t)
  const svc = await p.client(
    "acme",
    ...(["cron:read", "cron:write", "database:query", "database:manage"] as const),
  )
  const { id: database_id } = await svc.databases.create({ name: uniqueName(), pg_version: 17 })
  await svc.sql.execute({ database_id, sql: "CREATE TABLE visits (at timestamptz)" })
  const of = (statement: string, rest: Record<string, unknown> = {}) =>
    svc.cron.create({
      ...{ name: uniqueName(), interval_seconds: 60, max_retries: 0 },
      target: { type: "sql", database_id, statement },
      ...rest,
    })

  const { id } = await of("INSERT INTO visits SELECT now() FROM generate_series(1, 3)")
  await p.clock.advance(60_000)
  const [execution] = await settled(svc, id)
  assert.deepEqual([execution?.status, execution?.error], ["succeeded", null])
  assert.deepEqual(JSON.parse(execution?.response_body ?? ""), { command: "INSERT", row_count: 3 })
  const { rows } = await svc.sql.execute({ database_id, sql: "SELECT count(*)::integer AS n FROM visits" })
  assert.deepEqual(rows, [{ n: 3 }])

  const wrong = await of("SELECT 1 FROM nowhere")
  await svc.cron.trigger({ id: wrong.id })
  const [failed] = await settled(svc, wrong.id)
  assert.equal(failed?.status, "failed")
  assert.match(failed?.error ?? "", /nowhere/)

  const slow = await of("SELECT pg_sleep(60)", { timeout_seconds: 1 })
  await svc.cron.trigger({ id: slow.id })
  const [late] = await settled(svc, slow.id)
  assert.equal(late?.status, "timed_out")

  const globex = await p.client("globex", "cron:read", "cron:write", "database:query")
  const stolen = {
    name: "stolen",
    interval_seconds: 60,
    target: { type: "sql", database_id, statement: "SELECT 1" },
  }
  await assert.rejects(globex.cron.create(stolen as never), { status: 404, code: "database_not_found" })
})

test("a schedule publishes an event to a topic of its project", async t => {
  const p = await platform(t)
  const svc = await p.client(
    "acme",
    "cron:read",
    "cron:write",
    "events:publish",
    "events:manage",
    "events:read",
  )
  const { id: topic_id } = await svc.events.createTopic({ name: "orders" })
  const target = { type: "topic", topic_id, event_type: "day.ended", data: { day: 1 } } as const
  const { id } = await svc.cron.create({ name: "evening", interval_seconds: 60, target })
  await p.clock.advance(60_000)
  const [execution] = await settled(svc, id)
  assert.deepEqual([execution?.status, execution?.error], ["succeeded", null])
  assert.equal((await svc.events.getTopic({ topic_id })).event_count, 1)
  const globex = await p.client("globex", "cron:read", "cron:write", "events:publish")
  await assert.rejects(globex.cron.create({ name: "evening", interval_seconds: 60, target }), {
    status: 404,
    code: "topic_not_found",
  })
})

test("a key cannot make a schedule do what the key may not do itself", async t => {
  const p = await platform(t, { env: LOCAL })
  const svc = await p.client("acme", "cron:read", "cron:write")
  const target = { type: "sql", statement: "DROP TABLE visits" } as const
  const given = { name: uniqueName(), interval_seconds: 60, target }
  const denied = { status: 403, code: "missing_scope" }
  await assert.rejects(svc.cron.create(given), denied)
  const receiver = await startReceiver(t)
  const { id } = await svc.cron.create({ ...given, target: { type: "http", url: receiver.url } })
  await assert.rejects(svc.cron.update({ id, target }), denied)
})

test("credentials of a request are hidden, kept when given back, and never sent elsewhere by that", async t => {
  const p = await platform(t, { env: LOCAL })
  const svc = await p.client("acme", "cron:read", "cron:write")
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)]
  const headers = { Authorization: "Bearer sesame", "x-plain": "shown" }
  const target = { type: "http", url: receiver.url, headers } as const
  const made = await svc.cron.create({ name: "secret", interval_seconds: 60, target })
  const hidden = { Authorization: "***", "x-plain": "shown" }
  assert.deepEqual(made.target.headers, hidden)
  assert.deepEqual((await svc.cron.list({})).data[0]?.target.headers, hidden)
  const { rows } = await p.database.pool.query("SELECT target FROM cron.schedules")
  assert.ok(!JSON.stringify(rows).includes("sesame"))
  const { id } = made
  await svc.cron.update({ id, target: { ...target, url: `${receiver.url}/new`, headers: hidden } })
  await svc.cron.trigger({ id })
  const [request] = await receiver.received(1)
  assert.equal(request?.headers.authorization, "Bearer sesame")
  await svc.cron.update({ id, target: { ...target, url: other.url, headers: hidden } })
  await svc.cron.trigger({ id })
  const [elsewhere] = await other.received(1)
  assert.equal(elsewhere?.headers.authorization, "***")
})

test("a target that is slow, or on a private network, is an execution that failed", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", "cron:read", "cron:write")
  // Its name is judged when it is asked for.
  const target = { type: "http", url: "https://nowhere.invalid/" } as const
  const { id } = await svc.cron.create({ name: "dead", interval_seconds: 60, max_retries: 0, target })
  await svc.cron.trigger({ id })
  const [execution] = await settled(svc, id)
  assert.equal(execution?.status, "failed")
  assert.ok(execution?.error)
  assert.equal(execution?.status_code, null)
})
