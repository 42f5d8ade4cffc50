/** What happens on a connection around a request: order, reuse, slowness, broken bytes, hanging up. */
import assert from "node:assert/strict"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import { createTestClock } from "../../testing/clock.ts"
import { platform } from "../../testing/platform.ts"
import { createProbeArea } from "../../testing/probe.ts"
import { openWire, requestBytes } from "../../testing/wire.ts"
import { createLog } from "../log.ts"
import type { Pipeline } from "../pipeline.ts"
import { createHttpEdge } from "./http.ts"

const JSON_TYPE = { "content-type": "application/json" }

const withKey = async (t: TestContext) => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:read", "kv:write"])
  return { p, authorization: `Bearer ${secret}`, wire: await openWire(t, p.url) }
}

const codeOf = (body: string): string => (JSON.parse(body) as { code: string }).code

test("requests sent at once on one connection are answered in their order", async t => {
  const { wire, authorization } = await withKey(t)
  const ids = Array.from({ length: 20 }, (_, index) => `pipelined-${index}`)
  const bytes = ids.map((id, index) =>
    index % 3 === 0
      ? requestBytes({ path: "/nothing", headers: { "x-request-id": id } })
      : requestBytes({
          method: "POST",
          path: index % 3 === 1 ? "/v1/kv/set" : "/v1/kv/get",
          headers: { authorization, "x-request-id": id, ...JSON_TYPE },
          body: index % 3 === 1 ? `{"key":"${index}","value":1}` : '{"key":"absent"}',
        }),
  )
  wire.send(Buffer.concat(bytes))
  for (const id of ids) assert.equal((await wire.reply()).headers["x-request-id"], id)
})

/** A request that somebody hid in the body of another. */
const hidden = requestBytes({ method: "POST", path: "/v1/hidden", headers: { "x-request-id": "smuggled" } })

test("a body that no operation read is never taken for the next request", async t => {
  const { p, authorization } = await withKey(t)
  const attempts: [string, string, Record<string, string>][] = [
    ["POST", "/v1/kv/get", {}],
    ["POST", "/v1/kv/get", { authorization, "content-type": "text/plain" }],
    ["POST", "/v1/me", { authorization }],
    ["POST", "/nothing", { authorization }],
    ["GET", "/v1/me", { authorization }],
    ["GET", "/v1/probe/bytes", { authorization }],
    ["DELETE", "/v1/keys/x", { authorization }],
    ["OPTIONS", "/v1/me", {}],
    ["HEAD", "/v1/me", { authorization }],
    ["GET", "/health", {}],
  ]
  for (const [method, path, headers] of attempts) {
    for (const bodyComesAlong of [true, false]) {
      const wire = await openWire(t, p.url)
      const bytes = requestBytes({ method, path, headers, body: hidden })
      const headEnd = bytes.length - hidden.length
      wire.send(bodyComesAlong ? bytes : bytes.subarray(0, headEnd))
      const first = await wire.reply(method)
      assert.notEqual(first.headers["x-request-id"], "smuggled")
      if (!bodyComesAlong) wire.send(bytes.subarray(headEnd))
      if (first.headers.connection === "close") {
        assert.equal(await wire.closed(), "", `${method} ${path}`)
        continue
      }
      assert.ok(bodyComesAlong, "a connection stays open only when it is known where its next request begins")
      wire.send(requestBytes({ path: "/v1/me", headers: { authorization, "x-request-id": "the-next-one" } }))
      assert.equal((await wire.reply()).headers["x-request-id"], "the-next-one", `${method} ${path}`)
    }
  }
})

test("a refused request whose small body came along leaves the connection usable", async t => {
  const { wire, authorization } = await withKey(t)
  for (const headers of [
    {},
    { authorization: "Bearer svc_sk_wrong" },
    { authorization, "content-type": "text/plain" },
  ]) {
    wire.send(requestBytes({ method: "POST", path: "/v1/kv/get", headers, body: '{"key":"k"}' }))
    assert.ok([401, 415].includes((await wire.reply()).status))
  }
  wire.send(requestBytes({ path: "/v1/me", headers: { authorization } }))
  assert.equal((await wire.reply()).status, 200)
})

test("a length that can be read in two ways is refused, and the connection ends", async t => {
  const { p, authorization } = await withKey(t)
  const head = `POST /v1/kv/get HTTP/1.1\r\nhost: svc\r\nauthorization: ${authorization}\r\n`
  for (const framing of [
    "content-length: 4\r\ntransfer-encoding: chunked",
    "transfer-encoding: chunked\r\ncontent-length: 4",
    "content-length: 4\r\ncontent-length: 5",
    "content-length: +4",
    "content-length: 4, 4",
    "content-length: 0x4",
    "content-length: -1",
    "content-length: 99999999999999999999999",
    "transfer-encoding: chunked, gzip",
    "transfer-encoding : chunked",
    "transfer-encoding: xchunked",
    "content-length: 4\r\n content-length: 5",
    "content\u0000-length: 4",
  ]) {
    const wire = await openWire(t, p.url)
    wire.send(`${head}${framing}\r\n\r\n0\r\n\r\n${hidden}`)
    const reply = await wire.reply()
    assert.equal(reply.status, 400, framing)
    assert.equal(codeOf(reply.body), "invalid_request")
    assert.equal(await wire.closed(), "", framing)
  }
})

test("bytes that are not HTTP get a refusal of our own shape", async t => {
  const { p } = await withKey(t)
  for (const bytes of [
    "hello\r\n\r\n",
    "GET /v1/me\r\n\r\n",
    "GET /v1/me HTTP/3.0\r\n\r\n",
    "\u0016\u0003\u0001\u0002",
    "GET /\u0001 HTTP/1.1\r\n\r\n",
  ]) {
    const wire = await openWire(t, p.url)
    wire.send(bytes)
    const { status, headers, body } = await wire.reply()
    assert.deepEqual([status, codeOf(body)], [400, "invalid_request"], bytes)
    assert.equal(JSON.parse(body).request_id, headers["x-request-id"])
    assert.equal(JSON.parse(body).docs_url, `${p.config.baseUrl}/docs/errors/invalid_request`)
    assert.equal(await wire.closed(), "")
  }
})

test("headers that are too large are 431 in our own shape", async t => {
  const { p } = await withKey(t)
  for (const request of [
    requestBytes({ path: "/v1/me", headers: { "x-large": "a".repeat(17_000) } }),
    requestBytes({ path: `/${"a".repeat(17_000)}` }),
    `GET /v1/me HTTP/1.1\r\nhost: svc\r\n${"x-many: 1\r\n".repeat(2000)}\r\n`,
  ]) {
    const wire = await openWire(t, p.url)
    wire.send(request)
    const reply = await wire.reply()
    assert.deepEqual([reply.status, codeOf(reply.body)], [431, "invalid_request"])
    assert.match(reply.headers["x-request-id"] ?? "", /./)
    assert.equal(await wire.closed(), "")
  }
})

test("broken bytes behind a request do not take its answer", async t => {
  const { wire, authorization } = await withKey(t)
  const set = requestBytes({
    method: "POST",
    path: "/v1/kv/set",
    headers: { authorization, ...JSON_TYPE },
    body: '{"key":"k","value":1}',
  })
  wire.send(Buffer.concat([set, set, Buffer.from("\u0001\u0002 broken\r\n\r\n")]))
  const statuses = [await wire.reply(), await wire.reply(), await wire.reply()].map(({ status }) => status)
  assert.deepEqual(statuses, [200, 200, 400])
  assert.equal(await wire.closed(), "")
})

test("a target that names the whole address reaches the same operation", async t => {
  const { wire, authorization } = await withKey(t)
  wire.send(requestBytes({ path: "http://svc/v1/me", headers: { authorization } }))
  assert.equal((await wire.reply()).status, 200)
})

test("a request to change the protocol is answered in this one", async t => {
  const { wire, authorization } = await withKey(t)
  for (const upgrade of ["websocket", "h2c"]) {
    wire.send(requestBytes({ path: "/v1/me", headers: { authorization, connection: "upgrade", upgrade } }))
    assert.equal((await wire.reply()).status, 200)
  }
})

test("a client that asks first is invited to send its body", async t => {
  const { wire, authorization } = await withKey(t)
  const body = '{"key":"k"}'
  const headers = {
    authorization,
    ...JSON_TYPE,
    expect: "100-Continue",
    "content-length": String(body.length),
  }
  wire.send(requestBytes({ method: "POST", path: "/v1/kv/get", headers }))
  assert.equal((await wire.reply()).status, 100)
  wire.send(body)
  assert.equal((await wire.reply()).status, 200)
  wire.send(requestBytes({ path: "/v1/me", headers: { authorization, expect: "something-else" } }))
  assert.equal((await wire.reply()).status, 200)
})

test("a client that asks first is refused without an invitation, and its connection ends", async t => {
  const { p, authorization } = await withKey(t)
  for (const [headers, status] of [
    [{}, 401],
    [{ authorization, ...JSON_TYPE, "content-length": "9000000" }, 413],
    [{ authorization, "content-type": "text/plain" }, 415],
  ] as const) {
    const wire = await openWire(t, p.url)
    const given = { "content-length": "11", expect: "100-continue", ...headers }
    wire.send(requestBytes({ method: "POST", path: "/v1/kv/get", headers: given }))
    const reply = await wire.reply()
    assert.deepEqual([reply.status, reply.headers.connection], [status, "close"])
    wire.socket.destroy()
  }
})

test("a client that hangs up takes nothing down", async t => {
  const { p, authorization } = await withKey(t)
  const whole = requestBytes({
    method: "POST",
    path: "/v1/kv/set",
    headers: { authorization, ...JSON_TYPE },
    body: '{"key":"k","value":1}',
  })
  for (const cut of [1, 20, whole.length - 21, whole.length - 10, whole.length - 1, whole.length]) {
    for (const end of ["destroy", "resetAndDestroy"] as const) {
      const wire = await openWire(t, p.url)
      await new Promise(resolve => wire.socket.write(whole.subarray(0, cut), resolve))
      wire.socket[end]()
    }
  }
  const wire = await openWire(t, p.url)
  wire.send(requestBytes({ path: "/v1/me", headers: { authorization } }))
  assert.equal((await wire.reply()).status, 200)
})

interface EdgeOptions {
  readonly headersTimeoutMs?: number
  /** What calls wait for before they ask for their signal. */
  readonly wait?: Promise<void>
}

/** An edge by itself, over a pipeline that does nothing but read the body. */
const startEdge = async (t: TestContext, { headersTimeoutMs, wait }: EdgeOptions = {}) => {
  const clock = createTestClock()
  let reading: (() => void) | undefined
  const started = new Promise<void>(resolve => {
    reading = resolve
  })
  const signals: AbortSignal[] = []
  const pipeline: Pipeline = async (_bound, incoming) => {
    if (wait) await wait
    signals.push(incoming.signal())
    const body = incoming.json(1000)
    reading?.()
    return { reply: { status: 200, body: await body }, headers: {}, requestId: "the-request-id" }
  }
  const { start } = await createProbeArea([]).load()
  const { operations } = await start({ settings: {}, ports: {} })
  const log = createLog("silent")
  const baseUrl = "http://svc.test"
  const timeout = headersTimeoutMs === undefined ? {} : { headersTimeoutMs }
  const edge = createHttpEdge({ pipeline, operations, log, baseUrl, trustedProxies: [], clock, ...timeout })
  await edge.listen({ port: 0, host: "127.0.0.1" })
  t.after(() => edge.close())
  const url = `http://127.0.0.1:${(edge.server.address() as AddressInfo).port}`
  const wire = await openWire(t, url)
  return { clock, wire, started, signals, edge, url }
}

const openRequest = (length: string) =>
  requestBytes({
    method: "POST",
    path: "/v1/probe/open",
    headers: { ...JSON_TYPE, "content-length": length },
  })

test("a body that stops arriving is given up after fifteen seconds", async t => {
  const { clock, wire, started } = await startEdge(t)
  wire.send(Buffer.concat([openRequest("20"), Buffer.from('{"te')]))
  await started
  await clock.advance(15_000)
  await clock.advance(1_000)
  const reply = await wire.reply()
  assert.deepEqual(
    [reply.status, codeOf(reply.body), reply.headers.connection],
    [408, "request_timeout", "close"],
  )
})

test("a body that comes right behind another is watched like the first", async t => {
  const { clock, wire } = await startEdge(t)
  wire.send(Buffer.concat([openRequest("2"), Buffer.from("{}"), openRequest("20"), Buffer.from('{"te')]))
  assert.equal((await wire.reply()).status, 200)
  await clock.advance(15_000)
  await clock.advance(1_000)
  assert.equal((await wire.reply()).status, 408)
})

test("a body that keeps dripping is given up after a minute", async t => {
  const { clock, wire, started } = await startEdge(t)
  wire.send(openRequest("100"))
  await started
  const answered = wire.reply()
  let over = false
  void answered.then(() => {
    over = true
  })
  for (let seconds = 0; seconds <= 60 && !over; seconds += 5) {
    await new Promise(resolve => wire.socket.write(" ", resolve))
    await new Promise(resolve => setImmediate(resolve))
    await clock.advance(5_000)
  }
  assert.equal((await answered).status, 408)
  wire.socket.destroy()
})

test("headers that do not come to an end are 408, and the connection ends", async t => {
  const { wire } = await startEdge(t, { headersTimeoutMs: 50 })
  wire.send("GET /v1/probe/project HTTP/1.1\r\nhost: svc\r\n")
  const reply = await wire.reply()
  assert.deepEqual([reply.status, codeOf(reply.body)], [408, "request_timeout"])
  assert.equal(await wire.closed(), "")
})

test("a call learns that its caller has hung up, and not that its connection lives on", async t => {
  const { wire, signals } = await startEdge(t)
  for (let calls = 0; calls < 20; calls++) {
    wire.send(Buffer.concat([openRequest("2"), Buffer.from("{}")]))
    assert.equal((await wire.reply()).status, 200)
  }
  wire.send(openRequest("2"))
  await new Promise<void>(resolve => {
    const look = () => (signals.length === 21 ? resolve() : setImmediate(look))
    look()
  })
  const last = signals[20]
  const aborted = new Promise(resolve => last?.addEventListener("abort", resolve))
  wire.socket.destroy()
  await aborted
  assert.deepEqual(
    signals.map(signal => signal.aborted),
    [...Array<boolean>(20).fill(false), true],
  )
})

test("a call that asks late learns that its caller has hung up already", async t => {
  const wait = Promise.withResolvers<void>()
  const { wire, signals, edge } = await startEdge(t, { wait: wait.promise })
  const gone = new Promise(resolve =>
    edge.server.once("request", (_request, response) => response.once("close", resolve)),
  )
  wire.send(Buffer.concat([openRequest("2"), Buffer.from("{}")]))
  await new Promise(resolve => edge.server.once("request", resolve))
  wire.socket.destroy()
  await gone
  wait.resolve()
  while (signals.length === 0) await new Promise(setImmediate)
  assert.equal(signals[0]?.aborted, true)
})

test("a server that stops answers what it has taken on, and waits for nothing else", async t => {
  const { wire, started, edge, url } = await startEdge(t)
  const unused = await openWire(t, url)
  const idle = await openWire(t, url)
  idle.send(requestBytes({ path: "/nothing" }))
  assert.equal((await idle.reply()).status, 404)
  const unfinished = await openWire(t, url)
  unfinished.send("GET /v1/probe/project HTTP/1.1\r\n")
  wire.send(openRequest("2"))
  await started
  const closed = edge.close()
  await Promise.all([unused.closed(), idle.closed(), unfinished.closed()])
  wire.send("{}")
  assert.equal((await wire.reply()).status, 200)
  assert.equal(await wire.closed(), "")
  await closed
})
