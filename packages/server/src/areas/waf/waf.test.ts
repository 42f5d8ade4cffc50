/** What the firewall promises to those whose load balancers it stands before, and what attackers meet. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { test } from "node:test"
import { sql } from "kysely"
import { WebSocket } from "ws"
import { newId } from "../../kernel/id.ts"
import { LB_SCOPES, worldOf } from "../lb/testing/world.ts"
import { wafStore } from "./store.ts"
import { guarded, HOST, post, WAF_SCOPES } from "./testing/world.ts"

const REQUEST_ID = "0f8fad5b-d9cb-469f-a165-70867728950e"

test("a request that a rule blocks gets 403 with its id, reaches no backend, and is recorded", async t => {
  const { svc, ask, receiver, id, url } = await guarded(t)
  const rule = await svc.waf.createRule({
    ...{ name: "no sql", pattern: "(?i)union\\s+select", action: "block", targets: ["query"] },
  })
  assert.deepEqual(
    [rule.match, rule.priority, rule.enabled, rule.load_balancer_id],
    ["regex", 100, true, null],
  )
  assert.equal((await ask(`${url}/a?q=union`)).status, 200)
  const blocked = await ask(`${url}/a?q=1%20UNION%20%20SELECT`, { headers: { "x-request-id": REQUEST_ID } })
  assert.equal(blocked.status, 403)
  assert.deepEqual(JSON.parse(blocked.text), {
    ...{ error: "The request was refused", code: "request_blocked", request_id: REQUEST_ID },
  })
  const page = await ask(`${url}/?q=union+select`, { headers: { accept: "text/html,*/*" } })
  assert.match(page.headers["content-type"] ?? "", /^text\/html/)
  assert.doesNotMatch(page.text, /sql|union/i)
  assert.equal(receiver.requests.length, 1)
  const { events } = await svc.waf.listEvents()
  const [, first] = events
  assert.equal(events.length, 2)
  assert.deepEqual(
    [first?.rule_id, first?.rule_name, first?.source, first?.action, first?.load_balancer_id],
    [rule.id, "no sql", "custom", "block", id],
  )
  assert.deepEqual(
    [first?.path, first?.client_ip, first?.matched_target, first?.matched_value, first?.request_id],
    ["/a", HOST, "query", "UNIO***CT", REQUEST_ID],
  )
  const { logs } = await svc.lb.logs({ id })
  assert.deepEqual([logs[0]?.status, logs[0]?.backend_id, logs[0]?.attempts], [403, null, 0])
})

test("an attack is found in every part of a request, however it is encoded", async t => {
  const { svc, statusOf } = await guarded(t)
  for (const pattern of ["attack<x", "(?i)x-evil: 1$"]) await svc.waf.createRule({ pattern, action: "block" })
  await svc.waf.createRule({ pattern: "/Admin", match: "prefix", action: "block", targets: ["path"] })
  await svc.waf.createRule({ pattern: "BADBOT", match: "contains", action: "block", targets: ["user_agent"] })
  await svc.waf.createRule({ pattern: "^PROPFIND$", action: "block", targets: ["method"] })
  const form = "application/x-www-form-urlencoded"
  const found: [string, Parameters<typeof statusOf>[1]?][] = [
    ["/attack%3cx"],
    ["/attack%253Cx"],
    ["/?a=attack%25253cx"],
    ["/?a=attack%u003cx"],
    ["/a", { headers: { cookie: "b=1; a=attack%3cx" } }],
    ["/a", { headers: { referer: "http://x/?attack<x" } }],
    ["/a", { headers: { "X-Evil": "1" } }],
    ["/a", post(form, "a=attack%3Cx")],
    ["/a", post("application/json", '{"a":"attack\\u003cx"}')],
    ["/a", post("text/plain", `${"x".repeat(100_000)}attack<x`)],
    ["/a", { ...post("text/plain", ""), headers: { "transfer-encoding": "chunked" }, body: "attack<x" }],
    ["/admin/x"],
    ["//ADMIN"],
    ["/a/../admin"],
    ["/a/%2e%2e/admin"],
    ["/a/..%5cadmin"],
    ["/%61dmin"],
    ["/a", { headers: { "user-agent": "a BadBot 1" } }],
    ["/a", { method: "PROPFIND" }],
  ]
  for (const [path, request] of found)
    assert.equal(await statusOf(path, request), 403, `${path} ${JSON.stringify(request)?.slice(0, 120)}`)
  const clean: typeof found = [["/a?b=attack"], ["/adm"], ["/b/admin"], ["/a%"], ["/%zz"]]
  for (const [path, request] of clean) assert.equal(await statusOf(path, request), 200, path)
})

test("a body of any size goes on whole, and is looked at as far as 128 KiB", async t => {
  const { svc, ask, url, statusOf } = await guarded(t)
  await svc.waf.createRule({ pattern: "needle", match: "contains", action: "block", targets: ["body"] })
  const large = Buffer.alloc(3_000_000, "x")
  assert.equal((await ask(url, post("text/plain", large))).text, "3000000")
  assert.equal((await ask(url, post("text/plain", "small"))).text, "5")
  const late = Buffer.concat([large, Buffer.from("needle")])
  assert.equal((await ask(url, post("text/plain", late))).text, "3000006")
  assert.equal(await statusOf("/", post("text/plain", Buffer.concat([Buffer.from("needle"), large]))), 403)
})

test("rules are asked in order, and one that lets through cannot be led astray by another spelling", async t => {
  const { svc, statusOf } = await guarded(t)
  await svc.waf.createRule({ pattern: "secret", match: "contains", action: "block", targets: ["path"] })
  const { id } = await svc.waf.createRule({
    ...{ pattern: "/public/", match: "prefix", action: "allow", targets: ["path"], priority: 1 },
  })
  assert.equal(await statusOf("/secret"), 403)
  assert.equal(await statusOf("/public/secret"), 200)
  for (const path of [
    "/public/../secret",
    "/public/%2e%2e/secret",
    "/public/..%2fsecret",
    "/public/%252e./secret",
  ])
    assert.equal(await statusOf(path), 403, path)
  await svc.waf.updateRule({
    id,
    pattern: "/public/",
    match: "prefix",
    action: "allow",
    targets: ["path"],
    priority: 500,
  })
  assert.equal(await statusOf("/public/secret"), 403)
  const { data } = await svc.waf.listRules()
  assert.deepEqual(
    data.map(({ priority }) => priority),
    [100, 500],
  )
})

test("ranges of addresses are blocked or let through; a rule for one load balancer leaves the others alone", async t => {
  const { svc, ask, statusOf, backends, id } = await guarded(t)
  const { url: other } = await svc.lb.create({ name: "b", backends, waf_enabled: true })
  const { url: open } = await svc.lb.create({ name: "c", backends })
  const range = { pattern: "127.0.0.0/8", match: "cidr", action: "block" } as const
  const rule = await svc.waf.createRule({ ...range, load_balancer_id: id })
  assert.deepEqual(rule.targets, ["ip"])
  assert.deepEqual([await statusOf("/"), (await ask(other ?? "")).status], [403, 200])
  await svc.waf.updateRule({ ...range, id: rule.id })
  assert.deepEqual([(await ask(other ?? "")).status, (await ask(open ?? "")).status], [403, 200])
  await svc.waf.updateRule({ ...range, id: rule.id, enabled: false })
  assert.equal(await statusOf("/"), 200)
  await svc.waf.updateRule({ ...range, id: rule.id, pattern: "10.0.0.0/8" })
  assert.equal(await statusOf("/"), 200)
  await svc.waf.createRule({ ...range, pattern: "::/0" })
  assert.equal(await statusOf("/"), 200)
  await svc.lb.update({ id, waf_enabled: false })
  await svc.waf.updateRule({ ...range, id: rule.id })
  assert.equal(await statusOf("/"), 200)
})

test("where a load balancer only detects, and where a rule only logs, requests go on and are recorded", async t => {
  const { svc, id, statusOf } = await guarded(t)
  await svc.waf.createRule({ pattern: "one", action: "log", targets: ["query"] })
  const two = await svc.waf.createRule({ pattern: "two", action: "block", targets: ["query"] })
  assert.deepEqual([await statusOf("/?one"), await statusOf("/?two")], [200, 403])
  assert.equal((await svc.lb.update({ id, waf_mode: "detect" })).waf_mode, "detect")
  assert.equal(await statusOf("/?two"), 200)
  const first = await svc.waf.listEvents({ limit: 2 })
  assert.deepEqual(
    first.events.map(({ action, rule_name }) => [action, rule_name]),
    [
      ["log", "two"],
      ["block", "two"],
    ],
  )
  const second = await svc.waf.listEvents({ limit: 2, cursor: first.cursor ?? "" })
  assert.deepEqual(
    second.events.map(({ action, rule_name }) => [action, rule_name]),
    [["log", "one"]],
  )
  assert.equal(second.cursor, null)
  const stats = await svc.waf.stats()
  assert.deepEqual(
    [
      stats.requests_total,
      stats.blocked_total,
      stats.logged_total,
      stats.allowed_total,
      stats.window_seconds,
    ],
    [3, 1, 2, 0, 86_400],
  )
  assert.deepEqual(
    [stats.by_rule[0], stats.by_category],
    [
      { rule_id: two.id, matches: 2 },
      { custom: 3, ddos: 0 },
    ],
  )
})

test("what is written down of a request has no secret in it", async t => {
  const { svc, statusOf } = await guarded(t)
  await svc.waf.createRule({ pattern: "hunter2[a-z]+", action: "block" })
  const secret = "hunter2andmuchmorethanthat"
  const sent: [string, Parameters<typeof statusOf>[1]?][] = [
    ["/", { headers: { authorization: `Bearer ${secret}` } }],
    ["/", { headers: { cookie: `a=${secret}` } }],
    [`/?user=a&password=${secret}`],
    ["/", post("application/json", `{"user": "a", "api_key": "${secret}"}`)],
    ["/", post("text/plain", "hunter2x")],
    [`/?q=${secret}`],
  ]
  for (const [path, request] of sent) assert.equal(await statusOf(path, request), 403)
  const { events } = await svc.waf.listEvents()
  assert.deepEqual(
    events.map(({ matched_target, matched_value }) => [matched_target, matched_value]).reverse(),
    [
      ["header:authorization", "***"],
      ["cookie:a", "***"],
      ["query", "***"],
      ["body", "***"],
      ["body", "***"],
      ["query", "hunt***at"],
    ],
  )
})

test("a rule that could take more than linear time, or that nothing enforces, is refused", async t => {
  const { p, svc } = await guarded(t)
  const good = { pattern: "x", action: "block" } as const
  for (const pattern of [
    "(?=a)b",
    "(a)\\1",
    "(?<!a)b",
    "(",
    "a{2000}",
    "(?:a{1,100}){1,9}",
    "(?:(?:a|b){1,30}){1,30}",
  ])
    await assert.rejects(
      svc.waf.createRule({ ...good, pattern }),
      { status: 400, code: "unsupported_waf_rule" },
      pattern,
    )
  for (const action of ["captcha", "challenge", "redirect"])
    await assert.rejects(svc.waf.createRule({ ...good, action: action as "block" }), {
      ...{ status: 400, code: "unsupported_waf_rule" },
    })
  for (const bad of ["10.0.0.0/33", "nowhere", "10.0.0.0/8,10.0.0.0/9"])
    await assert.rejects(svc.waf.createRule({ pattern: bad, match: "cidr", action: "block" }), {
      code: "unsupported_waf_rule",
    })
  await assert.rejects(
    svc.waf.createRule({ pattern: "10.0.0.0/8", match: "cidr", action: "block", targets: ["path"] }),
    { code: "unsupported_waf_rule" },
  )
  const wide = "(?:a[ab]{9}|b[ab]{11}){2,9}"
  await svc.waf.createRule({ ...good, pattern: wide, targets: ["query"], enabled: false })
  await assert.rejects(svc.waf.createRule({ ...good, pattern: wide }), { code: "unsupported_waf_rule" })
  const { id } = await svc.waf.createRule(good)
  await assert.rejects(svc.waf.updateRule({ ...good, id, pattern: "(?!x)" }), {
    code: "unsupported_waf_rule",
  })
  const other = await p.client("globex", ...LB_SCOPES, ...WAF_SCOPES)
  const { id: foreign } = await other.lb.create({ name: "x" })
  for (const rule of [{ ...good, load_balancer_id: foreign }])
    await assert.rejects(svc.waf.createRule(rule), { status: 400, code: "load_balancer_unknown" })
  await assert.rejects(other.waf.updateRule({ ...good, id }), { status: 404, code: "rule_not_found" })
  await assert.rejects(other.waf.deleteRule({ id }), { status: 404, code: "rule_not_found" })
  assert.equal((await other.waf.listRules()).total, 0)
  await svc.waf.deleteRule({ id })
  await assert.rejects(svc.waf.deleteRule({ id }), { code: "rule_not_found" })
  const { projectId: project_id } = await p.tenant("acme")
  const made = { project_id, created_at: new Date(), updated_at: new Date(), load_balancer_id: null }
  for (let count = 0; count < 100; count++)
    await wafStore(p.database.db).insert({
      ...{ ...made, id: newId(), name: "", pattern: "x", match: "contains", targets: ["path"] },
      ...{ action: "log", priority: 1, enabled: false },
    })
  await assert.rejects(svc.waf.createRule(good), { code: "invalid_parameter" })
})

test("patterns that ruin other engines are judged, and a request that costs too much is given up", async t => {
  const { p, svc, statusOf } = await guarded(t)
  const evil = [
    "(x+x+)+y",
    "(a|a)*b$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(?:[a-z]{1,8} ){1,8}!",
    "(a|b)*a(a|b){12}c",
  ]
  for (const pattern of evil) await svc.waf.createRule({ pattern, action: "log", targets: ["body", "query"] })
  const small = post("text/plain", "ab".repeat(5_000))
  assert.equal(await statusOf(`/?${"ax".repeat(3_000)}`, small), 200)
  const { projectId: project_id } = await p.tenant("acme")
  for (let count = 0; count < 60; count++)
    await wafStore(p.database.db).insert({
      ...{ project_id, created_at: new Date(), updated_at: new Date(), load_balancer_id: null },
      ...{ id: newId(), name: "", pattern: "a[ab]{14}[c-e]", match: "regex", targets: ["body"] },
      ...{ action: "log", priority: 100, enabled: true },
    })
  await svc.waf.createRule({ pattern: "last", action: "log" })
  const text = Array.from(randomBytes(120_000), byte => (byte > 127 ? "a" : "b")).join("")
  assert.equal(await statusOf("/", post("text/plain", text)), 403)
  const { events } = await svc.waf.listEvents({ limit: 1 })
  assert.deepEqual([events[0]?.matched_target, events[0]?.action], ["time", "block"])
})

test("an address that sends too much is limited, then banned for a time, unless a rule lets it through", async t => {
  const { p, svc, id, statusOf } = await guarded(t, { env: { SVC_WAF_RATE: "1", SVC_WAF_BAN_SECONDS: "30" } })
  const statuses = async (count: number) => {
    const found: number[] = []
    for (let sent = 0; sent < count; sent++) found.push(await statusOf("/"))
    return found
  }
  const all = await statuses(25)
  assert.deepEqual([all.filter(status => status === 200).length, all.at(-1)], [10, 429])
  await p.clock.advance(20_000)
  assert.deepEqual(await statuses(1), [429])
  const { events } = await svc.waf.listEvents()
  assert.deepEqual(
    events.map(({ source, action, matched_target }) => [source, action, matched_target]),
    [
      ["ddos", "ban", "address"],
      ["ddos", "rate_limit", "address"],
    ],
  )
  const { ddos, by_category } = await svc.waf.stats()
  assert.deepEqual([ddos, by_category.ddos], [{ tracked_ips: 1, rate_limited_total: 16, banned_ips: 1 }, 16])
  await svc.lb.update({ id, waf_mode: "detect" })
  assert.deepEqual(await statuses(1), [200])
  await svc.lb.update({ id, waf_mode: "block" })
  await svc.waf.createRule({ pattern: HOST, match: "cidr", action: "allow" })
  assert.deepEqual(await statuses(1), [200])
  const { data } = await svc.waf.listRules()
  await svc.waf.deleteRule({ id: data[0]?.id ?? "" })
  assert.deepEqual(await statuses(1), [429])
  await p.clock.advance(10_000)
  assert.deepEqual(await statuses(1), [200])
})

test("a handshake of a WebSocket is judged like a request", async t => {
  const { p, svc, url } = await guarded(t)
  await svc.waf.createRule({ pattern: "/room/evil", match: "prefix", action: "block", targets: ["path"] })
  const { host } = new URL(url)
  const socket = new WebSocket(`ws://${HOST}:${p.config.port}/room/evil`, { headers: { host } })
  socket.on("error", () => undefined)
  const [, answer] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }]
  assert.equal(answer.statusCode, 403)
  socket.terminate()
})

test("a rule holds in every process at once, and counters and events of all of them add up", async t => {
  const first = await guarded(t)
  const second = await worldOf(t, {
    env: { SVC_WAF_RATE: "off" },
    databaseUrl: first.p.config.databaseUrl ?? "",
  })
  const { svc, url } = first
  assert.equal((await second.ask(`${url}/?bad`)).status, 200)
  const { id } = await svc.waf.createRule({ pattern: "bad", action: "block", targets: ["query"] })
  assert.equal((await first.ask(`${url}/?bad`)).status, 403)
  for (let tries = 0; (await second.ask(`${url}/?bad`)).status !== 403; tries++) assert.ok(tries < 200)
  await second.p.clock.advance(1_000)
  const { events } = await svc.waf.listEvents()
  assert.equal(events.length, 2)
  assert.deepEqual((await svc.waf.stats()).by_rule, [{ rule_id: id, matches: 2 }])
})

test("a flood of events is cut off and counted, and old ones are removed", async t => {
  const { p, svc, ask, url } = await guarded(t)
  await svc.waf.createRule({ pattern: "bad", action: "block", targets: ["query"] })
  const lane = async () => {
    for (let sent = 0; sent < 70; sent++) await ask(`${url}/?bad`)
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  const stats = await svc.waf.stats()
  assert.deepEqual([stats.blocked_total, stats.events_dropped_total], [560, 60])
  await p.clock.advance(31 * 86_400_000)
  assert.equal((await svc.waf.listEvents()).events.length, 0)
  assert.equal((await svc.waf.stats()).requests_total, 0)
})

test("where rules cannot be read no request passes, and those that were read once hold", async t => {
  const { p, svc, ask, backends, statusOf } = await guarded(t)
  await svc.waf.createRule({ pattern: "bad", action: "block", targets: ["query"] })
  assert.equal(await statusOf("/"), 200)
  const other = await p.client("globex", ...LB_SCOPES)
  const { url } = await other.lb.create({ name: "x", backends, waf_enabled: true })
  const { db } = p.database
  await sql`ALTER TABLE waf.rules RENAME TO away`.execute(db)
  const { projectId } = await p.tenant("acme")
  await sql`SELECT pg_notify('svc_changes', ${`waf:${projectId}`})`.execute(db)
  assert.equal((await ask(url ?? "")).status, 503)
  assert.deepEqual([await statusOf("/"), await statusOf("/?bad")], [200, 403])
  await sql`ALTER TABLE waf.away RENAME TO rules`.execute(db)
  assert.equal((await ask(url ?? "")).status, 200)
})
