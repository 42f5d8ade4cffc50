/** What custom domains promise to their owners, and deny to everybody else. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { test } from "node:test"
import { WebSocket, WebSocketServer } from "ws"
import { eventually } from "../../testing/eventually.ts"
import { everyScope, platform } from "../../testing/platform.ts"
import { freePort } from "../../testing/ports.ts"
import { startReceiver } from "../../testing/receiver.ts"
import { versioned } from "../deployments/testing/world.ts"
import { askAt, domainsWorld } from "./testing/world.ts"

const NAME = "shop.example.com"
const HOUR_MS = 3_600_000

test("a domain is added with the records to publish, is served once one of them is there, and is removed", async t => {
  const { svc, ask, publish } = await domainsWorld(t)
  const made = await svc.domains.create({ domain: " Shop.Example.COM." })
  assert.deepEqual([made.domain, made.status, made.target], [NAME, "pending_verification", null])
  assert.deepEqual(
    made.records.map(({ type, name, found }) => [type, name, found]),
    [
      ["TXT", `_svc-challenge.${NAME}`, false],
      ["CNAME", NAME, false],
    ],
  )
  assert.deepEqual(await svc.domains.get({ id: made.id }), made)
  assert.deepEqual((await svc.domains.list()).data, [made])
  await assert.rejects(svc.domains.create({ domain: NAME }), { status: 409, code: "domain_taken" })
  const early = await svc.domains.verify({ id: made.id })
  assert.deepEqual([early.status, early.last_error], ["verifying", "None of the records was found."])
  // Until then it is a name like any other to this server.
  assert.notEqual((await ask(NAME)).text, "This domain does not lead anywhere yet.\n")

  publish(made)
  const verified = await svc.domains.verify({ id: made.id })
  assert.deepEqual([verified.status, verified.last_error], ["active", null])
  assert.deepEqual(
    verified.records.map(({ found }) => found),
    [true, false],
  )
  const { status, text } = await ask(`${NAME}:8080`)
  assert.deepEqual([status, text], [404, "This domain does not lead anywhere yet.\n"])
  // No route of the platform is reached by this name.
  assert.equal((await ask(NAME, "/v1/me")).text, text)

  const { hsts } = await svc.domains.update({ id: made.id, hsts: true })
  assert.equal(hsts, true)
  assert.deepEqual(await svc.domains.delete({ id: made.id }), { id: made.id, deleted: true })
  await eventually(
    "the domain is not served any more",
    () => ask(NAME),
    answer => answer.text !== text,
  )
  for (const act of [
    () => svc.domains.get({ id: made.id }),
    () => svc.domains.update({ id: made.id }),
    () => svc.domains.delete({ id: made.id }),
    () => svc.domains.verify({ id: made.id }),
    () => svc.domains.setTarget({ id: made.id, target: null }),
  ])
    await assert.rejects(act, { status: 404, code: "domain_not_found" })
})

test("records are looked up by themselves, and for three days", async t => {
  const { p, svc, publish } = await domainsWorld(t)
  const late = await svc.domains.create({ domain: NAME })
  const never = await svc.domains.create({ domain: "never.example.com" })
  publish(late, "CNAME")
  await p.clock.advance(2 * 60_000)
  const found = await eventually(
    "the record was found",
    () => svc.domains.get({ id: late.id }),
    ({ status }) => status === "active",
  )
  assert.deepEqual(
    found.records.map(record => record.found),
    [false, true],
  )
  await p.clock.advance(73 * HOUR_MS)
  const seen = await eventually(
    "the other was not",
    () => svc.domains.get({ id: never.id }),
    ({ status }) => status === "failed",
  )
  assert.ok(Date.parse(seen.last_checked_at ?? "") - Date.parse(seen.created_at) >= 72 * HOUR_MS)
  // Who asks again is looked at again.
  publish(never)
  assert.equal((await svc.domains.verify({ id: never.id })).status, "active")
})

test("a domain cannot be taken over: not by its name, by a record left behind, or by the record of another", async t => {
  const { p, svc, dns, publish, ask } = await domainsWorld(t)
  const squatter = await p.client("squatter", ...everyScope)
  const claim = await squatter.domains.create({ domain: NAME })
  const mine = await svc.domains.create({ domain: NAME })
  assert.notDeepEqual(claim.records, mine.records)
  // A CNAME of an earlier owner, and one that points at the platform alone, prove nothing.
  dns.answer(NAME, [{ type: "CNAME", data: "domains.localhost" }])
  assert.equal((await squatter.domains.verify({ id: claim.id })).status, "verifying")
  publish(mine, "CNAME")
  assert.equal((await squatter.domains.verify({ id: claim.id })).status, "verifying")
  assert.equal((await svc.domains.verify({ id: mine.id })).status, "active")

  // While the owner's record is there even a second proof takes nothing away.
  publish(claim)
  await assert.rejects(squatter.domains.verify({ id: claim.id }), { status: 409, code: "domain_taken" })
  assert.equal((await squatter.domains.get({ id: claim.id })).status, "failed")
  assert.equal((await svc.domains.get({ id: mine.id })).status, "active")
  // Nor do name servers that do not answer.
  dns.answer(NAME, "fail")
  await assert.rejects(squatter.domains.verify({ id: claim.id }), { status: 409, code: "domain_taken" })

  // Whoever owns the name now, by what its name servers say, has it.
  dns.answer(NAME, [])
  assert.equal((await squatter.domains.verify({ id: claim.id })).status, "active")
  const lost = await eventually(
    "the earlier owner lost it",
    () => svc.domains.get({ id: mine.id }),
    ({ status }) => status === "failed",
  )
  assert.match(lost.last_error ?? "", /Another project/)
  await squatter.domains.setTarget({ id: claim.id, target: null })
  assert.equal((await ask(NAME)).status, 404)

  for (const act of [
    () => svc.domains.get({ id: claim.id }),
    () => svc.domains.verify({ id: claim.id }),
    () => svc.domains.setTarget({ id: claim.id, target: null }),
    () => svc.domains.delete({ id: claim.id }),
  ])
    await assert.rejects(act, { status: 404, code: "domain_not_found" })
})

test("names of this installation, of local networks and addresses are nobody's", async t => {
  const { svc } = await domainsWorld(t, { env: { SVC_BASE_URL: "https://cloud.example.net" } })
  for (const domain of [
    ...["localhost", "a.localhost", "127.0.0.1", "[::1]", "printer.local", "db.internal", "com"],
    ...["cloud.example.net", "api.cloud.example.net", "*.example.com", "a b.example.com", "a..example.com"],
    ...["-a.example.com", "under_score.example.com", "example.com:80", "http://example.com", "1.2.3.4"],
  ])
    await assert.rejects(svc.domains.create({ domain }), { status: 400 }, domain)
  assert.equal((await svc.domains.create({ domain: "bücher.example" })).domain, "xn--bcher-kva.example")
  // Without a name of its own for them, a record of TXT is all that is asked for.
  assert.deepEqual(
    (await svc.domains.create({ domain: NAME })).records.map(({ type }) => type),
    ["TXT"],
  )
})

test("a plan's number of domains holds in all projects together, and for requests at once", async t => {
  const { p } = await domainsWorld(t)
  await p.tenant("small", "starter")
  const svc = await p.client("small", ...everyScope)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, at) => svc.domains.create({ domain: `d${at}.example.com` })),
  )
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 3)
  await assert.rejects(svc.domains.create({ domain: "more.example.com" }), { code: "plan_limit_reached" })
})

test("a load balancer behind a domain gets requests, their host and WebSockets", async t => {
  const { p, svc, ask, active } = await domainsWorld(t)
  const receiver = await startReceiver(t)
  receiver.script((reply, request) => void reply.end(JSON.stringify(request.headers)))
  const backend = { address: "127.0.0.1", port: receiver.port }
  const lb = await svc.lb.create({ name: "shop", backends: [backend] })
  const { id } = await active(NAME, { target: { type: "load_balancer", id: lb.id } })
  const first = await ask(NAME, "/a?b=c", { headers: { cookie: "svc_session=secret" } })
  const headers = JSON.parse(first.text) as Record<string, string>
  assert.deepEqual([headers.host, headers["x-forwarded-host"], headers.cookie], [NAME, NAME, undefined])
  assert.equal(headers["x-forwarded-proto"], "http")

  const port = await freePort()
  const sockets = new WebSocketServer({ port, host: "127.0.0.1" })
  t.after(() => sockets.close())
  sockets.on("connection", socket => socket.on("message", text => socket.send(`you said ${text}`)))
  const other = await svc.lb.create({ name: "chat", backends: [{ ...backend, port }] })
  await svc.domains.setTarget({ id, target: { type: "load_balancer", id: other.id } })
  const socket = await eventually("a WebSocket is open", async () => {
    const opened = new WebSocket(`ws://127.0.0.1:${p.config.port}/`, { headers: { host: NAME } })
    await once(opened, "open")
    return opened
  })
  socket.send("hello")
  const [said] = await once(socket, "message")
  assert.equal(String(said), "you said hello")
  socket.close()
})

test("a bucket behind a domain is a site: pages, folders, a page for what is missing, headers and ranges", async t => {
  const { svc, ask, active } = await domainsWorld(t)
  await svc.storage.createBucket({ name: "site" })
  const put = (key: string, body: string, type = "text/html") =>
    svc.storage.putObject({ bucket: "site", key }, { body, headers: { "content-type": type } })
  await put("index.html", "<h1>Home</h1>")
  await put("docs/index.html", "<h1>Docs</h1>")
  await put("missing.html", "<h1>Missing</h1>")
  await put("a b.txt", "0123456789", "text/plain")
  const site = { error_document: "missing.html", headers: { "X-Frame-Options": "DENY" } }
  const { id } = await active(NAME, { target: { type: "bucket", id: "site", site } })

  const home = await ask(NAME)
  assert.deepEqual([home.status, home.text], [200, "<h1>Home</h1>"])
  assert.equal(home.headers["content-type"], "text/html")
  assert.equal(home.headers["x-frame-options"], "DENY")
  // Scripts of a page run: it has the host for itself.
  assert.equal(home.headers["content-security-policy"], undefined)
  const known = await ask(NAME, "/", { headers: { "if-none-match": home.headers.etag } })
  assert.deepEqual([known.status, known.text], [304, ""])
  const part = await ask(NAME, "/a%20b.txt?x=1", { headers: { range: "bytes=2-4" } })
  assert.deepEqual([part.status, part.text], [206, "234"])
  assert.equal((await ask(NAME, "/docs/")).text, "<h1>Docs</h1>")
  const folder = await ask(NAME, "//docs")
  assert.equal(folder.status, 404)
  assert.deepEqual((await ask(NAME, "/docs")).headers.location, "/docs/")
  const missing = await ask(NAME, "/nowhere")
  assert.deepEqual([missing.status, missing.text], [404, "<h1>Missing</h1>"])
  const head = await ask(NAME, "/", { method: "HEAD" })
  assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", "13"])
  assert.equal((await ask(NAME, "/%ff")).status, 400)
  assert.equal((await ask(NAME, "/", { method: "POST" })).status, 405)
  for (const path of ["/../../etc/passwd", "/..%2f..%2fsecret"])
    assert.equal((await ask(NAME, path)).status, 404)

  const spa = { type: "bucket" as const, id: "site", site: { spa: true } }
  assert.equal((await svc.domains.setTarget({ id, target: spa })).target?.site?.spa, true)
  const page = await eventually(
    "every path is the application's",
    () => ask(NAME, "/orders/17"),
    ({ status }) => status === 200,
  )
  assert.equal(page.text, "<h1>Home</h1>")
})

test("a function, a run service and a deployment answer under a domain", async t => {
  const { svc, ask, active } = await domainsWorld(t)
  const code = `export default { async fetch(request) {
    return Response.json({ path: new URL(request.url).pathname, method: request.method, body: await request.text() })
  } }`
  const made = await svc.functions.create({ name: "hello", runtime: "nodejs", code, public: true })
  const { id } = await active(NAME, { target: { type: "function", id: made.id } })
  const answer = await ask(NAME, "/a/b?c=d", { method: "POST" }, "text")
  assert.deepEqual(
    [answer.status, JSON.parse(answer.text)],
    [200, { path: "/a/b", method: "POST", body: "text" }],
  )
  // Whatever the path is, it is one of the function.
  assert.deepEqual(JSON.parse((await ask(NAME, "/v1/me")).text).path, "/v1/me")

  const service = await svc.run.create({
    name: "web",
    files: {
      "server.js":
        'require("http").createServer((q, s) => s.end("run " + q.headers.host)).listen(process.env.PORT)',
    },
    command: ["node", "server.js"],
    public: true,
  })
  await eventually(
    "the service is ready",
    () => svc.run.get({ id: service.id }),
    ({ status }) => status === "READY",
  )
  await svc.domains.setTarget({ id, target: { type: "run_service", id: service.id } })
  const ran = await eventually(
    "the service answers",
    () => ask(NAME),
    ({ text }) => text.startsWith("run"),
  )
  assert.equal(ran.text, `run ${NAME}`)

  const kept = await svc.deployments.create({ name: "web", ...versioned("kept") })
  await svc.domains.setTarget({ id, target: { type: "deployment", id: kept.id } })
  assert.equal((await ask(NAME)).status, 401, "who may ask is what the deployment says")
  await svc.deployments.create({ name: "web", public: true })
  const answered = await eventually(
    "the deployment answers",
    () => ask(NAME, "/a"),
    ({ status }) => status === 200,
  )
  assert.equal(answered.text, "kept")
  await svc.deployments.delete({ id: kept.id })
  const gone = await eventually(
    "it is gone",
    () => ask(NAME),
    ({ status }) => status === 404,
  )
  assert.match(gone.text, /no such service/)
})

test("a domain is pointed only at what its caller may publish, and its project has", async t => {
  const { p, svc } = await domainsWorld(t)
  const stranger = await p.client("stranger", ...everyScope)
  const theirs = await stranger.lb.create({ name: "theirs" })
  await stranger.storage.createBucket({ name: "theirs" })
  const foreign = await stranger.deployments.create({ name: "x", ...versioned("x"), min_instances: 0 })
  const secret = await svc.functions.create({ name: "secret", runtime: "nodejs", code: "export default 1" })
  const { id } = await svc.domains.create({ domain: NAME })
  const point = (target: { type: string; id: string; site?: object }) =>
    svc.domains.setTarget({ id, target: target as never })
  for (const target of [
    { type: "load_balancer", id: theirs.id },
    { type: "load_balancer", id: "no-id" },
    { type: "bucket", id: "theirs" },
    { type: "function", id: secret.id },
    { type: "run_service", id },
    { type: "deployment", id: foreign.id },
    { type: "console", id: "x" },
  ])
    await assert.rejects(point(target), { status: 400 }, JSON.stringify(target))
  await svc.storage.createBucket({ name: "own" })
  for (const name of ["Content-Length", "transfer-encoding", "X-Svc-Relayed"])
    await assert.rejects(point({ type: "bucket", id: "own", site: { headers: { [name]: "1" } } }), {
      status: 400,
    })
  const lb = await svc.lb.create({ name: "own" })
  await assert.rejects(point({ type: "load_balancer", id: lb.id, site: {} }), { status: 400 })
  const narrow = await p.client("acme", "domains:write")
  await assert.rejects(narrow.domains.setTarget({ id, target: { type: "bucket", id: "own" } }), {
    status: 403,
    code: "missing_scope",
  })
})

test("another process serves what one was told, and requests that it cannot read alike are refused", async t => {
  const { p, ask, active, dns } = await domainsWorld(t)
  await active(NAME, { force_https: true })
  const databaseUrl = p.database.pool.options.connectionString ?? ""
  const second = await platform(t, { databaseUrl, env: { SVC_DNS_SERVERS: dns.address } })
  const there = await eventually(
    "the other process knows the domain",
    () => askAt(second.config.port, NAME, "/a?b"),
    ({ status }) => status === 308,
  )
  assert.equal(there.headers.location, `https://${NAME}/a?b`)
  const twice = await ask(NAME, "/", { headers: { "content-length": "1", "transfer-encoding": "chunked" } })
  assert.equal(twice.status, 400)
})
