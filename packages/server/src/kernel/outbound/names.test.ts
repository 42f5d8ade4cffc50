import assert from "node:assert/strict"
import { networkInterfaces } from "node:os"
import { type TestContext, test } from "node:test"
import { type DnsRecord, startDns } from "../../testing/dns.ts"
import { answer, closeAtOnce, startReceiver } from "../../testing/receiver.ts"
import { createOutbound } from "./open.ts"

const a = (...addresses: readonly string[]): DnsRecord[] => addresses.map(data => ({ type: "A", data }))
const aaaa = (...addresses: readonly string[]): DnsRecord[] => addresses.map(data => ({ type: "AAAA", data }))

/** Of the addresses of this machine, 127.0.0.2 stands for the public Internet, and 127.0.0.1 for what is private. */
const start = async (t: TestContext, outboundAllow: readonly string[] = ["127.0.0.2"]) => {
  const dns = await startDns(t)
  const outbound = createOutbound({
    ...{ outboundAllow, dnsServers: [dns.address], mode: "development", baseUrl: "http://cloud.test:4800" },
  })
  t.after(() => outbound[Symbol.asyncDispose]())
  // In this order: a port that is free on the address of all other tests is free on this one.
  const inner = await startReceiver(t, { host: "127.0.0.1" })
  const open = await startReceiver(t, { host: "127.0.0.2", port: inner.port })
  const request = (host: string) => outbound.request({ url: `http://${host}:${open.port}/` })
  return { dns, outbound, request, open, inner }
}

test("a name that resolves to what is private is refused before anything is sent", async t => {
  const { dns, request, inner } = await start(t)
  const answers: Readonly<Record<string, readonly DnsRecord[]>> = {
    "loopback.test": a("127.0.0.1"),
    "zero.test": a("0.0.0.0"),
    "metadata.test": a("169.254.169.254"),
    "private.test": a("10.0.0.1", "192.168.0.1"),
    "six.test": aaaa("::1", "fd00:ec2::254"),
    "mapped.test": aaaa("::ffff:127.0.0.1"),
    "nat64.test": aaaa("64:ff9b::7f00:1"),
    "alias.test": [{ type: "CNAME", data: "target.test" }, ...a("127.0.0.1")],
  }
  for (const [name, records] of Object.entries(answers)) {
    dns.answer(name, records)
    const outcome = await request(name)
    assert.deepEqual([outcome.kind, outcome.kind === "refused" && outcome.rule], ["refused", "address"], name)
    assert.ok(outcome.kind === "answered" || !/\d\.\d/.test(outcome.message), "no address in the message")
  }
  assert.equal(inner.connections, 0)
})

test("of the addresses of a name only those are tried that may be", async t => {
  const { dns, request, open, inner } = await start(t)
  dns.answer("both.test", [...a("127.0.0.1", "127.0.0.2", "10.0.0.1"), ...aaaa("::1")])
  const outcome = await request("both.test")
  assert.deepEqual([outcome.kind, outcome.kind === "answered" && outcome.address], ["answered", "127.0.0.2"])
  assert.deepEqual([open.connections, inner.connections], [1, 0])
})

test("an address where nobody listens is passed over for the next one", async t => {
  const { dns, request } = await start(t, ["127.0.0.2", "127.0.0.3"])
  dns.answer("half.test", a("127.0.0.3", "127.0.0.2"))
  const outcome = await request("half.test")
  assert.deepEqual([outcome.kind, outcome.kind === "answered" && outcome.address], ["answered", "127.0.0.2"])
  dns.answer("dead.test", a("127.0.0.3"))
  assert.equal((await request("dead.test")).kind, "unreachable")
})

const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === "::1"))

test("IPv6 is spoken where there is some", { skip: !hasIpv6 }, async t => {
  const { dns, outbound } = await start(t, ["::1"])
  const receiver = await startReceiver(t, { host: "::1" })
  dns.answer("six.test", aaaa("::1"))
  for (const url of [receiver.url, `http://six.test:${receiver.port}/`]) {
    const outcome = await outbound.request({ url })
    assert.equal(outcome.kind === "answered" && outcome.address, "::1", url)
  }
})

test("a name that changes its mind after it was judged gains nothing", async t => {
  const { dns, request, open, inner } = await start(t)
  let asked = 0
  dns.answer("rebinding.test", ({ type }) => {
    if (type !== "A") return []
    asked++
    return a(asked === 1 ? "127.0.0.2" : "127.0.0.1")
  })
  assert.equal((await request("rebinding.test")).kind, "answered")
  assert.equal(asked, 1, "a connection is one look-up")
  assert.equal((await request("rebinding.test")).kind, "answered")
  assert.equal(asked, 1, "the second request goes over the connection that was judged")
  open.script(closeAtOnce)
  // It is sent again over a new connection, whose look-up is judged anew.
  assert.equal((await request("rebinding.test")).kind, "refused")
  assert.deepEqual([asked, inner.connections], [2, 0])
})

test("a redirect to a name that is private is refused", async t => {
  const dns = await startDns(t)
  const options = { dnsServers: [dns.address], mode: "development", baseUrl: "http://cloud.test" } as const
  const outbound = createOutbound({ ...options, outboundAllow: ["127.0.0.2"] })
  t.after(() => outbound[Symbol.asyncDispose]())
  // In this order, for the reason that `start` has.
  const inner = await startReceiver(t, { host: "127.0.0.1" })
  const open = await startReceiver(t, { host: "127.0.0.2", port: inner.port })
  dns.answer("inner.test", a("127.0.0.1"))
  for (const target of [
    `http://inner.test:${open.port}/`,
    inner.url,
    "http://[::1]/",
    "file:///etc/passwd",
  ]) {
    open.script(answer(302, { location: target }))
    const outcome = await outbound.request({ url: open.url, redirectsMax: 5 })
    assert.equal(outcome.kind, "refused", target)
  }
  assert.equal(inner.connections, 0)
})

test("a name without an address, or whose name servers are at a loss, is unresolved", async t => {
  const { dns, request } = await start(t)
  dns.answer("fail.test", "fail")
  dns.answer("refuse.test", "refuse")
  dns.answer("empty.test", [{ type: "TXT", data: "127.0.0.2" }])
  for (const name of ["missing.test", "fail.test", "refuse.test", "empty.test"])
    assert.equal((await request(name)).kind, "unresolved", name)
})

test("a name server that is silent costs no more than the deadline", async t => {
  const dns = await startDns(t)
  const outbound = createOutbound({
    ...{ outboundAllow: [], dnsServers: [dns.address], mode: "development", baseUrl: "http://cloud.test" },
  })
  t.after(() => outbound[Symbol.asyncDispose]())
  dns.answer("silent.test", "silence")
  const outcome = await outbound.request({ url: "https://silent.test/", timeoutMs: 100 })
  assert.equal(outcome.kind, "timeout")
})

test("a local name leads to what the operator opened, and nowhere else", async t => {
  const { dns, request, open } = await start(t)
  dns.answer("api.internal", a("127.0.0.2"))
  dns.answer("stray.internal", a("8.8.8.8"))
  dns.answer("cloud.test", a("8.8.8.8"))
  dns.answer("search", a("127.0.0.2"))
  assert.equal((await request("api.internal")).kind, "answered")
  assert.equal((await request("search")).kind, "answered")
  for (const name of ["stray.internal", "cloud.test", "localhost"])
    assert.equal((await request(name)).kind, "refused", name)
  assert.equal(open.requests.length, 2)
})

test("no name server is asked about localhost", async t => {
  const { dns, request, inner } = await start(t, ["127.0.0.1"])
  dns.answer("localhost", a("127.0.0.2"))
  const outcome = await request("localhost")
  assert.deepEqual([outcome.kind, outcome.kind === "answered" && outcome.address], ["answered", "127.0.0.1"])
  assert.deepEqual([dns.questions.length, inner.requests.length], [0, 1])
})
