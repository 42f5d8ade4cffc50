import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { plans } from "@svc/contract"
import { PASSWORD, type PlatformOptions, platform } from "../../testing/platform.ts"
import { addressBucket } from "./limit.ts"

test("an IPv4 address is one bucket, a whole IPv6 /64 another", () => {
  for (const [ip, bucket] of [
    ["203.0.113.7", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::1", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:db8:0:1::", "2001:db8:0:1"],
    ["2001:db8::1:2:3:4:5", "2001:db8:0:1"],
    ["2001::3:4:5:6:7:8", "2001:0:3:4"],
    ["1:2:3:4:5:6:7::", "1:2:3:4"],
    ["::1", "0:0:0:0"],
    ["::", "0:0:0:0"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["unknown", "unknown"],
  ] as const) {
    assert.equal(addressBucket(ip), bucket, ip)
  }
})

const FREE = plans.free.requests_per_second

const limited = (t: TestContext, env: PlatformOptions["env"] = {}) =>
  platform(t, { env: { SVC_RATE_LIMIT: "plan", SVC_AUTH_RATE_LIMIT: "on", ...env } })

/** A key of a tenant on the free plan, as the headers that carry it. */
const freeKey = async (p: Awaited<ReturnType<typeof limited>>, tenant: string) => {
  await p.tenant(tenant, "free")
  const { secret } = await p.key(tenant, ["kv:read"])
  return { authorization: `Bearer ${secret}` }
}

test("the keys of an organization share one bucket of its plan's size, and every reply tells its state", async t => {
  const p = await limited(t)
  const keys = [await freeKey(p, "acme"), await freeKey(p, "acme")]
  const nowSeconds = p.clock.now() / 1000
  for (let call = 1; call <= FREE; call++) {
    const { status, headers } = await p.request("/v1/me", { headers: keys[call % 2] ?? {} })
    assert.equal(status, 200)
    assert.equal(headers.get("x-ratelimit-limit"), String(FREE))
    assert.equal(headers.get("x-ratelimit-remaining"), String(FREE - call))
    assert.equal(headers.get("x-ratelimit-reset"), String(Math.ceil(nowSeconds + call / FREE)))
    assert.equal(headers.get("retry-after"), null)
  }
  for (const headers of keys) {
    const refused = await p.request("/v1/me", { headers })
    assert.equal(refused.status, 429)
    assert.equal(((await refused.json()) as { code: string }).code, "rate_limited")
    assert.equal(refused.headers.get("x-ratelimit-remaining"), "0")
    assert.equal(refused.headers.get("retry-after"), "1")
  }
})

test("a bucket fills as time goes by, to its size and no further", async t => {
  const p = await limited(t)
  const headers = await freeKey(p, "acme")
  const call = async () => (await p.request("/v1/scopes", { headers })).status
  const allowed = async () => {
    let calls = 0
    while ((await call()) === 200) calls += 1
    return calls
  }
  assert.equal(await allowed(), FREE)
  await p.clock.advance(1000 / FREE - 1)
  assert.equal(await call(), 429)
  await p.clock.advance(1)
  assert.equal(await call(), 200)
  assert.equal(await call(), 429)
  await p.clock.advance(500)
  assert.equal(await allowed(), FREE / 2)
  await p.clock.advance(3_600_000)
  assert.equal(await allowed(), FREE)
})

test("one organization's flood costs another nothing", async t => {
  const p = await limited(t)
  const flooding = await freeKey(p, "acme")
  const quiet = await freeKey(p, "globex")
  const flood = await Promise.all(
    Array.from({ length: 3 * FREE }, () =>
      p.request("/v1/me", { headers: flooding }).then(({ status }) => status),
    ),
  )
  assert.deepEqual(
    [flood.filter(status => status === 200).length, flood.filter(status => status === 429).length],
    [FREE, 2 * FREE],
  )
  const { status, headers } = await p.request("/v1/me", { headers: quiet })
  assert.deepEqual([status, headers.get("x-ratelimit-remaining")], [200, String(FREE - 1)])
})

test("a call that is refused for another reason has cost its organization a call", async t => {
  const p = await limited(t)
  const headers = { ...(await freeKey(p, "acme")), "content-type": "application/json" }
  const refused = await p.request("/v1/kv/set", { method: "POST", headers, body: "{}" })
  assert.deepEqual([refused.status, refused.headers.get("x-ratelimit-remaining")], [403, String(FREE - 1)])
  const { status, headers: told } = await p.request("/v1/me", { headers })
  assert.deepEqual([status, told.get("x-ratelimit-remaining")], [200, String(FREE - 2)])
})

test("an address that keeps failing to prove who it is is slowed down, and a good key beside it is not", async t => {
  const p = await limited(t)
  const good = await freeKey(p, "acme")
  const guess = async () => {
    const response = await p.request("/v1/me", { headers: { authorization: "Bearer svc_sk_guess" } })
    return { status: response.status, retryAfter: response.headers.get("retry-after") }
  }
  for (let failure = 0; failure < 30; failure++) assert.equal((await guess()).status, 401)
  assert.deepEqual(await guess(), { status: 429, retryAfter: "1" })
  assert.equal((await p.request("/v1/me", { headers: good })).status, 200)
  await p.clock.advance(1000)
  assert.equal((await guess()).status, 401)
  assert.equal((await guess()).status, 429)
})

test("addresses behind a trusted proxy fail each on their own account", async t => {
  const p = await limited(t, { SVC_TRUSTED_PROXIES: "127.0.0.1" })
  const guess = async (address: string) =>
    (await p.request("/v1/me", { headers: { "x-forwarded-for": address } })).status
  for (let failure = 0; failure < 30; failure++) assert.equal(await guess(`2001:db8:0:1::${failure}`), 401)
  assert.equal(await guess("2001:db8:0:1::ffff"), 429, "one /64 is one address")
  assert.equal(await guess("2001:db8:0:2::1"), 401)
  assert.equal(await guess("2001:db8:0:1::1, 203.0.113.7"), 401)
})

test("log-in is three attempts a minute from one address, whoever they are for", async t => {
  const p = await limited(t, { SVC_TRUSTED_PROXIES: "127.0.0.1" })
  const login = async (address: string) => {
    const response = await p.request("/v1/account/login", {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify({ email: `${crypto.randomUUID()}@example.com`, password: PASSWORD }),
    })
    const { code } = (await response.json()) as { code: string }
    return [response.status, code, response.headers.get("retry-after")]
  }
  for (let attempt = 0; attempt < 3; attempt++) {
    assert.deepEqual(await login("203.0.113.7"), [401, "invalid_credentials", null])
  }
  assert.deepEqual(await login("203.0.113.7"), [429, "auth_rate_limited", "60"])
  assert.deepEqual(await login("203.0.113.8"), [401, "invalid_credentials", null])
  // A refused attempt does not count, and nothing trickles in before the minute is over.
  await p.clock.advance(59_000)
  assert.deepEqual(await login("203.0.113.7"), [429, "auth_rate_limited", "1"])
  await p.clock.advance(1_000)
  for (let attempt = 0; attempt < 3; attempt++) {
    assert.deepEqual(await login("203.0.113.7"), [401, "invalid_credentials", null])
  }
  assert.deepEqual(await login("203.0.113.7"), [429, "auth_rate_limited", "60"])
})

test("switched off, nothing is refused and the plan's size is still told", async t => {
  const p = await limited(t, { SVC_RATE_LIMIT: "off" })
  const headers = await freeKey(p, "acme")
  for (let call = 0; call < 2 * FREE; call++) {
    const response = await p.request("/v1/scopes", { headers })
    assert.deepEqual([response.status, response.headers.get("x-ratelimit-remaining")], [200, String(FREE)])
  }
})

test("what reaches no operation is counted and tells the limit too: unknown routes, other methods, bad credentials", async t => {
  const p = await limited(t)
  const headers = await freeKey(p, "acme")
  let left = FREE
  for (const [method, path, status] of [
    ["GET", "/v1/no-such-route", 404],
    ["PATCH", "/v1/kv/get", 405],
  ] as const) {
    const known = await p.request(path, { method, headers })
    left -= 1
    assert.deepEqual([known.status, known.headers.get("x-ratelimit-remaining")], [status, String(left)], path)
    const unknown = await p.request(path, { method })
    assert.equal(unknown.status, status)
    assert.ok(unknown.headers.get("x-ratelimit-limit"), path)
  }
  for (const credential of [{}, { authorization: "Bearer svc_sk_wrong" }]) {
    const refused = await p.request("/v1/me", { headers: credential })
    assert.equal(refused.status, 401)
    for (const name of ["limit", "remaining", "reset"])
      assert.ok(refused.headers.get(`x-ratelimit-${name}`), name)
  }
  while (left-- > 0) await p.request("/v1/no-such-route", { headers })
  assert.equal((await p.request("/v1/no-such-route", { headers })).status, 429)
})
