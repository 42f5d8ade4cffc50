import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import type { Svc } from "@svc/sdk"
import { Webhook } from "standardwebhooks"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform, uniqueName } from "../../testing/platform.ts"
import { answer, startReceiver } from "../../testing/receiver.ts"
import { LOCAL, settled } from "./testing/settled.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const start = async (t: TestContext) => {
  const p = await platform(t, { env: LOCAL })
  const svc = await p.client("acme", "cron:read", "cron:write")
  return { p, svc, receiver: await startReceiver(t) }
}

const newSchedule = (svc: Svc, url: string, rest: Record<string, unknown> = {}) =>
  svc.cron.create({ name: uniqueName(), interval_seconds: 60, target: { type: "http", url }, ...rest })

const statuses = async (svc: Svc, id: string) =>
  (await svc.cron.executions({ id })).data.map(({ status }) => status)

test("a schedule calls its target at its time, signed, and its execution says how it went", async t => {
  const { p, svc, receiver } = await start(t)
  receiver.script(answer(201, {}, "x".repeat(5_000)))
  const made = await svc.cron.create({
    name: "nightly",
    cron: "0 3 * * *",
    timezone: "Europe/Berlin",
    target: { type: "http", url: `${receiver.url}/hook`, headers: { "X-Kind": "a" }, body: { full: true } },
  })
  assert.equal(made.status, "active")
  assert.equal(made.next_runs.length, 5)
  const at = Date.parse(made.next_run_at ?? "")
  await p.clock.advance(at - p.clock.now() - 1)
  assert.deepEqual((await svc.cron.executions({ id: made.id })).data, [])
  await p.clock.advance(1)
  const [request] = await receiver.received(1)
  assert.ok(request)
  assert.deepEqual([request.method, request.path, `${request.body}`], ["POST", "/hook", '{"full":true}'])
  assert.equal(request.headers["x-kind"], "a")
  const headers = request.headers as Record<string, string>
  const secret = made.signing_secret ?? ""
  const signed = new Webhook(secret)
  // The library would look at its own clock, were it to verify.
  const at_s = Number(headers["webhook-timestamp"])
  assert.equal(
    signed.sign(headers["webhook-id"] ?? "", new Date(at_s * 1000), `${request.body}`),
    headers["webhook-signature"],
  )
  const [execution] = await settled(svc, made.id)
  assert.ok(execution)
  assert.equal(execution.id, headers["webhook-id"])
  assert.deepEqual(
    [execution.status, execution.trigger, execution.attempt, execution.status_code, execution.error],
    ["succeeded", "schedule", 1, 201, null],
  )
  assert.equal(execution.scheduled_for, made.next_run_at)
  assert.equal(execution.response_body, "x".repeat(4_096))
  assert.equal(typeof execution.lag_ms, "number")
  assert.deepEqual(await svc.cron.getExecution({ id: made.id, execution_id: execution.id }), execution)
  const { last_status, next_run_at, signing_secret_hint } = await svc.cron.get({ id: made.id })
  assert.equal(last_status, "succeeded")
  assert.equal(next_run_at, made.next_runs[1])
  assert.equal(signing_secret_hint, secret.slice(-4))
})

test("a trigger runs at once, also while the schedule is paused", async t => {
  const { svc, receiver } = await start(t)
  const { id, next_runs, status } = await newSchedule(svc, receiver.url, { enabled: false })
  assert.deepEqual([status, next_runs], ["paused", []])
  const { trigger, status: queued } = await svc.cron.trigger({ id })
  assert.deepEqual([trigger, queued], ["manual", "queued"])
  const [execution] = await settled(svc, id)
  assert.equal(execution?.status, "succeeded")
  assert.equal(receiver.requests.length, 1)
})

test("a failed run is repeated, then failed for good, and may pause its schedule", async t => {
  const { p, svc, receiver } = await start(t)
  receiver.script(answer(500), answer(503), answer(302, { location: "/elsewhere" }))
  const rare = { interval_seconds: 86_400, max_retries: 2, pause_on_failure: true }
  const { id } = await newSchedule(svc, receiver.url, rare)
  await svc.cron.trigger({ id })
  await eventually("it was tried three times", async () => {
    await p.clock.advance(1_000)
    return receiver.requests.length === 3
  })
  const [execution] = await settled(svc, id)
  assert.deepEqual([execution?.status, execution?.attempt, execution?.status_code], ["failed", 3, 302])
  assert.match(execution?.error ?? "", /redirects/)
  assert.equal(new Set(receiver.requests.map(({ headers }) => headers["webhook-id"])).size, 1)
  const schedule = await svc.cron.get({ id })
  assert.deepEqual(
    [schedule.enabled, schedule.status, schedule.next_run_at, schedule.failure_count, schedule.last_status],
    [false, "paused", null, 1, "failed"],
  )
  assert.equal((await svc.cron.update({ id, enabled: true })).status, "active")
})

test("one time runs once and is completed; a start and an end bound the others", async t => {
  const { p, svc, receiver } = await start(t)
  const inMs = (ms: number) => new Date(p.clock.now() + ms).toISOString()
  const target = { type: "http", url: receiver.url } as const
  const once = await svc.cron.create({ name: "once", run_at: inMs(HOUR_MS), target })
  const bounded = await svc.cron.create({
    ...{ name: "bounded", interval_seconds: 60, target },
    ...{ start_at: inMs(HOUR_MS), end_at: inMs(HOUR_MS + MINUTE_MS) },
  })
  assert.deepEqual(bounded.next_runs, [inMs(HOUR_MS), inMs(HOUR_MS + MINUTE_MS)])
  await p.clock.advance(HOUR_MS)
  await receiver.received(2)
  await settled(svc, bounded.id)
  await p.clock.advance(HOUR_MS)
  await receiver.received(3)
  for (const [{ id }, runs] of [
    [once, 1],
    [bounded, 2],
  ] as const) {
    assert.deepEqual(
      (await settled(svc, id)).map(({ status }) => status),
      Array(runs).fill("succeeded"),
    )
    assert.equal((await svc.cron.get({ id })).status, "completed")
  }
})

test("a paused schedule is silent, and does not make up for it when it goes on", async t => {
  const { p, svc, receiver } = await start(t)
  const { id } = await newSchedule(svc, receiver.url, { catchup_policy: "all" })
  const { status, next_run_at } = await svc.cron.update({ id, enabled: false })
  assert.deepEqual([status, next_run_at], ["paused", null])
  await p.clock.advance(HOUR_MS)
  const resumed = await svc.cron.update({ id, enabled: true })
  assert.ok(Date.parse(resumed.next_run_at ?? "") > p.clock.now())
  assert.deepEqual(await statuses(svc, id), [])
})

test("a PUT replaces every field but the id, the secret and the history; a PATCH leaves others as they are", async t => {
  const { svc, receiver } = await start(t)
  const made = await newSchedule(svc, receiver.url, {
    ...{ description: "old", max_retries: 7, catchup_policy: "all", timezone: "Europe/Berlin" },
  })
  const { id, signing_secret_hint, created_at } = made
  const patched = await svc.cron.update({ id, max_retries: 5 })
  assert.deepEqual(
    [patched.description, patched.max_retries, patched.catchup_policy, patched.timezone],
    ["old", 5, "all", "Europe/Berlin"],
  )
  const target = { type: "http", url: `${receiver.url}/new` } as const
  const replaced = await svc.cron.replace({ id, name: "new", interval_seconds: 7200, target })
  assert.deepEqual(
    [replaced.name, replaced.description, replaced.max_retries, replaced.catchup_policy, replaced.timezone],
    ["new", "", 3, "latest", "UTC"],
  )
  assert.deepEqual([replaced.cron, replaced.interval_seconds, replaced.target.url], [null, 7200, target.url])
  assert.deepEqual(
    [replaced.id, replaced.signing_secret_hint, replaced.created_at],
    [id, signing_secret_hint, created_at],
  )
  await svc.cron.trigger({ id })
  assert.equal((await receiver.received(1))[0]?.path, "/new")
  const incomplete = { id, name: "new", interval_seconds: 7200 }
  await assert.rejects(svc.cron.replace(incomplete), { status: 400, code: "missing_parameter" })
  await assert.rejects(svc.cron.replace({ id, name: "new", target }), {
    status: 400,
    code: "missing_parameter",
  })
})

test("names are unique in a project, and survive", async t => {
  const { svc, receiver } = await start(t)
  const { id, name } = await newSchedule(svc, receiver.url)
  await assert.rejects(newSchedule(svc, receiver.url, { name }), { status: 409, code: "name_taken" })
  const other = await newSchedule(svc, receiver.url)
  const taken = { status: 409, code: "name_taken" }
  await assert.rejects(svc.cron.update({ id: other.id, name }), taken)
  const target = { type: "http", url: receiver.url } as const
  await assert.rejects(svc.cron.replace({ id: other.id, name, interval_seconds: 60, target }), taken)
  assert.deepEqual(
    (await svc.cron.list({})).data.map(schedule => schedule.id),
    [other.id, id],
  )
})

const world = async (t: TestContext): Promise<{ p: TestPlatform; svc: Svc }> => {
  const { p, svc } = await start(t)
  return { p, svc }
}

test("what cannot be is refused, with what the parser says", async t => {
  const { p, svc } = await world(t)
  const target = { type: "http", url: "https://example.com/" } as const
  const refused = async (given: Record<string, unknown>, code: string, message: RegExp) =>
    await assert.rejects(
      svc.cron.create({ name: uniqueName(), target, ...given }),
      (error: { status: number; code: string; message: string }) => {
        assert.deepEqual([error.status, error.code], [400, code], error.message)
        assert.match(error.message, message)
        return true
      },
    )
  await refused({ cron: "61 * * * *" }, "invalid_parameter", /Invalid value for minute: 61/)
  await refused({ cron: "* * * *" }, "invalid_parameter", /parts are required/)
  await refused({ cron: "* * * * * * *" }, "invalid_parameter", /5 or 6 parts/)
  await refused({ cron: "@reboot" }, "invalid_parameter", /not supported/)
  await refused({ cron: "0 0 31 2 *" }, "invalid_parameter", /never comes/)
  await refused({ cron: "0 0 * * *", timezone: "Mars/Base" }, "invalid_parameter", /Mars\/Base/)
  await refused({ cron: "TZ=Mars/Base 0 0 * * *" }, "invalid_parameter", /Mars\/Base/)
  await refused({ cron: "TZ=Asia/Tokyo 0 0 * * *", timezone: "UTC" }, "invalid_parameter", /another/)
  await refused({}, "missing_parameter", /cron, interval_seconds or run_at/)
  await refused({ cron: "* * * * *", interval_seconds: 5 }, "invalid_parameter", /only one/)
  await refused({ run_at: new Date(p.clock.now()).toISOString() }, "invalid_parameter", /past/)
  await refused({ interval_seconds: 5, target: undefined }, "missing_parameter", /target/)
  const http = (rest: Record<string, unknown>) => ({ interval_seconds: 5, target: { ...target, ...rest } })
  await refused(http({ url: "http://[fd00::1]/" }), "invalid_parameter", /target/)
  await refused(http({ url: "file:///etc/passwd" }), "invalid_parameter", /target/)
  await refused(http({ headers: { "webhook-signature": "v1,mine" } }), "invalid_parameter", /reserved/)
  await refused(http({ headers: { a: "b\r\nc: d" } }), "invalid_parameter", /target/)
  await refused(http({ method: "GET", body: {} }), "invalid_parameter", /no body/)
  assert.equal((await svc.cron.list({})).total, 0)
})

test("functions that are not there, and services until this installation has them, are refused", async t => {
  const { p } = await world(t)
  const svc = await p.client("acme", "cron:read", "cron:write", "functions:invoke")
  const missing = { status: 404, code: "function_not_found" }
  await assert.rejects(svc.cron.create({ name: "f", interval_seconds: 60, function_name: "f" }), missing)
  const { id } = await newSchedule(svc, "https://example.com/")
  await assert.rejects(svc.cron.update({ id, function_name: "f" }), missing)
  const refused = { status: 501, code: "not_implemented" }
  const target = { type: "service", service_id: "s", path: "/" } as const
  await assert.rejects(svc.cron.create({ name: "s", interval_seconds: 60, target }), refused)
  await assert.rejects(svc.cron.replace({ id, name: "s", interval_seconds: 60, target }), refused)
})

test("a zone in front of the expression is folded in, and the preview knows when", async t => {
  const { svc } = await world(t)
  const preview = await svc.cron.preview({
    cron: "CRON_TZ=America/New_York 30 2 * * *",
    after: "2026-03-07T12:00:00Z",
    count: 2,
  })
  assert.deepEqual(preview, {
    cron: "30 2 * * *",
    timezone: "America/New_York",
    next_runs: ["2026-03-08T07:00:00.000Z", "2026-03-09T06:30:00.000Z"],
  })
  await assert.rejects(svc.cron.preview({ cron: "nonsense" }), { status: 400, code: "invalid_parameter" })
})

test("a plan that is free has no runs within a minute", async t => {
  const { p } = await world(t)
  await p.tenant("free", "free")
  const svc = await p.client("free", "cron:read", "cron:write")
  const target = { type: "http", url: "https://example.com/" } as const
  for (const fine of [{ cron: "*/5 * * * * *" }, { interval_seconds: 59 }]) {
    await assert.rejects(svc.cron.create({ name: uniqueName(), target, ...fine }), {
      status: 402,
      code: "plan_limit_reached",
    })
  }
  const { id } = await svc.cron.create({ name: uniqueName(), target, cron: "*/5 * * * *" })
  await assert.rejects(svc.cron.update({ id, interval_seconds: 5 }), { status: 402 })
  await assert.rejects(svc.cron.replace({ id, name: "fine", interval_seconds: 5, target }), { status: 402 })
})

test("an execution that ended tells webhooks of the organization", async t => {
  const { p, svc, receiver } = await start(t)
  const { organizationId: tenant_id } = await p.tenant("acme")
  const hooks = await startReceiver(t)
  const admin = await p.client("acme", "webhooks:read", "webhooks:write")
  await admin.webhooks.register({ tenant_id, url: hooks.url, event_types: ["cron.execution.*"] })
  receiver.script(answer(200), answer(500))
  const { id, name } = await newSchedule(svc, receiver.url, { max_retries: 0 })
  for (const [count, type] of [
    [1, "cron.execution.succeeded"],
    [2, "cron.execution.failed"],
  ] as const) {
    const execution = await svc.cron.trigger({ id })
    const told = JSON.parse(`${(await hooks.received(count))[count - 1]?.body}`)
    assert.equal(told.type, type)
    assert.deepEqual(told.data, {
      ...{ schedule_id: id, execution_id: execution.id, name, scheduled_for: execution.scheduled_for },
      error: count === 1 ? null : "The target answered with 500.",
    })
  }
})
