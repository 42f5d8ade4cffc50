/** What several processes, restarts and overlaps make of what is due. */

import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import type { Svc } from "@svc/sdk"
import { openDatabase } from "../../kernel/db/database.ts"
import { cloneDatabase } from "../../testing/database.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform, uniqueName } from "../../testing/platform.ts"
import { answer, hang, startReceiver } from "../../testing/receiver.ts"
import { LOCAL, settled } from "./testing/settled.ts"

const MINUTE_MS = 60_000

const start = async (t: TestContext) => {
  const p = await platform(t, { env: LOCAL })
  const svc = await p.client("acme", "cron:read", "cron:write")
  return { p, svc, receiver: await startReceiver(t) }
}

const newSchedule = (svc: Svc, url: string, rest: Record<string, unknown> = {}) =>
  svc.cron.create({
    name: uniqueName(),
    interval_seconds: 60,
    max_retries: 0,
    target: { type: "http", url },
    ...rest,
  })

const all = async (svc: Svc, id: string) => (await svc.cron.executions({ id })).data
const statuses = async (svc: Svc, id: string) => (await all(svc, id)).map(({ status }) => status)

test("two processes on one database never run a time twice", async t => {
  const { url, ...database } = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const receiver = await startReceiver(t)
  const options = { env: LOCAL, databaseUrl: url }
  const [first, second] = [await platform(t, options), await platform(t, options)]
  const svc = await first.client("acme", "cron:read", "cron:write")
  const made = await Promise.all(Array.from({ length: 40 }, () => newSchedule(svc, receiver.url)))
  const ahead = Math.max(first.clock.now(), second.clock.now())
  await Promise.all([first, second].map(({ clock }) => clock.advance(ahead - clock.now())))
  for (let minute = 0; minute < 3; minute++) {
    // Step by step: a lease that one of them took is not over for the other because its clock is far ahead.
    for (let atMs = 0; atMs < MINUTE_MS; atMs += 1_000)
      await Promise.all([first, second].map(({ clock }) => clock.advance(1_000)))
    await receiver.received((minute + 1) * made.length)
    for (const { id } of made) await settled(svc, id, minute + 1)
  }
  for (const { id } of made) {
    const executions = await all(svc, id)
    assert.deepEqual(
      executions.map(({ status, error }) => error ?? status),
      ["succeeded", "succeeded", "succeeded"],
    )
    assert.equal(new Set(executions.map(({ scheduled_for }) => scheduled_for)).size, 3)
  }
  assert.equal(receiver.requests.length, 120)
  assert.equal(new Set(receiver.requests.map(({ headers }) => headers["webhook-id"])).size, 120)
})

test("after downtime, schedules make up for it as each one says", async t => {
  const { url, ...database } = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const receiver = await startReceiver(t)
  const options = { env: LOCAL, databaseUrl: url }
  const first = await platform(t, options)
  const { secret } = await first.key("acme", ["cron:read", "cron:write"])
  const before = first.as(secret)
  const window = { catchup_window_seconds: 3_600, overlap_policy: "allow_all" }
  const policies = ["latest", "all", "none"] as const
  const made = await Promise.all(
    policies.map(catchup_policy => newSchedule(before, receiver.url, { catchup_policy, ...window })),
  )
  const late = await newSchedule(before, receiver.url, { catchup_window_seconds: 10, interval_seconds: 600 })
  await first[Symbol.asyncDispose]()

  // As if the platform had been away for ten and a half minutes.
  const pool = openDatabase({ connectionString: url, connectionsMax: 1, onError: () => undefined })
  await pool.pool.query(`UPDATE cron.schedules SET due_at = due_at - interval '630 seconds',
    anchor_at = anchor_at - interval '630 seconds',
    next_runs = ARRAY(SELECT at - interval '630 seconds' FROM unnest(next_runs) AS at)`)
  await pool[Symbol.asyncDispose]()
  const second = await platform(t, options)
  const svc = second.as(secret)
  const shapes = await Promise.all(
    made.map(async ({ id }) => {
      const executions = await settled(svc, id)
      return executions.map(({ status, trigger }) => `${status} ${trigger}`)
    }),
  )
  const succeeded = Array(10).fill("succeeded catchup")
  assert.deepEqual(shapes, [["succeeded catchup", "missed catchup"], succeeded, ["missed catchup"]])
  const [missed] = await settled(svc, late.id)
  assert.deepEqual([missed?.status, missed?.skip_reason], ["missed", "outside_catchup_window"])
  for (const { id } of made) {
    assert.ok(Date.parse((await svc.cron.get({ id })).next_run_at ?? "") > second.clock.now())
  }
})

const overlapping = async (t: TestContext, overlap_policy: string, minutes: number) => {
  const { p, svc, receiver } = await start(t)
  const held: (() => void)[] = []
  receiver.script(reply => void held.push(() => reply.end("done")))
  const { id } = await newSchedule(svc, receiver.url, { overlap_policy, timeout_seconds: 900 })
  for (let minute = 1; minute <= minutes; minute++) {
    await p.clock.advance(MINUTE_MS)
    await eventually("it is there", async () => (await all(svc, id)).length === minute)
    if (minute === 1 || overlap_policy === "allow_all" || overlap_policy === "cancel_other") {
      await eventually(
        "it runs",
        async () => (await statuses(svc, id))[0] === "running" && held.length >= minute,
      )
    }
  }
  const meanwhile = await statuses(svc, id)
  const release = async () => {
    await eventually("all are finished", async () => {
      for (const end of held.splice(0)) end()
      return (await statuses(svc, id)).every(status => status !== "queued" && status !== "running")
    })
    return await statuses(svc, id)
  }
  return { meanwhile, after: await release(), executions: await all(svc, id) }
}

test("skip leaves out what is due while another is unfinished", async t => {
  const { after, meanwhile, executions } = await overlapping(t, "skip", 3)
  assert.deepEqual(meanwhile, ["skipped", "skipped", "running"])
  assert.deepEqual(after, ["skipped", "skipped", "succeeded"])
  assert.deepEqual(
    executions.map(({ skip_reason }) => skip_reason),
    ["overlap", "overlap", null],
  )
})

test("buffer_one lets one wait, buffer_all lets all wait, in order", async t => {
  const one = await overlapping(t, "buffer_one", 3)
  assert.deepEqual(one.meanwhile, ["skipped", "queued", "running"])
  assert.deepEqual(one.after, ["skipped", "succeeded", "succeeded"])
  const every = await overlapping(t, "buffer_all", 3)
  assert.deepEqual(every.meanwhile, ["queued", "queued", "running"])
  const starts = every.executions.map(({ started_at }) => Date.parse(started_at ?? ""))
  assert.deepEqual(every.after, ["succeeded", "succeeded", "succeeded"])
  assert.deepEqual(
    starts,
    [...starts].sort((a, b) => b - a),
  )
})

test("allow_all runs them together, cancel_other ends the one before", async t => {
  const together = await overlapping(t, "allow_all", 2)
  assert.deepEqual(together.meanwhile, ["running", "running"])
  assert.deepEqual(together.after, ["succeeded", "succeeded"])
  const { meanwhile } = await overlapping(t, "cancel_other", 2)
  assert.deepEqual(meanwhile, ["running", "cancelled"])
})

test("cancelling ends what runs, and a deleted schedule leaves nothing behind", async t => {
  const { p, svc, receiver } = await start(t)
  receiver.script(hang)
  const { id } = await newSchedule(svc, receiver.url, { timeout_seconds: 900 })
  const { id: execution_id } = await svc.cron.trigger({ id })
  await receiver.received(1)
  const cancelled = await svc.cron.cancelExecution({ id, execution_id })
  assert.equal(cancelled.status, "cancelled")
  await receiver.abandoned()
  await assert.rejects(svc.cron.cancelExecution({ id, execution_id }), {
    status: 409,
    code: "invalid_state_transition",
  })
  await svc.cron.trigger({ id })
  await receiver.received(2)
  assert.deepEqual(await svc.cron.delete({ id }), { id, deleted: true })
  await receiver.abandoned()
  await p.clock.advance(5 * MINUTE_MS)
  assert.equal(receiver.requests.length, 2)
  const gone = { status: 404, code: "schedule_not_found" }
  await assert.rejects(svc.cron.get({ id }), gone)
  await assert.rejects(svc.cron.executions({ id }), gone)
  const { rows } = await p.database.pool.query("SELECT count(*)::integer AS n FROM cron.executions")
  assert.deepEqual(rows, [{ n: 0 }])
})

test("a deleted project's schedules end", async t => {
  const { p, svc, receiver } = await start(t)
  await newSchedule(svc, receiver.url)
  const { projectId } = await p.tenant("acme")
  await p.database.db
    .updateTable("core.projects")
    .set({ deleted_at: new Date() })
    .where("id", "=", projectId)
    .execute()
  await p.clock.advance(MINUTE_MS)
  await eventually("it is paused", async () => {
    const { rows } = await p.database.pool.query("SELECT enabled FROM cron.schedules")
    return rows[0]?.enabled === false
  })
  assert.equal(receiver.requests.length, 0)
})

test("the newest thousand executions are kept", async t => {
  const { p, svc, receiver } = await start(t)
  receiver.script(answer(200))
  const { id } = await newSchedule(svc, receiver.url, { enabled: false })
  await p.database.pool.query(
    `INSERT INTO cron.executions (id, organization_id, schedule_id, number, scheduled_for, due_at, trigger, status,
       attempt, created_at)
     SELECT gen_random_uuid(), organization_id, id, n, now(), now(), 'manual', 'succeeded', 1, $1::timestamptz
     FROM cron.schedules, generate_series(1, 1100) AS n`,
    [new Date(p.clock.now())],
  )
  await p.database.pool.query("UPDATE cron.schedules SET executions_made = 1100")
  await eventually("the oldest are gone", async () => {
    await p.clock.advance(600_000)
    return (await svc.cron.executions({ id })).total === 1_000
  })
})
