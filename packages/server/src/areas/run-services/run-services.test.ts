/** Run services: programs that are started by requests, replaced, rolled back and ended. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "kysely"
import { cloneDatabase } from "../../testing/database.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { ask, program, refusedAs, runWorld, SERVER, started } from "./testing/world.ts"

test("a service starts from zero with its files, variables and port, answers, and ends when nobody asks", async t => {
  const world = await runWorld(t)
  const { svc, platform: p } = world
  const made = await svc.run.create({
    ...{ name: "hello", ...program(SERVER), env: { SECRET: "s3cret" }, port: 3000, public: true },
    labels: { team: "a" },
  })
  assert.deepEqual([made.status, made.revision, made.env_names], ["DEPLOYING", 1, ["SECRET"]])
  assert.match(made.url ?? "", /^http:\/\/hello-[0-9a-f]{10}\.run\.localhost:\d+$/)
  assert.doesNotMatch(JSON.stringify(made), /s3cret/)
  // It need not be ready before it is asked.
  const first = await ask(world, made.url, "/a%2Fb?c=1", {
    headers: { "x-own": "1", "x-forwarded-for": "6.6.6.6" },
  })
  const { env, cwd, url, headers } = first.json()
  assert.deepEqual(
    [first.status, env.SECRET, env.PORT, cwd, url],
    [200, "s3cret", "3000", "/srv/app", "/a%2Fb?c=1"],
  )
  assert.deepEqual([headers["x-own"], headers["x-forwarded-for"]], ["1", "127.0.0.1"])
  const ready = await started(world, made.id)
  assert.deepEqual([ready.status, ready.ready_revision, ready.status_reason], ["READY", 1, null])
  const { data } = await svc.run.instances({ id: "hello" })
  assert.deepEqual(
    data.map(({ revision, status, port, oom_killed }) => [revision, status, port, oom_killed]),
    [[1, "RUNNING", 3000, false]],
  )
  assert.ok((data[0]?.memory_used_bytes ?? 0) > 0)

  await p.clock.advance(60_000)
  await eventually(
    "the idle instance has ended",
    () => svc.run.metrics({ id: made.id }),
    ({ total_instances }) => total_instances === 0,
  )
  assert.equal((await svc.run.get({ id: made.id })).status, "READY")
  const [stopped] = (await svc.run.instances({ id: made.id })).data
  assert.deepEqual([stopped?.status, stopped?.status_reason], ["STOPPED", "the platform stopped it"])
  assert.equal((await ask(world, made.url)).status, 200)
  assert.equal((await svc.run.instances({ id: made.id })).total, 2)
})

test("200 requests to a service that does not run start one instance, and all are answered", async t => {
  const world = await runWorld(t)
  const { id, url } = await world.svc.run.create({
    ...{ name: "crowd", ...program(SERVER), public: true, max_instances: 1, concurrency: 80 },
  })
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask(world, url, "/wait?ms=20")))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  const told = answers.map(answer => answer.json())
  assert.equal(new Set(told.map(({ self }) => self)).size, 1)
  const most = Math.max(...told.map(one => one.most))
  assert.ok(most > 40 && most <= 80, `${most} at once`)
  assert.equal((await world.svc.run.instances({ id })).total, 1)
  const { requests, latency_ms, errors_per_second } = await world.svc.run.requestMetrics({ id })
  assert.deepEqual([requests, errors_per_second], [200, 0])
  assert.ok(latency_ms.p50 !== null && latency_ms.p99 !== null && latency_ms.p50 <= latency_ms.p99)
})

test("more requests than one instance takes start more, up to the largest number", async t => {
  const world = await runWorld(t)
  const { id, url } = await world.svc.run.create({
    ...{ name: "wide", ...program(SERVER), public: true, max_instances: 2, concurrency: 1 },
  })
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(world, url, "/wait?ms=300")))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.equal(new Set(answers.map(answer => answer.json().self)).size, 2)
  const { healthy_instances } = await world.svc.run.metrics({ id })
  assert.equal(healthy_instances, 2)
})

test("bodies stream both ways, and a WebSocket passes", async t => {
  const world = await runWorld(t)
  const { url } = await world.svc.run.create({ name: "streams", ...program(SERVER), public: true })
  const body = Buffer.alloc(3_000_000, "x")
  const echoed = await ask(world, url, "/echo", { method: "POST" }, body)
  assert.deepEqual([echoed.status, echoed.headers["x-own"], echoed.text.length], [201, "yes", body.length])

  const { host } = new URL(url ?? "")
  const to = { host: "127.0.0.1", port: world.platform.config.port, agent: false as const }
  const asked = httpRequest({ ...to, path: "/lines", method: "POST", headers: { host } })
  asked.write("half")
  const [answer] = await once(asked, "response")
  assert.equal(String((await once(answer, "data"))[0]), "first\n")
  asked.end("other half")
  assert.equal(String((await once(answer, "data"))[0]), "last\n")

  const upgrading = httpRequest({ ...to, headers: { host, connection: "Upgrade", upgrade: "websocket" } })
  upgrading.end()
  const [agreed, socket] = await once(upgrading, "upgrade")
  assert.equal(agreed.statusCode, 101)
  socket.write("hello")
  assert.equal(String((await once(socket, "data"))[0]), "HELLO")
  socket.destroy()
})

test("an instance that crashes is replaced, and the record says how it ended", async t => {
  const world = await runWorld(t)
  const { svc } = world
  const { id, url } = await svc.run.create({
    name: "crash",
    ...program(SERVER),
    public: true,
    min_instances: 1,
  })
  const before = (await ask(world, url)).json().self
  assert.equal((await ask(world, url, "/exit")).status, 502)
  const after = await ask(world, url)
  assert.equal(after.status, 200)
  assert.notEqual(after.json().self, before)
  const ended = await eventually(
    "the end is on record",
    async () => (await svc.run.instances({ id })).data.find(({ status }) => status === "STOPPED"),
    found => found !== undefined,
  )
  assert.deepEqual([ended?.exit_code, ended?.status_reason], [3, "the process ended with code 3"])
  const { errors_per_second } = await svc.run.requestMetrics({ id })
  assert.ok(errors_per_second > 0)
})

test("what a service prints is read by its project alone, with the scope for it", async t => {
  const world = await runWorld(t)
  const { svc, platform: p } = world
  const code = `console.log("One line"); console.error("Another"); ${SERVER}`
  const { id, url } = await svc.run.create({ name: "talk", ...program(code), public: true })
  await ask(world, url)
  const { data, cursor } = await eventually(
    "both lines are there",
    () => svc.run.logs({ id }),
    ({ data }) => data.length === 2,
  )
  const [instance] = (await svc.run.instances({ id })).data
  assert.deepEqual(data.map(({ stream, message, instance_id }) => [stream, message, instance_id]).sort(), [
    ["stderr", "Another", instance?.id],
    ["stdout", "One line", instance?.id],
  ])
  const found = await svc.run.logs({ id: "talk", stream: "stdout", search: "ONE" })
  assert.deepEqual(
    found.data.map(({ message }) => message),
    ["One line"],
  )
  assert.deepEqual(await svc.run.logs({ id, after: cursor }), { data: [], cursor })
  const narrow = await p.client("acme", "services:read")
  await assert.rejects(narrow.run.logs({ id }), refusedAs("missing_scope", 403))
  const stranger = await p.client("stranger", "services:logs")
  await assert.rejects(stranger.run.logs({ id }), refusedAs("service_not_found", 404))
})

test("a new revision answers once it is ready, one that fails never does, and a rollback takes one step", async t => {
  const world = await runWorld(t)
  const { svc } = world
  const versioned = (version: string) =>
    `require("http").createServer((_, r) => r.end("${version}")).listen(process.env.PORT)`
  const { id, url } = await svc.run.create({ name: "rolling", ...program(versioned("one")), public: true })
  await started(world, id)
  let isOver = false
  const seen: string[] = []
  const load = (async () => {
    while (!isOver) {
      const { status, text } = await ask(world, url)
      seen.push(status === 200 ? text : String(status))
    }
  })()
  await svc.run.update({ id, files: { "server.js": versioned("two") } })
  const second = await started(world, id)
  assert.deepEqual([second.status, second.revision, second.ready_revision], ["READY", 2, 2])
  await eventually("the new one answers", async () => (await ask(world, url)).text === "two")

  await svc.run.update({ id, command: ["node", "-e", "console.log('broken here'); process.exit(7)"] })
  const failed = await started(world, id)
  assert.deepEqual([failed.status, failed.revision, failed.ready_revision], ["DEGRADED", 3, 2])
  assert.match(failed.status_reason ?? "", /code 7[\s\S]*broken here/)
  assert.equal((await ask(world, url)).text, "two")

  const back = await svc.run.rollback({ id, revision: 1 })
  assert.deepEqual(
    back.traffic.map(({ revision, percent }) => [revision, percent]),
    [[1, 100]],
  )
  await eventually("the old one answers", async () => (await ask(world, url)).text === "one")
  isOver = true
  await load
  assert.deepEqual([...new Set(seen)].sort(), ["one", "two"], "no request failed")
  const { data } = await svc.run.revisions({ id })
  assert.deepEqual(
    data.map(({ number, status, traffic_percent }) => [number, status, traffic_percent]),
    [
      [3, "FAILED", 0],
      [2, "READY", 0],
      [1, "READY", 100],
    ],
  )
  await assert.rejects(svc.run.rollback({ id, revision: 3 }), refusedAs("invalid_parameter", 400))
  await assert.rejects(svc.run.rollback({ id, revision: "other-00001" }), refusedAs("invalid_parameter", 400))
})

test("traffic is split by percent, and a tag has a URL of its own", async t => {
  const world = await runWorld(t)
  const { svc } = world
  const versioned = (version: string) =>
    `require("http").createServer((_, r) => r.end("${version}")).listen(process.env.PORT)`
  const { id, url } = await svc.run.create({ name: "split", ...program(versioned("one")), public: true })
  await started(world, id)
  const traffic = [
    { revision: 1, percent: 100 },
    { revision: "latest", percent: 0, tag: "next" },
  ]
  const { traffic: shares } = await svc.run.update({ id, files: { "server.js": versioned("two") }, traffic })
  await started(world, id)
  const tagged = shares[1]?.url ?? ""
  assert.match(tagged, /^http:\/\/next---split-/)
  await eventually("the tag leads to the new one", async () => (await ask(world, tagged)).text === "two")
  for (let times = 0; times < 5; times++) assert.equal((await ask(world, url)).text, "one")
  await svc.run.update({
    id,
    traffic: [
      { revision: 1, percent: 50 },
      { revision: "split-00002", percent: 50 },
    ],
  })
  await eventually("both answer", async () => {
    const texts = await Promise.all(Array.from({ length: 20 }, async () => (await ask(world, url)).text))
    return new Set(texts).size === 2
  })
  assert.equal((await ask(world, tagged)).status, 404)
  for (const wrong of [
    [{ revision: 1, percent: 99 }],
    [{ revision: 9, percent: 100 }],
    [
      { revision: 1, percent: 50, tag: "a" },
      { revision: 2, percent: 50, tag: "a" },
    ],
  ])
    await assert.rejects(svc.run.update({ id, traffic: wrong }), refusedAs("invalid_parameter", 400))
})

test("a service that is not public answers keys of its project alone, and does not see them", async t => {
  const world = await runWorld(t)
  const { platform: p } = world
  const { url } = await world.svc.run.create({ name: "inner", ...program(SERVER) })
  const status = async (headers: Record<string, string>, method = "GET") =>
    (await ask(world, url, "/", { headers, method })).status
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const reader = (await p.key("acme", ["services:read"])).secret
  const answer = await ask(world, url, "/", {
    headers: { "x-svc-authorization": `Bearer ${reader}`, authorization: "Bearer own" },
  })
  assert.deepEqual([answer.status, answer.json().headers.authorization], [200, "Bearer own"])
  assert.doesNotMatch(answer.text, new RegExp(reader))
  assert.doesNotMatch((await ask(world, url, "/", { headers: bearer(reader) })).text, new RegExp(reader))
  assert.equal(await status({}), 401)
  assert.equal(await status(bearer("svc_sk_wrong")), 401)
  assert.equal(await status(bearer((await p.key("other", ["services:read"])).secret)), 401)
  assert.equal(await status(bearer((await p.key("acme", ["kv:read"])).secret)), 403)
  const safe = (await p.key("acme", ["services:read"], { read_only: true })).secret
  assert.deepEqual([await status(bearer(safe)), await status(bearer(safe), "POST")], [200, 403])
  assert.equal(
    await status({ ...bearer(reader), host: `nobody-0123456789.run.localhost:${p.config.port}` }),
    404,
  )
})

test("a request that takes too long is ended, and a program that never listens fails with its output", async t => {
  const world = await runWorld(t)
  const { svc } = world
  const slow = await svc.run.create({ name: "slow", ...program(SERVER), public: true, timeout_seconds: 1 })
  await started(world, slow.id)
  assert.equal((await ask(world, slow.url, "/silent")).status, 504)
  const deaf = await svc.run.create({
    ...{ name: "deaf", command: "echo listening nowhere; sleep 100", public: true },
    health_check: { grace_period_seconds: 1 },
  })
  const failed = await started(world, deaf.id)
  assert.equal(failed.status, "FAILED")
  assert.match(failed.status_reason ?? "", /did not listen on port 8080[\s\S]*listening nowhere/)
  assert.equal((await ask(world, deaf.url)).status, 503)
})

test("after the platform has died, its instances count as ended and the service answers again", async t => {
  await using database = await cloneDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), "svc-run-"))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const options = { databaseUrl: database.url, env: { SVC_DATA_DIR: dataDir } }
  const before = await runWorld(t, options)
  const { id, url } = await before.svc.run.create({ name: "again", ...program(SERVER), public: true })
  assert.equal((await ask(before, url)).status, 200)
  // What a process that is killed leaves: an instance that is running on record.
  await sql`
    INSERT INTO run_services.instances SELECT gen_random_uuid(), organization_id, service_id, revision_id, host_id, 'RUNNING',
      NULL, 0, 0, NULL, false, started_at, NULL FROM run_services.instances`.execute(
    before.platform.database.db,
  )
  await before.platform[Symbol.asyncDispose]()

  const after = await runWorld(t, options)
  const svc = after.platform.as(before.secret)
  const again = await svc.run.get({ id })
  assert.equal((await ask(after, again.url)).status, 200)
  const { data } = await svc.run.instances({ id })
  assert.deepEqual(
    data.map(({ status }) => status),
    ["RUNNING", "STOPPED", "STOPPED"],
  )
  assert.ok(data.some(({ status_reason }) => status_reason === "the platform was restarted"))
})

test("a deleted service answers no more, and its instances end", async t => {
  const world = await runWorld(t)
  const { svc, platform: p } = world
  const { id, url } = await svc.run.create({ name: "gone", ...program(SERVER), public: true })
  const slow = ask(world, url, "/wait?ms=500")
  await started(world, id)
  await eventually(
    "a request is under way",
    () => svc.run.metrics({ id }),
    found => found.in_flight_requests === 1,
  )
  const other = await p.client("other", "services:deploy")
  await assert.rejects(other.run.delete({ id }), refusedAs("service_not_found", 404))
  await svc.run.delete({ id })
  assert.equal((await slow).status, 200)
  assert.equal((await ask(world, url)).status, 404)
  await assert.rejects(svc.run.get({ id }), refusedAs("service_not_found", 404))
  await svc.run.create({ name: "gone", ...program(SERVER) })
})

test("what cannot be is refused before anything is made", async t => {
  const { svc, secret, platform: p } = await runWorld(t)
  const given = { name: "checked", ...program(SERVER) }
  const cases: [Parameters<typeof svc.run.create>[0], string, number][] = [
    [{ name: "checked" }, "missing_parameter", 400],
    [{ ...given, min_instances: 3, max_instances: 2 }, "invalid_parameter", 400],
    [{ ...given, files: { "../a": "" } }, "invalid_parameter", 400],
    [{ ...given, files_zip: "AAAA" }, "invalid_parameter", 400],
    [{ ...given, traffic: [{ revision: 1, percent: 100 }] }, "invalid_parameter", 400],
    [{ ...given, image: "no image/at all" }, "invalid_parameter", 400],
  ]
  for (const [input, code, status] of cases)
    await assert.rejects(svc.run.create(input), refusedAs(code, status))
  assert.equal((await svc.run.list({})).total, 0)
  const { id } = await svc.run.create(given)
  await assert.rejects(svc.run.create(given), refusedAs("name_taken", 409))
  // The same installation, at an address that has no names for services.
  const env = { SVC_BASE_URL: "https://cloud.example.com" }
  const plain = (await platform(t, { databaseUrl: p.config.databaseUrl ?? "", env })).as(secret)
  const refusals = [plain.run.create({ ...given, name: "new" }), plain.run.update({ id, concurrency: 5 })]
  for (const refusal of refusals) await assert.rejects(refusal, refusedAs("not_implemented", 501))
  await p.tenant("small", "free")
  const small = await p.client("small", "services:deploy")
  await small.run.create({ ...given, min_instances: 1 })
  await assert.rejects(
    small.run.create({ ...given, name: "second", min_instances: 1 }),
    refusedAs("plan_limit_reached", 402),
  )
  const second = await small.run.create({ ...given, name: "second" })
  await assert.rejects(
    small.run.update({ id: second.id, min_instances: 1 }),
    refusedAs("plan_limit_reached", 402),
  )
})
