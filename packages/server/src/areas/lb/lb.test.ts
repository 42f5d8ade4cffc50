/** What load balancers promise to those whose requests they pass on. */
import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { request as httpRequest, type IncomingMessage } from "node:http"
import { type TestContext, test } from "node:test"
import { WebSocket, WebSocketServer } from "ws"
import { eventually } from "../../testing/eventually.ts"
import { freePort } from "../../testing/ports.ts"
import {
  closeAtOnce,
  closeEarly,
  hang,
  type Received,
  type Script,
  startReceiver,
} from "../../testing/receiver.ts"
import { askAt, LB_SCOPES, sendRaw, worldOf } from "./testing/world.ts"

const HOST = "127.0.0.1"
const named =
  (name: string): Script =>
  (reply, request: Received) =>
    void reply
      .writeHead(200, { "x-name": name })
      .end(JSON.stringify({ ...request, body: request.body.toString(), length: request.body.length }))

const backend = async (t: TestContext, name = "a") => {
  const receiver = await startReceiver(t)
  receiver.script(named(name))
  return { receiver, address: HOST, port: receiver.port }
}
const at = ({ address, port }: { address: string; port: number }) => ({ address, port })

test("a request reaches a backend whole, and its answer comes back whole", async t => {
  const { svc, ask } = await worldOf(t)
  const a = await backend(t)
  const made = await svc.lb.create({ name: "shop", backends: [at(a)] })
  assert.match(made.url ?? "", /^http:\/\/shop-[0-9a-f]{12}\.lb\.localhost:\d+$/)
  const url = made.url ?? ""
  const body = Buffer.alloc(300_000, "x")
  const answered = await ask(`${url}/a/b?c=%20d`, {
    method: "POST",
    body,
    headers: {
      ...{
        "x-own": "1",
        authorization: "Bearer mine",
        "x-forwarded-for": "6.6.6.6",
        forwarded: "for=6.6.6.6",
      },
      ...{ connection: "keep-alive, x-hop", "x-hop": "2", "content-length": body.length },
    },
  })
  const seen = JSON.parse(answered.text)
  assert.deepEqual(
    [answered.status, answered.headers["x-name"], seen.method, seen.path, seen.length],
    [200, "a", "POST", "/a/b?c=%20d", 300_000],
  )
  const { host } = new URL(url)
  assert.deepEqual(
    [seen.headers.host, seen.headers["x-own"], seen.headers.authorization, seen.headers["x-hop"]],
    [host, "1", "Bearer mine", undefined],
  )
  assert.deepEqual(
    [seen.headers["x-forwarded-for"], seen.headers["x-forwarded-proto"], seen.headers.forwarded],
    ["127.0.0.1", "http", `for=127.0.0.1;host="${host}";proto=http`],
  )
  const chunked = await ask(url, {
    method: "PUT",
    body: "y".repeat(70_000),
    headers: { "transfer-encoding": "chunked" },
  })
  assert.equal(JSON.parse(chunked.text).length, 70_000)
  const head = await ask(url, { method: "HEAD" })
  assert.deepEqual([head.status, head.text], [200, ""])
  const waiting = await ask(url, { method: "POST", body: "later", headers: { expect: "100-continue" } })
  assert.equal(JSON.parse(waiting.text).body, "later")
  const { logs } = await svc.lb.logs({ id: made.id })
  assert.equal(logs.length, 4)
  assert.deepEqual([logs.at(-1)?.path, logs.at(-1)?.status, logs.at(-1)?.attempts], ["/a/b", 200, 1])
})

test("an answer is passed on as it comes, and ends early where the backend does", async t => {
  const { svc, ask } = await worldOf(t)
  const a = await backend(t)
  const { url } = await svc.lb.create({ name: "shop", backends: [at(a)] })
  const go = Promise.withResolvers<void>()
  a.receiver.script(reply => {
    reply.writeHead(200).write("first")
    void go.promise.then(() => reply.end("second"))
  }, closeEarly)
  const { host, port } = new URL(url ?? "")
  const asked = httpRequest({ host: HOST, port, headers: { host } }).end()
  const [answered] = (await once(asked, "response")) as [IncomingMessage]
  assert.equal(String((await once(answered, "data"))[0]), "first")
  const second = once(answered, "data")
  go.resolve()
  assert.equal(String((await second)[0]), "second")
  await assert.rejects(ask(url ?? ""), { code: "ECONNRESET" })
})

const SERVER = `
  require("node:http").createServer((request, reply) => setTimeout(() => reply.end("ok"), 5))
    .listen(0, "127.0.0.1", function () { console.log(this.address().port) })`

const spawnBackend = async (t: TestContext): Promise<{ child: ChildProcess; port: number }> => {
  const child = spawn(process.execPath, ["-e", SERVER], { stdio: ["ignore", "pipe", "inherit"] })
  t.after(() => child.kill("SIGKILL"))
  const [chunk] = await once(child.stdout, "data")
  return { child, port: Number(String(chunk)) }
}

test("a backend that is killed under traffic costs no request", async t => {
  const { svc, ask } = await worldOf(t)
  const [first, second] = await Promise.all([spawnBackend(t), spawnBackend(t)])
  const backends = [first, second].map(({ port }) => ({ address: HOST, port }))
  const { id, url = "" } = await svc.lb.create({ name: "shop", backends })
  const statuses: number[] = []
  let sent = 0
  const lane = async () => {
    while (sent < 200) {
      sent++
      if (sent === 60) first.child.kill("SIGKILL")
      statuses.push((await ask(url ?? "")).status)
    }
  }
  await Promise.all(Array.from({ length: 16 }, lane))
  assert.deepEqual([statuses.length, statuses.filter(status => status !== 200)], [200, []])
  const { backends: seen, status } = await svc.lb.get({ id })
  assert.equal(seen[1]?.status, "unknown")
  assert.ok((seen[0]?.requests_total ?? 0) > 0)
  assert.deepEqual([seen[0]?.status, status], ["ejected", "degraded"])
})

test("what may have been acted on is not sent twice, and what was not is", async t => {
  const { svc, ask } = await worldOf(t)
  const [a, b, dead] = [await backend(t, "a"), await backend(t, "b"), await freePort()]
  const { url } = await svc.lb.create({
    name: "shop",
    backends: [{ address: HOST, port: dead }, at(a)],
  })
  const post = { method: "POST", body: "x" }
  for (let count = 0; count < 4; count++) assert.equal((await ask(url ?? "", post)).status, 200)
  a.receiver.script(closeAtOnce, named("a"))
  const broken = await ask(url ?? "", post)
  assert.deepEqual([broken.status, a.receiver.requests.length], [502, 5])
  const { url: other } = await svc.lb.create({ name: "shop", backends: [at(b)] })
  b.receiver.script(closeAtOnce, named("b"))
  // One backend is not asked twice for what broke; a second one is.
  assert.equal((await ask(other ?? "")).status, 502)
  assert.equal((await ask(other ?? "", { method: "PUT", body: "x" })).status, 200)
})

test("a backend that does not answer in time costs a 504 and nothing else", async t => {
  const { svc, ask } = await worldOf(t)
  const a = await backend(t)
  const { url } = await svc.lb.create({ name: "shop", idle_timeout_seconds: 1, backends: [at(a)] })
  a.receiver.script(hang, named("a"))
  assert.equal((await ask(url ?? "")).status, 504)
  assert.equal((await ask(url ?? "")).status, 200)
})

test("a WebSocket goes both ways, and other protocols are answered as requests", async t => {
  const { p, svc } = await worldOf(t)
  const server = new WebSocketServer({ host: HOST, port: 0 })
  t.after(() => server.close())
  server.on("connection", (socket, request) =>
    socket.on("message", data => socket.send(`${request.url} ${String(data)}`)),
  )
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  const { id, url } = await svc.lb.create({ name: "chat", backends: [{ address: HOST, port }] })
  const { host } = new URL(url ?? "")
  const socket = new WebSocket(`ws://${HOST}:${p.config.port}/room`, { headers: { host } })
  await once(socket, "open")
  for (const text of ["hello", "x".repeat(100_000)]) {
    socket.send(text)
    const [data] = await once(socket, "message")
    assert.equal(String(data), `/room ${text}`)
  }
  assert.equal((await svc.lb.get({ id })).backends[0]?.active_connections, 1)
  socket.close()
  await once(socket, "close")
  await eventually(
    "the connection is over",
    async () => (await svc.lb.get({ id })).backends[0]?.active_connections === 0,
  )
})

test("a backend whose health check fails gets no request until it succeeds again", async t => {
  const { p, svc, ask } = await worldOf(t)
  const [a, b] = [await backend(t, "a"), await backend(t, "b")]
  const check = { protocol: "http", path: "/health", interval_seconds: 10, unhealthy_threshold: 2 } as const
  const { id, url } = await svc.lb.create({ name: "shop", health_check: check, backends: [at(a), at(b)] })
  const names = async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(url ?? "")))
    return [...new Set(answers.map(({ headers }) => headers["x-name"]))].sort()
  }
  assert.deepEqual(await names(), ["a", "b"])
  a.receiver.script((reply, request) =>
    request.path === "/health" ? void reply.writeHead(500).end() : named("a")(reply, request),
  )
  await p.clock.advance(20_000)
  assert.deepEqual(await names(), ["b"])
  const ill = await svc.lb.get({ id })
  assert.deepEqual(
    [ill.status, ill.backends[0]?.status, ill.backends[0]?.last_error, ill.backends[1]?.status],
    ["degraded", "unhealthy", "it answers 500", "healthy"],
  )
  a.receiver.script(named("a"))
  await p.clock.advance(20_000)
  assert.deepEqual(await names(), ["a", "b"])
  assert.equal((await svc.lb.get({ id })).status, "available")
})

test("a drained or removed backend ends what it has under way and gets nothing new", async t => {
  const { svc, ask } = await worldOf(t)
  const [a, b] = [await backend(t, "a"), await backend(t, "b")]
  const { id, url, backends } = await svc.lb.create({ name: "shop", backends: [at(a), at(b)] })
  for (const [index, change] of (["drain", "remove"] as const).entries()) {
    const go = Promise.withResolvers<void>()
    const [ending, other] = index === 0 ? [a, b] : [b, a]
    const backend_id = backends[index]?.id ?? ""
    ending.receiver.script(reply => void go.promise.then(() => reply.end("late")), named("again"))
    const before = ending.receiver.requests.length
    // One of two requests goes to each.
    const both = Promise.all([ask(url ?? ""), ask(url ?? "")])
    await ending.receiver.received(before + 1)
    if (change === "drain") await svc.lb.updateBackend({ id, backend_id, enabled: false })
    else await svc.lb.removeBackend({ id, backend_id })
    const seen = other.receiver.requests.length
    for (let count = 0; count < 4; count++) assert.equal((await ask(url ?? "")).status, 200)
    assert.ok(other.receiver.requests.length >= seen + 4)
    go.resolve()
    assert.deepEqual((await both).map(({ text }) => text === "late").filter(Boolean), [true])
    if (change === "drain") await svc.lb.updateBackend({ id, backend_id, enabled: true })
  }
  assert.equal((await svc.lb.get({ id })).backends.length, 1)
})

test("a sticky session stays with its backend, and moves when that is gone", async t => {
  const { svc, ask } = await worldOf(t)
  const [a, b] = [await backend(t, "a"), await backend(t, "b")]
  const { id, url, backends } = await svc.lb.create({
    name: "shop",
    sticky_sessions: { enabled: true, ttl_seconds: 60 },
    backends: [at(a), at(b)],
  })
  const first = await ask(url ?? "")
  const [cookie = ""] = first.headers["set-cookie"] ?? []
  assert.match(cookie, /^svc_lb=[0-9a-f]{16}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=60$/)
  const headers = { cookie: `x=1; ${cookie.split(";")[0]}` }
  for (let count = 0; count < 5; count++) {
    const again = await ask(url ?? "", { headers })
    assert.deepEqual(
      [again.headers["x-name"], again.headers["set-cookie"]],
      [first.headers["x-name"], undefined],
    )
  }
  const backend_id = backends[first.headers["x-name"] === "a" ? 0 : 1]?.id ?? ""
  await svc.lb.removeBackend({ id, backend_id })
  const moved = await ask(url ?? "", { headers })
  assert.notEqual(moved.headers["x-name"], first.headers["x-name"])
  assert.match(moved.headers["set-cookie"]?.[0] ?? "", /^svc_lb=/)
})

test("what two servers could read differently is passed on to none", async t => {
  const { p, svc } = await worldOf(t)
  const a = await backend(t)
  const { url } = await svc.lb.create({ name: "shop", backends: [at(a)] })
  const { host } = new URL(url ?? "")
  const attacks = [
    "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
    "GET http://other.test/ HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
    "GET / HTTP/1.1\r\nX: a\nY: b\r\n\r\n",
    `GET /${"x".repeat(9_000)} HTTP/1.1\r\n\r\n`,
    `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    "TRACE / HTTP/1.1\r\n\r\n",
  ]
  for (const attack of attacks) {
    const text = attack.replace("\r\n", `\r\nHost: ${host}\r\nConnection: close\r\n`)
    const answered = await sendRaw(p.config.port, text)
    assert.match(answered, /^HTTP\/1\.1 4\d\d /, attack.slice(0, 80))
  }
  assert.equal(a.receiver.requests.length, 0)
})

test("a backend inside the operator's network is refused, in every notation", async t => {
  const { svc } = await worldOf(t, { env: { SVC_OUTBOUND_ALLOW: "" } })
  const { id } = await svc.lb.create({ name: "shop" })
  const inside = [
    "127.0.0.1",
    "::1",
    "[::1]",
    "169.254.169.254",
    "10.0.0.1",
    "localhost",
    "2130706433",
    "a b",
    "0x7f.1",
  ]
  for (const address of inside) {
    const added = svc.lb.addBackend({ id, address, port: 8080 })
    await assert.rejects(added, { status: 400, code: "invalid_backend" }, address)
  }
  await assert.rejects(svc.lb.addBackend({ id, address: "example.com", port: 25 }), {
    code: "invalid_backend",
  })
  const one = { id, address: "example.com", port: 8080 }
  await svc.lb.addBackend(one)
  await assert.rejects(svc.lb.addBackend({ ...one, address: "EXAMPLE.com." }), { code: "invalid_backend" })
})

test("nobody reaches or changes the load balancer of another tenant, or one that is gone", async t => {
  const { p, svc, ask } = await worldOf(t)
  const a = await backend(t)
  const other = await p.client("globex", ...LB_SCOPES)
  const { id, url } = await svc.lb.create({ name: "shop", backends: [at(a)] })
  await assert.rejects(other.lb.get({ id }), { status: 404, code: "load_balancer_not_found" })
  await assert.rejects(other.lb.addBackend({ id, ...at(a) }), { status: 400, code: "load_balancer_unknown" })
  await assert.rejects(other.lb.delete({ id }), { code: "load_balancer_not_found" })
  assert.equal((await other.lb.list()).total, 0)
  assert.equal((await ask(url ?? "")).status, 200)
  await svc.lb.delete({ id })
  assert.equal((await ask(url ?? "")).status, 404)
  assert.equal((await ask((url ?? "").replace(/-[0-9a-f]{12}/, "-000000000000"))).status, 404)
})

test("a port of its own serves the host names that it is told, and closes with the load balancer", async t => {
  const port = await freePort()
  const { svc } = await worldOf(t, { env: { SVC_LB_PORTS: `${port}` } })
  const a = await backend(t)
  await assert.rejects(svc.lb.create({ name: "b", listen_port: 1 }), { code: "invalid_parameter" })
  await assert.rejects(svc.lb.create({ name: "b", hostnames: ["x.test"] }), { code: "invalid_parameter" })
  const { id } = await svc.lb.create({ name: "shop", listen_port: port, backends: [at(a)] })
  await assert.rejects(svc.lb.create({ name: "b", listen_port: port }), { code: "invalid_parameter" })
  const ask = askAt(port)
  const answers = (url: string, status: number) => async () =>
    (await ask(url).catch(() => undefined))?.status === status
  await eventually("the port is open", answers("http://shop.test/", 200))
  await svc.lb.update({ id, hostnames: ["shop.test"] })
  await eventually("other names are refused", answers("http://other.test/", 421))
  assert.equal((await ask("http://shop.test/")).status, 200)
  await svc.lb.delete({ id })
  await eventually("the port is closed", () =>
    ask("http://shop.test/").then(
      () => false,
      ({ code }) => code === "ECONNREFUSED",
    ),
  )
})

test("every process of an installation hears of a change at once", async t => {
  const { p, svc } = await worldOf(t)
  const a = await backend(t)
  const { url, id } = await svc.lb.create({ name: "shop", backends: [at(a)] })
  const second = await worldOf(t, { databaseUrl: p.config.databaseUrl ?? "" })
  const answers = (status: number) => async () => (await second.ask(url ?? "")).status === status
  await eventually("the other process knows it", answers(200))
  await svc.lb.delete({ id })
  await eventually("the other process knows that it is gone", answers(404))
})
