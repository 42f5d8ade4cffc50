/** Requests that go on to another process: who is believed, what arrives there, and what is not tried twice. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import { pino } from "pino"
import { createTestClock } from "../../testing/clock.ts"
import { freePort } from "../../testing/ports.ts"
import { createRelay, type Relay } from "./relay.ts"

const log = pino({ level: "silent" })
const masterKey = Buffer.alloc(32, "k")
const stopping = new AbortController().signal

const listen = async (t: TestContext, listener: RequestListener): Promise<{ server: Server; url: URL }> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) }
}

interface Front {
  readonly relay: Relay
  readonly url: URL
}

/** A process that passes everything on, and says 404 where nobody took it. */
const frontOf = async (t: TestContext, to: readonly URL[], reads = false): Promise<Front> => {
  const clock = createTestClock()
  const relay = createRelay({ masterKey, clock, log, stopping })
  t.after(() => relay[Symbol.dispose]())
  const { url } = await listen(t, async (request, response) => {
    const body = reads ? Buffer.concat(await request.toArray()) : undefined
    const given = { requestId: "request-1", address: "203.0.113.7", body, stream: () => request, to }
    if (!(await relay.pass({ request, response, ...given }))) response.writeHead(404).end()
  })
  return { relay, url }
}

const bodyOf = async (request: IncomingMessage) => Buffer.concat(await request.toArray()).toString()

for (const reads of [true, false]) {
  test(`a request arrives as it came, with its body ${reads ? "read already" : "unread"}`, async t => {
    const seen: { method?: string | undefined; url?: string | undefined; body: string; headers: object }[] =
      []
    const { url: peer } = await listen(t, async (request, response) => {
      const { method, url, headers } = request
      seen.push({ method, url, headers, body: await bodyOf(request) })
      response.writeHead(201, { "x-told": "yes", "content-type": "text/plain" }).end("done")
    })
    const { url } = await frontOf(t, [peer], reads)
    const answer = await fetch(new URL("/v1/things/a%2Fb?x=1&x=2", url), {
      method: "PUT",
      headers: { authorization: "Bearer one", "content-type": "text/plain", te: "trailers" },
      body: "hello",
    })
    assert.deepEqual([answer.status, answer.headers.get("x-told"), await answer.text()], [201, "yes", "done"])
    const [{ headers, ...rest } = { headers: {}, body: "" }] = seen
    assert.deepEqual(rest, { method: "PUT", url: "/v1/things/a%2Fb?x=1&x=2", body: "hello" })
    const told = headers as Record<string, string>
    assert.deepEqual(
      [told.authorization, told["content-type"], told["x-request-id"], told.te],
      ["Bearer one", "text/plain", "request-1", undefined],
    )
  })
}

test("a path that could be read as another host's stays a path", async t => {
  const paths: (string | undefined)[] = []
  const { url: peer } = await listen(t, (request, response) => {
    paths.push(request.url)
    response.end()
  })
  const { url } = await frontOf(t, [peer])
  const socket = (await import("node:net")).connect(Number(url.port), "127.0.0.1")
  socket.write("GET //203.0.113.1:9/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
  await once(socket.resume(), "close")
  assert.deepEqual(paths, ["//203.0.113.1:9/x"])
})

test("who cannot be reached or cannot either is passed over, and the last one's refusal is the answer", async t => {
  const none = new URL(`http://127.0.0.1:${await freePort()}`)
  const { url: full } = await listen(t, (_request, response) => response.writeHead(503).end("full"))
  const { url: able } = await listen(t, (_request, response) => response.end("able"))
  const ask = async (...to: readonly URL[]) => {
    const { url } = await frontOf(t, to, true)
    const answer = await fetch(url, { method: "POST", body: "{}" })
    return [answer.status, await answer.text()]
  }
  assert.deepEqual(await ask(none, full, able), [200, "able"])
  assert.deepEqual(await ask(full, full), [503, "full"])
  assert.deepEqual(await ask(none), [404, ""])
  assert.deepEqual(await ask(), [404, ""])
})

test("a process that stands still while it connects does not take the other for gone", async t => {
  const { url: able } = await listen(t, (_request, response) => response.end("able"))
  const relay = createRelay({ masterKey, clock: createTestClock(), log, stopping })
  t.after(() => relay[Symbol.dispose]())
  const { url } = await listen(t, async (request, response) => {
    const given = { address: "203.0.113.7", body: undefined, stream: () => request, to: [able] }
    const passed = relay.pass({ request, response, ...given })
    // As on a machine that does something else meanwhile, for longer than a peer has to answer.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500)
    if (!(await passed)) response.writeHead(404).end()
  })
  const answer = await fetch(url)
  assert.deepEqual([answer.status, await answer.text()], [200, "able"])
})

test("what one process may have done is not asked of another", async t => {
  let asked = 0
  const { url: breaking } = await listen(t, request => void request.socket.destroy())
  const { url: able } = await listen(t, (_request, response) => {
    asked += 1
    response.end("able")
  })
  const { url } = await frontOf(t, [breaking, able], true)
  assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 404)
  assert.equal(asked, 0)
})

test("only what a process of the same platform signed lately, for this request, tells who called", async t => {
  const clock = createTestClock()
  const relayOf = (key: Buffer) => {
    const relay = createRelay({ masterKey: key, clock, log, stopping })
    t.after(() => relay[Symbol.dispose]())
    return relay
  }
  const [own, foreign] = [relayOf(masterKey), relayOf(Buffer.alloc(32, "f"))]
  let passed: IncomingMessage | undefined
  const { url: peer } = await listen(t, (request, response) => {
    passed = request
    response.end()
  })
  const { url } = await listen(t, async (request, response) => {
    const given = { requestId: "request-1", address: "203.0.113.7", body: undefined, stream: () => request }
    await own.pass({ request, response, to: [peer], ...given })
  })
  await fetch(new URL("/v1/a", url))
  assert.ok(passed)
  const { method, headers } = passed
  const as = (given: Partial<IncomingMessage>) =>
    ({ method, url: "/v1/a", headers, ...given }) as IncomingMessage
  assert.equal(own.callerOf(as({})), "203.0.113.7")
  assert.equal(foreign.callerOf(as({})), undefined)
  assert.equal(own.callerOf(as({ method: "DELETE" })), undefined)
  assert.equal(own.callerOf(as({ url: "/v1/b" })), undefined)
  assert.equal(own.callerOf(as({ headers: {} })), undefined)
  const [atMs, , proof] = String(headers["x-svc-relayed"]).split(" ")
  const other = { "x-svc-relayed": `${atMs} 203.0.113.8 ${proof}` }
  assert.equal(own.callerOf(as({ headers: other })), undefined)
  await clock.advance(61_000)
  assert.equal(own.callerOf(as({})), undefined)
})
