import assert from "node:assert/strict"
import { test } from "node:test"
import { openEndpoint, type Received } from "@svc/sdk/testing"
import { openFolder, openShell } from "./testing/command.ts"

const entries = new Map<string, unknown>()

/** Answers like a platform whose services route is broken and whose scopes are not there. */
const answerTo = ({ path, body }: Received) => {
  const { key = "", value } = body ? JSON.parse(body) : {}
  switch (path) {
    case "/health":
      return { headers: { "x-request-id": "r" }, body: { status: "ok" } }
    case "/api/v1/services":
      return {
        body: {
          data: { services: [{ name: "kv", status: "degraded", reason: "disk full", setting: null }] },
        },
      }
    case "/v1/scopes":
      return { status: 501, body: { code: "not_implemented", error: "not here" } }
    case "/v1/kv/set":
      entries.set(key, value)
      return { body: { ok: true, version: 1, expires_at: null } }
    case "/v1/kv/get":
      return { body: { value: entries.get(key) ?? null, version: 1, ttl_seconds: 60 } }
    case "/v1/kv/del":
      return { body: { deleted: entries.delete(key) ? 1 : 0 } }
    default:
      return { body: { data: {} } }
  }
}

test("selftest tells what passes, what the platform cannot do, and what it skips, and leaves nothing behind", async t => {
  const { url } = await openEndpoint(t, answerTo)
  const { run } = await openShell(t, url)

  const { code, out } = await run(["selftest"])

  assert.equal(code, 0)
  assert.match(out, /^pass +identity me$/m)
  assert.match(out, /^unavailable +identity scopes +501 not_implemented: not here$/m)
  assert.match(out, /^skip +keys list +needs a signed-in session$/m)
  assert.match(out, /^pass +kv: a write$/m)
  assert.match(out, /\d+ pass, 1 unavailable, \d+ skipped, 0 fail\n$/)
  assert.equal(entries.size, 0)
})

test("selftest fails when an operation answers what it should not", async t => {
  const { url } = await openEndpoint(t, request =>
    request.path === "/v1/me"
      ? { status: 500, body: { code: "internal_error", error: "oops" } }
      : answerTo(request),
  )
  const { run } = await openShell(t, url)

  const { code, out } = await run(["selftest", "--json"])

  assert.equal(code, 1)
  const { fail, outcomes } = JSON.parse(out)
  assert.equal(fail, 1)
  assert.deepEqual(
    outcomes.filter(({ state }: { state: string }) => state === "fail"),
    [{ name: "identity me", state: "fail", detail: "500 internal_error: oops" }],
  )
})

test("selftest without a platform is a network error, not a list of failures", async t => {
  const { run } = await openShell(t, "http://127.0.0.1:1")
  const { code, out } = await run(["selftest"])
  assert.equal(code, 3)
  assert.equal(out, "")
})

test("doctor names, for each area, what is lacking and the command that installs it", async t => {
  const { url } = await openEndpoint(t, answerTo)
  const { run } = await openShell(t, url)
  const PATH = await openFolder(t)

  const { code, out } = await run(["doctor"], { env: { PATH } })

  assert.equal(code, 0)
  assert.match(out, /ok +port \d+ +a platform answers/)
  assert.match(
    out,
    /integrations +has none of its programs\n +lacks git: .*\n +(sudo )?apt-get install git\n/,
  )
  assert.match(out, /kv +degraded +disk full/)
})

test("doctor tells what runs a platform's workloads, and what is weaker there than it could be", async t => {
  const capabilities = { driver: "process", isolation: "process", reasons: ["there are no disks"] }
  const sandboxes = { name: "sandboxes", status: "available", reason: null, setting: null, capabilities }
  const { url } = await openEndpoint(t, request =>
    request.path === "/api/v1/services" ? { body: { data: { services: [sandboxes] } } } : answerTo(request),
  )
  const { run } = await openShell(t, url)
  const { out } = await run(["doctor"])
  assert.match(out, /workloads: process, isolation process; .*\n +there are no disks\n/)
})

test("doctor tries each driver when it is asked to, and tells why one does not work and what it takes", async t => {
  const { run } = await openShell(t, "http://127.0.0.1:1", "")
  const { out } = await run(["doctor", "--drivers", "--json"], { env: { SVC_RUNTIME: "process" } })
  const { trials, demand } = JSON.parse(out).drivers
  assert.equal(demand, "process")
  const [{ driver, found, packages }] = trials
  assert.equal(driver, "process")
  if (typeof found === "string") assert.ok(packages.includes("perl-base"))
  else assert.equal(found.isolation, "process")
})

test("doctor's report as JSON", async t => {
  const { run } = await openShell(t, "http://127.0.0.1:1", "")
  const { out } = await run(["doctor", "--json"])
  const { machine, areas, platform } = JSON.parse(out)
  assert.ok(machine.some(({ name }: { name: string }) => name === "disk"))
  assert.ok(areas.some(({ area }: { area: string }) => area === "sandboxes"))
  assert.deepEqual(platform, { note: "no server responds" })
})
