import assert from "node:assert/strict"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import { brotliCompressSync, gzipSync } from "node:zlib"
import {
  answer,
  closeAtOnce,
  closeEarly,
  drip,
  endlessHeaders,
  flood,
  hang,
  raw,
  startReceiver,
} from "../../testing/receiver.ts"
import { createOutbound } from "./open.ts"
import { OutboundError } from "./outbound.ts"

const start = async (t: TestContext) => {
  const outbound = createOutbound({
    ...{ outboundAllow: ["127.0.0.1", "127.0.0.2"], dnsServers: ["127.0.0.1:9"] },
    ...{ mode: "development", baseUrl: "https://cloud.example.com" },
  })
  t.after(() => outbound[Symbol.asyncDispose]())
  return { outbound, receiver: await startReceiver(t) }
}

const GIGABYTE = 2 ** 30
/** What the system's buffers and ours may hold of an answer that nobody reads on. */
const BUFFERED_BYTES_MAX = 32 * 2 ** 20

test("a request arrives as it was given, with nothing of ours but the framing", async t => {
  const { outbound, receiver } = await start(t)
  receiver.script(answer(200, { "x-one": "1", "content-type": "text/plain" }, "thanks"))
  const outcome = await outbound.request({
    ...{ url: `${receiver.url}/hook?a=%20b#fragment`, method: "POST", body: '{"a":1}' },
    headers: { "Content-Type": "application/json", "webhook-id": "evt_1", "user-agent": "svc-webhooks/1" },
  })
  assert.ok(outcome.kind === "answered")
  const { status, headers, body, truncated, address, url } = outcome
  assert.deepEqual([status, body.toString(), truncated, address], [200, "thanks", false, "127.0.0.1"])
  assert.deepEqual([headers["x-one"], headers["content-type"]], ["1", "text/plain"])
  assert.equal(url, `${receiver.url}/hook?a=%20b`)
  const [received] = receiver.requests
  assert.deepEqual(
    [received?.method, received?.path, String(received?.body)],
    [...["POST", "/hook?a=%20b", '{"a":1}']],
  )
  const { connection: _, host, ...sent } = received?.headers ?? {}
  assert.equal(host, `127.0.0.1:${receiver.port}`)
  assert.deepEqual(sent, {
    ...{ accept: "*/*", "content-type": "application/json", "content-length": "7" },
    ...{ "webhook-id": "evt_1", "user-agent": "svc-webhooks/1" },
  })
})

test("a body is sent from bytes and from a stream", async t => {
  const { outbound, receiver } = await start(t)
  const bytes = Buffer.alloc(300_000, "y")
  const { url } = receiver
  await outbound.request({ url, method: "PUT", body: bytes })
  await outbound.request({ url, method: "PUT", body: Readable.from([bytes, bytes]) })
  const [first, second] = receiver.requests
  assert.deepEqual([first?.body.length, first?.headers["content-length"]], [300_000, "300000"])
  assert.deepEqual([second?.body.length, second?.headers["transfer-encoding"]], [600_000, "chunked"])
})

test("any status is an answer", async t => {
  const { outbound, receiver } = await start(t)
  for (const status of [204, 301, 400, 410, 429, 500, 503]) {
    receiver.script(answer(status, { "retry-after": "7", location: "http://127.0.0.2/" }))
    const outcome = await outbound.request({ url: receiver.url, method: "POST", body: "x" })
    assert.ok(outcome.kind === "answered")
    assert.deepEqual([outcome.status, outcome.headers["retry-after"]], [status, "7"])
  }
})

test("a redirect is handed back unless the caller asked to follow it, and only so often", async t => {
  const { outbound, receiver } = await start(t)
  const { url } = receiver
  const loop = answer(302, { location: "/again" }, "moved")
  receiver.script(loop)
  const plain = await outbound.request({ url })
  assert.deepEqual([plain.kind === "answered" && plain.status, receiver.requests.length], [302, 1])
  const posted = await outbound.request({ url, method: "POST", redirectsMax: 3 })
  assert.deepEqual([posted.kind === "answered" && posted.status, receiver.requests.length], [302, 2])
  const looped = await outbound.request({ url, redirectsMax: 3 })
  assert.deepEqual([looped.kind === "refused" && looped.rule, receiver.requests.length], ["redirects", 6])
  receiver.script(loop, loop, answer(200, {}, "here"))
  const followed = await outbound.request({ url, redirectsMax: 3 })
  assert.ok(followed.kind === "answered")
  assert.deepEqual([String(followed.body), followed.url], ["here", `${url}/again`])
})

test("credentials stay with the origin they were meant for", async t => {
  const { outbound, receiver } = await start(t)
  const other = await startReceiver(t, { host: "127.0.0.2" })
  receiver.script(answer(307, { location: "/next" }), answer(307, { location: other.url }))
  other.script(answer(307, { location: receiver.url }), answer(200))
  receiver.script(
    answer(307, { location: "/next" }),
    answer(307, { location: `${other.url}/` }),
    answer(200, {}, "back"),
  )
  const headers = {
    authorization: "Bearer secret",
    cookie: "a=b",
    "x-key": "secret",
    "accept-language": "de",
  }
  await outbound.request({ url: receiver.url, headers, redirectsMax: 5 })
  const seen = [...receiver.requests, ...other.requests].map(({ headers }) => [
    headers.authorization ?? headers.cookie ?? headers["x-key"],
    headers["accept-language"],
  ])
  assert.deepEqual(seen, [
    ...[
      ["Bearer secret", "de"],
      ["Bearer secret", "de"],
      [undefined, "de"],
    ],
    [undefined, "de"],
  ])
})

test("headers that frame the message, or smuggle another into it, are refused", async t => {
  const { outbound, receiver } = await start(t)
  const wrong: Record<string, string>[] = [
    { "x-a": "1\r\nx-b: 2" },
    { "x-a": "1\nx-b: 2" },
    { "x-a": "1\u0000" },
    { "x-a\r\nx-b": "1" },
    { "x a": "1" },
    { "": "1" },
    { "x-a": "\u{1f600}" },
    { "x-a": "\u010a" },
    { Host: "internal" },
    { "Content-Length": "0" },
    { "Transfer-Encoding": "chunked" },
    { Connection: "upgrade" },
    { Upgrade: "h2c" },
    { TE: "trailers" },
    { Expect: "100-continue" },
    { "Proxy-Authorization": "Basic x" },
    { "x-a": "1".repeat(16_385) },
    Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`x-${at}`, "1"])),
  ]
  for (const headers of wrong) {
    const outcome = await outbound.request({ url: receiver.url, headers })
    assert.deepEqual([outcome.kind, outcome.kind === "refused" && outcome.rule], ["refused", "headers"])
    assert.ok(outbound.headersProblem(headers))
  }
  assert.equal(receiver.connections, 0)
})

test("a receiver that hangs or drips is left at the deadline", async t => {
  const { outbound, receiver } = await start(t)
  for (const script of [hang, drip]) {
    receiver.script(script)
    const outcome = await outbound.request({ url: receiver.url, timeoutMs: 200 })
    assert.equal(outcome.kind, "timeout")
    await receiver.abandoned()
  }
})

test("a receiver that closes early, or does not speak HTTP, is broken", async t => {
  const { outbound, receiver } = await start(t)
  const wrong = [
    ...[closeAtOnce, closeEarly, raw("SSH-2.0-OpenSSH_9.9\r\n"), raw("HTTP/1.1 200 OK\r\ncontent-le")],
    raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
    raw("HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"),
    raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
    raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!"),
  ]
  for (const [at, script] of wrong.entries()) {
    receiver.script(script)
    const outcome = await outbound.request({ url: receiver.url, timeoutMs: 30_000 })
    assert.equal(outcome.kind, "broken", `script ${at}`)
  }
})

test("nobody listening is unreachable", async t => {
  const { outbound } = await start(t)
  const outcome = await outbound.request({ url: "http://127.0.0.2:1999/" })
  assert.equal(outcome.kind, "unreachable")
})

test("of a gigabyte no more is read than the bound and the buffers", async t => {
  const { outbound, receiver } = await start(t)
  receiver.script(flood(GIGABYTE))
  const { url } = receiver
  const cut = await outbound.request({ url })
  assert.ok(cut.kind === "answered")
  assert.deepEqual([cut.body.length, cut.truncated], [65_536, true])
  const failed = await outbound.request({ url, overflow: "fail", responseBytesMax: 1_000 })
  assert.equal(failed.kind, "too_large")
  const opened = await outbound.open({ url, responseBytesMax: 100_000 })
  assert.ok(opened.kind === "answered")
  await assert.rejects(
    text(opened.body),
    error => error instanceof OutboundError && error.reason.kind === "too_large",
  )
  await receiver.abandoned()
  assert.ok(receiver.bytesSent < 3 * BUFFERED_BYTES_MAX, `${receiver.bytesSent} bytes`)
})

test("a body that is not read holds the receiver back, and ends at the deadline", async t => {
  const { outbound, receiver } = await start(t)
  receiver.script(flood(GIGABYTE))
  const opened = await outbound.open({ url: receiver.url, timeoutMs: 5_000, responseBytesMax: GIGABYTE })
  assert.equal(opened.kind, "answered")
  await receiver.abandoned()
  assert.ok(receiver.bytesSent < BUFFERED_BYTES_MAX, `${receiver.bytesSent} bytes`)
})

test("endless headers are too large", async t => {
  const { outbound, receiver } = await start(t)
  receiver.script(endlessHeaders)
  const outcome = await outbound.request({ url: receiver.url })
  assert.equal(outcome.kind, "too_large")
  await receiver.abandoned()
  assert.ok(receiver.bytesSent < BUFFERED_BYTES_MAX)
})

test("a compressed body is decompressed on request alone, and bounded by what comes out of it", async t => {
  const { outbound, receiver } = await start(t)
  const { url } = receiver
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20))
  receiver.script(answer(200, { "content-encoding": "gzip" }, bomb))
  const asSent = await outbound.request({ url, responseBytesMax: 2 ** 20 })
  assert.ok(asSent.kind === "answered" && asSent.body.equals(bomb))
  assert.equal(receiver.requests.at(-1)?.headers["accept-encoding"], undefined)
  const opened = await outbound.request({ url, decompress: true, responseBytesMax: 1_000 })
  assert.ok(opened.kind === "answered")
  assert.deepEqual([opened.body.length, opened.truncated], [1_000, true])
  const failed = await outbound.request({ url, decompress: true, overflow: "fail" })
  assert.equal(failed.kind, "too_large")

  for (const [encoding, body] of [
    ["gzip", gzipSync("hello")],
    ["br", brotliCompressSync("hello")],
  ] as const) {
    receiver.script(answer(200, { "content-encoding": encoding }, body))
    const whole = await outbound.request({ url, decompress: true })
    assert.equal(whole.kind === "answered" && String(whole.body), "hello")
    const head = await outbound.request({ url, method: "HEAD", decompress: true })
    assert.equal(head.kind === "answered" && head.body.length, 0)
    receiver.script(answer(200, { "content-encoding": encoding }, body.subarray(0, -3)))
    assert.equal((await outbound.request({ url, decompress: true })).kind, "broken")
  }
  receiver.script(answer(200, { "content-encoding": "gzip, gzip" }, "as it is"))
  const chained = await outbound.request({ url, decompress: true })
  assert.equal(chained.kind === "answered" && String(chained.body), "as it is")
})

test("a header named like what every object has is a header like any other", async t => {
  const { outbound, receiver } = await start(t)
  receiver.script(raw("HTTP/1.1 200 OK\r\n__proto__: a\r\nx-a: 1\r\nX-A: 2\r\ncontent-length: 0\r\n\r\n"))
  const outcome = await outbound.request({ url: receiver.url })
  assert.ok(outcome.kind === "answered")
  assert.deepEqual(Object.entries(outcome.headers).slice(0, 2), [
    ...[
      ["__proto__", "a"],
      ["x-a", "1, 2"],
    ],
  ])
})
