/** What the URLs of sandboxes' ports promise, to those who have them and to everybody else. */

import assert from "node:assert/strict"
import { once } from "node:events"
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { connect } from "node:net"
import { after, before, test } from "node:test"
import type { Svc } from "@svc/sdk"
import fc from "fast-check"
import { createDeriveSecret } from "../../../core/secrets/derive.ts"
import { requestHeaders, responseHeaders } from "../../../kernel/edges/forwarded-headers.ts"
import { newId } from "../../../kernel/id.ts"
import { eventually } from "../../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "../testing/sandboxes.ts"
import { createPortUrls } from "./urls.ts"

const ends: (() => unknown)[] = []
const forAll = { after: (end: () => unknown) => void ends.unshift(end) }

let p: TestPlatform
let svc: Svc
let id: string
let url: URL

/** Says what it was asked; `/ws` agrees to go on and echoes; `/stream` waits between two lines for a file. */
const SERVER = `
use strict; use IO::Socket::INET; $| = 1; $SIG{CHLD} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 3000, Listen => 50, ReuseAddr => 1) or die $!;
open my $up, '>', '/tmp/up'; close $up;
while (my $c = $server->accept) {
  next if fork; binmode $c;
  my $head = ''; while (my $line = <$c>) { last if $line eq "\\r\\n"; $head .= $line }
  if ($head =~ m{^GET /ws}) {
    print $c "HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nX-Agreed: yes\\r\\n\\r\\n";
    $c->flush; while (sysread $c, my $bytes, 65536) { syswrite $c, uc $bytes } exit }
  if ($head =~ m{^GET /stream}) {
    print $c "HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n\\r\\nfirst\\n"; $c->flush;
    until (-e '/tmp/go') { select undef, undef, undef, 0.01 } print $c "second\\n"; exit }
  if ($head =~ m{^GET /broken}) { print $c "\\x01nonsense\\r\\n\\r\\n"; exit }
  if ($head =~ m{^GET /switch}) { print $c "HTTP/1.1 101 X\\r\\nUpgrade: h2c\\r\\nConnection: Upgrade\\r\\n\\r\\n"; exit }
  my $body = '';
  if ($head =~ /content-length: (\\d+)/i) { read $c, $body, $1 }
  elsif ($head =~ /transfer-encoding: chunked/i) { while (my $n = hex <$c>) { read $c, my $part, $n; $body .= $part; <$c> } }
  my $text = $head . "\\n" . length($body) . "\\n";
  print $c "HTTP/1.1 201 Made\\r\\nContent-Length: " . length($text) . "\\r\\nSet-Cookie: a=1; Domain=sandboxes.localhost; Path=/\\r\\nKeep-Alive: timeout=5\\r\\nX-Mine: yes\\r\\n\\r\\n";
  print $c $text unless $head =~ /^HEAD/; exit }
`

const serve = async (sandbox: string) => {
  const files = [{ path: "/tmp/server.pl", content: SERVER }]
  await svc.sandboxes.writeFiles({ id: sandbox, files })
  const command =
    "rm -f /tmp/up; perl /tmp/server.pl >/tmp/log 2>&1 & until [ -e /tmp/up ]; do sleep 0.02; done"
  assert.equal((await svc.sandboxes.runCommand({ id: sandbox, command })).exit_code, 0)
}

before(async () => {
  p = await platform(forAll)
  svc = await p.client("acme", ...SANDBOX_SCOPES)
  id = await runningSandbox(svc, { ports: [3000, 3001, 3000], idle_timeout_seconds: 0 })
  const { urls, ports } = await svc.sandboxes.get({ id })
  assert.deepEqual(ports, [3000, 3001])
  url = new URL(urls[0]?.url ?? "")
  await serve(id)
})
after(async () => {
  for (const end of ends) await end()
})

const ask = async (path: string, options: RequestOptions = {}, body = "") => {
  const { headers, ...rest } = options
  const asked = httpRequest({
    ...{ host: "127.0.0.1", port: p.config.port, path, agent: false, ...rest },
    headers: { host: url.host, ...headers },
  })
  asked.end(body)
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  const chunks: Buffer[] = await answer.toArray()
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: Buffer.concat(chunks).toString("latin1"),
  }
}

test("a URL leads to its port with method, path, headers and body, and the answer comes back as it is", async () => {
  const body = "x".repeat(300_000)
  const headers = {
    ...{ "x-own": "1", authorization: "Bearer mine", "x-forwarded-for": "6.6.6.6", "x-hop": "2" },
    ...{ cookie: "a=1; svc_session=secret; b=2", connection: "x-hop", "content-length": body.length },
  }
  const answer = await ask("/a/b?c=%20d", { method: "PUT", headers }, body)
  assert.deepEqual([answer.status, answer.headers["x-mine"]], [201, "yes"])
  assert.deepEqual(answer.headers["set-cookie"], ["a=1; Path=/"])
  assert.notEqual(answer.headers["keep-alive"], "timeout=5")
  assert.match(answer.text, /^PUT \/a\/b\?c=%20d HTTP\/1.1\r\n/)
  assert.match(answer.text, new RegExp(`^host: ${url.host}\r$`, "im"))
  assert.match(answer.text, /^x-own: 1\r$/m)
  assert.match(answer.text, /^authorization: Bearer mine\r$/m)
  assert.match(answer.text, /^cookie: a=1; b=2\r$/m)
  assert.match(answer.text, /^X-Forwarded-For: 127.0.0.1\r$/m)
  assert.doesNotMatch(answer.text, /x-hop|6\.6\.6\.6|secret/)
  assert.match(answer.text, /\n300000\n$/)
  const chunked = await ask(
    "/",
    { method: "POST", headers: { "transfer-encoding": "chunked" } },
    "y".repeat(70_000),
  )
  assert.match(chunked.text, /\n70000\n$/)
  const head = await ask("/", { method: "HEAD" })
  assert.deepEqual([head.status, head.text], [201, ""])
})

test("an answer is passed on as it comes, and a WebSocket both ways", async () => {
  const asked = httpRequest({
    host: "127.0.0.1",
    port: p.config.port,
    path: "/stream",
    headers: { host: url.host },
  })
  asked.end()
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  const [first] = await once(answer, "data")
  assert.equal(String(first), "first\n")
  const second = once(answer, "data")
  await svc.sandboxes.runCommand({ id, command: "touch /tmp/go" })
  assert.equal(String((await second)[0]), "second\n")

  const headers = { host: url.host, connection: "Upgrade", upgrade: "websocket", "sec-websocket-key": "x" }
  const upgrading = httpRequest({
    host: "127.0.0.1",
    port: p.config.port,
    path: "/ws",
    headers,
    agent: false,
  })
  upgrading.end()
  const [agreed, socket] = await once(upgrading, "upgrade")
  assert.deepEqual([agreed.statusCode, agreed.headers["x-agreed"]], [101, "yes"])
  socket.write("hello")
  assert.equal(String((await once(socket, "data"))[0]), "HELLO")
  socket.destroy()
  const refused = httpRequest({ host: "127.0.0.1", port: p.config.port, path: "/x", headers, agent: false })
  refused.end()
  const [plain] = (await once(refused, "response")) as [IncomingMessage]
  assert.deepEqual([plain.statusCode, plain.headers.connection], [201, "close"])
  plain.resume()
})

test("a port where nobody listens answers 502, and so does a program that speaks no HTTP", async () => {
  const { urls } = await svc.sandboxes.get({ id })
  const other = new URL(urls[1]?.url ?? "").host
  assert.equal((await ask("/", { headers: { host: other } })).status, 502)
  assert.equal((await ask("/broken")).status, 502)
  assert.equal((await ask("/switch")).status, 502)
  assert.equal((await ask("/")).status, 201)
})

test("no name but those that were given out leads anywhere, and none leads to the platform", async () => {
  const { host } = url
  const changed = host.replace(/^(.{40})(.)/, (_all, start, digit) => start + (digit === "0" ? "1" : "0"))
  for (const wrong of [host.replace("3000-", "3001-"), host.replace("3000-", "22-"), changed, `x.${host}`]) {
    const answer = await ask("/v1/identity", { headers: { host: wrong } })
    assert.deepEqual(
      [answer.status, answer.headers["content-type"]],
      [404, "text/plain; charset=utf-8"],
      wrong,
    )
  }
  assert.match((await ask("/v1/identity/whoami")).text, /^GET \/v1\/identity\/whoami/)
  const own = await ask("/health/ready", { headers: { host: "localhost" } })
  assert.equal(own.status, 200)
  const h2c = await ask("/health/ready", {
    headers: { host: "localhost", connection: "Upgrade", upgrade: "websocket" },
  })
  assert.equal(h2c.status, 200)
})

test("a sandbox that somebody looks at is in use, and its URLs end with it", async () => {
  const sandbox = await runningSandbox(svc, { ports: [3000], idle_timeout_seconds: 60 })
  await serve(sandbox)
  const { urls } = await svc.sandboxes.get({ id: sandbox })
  const { host } = new URL(urls[0]?.url ?? "")
  const headers = { host, connection: "Upgrade", upgrade: "websocket" }
  const upgrading = httpRequest({
    host: "127.0.0.1",
    port: p.config.port,
    path: "/ws",
    headers,
    agent: false,
  })
  upgrading.end()
  const [, socket] = await once(upgrading, "upgrade")
  await p.clock.advance(120_000)
  assert.equal((await svc.sandboxes.get({ id: sandbox })).status, "RUNNING")
  const closed = once(socket, "close")
  await svc.sandboxes.stop({ id: sandbox })
  await closed
  assert.equal((await ask("/", { headers: { host } })).status, 503)
})

test("ports without a domain are refused with the setting that gives one", async t => {
  const plain = await platform(t, { env: { SVC_BASE_URL: "https://cloud.example.com" } })
  const { sandboxes } = await plain.client("acme", ...SANDBOX_SCOPES)
  await assert.rejects(sandboxes.create({ ...SMALL, ports: [80] }), refusedAs("not_implemented", 501))
  assert.deepEqual((await sandboxes.create(SMALL)).urls, [])
})

test("a client that goes away in the middle leaves nothing open in the sandbox", async () => {
  await svc.sandboxes.runCommand({ id, command: "rm -f /tmp/go" })
  const socket = connect({ host: "127.0.0.1", port: p.config.port })
  socket.write(`GET /stream HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`)
  await once(socket, "data")
  socket.destroy()
  await svc.sandboxes.runCommand({ id, command: "touch /tmp/go" })
  await eventually(
    "no connection is left",
    async () =>
      (await svc.sandboxes.runCommand({ id, command: "cat /proc/net/tcp | grep -c ' 01 '" })).stdout,
    stdout => stdout === "0\n",
  )
  await eventually("the server still answers", async () => (await ask("/")).status === 201)
})

test("what is open when the platform stops ends then, and does not hold it up", async () => {
  const headers = { host: url.host, connection: "Upgrade", upgrade: "websocket" }
  const upgrading = httpRequest({
    host: "127.0.0.1",
    port: p.config.port,
    path: "/ws",
    headers,
    agent: false,
  })
  upgrading.end()
  const [, socket] = await once(upgrading, "upgrade")
  const closed = once(socket.resume(), "close")
  await p[Symbol.asyncDispose]()
  await closed
})

test("names of ports are read as they were made, and nothing else is", () => {
  const deriveSecret = createDeriveSecret(Buffer.alloc(32, 1))
  const given = { base: new URL("https://cloud.example.com:8443"), domain: "example.net", deriveSecret }
  const urls = createPortUrls(given)
  const others = createPortUrls({ ...given, deriveSecret: createDeriveSecret(Buffer.alloc(32, 2)) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 65_535 }), port => {
      const of = { id: newId(), port }
      const { host, protocol } = new URL(urls.of(of))
      assert.deepEqual([protocol, urls.claims(host), urls.read(host.toUpperCase())], ["https:", true, of])
      assert.ok((host.split(".")[0] ?? "").length <= 63)
      assert.equal(others.read(host), undefined)
    }),
  )
  fc.assert(
    fc.property(fc.string(), text => {
      urls.claims(text)
      assert.equal(urls.read(`${text}.example.net`), undefined)
    }),
  )
  for (const host of ["example.net", ".example.net", "", undefined, "aexample.net", "x.example.net.evil.com"])
    assert.equal(urls.claims(host), false)
})

test("headers of one connection are not those of the next, and cookies keep to their own host", () => {
  const raw = [
    ...["A", "1", "Connection", "close, X-Gone", "x-gone", "2", "TE", "trailers"],
    ...["Cookie", "svc_session=1"],
  ]
  const client = { address: "1.2.3.4", scheme: "https", host: "h" }
  const forwarded = ["X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "h"]
  assert.deepEqual(requestHeaders(raw, client), ["A", "1", ...forwarded])
  const cookies = ["Set-Cookie", "a=1; DOMAIN = .x.com; Secure", "set-cookie", "b=domain=2"]
  assert.deepEqual(responseHeaders(cookies), ["Set-Cookie", "a=1; Secure", "set-cookie", "b=domain=2"])
})
