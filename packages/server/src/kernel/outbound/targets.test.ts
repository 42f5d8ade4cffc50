import assert from "node:assert/strict"
import { networkInterfaces } from "node:os"
import { type TestContext, test } from "node:test"
import fc from "fast-check"
import ipaddr from "ipaddr.js"
import { createAddressRules } from "./addresses.ts"
import { createOutbound, type OutboundOptions } from "./open.ts"

const client = (t: TestContext, options: Partial<OutboundOptions> = {}) => {
  // The discard address of a name server that nobody runs: no test asks a real one.
  const base = { outboundAllow: [], dnsServers: ["127.0.0.1:9"], baseUrl: "https://cloud.example.com" }
  const outbound = createOutbound({ ...base, mode: "development", ...options })
  t.after(() => outbound[Symbol.asyncDispose]())
  return outbound
}

const REFUSED = {
  url: [
    "",
    "not a url",
    "http://",
    "http://[fe80::1%25eth0]/",
    "http://[::1%25lo]/",
    "http://1.2.3.256/",
    "http://256.1.1.1/",
    "http://1.2.3.4.5/",
    "http://0x100000000/",
    "http://exa mple.com/",
    "http://example.com:99999/",
    "http://example.com/\r\nx: y",
    "http://exam\tple.com/",
    "http://127.0.0.1%00.example.com/",
    `https://example.com/${"x".repeat(8_192)}`,
  ],
  scheme: [
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "unix:/run/docker.sock",
    "ws://example.com/",
    "dict://example.com/",
  ],
  credentials: [
    "http://user@example.com/",
    "http://user:secret@example.com/",
    "http://127.0.0.1@example.com/",
  ],
  port: [
    "http://example.com:22/",
    "http://example.com:25/",
    "https://example.com:0/",
    "http://example.com:1023/",
    "http://example.com:6/",
  ],
  name: [
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://localhost:4800/",
    "http://a.localhost/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata.google.internal./",
    "http://printer.local/",
    "http://postgres/",
    "http://kubernetes/",
    "http://internal/",
    "http://ⓛⓞcalhost/",
    "http://l%6fcalhost/",
    "http://example..com/",
    "http://localhost../",
    "http://-example.com/",
    `http://${"a".repeat(64)}.com/`,
    "https://cloud.example.com/v1/kv/get",
    "https://CLOUD.example.com./",
  ],
  address: [
    // This machine.
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0X7F000001/",
    "http://017700000001/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0177.0.0.1/",
    "http://0177.0x0.0.01/",
    "http://0x7f.0.0.0x1/",
    "http://00000177.0.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x0/",
    "http://①②⑦.⓪.⓪.①/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://127%2e0%2e0%2e1/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1\\@example.com/",
    "http:\\\\127.0.0.1",
    "http:127.0.0.1",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000::0001]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:FFFF:7F00:0001]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    // Clouds.
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://168.63.129.16/",
    "http://169.254.170.2/",
    // Private and local networks.
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://169.254.0.1/",
    "http://[fc00::1]/",
    "http://[fdff:ffff::1]/",
    "http://[fe80::1]/",
    "http://[febf::1]/",
    "http://[fec0::1]/",
    // Reserved, documentation, transition, multicast.
    "http://0.1.2.3/",
    "http://192.0.2.1/",
    "http://192.31.196.1/",
    "http://192.52.193.1/",
    "http://192.88.99.1/",
    "http://192.175.48.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://4294967295/",
    "http://[64:ff9b::8.8.8.8]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[100::1]/",
    "http://[2001::1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001:2::1]/",
    "http://[2001:20::1]/",
    "http://[2001:db8::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:808:808::]/",
    "http://[2620:4f:8000::1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://[4000::1]/",
    "http://[ff02::1]/",
    "http://[::ffff:8.8.8.8]/",
  ],
} as const

test("a URL that leads to anything but the public Internet is refused, however it is written", async t => {
  const outbound = client(t)
  for (const [rule, urls] of Object.entries(REFUSED)) {
    for (const url of urls) {
      const outcome = await outbound.request({ url })
      assert.deepEqual([outcome.kind, outcome.kind === "refused" && outcome.rule], ["refused", rule], url)
      assert.ok(outbound.urlProblem(url), url)
    }
  }
})

test("the addresses of this machine are refused, whatever range they are of", t => {
  const outbound = client(t)
  for (const { address, family, scopeid } of Object.values(networkInterfaces()).flatMap(all => all ?? [])) {
    if (scopeid) continue
    const host = family === "IPv6" ? `[${address}]` : address
    assert.ok(outbound.urlProblem(`http://${host}:4800/`), address)
  }
})

test("a URL of the public Internet has no problem", t => {
  const outbound = client(t)
  const urls = [
    "https://example.com/",
    "http://example.com:8080/a?b=c#d",
    "https://EXAMPLE.com./",
    "https://xn--bcher-kva.example/",
    "https://bücher.example/",
    "https://a_b.example.com/",
    "https://8.8.8.8/",
    "https://172.32.0.1/",
    "https://100.128.0.1/",
    "https://[2606:4700:4700::1111]/",
    "http://example.com:443/",
    "http://internal.example.com/",
    "http://localhost.example.com/",
    "http://127.0.0.1.nip.io/",
  ]
  for (const url of urls) assert.equal(outbound.urlProblem(url), undefined, url)
})

test("plain http is for development, and in production for what the operator opened", t => {
  const production = client(t, { mode: "production" })
  assert.match(production.urlProblem("http://example.com/") ?? "", /https/)
  assert.equal(production.urlProblem("https://example.com/"), undefined)
  const opened = client(t, { mode: "production", outboundAllow: ["10.1.0.0/16"] })
  assert.equal(opened.urlProblem("http://10.1.2.3/"), undefined)
  assert.match(opened.urlProblem("http://8.8.8.8/") ?? "", /https/)
  assert.ok(opened.urlProblem("https://10.2.0.1/"))
})

test("what the operator opens is open in every notation, and nothing beside it", t => {
  const outbound = client(t, { outboundAllow: ["127.0.0.2", "10.1.0.0/16", "fd00::/64"] })
  const open = ["127.0.0.2", "0x7f.2", "[::ffff:127.0.0.2]", "10.1.255.255", "[fd00::1]", "[FD00:0::0001]"]
  for (const host of open) assert.equal(outbound.urlProblem(`http://${host}:8080/`), undefined, host)
  for (const host of ["127.0.0.1", "10.2.0.0", "[fd00:0:0:1::]", "[::1]", "[::127.0.0.2]"])
    assert.ok(outbound.urlProblem(`http://${host}:8080/`), host)
  assert.ok(outbound.urlProblem("http://10.1.0.1:25/"))
})

const octets = fc.tuple(...[0, 1, 2, 3].map(() => fc.nat(255)))

/** Half of them from the ranges that matter. */
const ipv4 = fc.oneof(
  octets,
  fc
    .tuple(fc.constantFrom([127, 0], [10, 1], [169, 254], [192, 168], [100, 64], [172, 20], [0, 0]), octets)
    .map(([head, tail]) => [...head, ...tail.slice(2)]),
)

const number = fc.constantFrom(
  (value: number) => String(value),
  (value: number) => `0x${value.toString(16)}`,
  (value: number) => `0X${value.toString(16).toUpperCase()}`,
  (value: number) => `0${value.toString(8)}`,
  (value: number) => `000${value.toString(8)}`,
  (value: number) => `0x000${value.toString(16)}`,
)

const dressing = fc.constantFrom(
  (host: string) => host,
  (host: string) => `${host}.`,
  (host: string) => host.replaceAll(".", "%2e"),
  (host: string) => host.replaceAll(".", "。"),
  (host: string) => host.replace(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit))),
  (host: string) => host.replace(/\d/g, digit => `%3${digit}`),
)

test("an IPv4 address is judged alike in every notation", t => {
  const outbound = client(t)
  const parts = fc.integer({ min: 1, max: 4 })
  const property = fc.property(
    ipv4,
    parts,
    fc.array(number, { minLength: 4, maxLength: 4 }),
    dressing,
    (bytes, count, write, dress) => {
      const head = bytes.slice(0, count - 1)
      const rest = bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0)
      const host = [...head, rest].map((value, at) => write[at]?.(value)).join(".")
      const canonical = bytes.join(".")
      assert.equal(
        outbound.urlProblem(`https://${dress(host)}/`),
        outbound.urlProblem(`https://${canonical}/`),
        host,
      )
    },
  )
  fc.assert(property, { numRuns: 2_000 })
})

test("what a second library calls special is refused", () => {
  const verdictOf = createAddressRules([])
  const words = fc.array(fc.nat(0xffff), { minLength: 7, maxLength: 7 })
  const first = fc.oneof(fc.nat(0xffff), fc.constantFrom(0, 0x64, 0x2001, 0x2002, 0x2620, 0x3fff, 0xfe80))
  const ipv6 = fc
    .tuple(first, words)
    .map(([head, tail]) => [head, ...tail].map(word => word.toString(16)).join(":"))
  const property = fc.property(
    fc.oneof(
      octets.map(bytes => bytes.join(".")),
      ipv6,
    ),
    address => {
      if (ipaddr.process(address).range() !== "unicast") assert.equal(verdictOf(address), "refused", address)
    },
  )
  fc.assert(property, { numRuns: 5_000 })
})

test("what is no address is not admitted", () => {
  const verdictOf = createAddressRules(["0.0.0.0/0", "::/0"])
  for (const text of ["", "example.com", "127.1", "0x7f000001", "fe80::1%eth0", "1.2.3.4 "])
    assert.equal(verdictOf(text), "refused", text)
})
