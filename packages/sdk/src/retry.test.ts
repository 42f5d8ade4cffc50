import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc, type RateLimited } from "./index.ts"
import { prepare } from "./prepare.ts"
import type { Route } from "./route.ts"
import { readSettings } from "./settings.ts"
import { type Act, openEndpoint } from "./testing/endpoint.ts"
import { createTransport } from "./transport.ts"

const refusal = (status: number, code: string, headers = {}): Act => ({
  status,
  headers,
  body: { code, error: code, docs_url: "http://localhost/docs", request_id: "r" },
})

/** A client whose waits are noted and not waited for. */
const clientOf = (baseUrl: string, options = {}) => {
  const waits: number[] = []
  const sleep = async (ms: number) => void waits.push(ms)
  return { svc: createSvc({ baseUrl, sleep, ...options }), waits }
}

const failing = (times: number, act: Act, body: unknown = { data: {} }) => ({
  act: (_: unknown, index: number): Act => (index < times ? act : { body }),
})

for (const [what, act] of [
  ["a dropped connection", "drop"],
  ["502", refusal(502, "upstream_error")],
  ["503", refusal(503, "service_unavailable")],
  ["504 of a proxy", { status: 504, body: "<html>" }],
  ["429", refusal(429, "rate_limited")],
  ["409 idempotency_key_in_use", refusal(409, "idempotency_key_in_use")],
] as const)
  test(`a call is repeated after ${what}, with the same idempotency key`, async t => {
    const { url, received } = await openEndpoint(t, failing(2, act).act)
    const { svc, waits } = clientOf(url)

    await svc.keys.create({ name: "ci", type: "secret" })

    assert.equal(received.length, 3)
    assert.equal(waits.length, 2)
    const keys = received.map(({ headers }) => headers["idempotency-key"])
    assert.match(String(keys[0]), /^[0-9a-f-]{36}$/)
    assert.deepEqual(keys, [keys[0], keys[0], keys[0]])
    assert.deepEqual(new Set(received.map(({ body }) => body)).size, 1)
  })

test("two calls never share a key, and the caller can give one", async t => {
  const { url, received } = await openEndpoint(t, () => ({ body: { data: {} } }))
  const { svc } = clientOf(url)

  await svc.keys.create({ name: "ci", type: "secret" })
  await svc.keys.create({ name: "ci", type: "secret" })
  await svc.keys.create({ name: "ci", type: "secret" }, { idempotencyKey: "mine" })

  const keys = received.map(({ headers }) => headers["idempotency-key"])
  assert.equal(new Set(keys).size, 3)
  assert.equal(keys[2], "mine")
})

test("reads and naturally idempotent writes carry no key and are repeated", async t => {
  const { url, received } = await openEndpoint(t, (_, index) =>
    index % 2 === 0 ? "drop" : { body: { ok: true, version: 1, expires_at: null } },
  )
  const { svc } = clientOf(url)

  await svc.kv.get({ key: "a" })
  await svc.kv.set({ key: "a", value: 1 })

  assert.equal(received.length, 4)
  for (const { headers } of received) assert.equal(headers["idempotency-key"], undefined)
})

for (const [what, act] of [
  ["400", refusal(400, "validation_failed")],
  ["500", refusal(500, "internal_error")],
  ["501", refusal(501, "not_implemented")],
  ["409 of another kind", refusal(409, "name_taken")],
  ["a 503 that waiting does not cure", refusal(503, "email_domain_not_enabled")],
  ["a 429 that lasts until tomorrow", refusal(429, "ai_daily_limit_exceeded")],
  ["a Retry-After of an hour", refusal(429, "rate_limited", { "retry-after": "3600" })],
] as const)
  test(`${what} is thrown at once`, async t => {
    const { url, received } = await openEndpoint(t, () => act)
    const { svc } = clientOf(url)

    await assert.rejects(svc.kv.get({ key: "a" }), { name: "SvcError" })

    assert.equal(received.length, 1)
  })

test("waits grow, stay under their cap and never undercut Retry-After", async t => {
  const { url } = await openEndpoint(t, (_, index) =>
    refusal(503, "service_unavailable", index === 3 ? { "retry-after": "7" } : {}),
  )
  const { svc, waits } = clientOf(url, { retries: 8 })

  await assert.rejects(svc.kv.get({ key: "a" }), { status: 503 })

  assert.equal(waits.length, 8)
  waits.forEach((ms, index) => {
    const least = index === 3 ? 7000 : 0
    assert.ok(ms >= least && ms <= least + Math.min(8000, 200 * 2 ** index), `wait ${index}: ${ms} ms`)
  })
})

test("the number of retries is kept, and the last error thrown", async t => {
  const { url, received } = await openEndpoint(t, () => "drop")
  const { svc } = clientOf(url, { retries: 1 })

  await assert.rejects(svc.kv.get({ key: "a" }), { status: 0, code: "network_error" })

  assert.equal(received.length, 2)
})

test("every 429 is told to the caller's listener", async t => {
  const limits = { "x-ratelimit-limit": "20", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" }
  const { url } = await openEndpoint(
    t,
    failing(1, refusal(429, "rate_limited", { ...limits, "retry-after": "1" })).act,
  )
  const heard: RateLimited[] = []
  const { svc } = clientOf(url, { onRateLimit: (limited: RateLimited) => heard.push(limited) })

  await svc.keys.list()

  assert.deepEqual(heard, [
    { limit: 20, remaining: 0, reset: 9, code: "rate_limited", retryAfter: 1, path: "/v1/keys" },
  ])
})

test("what nothing makes safe to repeat is sent again only when it was refused before it ran", async t => {
  const route: Route = { method: "POST", path: "/sql", body: "json", effect: "read-or-write", once: true }
  const { url, received } = await openEndpoint(t, (_, index) => (index === 0 ? refusal(429, "x") : "drop"))
  const settings = readSettings({ baseUrl: url, sleep: async () => {} })

  await assert.rejects(createTransport(settings).send(prepare(settings, route, { sql: "…" }, {})), {
    code: "network_error",
  })

  assert.equal(received.length, 2)
})
