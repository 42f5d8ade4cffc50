import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { exchange } from "../../testing/wire.ts"
import { createClientAddress, parseCidrs } from "./client-address.ts"

/** The caller's address as a server sees it that trusts these proxies. */
const addressOf = (trusted: readonly string[], peer: string | undefined, forwarded?: string): string => {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded }
  const request = { socket: { remoteAddress: peer }, headers } as Parameters<
    ReturnType<typeof createClientAddress>
  >[0]
  return createClientAddress(trusted)(request)
}

test("without trusted proxies the peer is the caller, whatever a header says", () => {
  assert.equal(addressOf([], "203.0.113.7", "198.51.100.1"), "203.0.113.7")
  assert.equal(addressOf([], "2001:db8::7", "198.51.100.1"), "2001:db8::7")
  assert.equal(addressOf([], "::ffff:203.0.113.7"), "203.0.113.7")
  assert.equal(addressOf(["10.0.0.0/8"], "203.0.113.7", "198.51.100.1"), "203.0.113.7")
  assert.equal(addressOf(["10.0.0.0/8"], "::ffff:203.0.113.7", "198.51.100.1"), "203.0.113.7")
})

test("behind trusted proxies the caller is the rightmost address that is not one of theirs", () => {
  const trusted = ["10.0.0.0/8", "2001:db8:aaaa::/48", "192.0.2.1"]
  for (const [peer, forwarded, caller] of [
    ["10.0.0.1", "203.0.113.7", "203.0.113.7"],
    ["10.0.0.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"],
    ["10.0.0.1", "10.0.0.9, 203.0.113.7, 10.0.0.2,192.0.2.1", "203.0.113.7"],
    ["::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"],
    ["2001:db8:aaaa::1", "2001:db8:bbbb::1", "2001:db8:bbbb::1"],
    ["10.0.0.1", "203.0.113.7, 2001:db8:aaaa::5", "203.0.113.7"],
    ["10.0.0.1", "203.0.113.7, ::ffff:10.0.0.2", "203.0.113.7"],
    ["10.0.0.1", "203.0.113.7, ::ffff:a00:2", "203.0.113.7"],
    ["10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"],
    ["10.0.0.1", undefined, "10.0.0.1"],
  ] as const) {
    assert.equal(addressOf(trusted, peer, forwarded), caller, `${forwarded} by ${peer}`)
  }
})

test("one address has one spelling, with or without the port that some proxies add", () => {
  for (const [hop, caller] of [
    ["2001:DB8:0:0::1", "2001:db8::1"],
    ["2001:0db8:0000::0001", "2001:db8::1"],
    ["::FFFF:203.0.113.7", "203.0.113.7"],
    ["::ffff:cb00:7107", "203.0.113.7"],
    ["203.0.113.7:4711", "203.0.113.7"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:4711", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
  ] as const) {
    assert.equal(addressOf(["10.0.0.1"], "10.0.0.1", hop), caller, hop)
  }
})

test("what is no address stands for nobody, and hides nobody to its left", () => {
  for (const hop of [
    "",
    "unknown",
    "_hidden",
    "203.0.113.7.",
    "203.0.113.007",
    "203.0.113.7:",
    "[203.0.113.7",
    "1e3",
    "<b>",
  ]) {
    assert.equal(addressOf(["10.0.0.1"], "10.0.0.1", `198.51.100.1, ${hop}`), "unknown", hop)
  }
  assert.equal(addressOf([], undefined), "unknown")
})

test("a CIDR is an address with at most one prefix of a fitting length", () => {
  for (const good of [
    "203.0.113.7",
    "203.0.113.0/24",
    "0.0.0.0/0",
    "2001:db8::/32",
    "::1",
    "::/0",
    "::ffff:10.0.0.0/104",
  ]) {
    parseCidrs([good])
  }
  for (const bad of [
    "",
    "203.0.113.0/33",
    "203.0.113.0/",
    "203.0.113.0/-1",
    "203.0.113.0/+8",
    "203.0.113.0/24/24",
    "2001:db8::/129",
    "203.0.113",
    "example.com",
    "203.0.113.0/ 8",
    "010.0.0.1",
  ]) {
    assert.throws(() => parseCidrs([bad]), RangeError, bad)
  }
})

const withList = async (t: TestContext, allowlist: string[], trusted?: string) => {
  const p = await platform(t, trusted === undefined ? {} : { env: { SVC_TRUSTED_PROXIES: trusted } })
  const { secret } = await p.key("acme", ["kv:read"], { ip_allowlist: allowlist })
  return async (forwarded?: string) => {
    const headers = {
      authorization: `Bearer ${secret}`,
      ...(forwarded !== undefined && { "x-forwarded-for": forwarded }),
    }
    const { status, body } = await exchange(t, p.url, { path: "/v1/me", headers })
    return status === 200 || (JSON.parse(body) as { code: string }).code
  }
}

test("a key with an allow-list answers to the listed addresses only", async t => {
  const listed = await withList(t, ["127.0.0.1", "2001:db8::/32"])
  assert.equal(await listed(), true)
  const elsewhere = await withList(t, ["203.0.113.0/24"])
  assert.equal(await elsewhere(), "ip_not_allowed")
  assert.equal(await elsewhere("203.0.113.7"), "ip_not_allowed", "a header alone convinces nobody")
})

test("behind a trusted proxy an allow-list is about the caller, not the proxy", async t => {
  const call = await withList(t, ["203.0.113.0/24", "2001:db8::/32"], "127.0.0.0/8, ::1")
  assert.equal(await call("203.0.113.7"), true)
  assert.equal(await call("198.51.100.1, 203.0.113.7"), true)
  assert.equal(await call("2001:DB8::7"), true)
  assert.equal(await call("::ffff:203.0.113.7"), true)
  assert.equal(
    await call("203.0.113.7, 198.51.100.1"),
    "ip_not_allowed",
    "the left part is the caller's own text",
  )
  assert.equal(await call("2001:db9::7"), "ip_not_allowed")
})

test("an allow-list is closed to callers without a readable address", async t => {
  const call = await withList(t, ["0.0.0.0/0", "::/0"], "127.0.0.1")
  assert.equal(await call("203.0.113.7"), true)
  for (const forwarded of ["unknown", "", ",", "203.0.113.7, unknown"]) {
    assert.equal(await call(forwarded), "ip_not_allowed", forwarded)
  }
})
