/** What a command's exit code and output say of what it did, and what may stand in place of ids. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { type Act, openEndpoint, type Received } from "@svc/sdk/testing"
import { openShell } from "./testing/command.ts"

const ID = "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10"

/** A platform that answers by path. */
const open = async (t: Parameters<typeof openEndpoint>[0], answers: Readonly<Record<string, Act>>) => {
  const endpoint = await openEndpoint(
    t,
    ({ path }: Received) => answers[path.split("?")[0] ?? ""] ?? { status: 404 },
  )
  const { run } = await openShell(t, endpoint.url)
  return { run, received: endpoint.received }
}

const ran = {
  stdout: "out\n",
  stderr: "err\n",
  duration_ms: 1,
  timed_out: false,
  truncated: false,
  signal: null,
}

test("a command that ran on a machine has its output and exit code here", async t => {
  const { run, received } = await open(t, {
    [`/v1/computers/${ID}/exec`]: { body: { ...ran, exit_code: 7 } },
  })
  assert.deepEqual(await run(["computers", "exec", ID, "false"]), { code: 7, out: "out\n", err: "err\n" })
  await run(["computers", "exec", ID, "--", "ls", "-l"])
  assert.deepEqual(
    received.map(({ body }) => JSON.parse(body).command),
    ["false", ["ls", "-l"]],
  )
  const json = await run(["computers", "exec", ID, "false", "--json"])
  assert.deepEqual([json.code, JSON.parse(json.out).exit_code], [7, 7])
})

test("a command that is followed prints what it printed, as text", async t => {
  const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
  const base64 = (text: string) => ({ data: Buffer.from(text).toString("base64") })
  const body =
    event("stdout", base64("ün")) + event("stderr", base64("no\n")) + event("exit", { exit_code: 3 })
  const act = { headers: { "content-type": "text/event-stream" }, body }
  const { run } = await open(t, { [`/v1/sandboxes/${ID}/commands/stream`]: act })
  assert.deepEqual(await run(["sandboxes", "stream-command", ID, "x"]), { code: 3, out: "ün", err: "no\n" })
})

test("an invocation takes its event from --data or standard input, and fails when the function does", async t => {
  const failed = { invocation_id: ID, status: "error", error: { type: "Error", message: "no" } }
  const { run, received } = await open(t, { "/v1/functions/hi/invoke": { body: { data: failed } } })
  const runs = [
    await run(["functions", "invoke", "hi", "--data", '{"a":1}']),
    await run(["functions", "invoke", "hi", "--data", "-"], { input: '{"a":2}' }),
    await run(["functions", "invoke", "hi", "--payload", "-"], { input: '{"a":3}' }),
  ]
  assert.deepEqual(
    received.map(({ body }) => body),
    ['{"a":1}', '{"a":2}', '{"a":3}'],
  )
  assert.deepEqual(
    runs.map(({ code }) => code),
    [1, 1, 1],
  )
})

test("a test that did not succeed ends with exit code 1", async t => {
  const tested = { success: false, status_code: 500, response_time_ms: 1, error: null, delivery: { id: ID } }
  const path = `/v1/events/subscriptions/${ID}/test`
  const { run } = await open(t, { [path]: { body: { data: tested } } })
  assert.equal((await run(["events", "test-subscription", ID])).code, 1)
})

test("a name stands in place of an id, and one that is not there is said so", async t => {
  const computers = [{ id: ID, name: "web1" }]
  const { run } = await open(t, {
    "/v1/computers": { body: { computers, total: 1 } },
    [`/v1/computers/${ID}`]: { body: { id: ID, name: "web1" } },
  })
  assert.equal((await run(["computers", "get", "web1"])).out, `id    ${ID}\nname  web1\n`)
  const absent = await run(["computers", "get", "web2"])
  assert.equal(absent.code, 2)
  assert.match(absent.err, /there is no computer web2; svc computers list shows them/)
})

test("the organization is the key's own, unless a command names one", async t => {
  const own = `/api/v1/tenants/${ID}/webhooks`
  const page = { data: [], total: 0, limit: 50, offset: 0 }
  const { run, received } = await open(t, {
    "/v1/me": { body: { data: { organization: { id: ID, name: "acme" } } } },
    [own]: { body: page },
    [`${own}/${ID}`]: { body: { data: { id: ID } } },
  })
  assert.equal((await run(["webhooks", "list"])).code, 0)
  assert.equal((await run(["webhooks", "get", ID])).code, 0)
  assert.equal((await run(["webhooks", "get", ID, ID])).code, 0)
  assert.deepEqual(
    received.map(({ path }) => path),
    ["/v1/me", own, "/v1/me", `${own}/${ID}`, `${own}/${ID}`],
  )
})

test("a list shows a handful of columns, and all of them with --wide", async t => {
  const fields = Array.from({ length: 12 }, (_, n) => [`field_${n}`, n])
  const row = { id: ID, ...Object.fromEntries(fields), name: "web1", created_at: "2026-11-20T18:00:00Z" }
  const { run } = await open(t, { "/v1/computers": { body: { computers: [row], total: 1 } } })
  const { out, err } = await run(["computers", "list"])
  assert.equal(out.split("\n")[0]?.replace(/ +/g, " "), "id field_0 field_1 field_2 field_3 name created_at")
  assert.match(err, /^not shown: field_4, .*--wide and --json show all/)
  const wide = await run(["computers", "list", "--wide"])
  assert.equal(wide.out.split("\n")[0]?.split(/ +/).length, 15)
  assert.equal(wide.err, "")
})
