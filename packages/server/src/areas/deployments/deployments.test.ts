/** Deployments: instances that run all the time, are replaced one after the other, rolled back, given up and ended. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { sql } from "kysely"
import { eventually } from "../../testing/eventually.ts"
import { everyScope } from "../../testing/platform.ts"
import { readFirstRun, spawnSvc } from "../../testing/process.ts"
import { ask, refusedAs, SERVER } from "../run-services/testing/world.ts"
import { deploymentWorld, load, program, running, versioned, whenever } from "./testing/world.ts"

test("as many instances run as are wanted, share the requests, and are replaced when they end", async t => {
  const world = await deploymentWorld(t)
  const { svc } = world
  const made = await svc.deployments.create({
    ...{ name: "web", ...program(SERVER), env: { SECRET: "s3cret" }, public: true, min_instances: 2 },
    labels: { team: "a" },
  })
  assert.deepEqual([made.status, made.version, made.env_names], ["DEPLOYING", 1, ["SECRET"]])
  assert.match(made.url ?? "", /^http:\/\/web-[0-9a-f]{10}\.deploy\.localhost:\d+$/)
  assert.doesNotMatch(JSON.stringify(made), /s3cret/)
  // It need not be ready before it is asked.
  assert.equal((await ask(world, made.url)).json().env.SECRET, "s3cret")
  const { id } = await running(world, "web")
  assert.equal((await svc.deployments.get({ id })).ready_instances, 2)
  const selves = new Set<string>()
  for (let times = 0; times < 4; times++) selves.add((await ask(world, made.url)).json().self)
  assert.equal(selves.size, 2)

  assert.equal((await ask(world, made.url, "/exit")).status, 502)
  const { data } = await eventually(
    "the one that ended runs again",
    () => svc.deployments.instances({ id }),
    ({ data }) => data.some(one => one.restart_count === 1 && one.status === "RUNNING"),
  )
  const again = data.find(({ restart_count }) => restart_count === 1)
  assert.deepEqual([data.length, again?.exit_code, again?.oom_killed], [2, 3, false])
  assert.match(again?.status_reason ?? "", /code 3/)
  assert.ok((again?.memory_used_bytes ?? 0) > 0)
  const told = await svc.deployments.logs({ id, stream: "platform", search: "CODE 3" })
  assert.deepEqual(
    told.data.map(({ instance_id, message }) => [instance_id, message]),
    [[again?.id, "the process ended with code 3"]],
  )
})

test("scaling starts and drains instances, down to none and back", async t => {
  const world = await deploymentWorld(t)
  const { svc } = world
  const { id, url } = await svc.deployments.create({ name: "wide", ...program(SERVER), public: true })
  await running(world, id)
  await svc.deployments.scale({ id, min_instances: 3 })
  const wide = await whenever(world, id, "three are ready", ({ ready_instances }) => ready_instances === 3)
  assert.deepEqual([wide.status, wide.max_instances, wide.version], ["RUNNING", 3, 1])
  const slow = Array.from({ length: 6 }, () => ask(world, url, "/wait?ms=300"))
  await eventually(
    "all requests are under way",
    () => svc.deployments.instances({ id }),
    ({ data }) => data.reduce((sum, one) => sum + one.in_flight_requests, 0) === 6,
  )
  await svc.deployments.scale({ id, min_instances: 1 })
  assert.deepEqual([...new Set((await Promise.all(slow)).map(({ status }) => status))], [200])
  await eventually(
    "two have ended",
    () => svc.deployments.instances({ id }),
    ({ data }) => data.filter(({ status }) => status === "STOPPED").length === 2,
  )
  const stopped = await svc.deployments.scale({ id, min_instances: 0 })
  assert.equal(stopped.status, "STOPPED")
  await whenever(world, id, "none is ready", ({ ready_instances }) => ready_instances === 0)
  assert.equal((await ask(world, url)).status, 503)
  await svc.deployments.scale({ id, min_instances: 1 })
  assert.equal((await ask(world, url)).status, 200)
})

test("a new version, a restart and a rollback under load lose no request", async t => {
  const world = await deploymentWorld(t)
  const { svc } = world
  const { id, url } = await svc.deployments.create({
    ...{ name: "rolling", ...versioned("one"), public: true, min_instances: 2 },
  })
  await running(world, id)
  const stop = load(() => ask(world, url))
  await svc.deployments.create({ name: "rolling", ...versioned("two") })
  const second = await running(world, id)
  assert.deepEqual([second.version, second.ready_version, second.min_instances], [2, 2, 2])
  assert.equal((await ask(world, url)).text, "two")

  const ids = async () =>
    (await svc.deployments.instances({ id })).data.flatMap(one => (one.status === "RUNNING" ? one.id : []))
  const before = await ids()
  assert.equal((await svc.deployments.restart({ id })).status, "DEPLOYING")
  await running(world, id)
  await eventually("others run", async () => {
    const after = await ids()
    return after.length === 2 && after.every(one => !before.includes(one))
  })

  await svc.deployments.create({
    ...{ name: "rolling", command: ["node", "-e", "console.log('broken here'); process.exit(7)"] },
    max_retries: 1,
  })
  const failed = await whenever(world, id, "the third is given up", ({ status }) => status === "DEGRADED")
  assert.deepEqual([failed.version, failed.ready_version, failed.ready_instances], [3, 2, 2])
  assert.match(failed.status_reason ?? "", /code 7[\s\S]*broken here/)

  await svc.deployments.rollback({ id, version: 1 })
  const back = await running(world, id)
  assert.deepEqual([back.version, back.ready_version, back.status_reason], [1, 1, null])
  assert.equal((await ask(world, url)).text, "one")
  const seen = await stop()
  assert.deepEqual([...new Set(seen)].sort(), ["one", "two"], "no request failed")
  const { data } = await svc.deployments.versions({ id })
  assert.deepEqual(
    data.map(({ version, status, active }) => [version, status, active]),
    [
      [3, "FAILED", false],
      [2, "READY", false],
      [1, "READY", true],
    ],
  )
  await assert.rejects(svc.deployments.rollback({ id, version: 3 }), refusedAs("invalid_parameter", 400))
  await assert.rejects(svc.deployments.rollback({ id, version: 9 }), refusedAs("invalid_parameter", 400))
})

test("a program that keeps crashing ends as FAILED with its last words, and a restart tries it again", async t => {
  const world = await deploymentWorld(t)
  const { svc } = world
  const { id, url } = await svc.deployments.create({
    ...{ name: "crash", image: "host-rootfs", command: "echo my last words >&2; exit 9", public: true },
    ...{ memory_mb: 128, max_retries: 2 },
  })
  const failed = await whenever(world, id, "it is given up", ({ status }) => status === "FAILED")
  assert.match(failed.status_reason ?? "", /code 9[\s\S]*my last words/)
  const [one] = (await svc.deployments.instances({ id })).data
  assert.deepEqual([one?.status, one?.restart_count, one?.exit_code], ["FAILED", 2, 9])
  assert.equal((await svc.deployments.versions({ id })).data[0]?.status, "FAILED")
  assert.equal((await ask(world, url)).status, 503)
  const { data } = await svc.deployments.logs({ id, stream: "stderr" })
  assert.deepEqual(
    data.map(({ message }) => message),
    ["my last words", "my last words", "my last words"],
  )
  assert.equal((await svc.deployments.restart({ id })).status, "DEPLOYING")
  await whenever(world, id, "it is given up again", ({ status }) => status === "FAILED")
  const missing = await svc.deployments.create({
    ...{ name: "missing", image: "host-rootfs", command: ["no-such-program"], memory_mb: 128 },
  })
  const never = await whenever(world, missing.id, "it is given up", ({ status }) => status === "FAILED")
  assert.match(never.status_reason ?? "", /no-such-program/)
})

test("a program without ports runs, is started again by its policy, and may end", async t => {
  const world = await deploymentWorld(t)
  const { svc } = world
  const job = { image: "host-rootfs", ports: [], memory_mb: 128, vcpus: 0.25 }
  const worker = await svc.deployments.create({ ...job, name: "worker", command: "echo begun; sleep 1000" })
  assert.deepEqual([worker.url, worker.urls], [null, []])
  await running(world, worker.id)
  const once = await svc.deployments.create({
    ...{ ...job, name: "once", command: "sleep 1.5; exit 0", restart_policy: "on-failure" },
  })
  const ended = await whenever(world, once.id, "it has ended", ({ status }) => status === "STOPPED")
  assert.equal(ended.status_reason, "its instances have ended")
  const never = await svc.deployments.create({
    ...{ ...job, name: "never", command: "exit 4", restart_policy: "no" },
  })
  await whenever(world, never.id, "it is given up", ({ status }) => status === "FAILED")
  assert.equal((await svc.deployments.instances({ id: never.id })).data[0]?.restart_count, 0)
})

test("each port has a URL, and who is not public answers keys of the project alone", async t => {
  const world = await deploymentWorld(t)
  const { svc, platform: p, secret } = world
  const code =
    "for (const port of [8080, 9090]) require('http').createServer((q, r) => r.end(port + ' ' + Object.keys(q.headers))).listen(port)"
  const { id, urls } = await svc.deployments.create({ name: "ports", ...program(code), ports: [8080, 9090] })
  assert.deepEqual(
    urls.map(({ port }) => port),
    [8080, 9090],
  )
  assert.match(urls[1]?.url ?? "", /^http:\/\/p9090---ports-/)
  await running(world, id)
  const bearer = (key: string) => ({ headers: { "x-svc-authorization": `Bearer ${key}` } })
  const [first, second] = await Promise.all(urls.map(({ url }) => ask(world, url, "/", bearer(secret))))
  assert.match(first?.text ?? "", /^8080 /)
  assert.match(second?.text ?? "", /^9090 /)
  assert.doesNotMatch(first?.text ?? "", /x-svc-authorization/)
  const [main] = urls
  assert.equal((await ask(world, main?.url ?? "")).status, 401)
  const other = await p.key("other", everyScope)
  assert.equal((await ask(world, main?.url ?? "", "/", bearer(other.secret))).status, 401)
  const unknown = main?.url.replace("//", "//p7000---") ?? ""
  assert.equal((await ask(world, unknown, "/", bearer(secret))).status, 404)

  const stranger = p.as(other.secret)
  const missing = refusedAs("deployment_not_found", 404)
  for (const name of ["get", "delete", "logs", "instances", "versions", "restart"] as const)
    await assert.rejects(stranger.deployments[name]({ id }), missing)
  await assert.rejects(stranger.deployments.scale({ id, min_instances: 0 }), missing)
  await assert.rejects(stranger.deployments.rollback({ id, version: 1 }), missing)
  assert.equal((await stranger.deployments.list({})).total, 0)
  assert.equal((await svc.deployments.list({})).total, 1)
})

test("logs are found by text, stream, instance, time and cursor, and an instance that floods loses lines", async t => {
  const world = await deploymentWorld(t)
  const { svc, platform: p } = world
  const code =
    "console.log('plain'); console.error('Half'); process.stdout.write('x'.repeat(9000) + '\\n'); setTimeout(() => { for (let i = 0; i < 3000; i++) console.log('flood ' + i) }, 1500); setInterval(() => 0, 1000)"
  const { id } = await svc.deployments.create({ name: "talk", ...program(code), ports: [] })
  await running(world, id)
  const first = await eventually(
    "three lines are there",
    () => svc.deployments.logs({ id }),
    ({ data }) => data.length >= 3,
  )
  assert.deepEqual(
    first.data
      .slice(0, 2)
      .map(({ message }) => message)
      .sort(),
    ["Half", "plain"],
  )
  assert.equal(first.data.find(({ message }) => message.startsWith("xx"))?.message.length, 8192)
  const messages = async (query: Omit<Parameters<typeof svc.deployments.logs>[0], "id">) =>
    (await svc.deployments.logs({ id, ...query })).data.map(({ message }) => message)
  assert.deepEqual(await messages({ search: "half" }), ["Half"])
  assert.deepEqual(await messages({ stream: "stderr" }), ["Half"])
  const [instance_id = ""] = first.data.map(one => one.instance_id)
  assert.ok((await messages({ instance_id, search: "plain" })).length === 1)
  assert.deepEqual(await messages({ instance_id: id }), [])
  const now = p.clock.now()
  assert.deepEqual(await messages({ until: new Date(now - 60_000).toISOString() }), [])
  assert.deepEqual(await messages({ since: new Date(now - 60_000).toISOString(), search: "plain" }), [
    "plain",
  ])
  const flood = await eventually(
    "the flood is there",
    () => svc.deployments.logs({ id, after: first.cursor, limit: 1000 }),
    ({ data }) => data.length === 1000,
  )
  assert.equal(flood.data[0]?.message, "flood 0")
  const rest = await eventually(
    "its end is there",
    () => svc.deployments.logs({ id, after: flood.cursor, limit: 1000 }),
    ({ data }) => data.length > 900,
  )
  assert.ok(rest.data.length < 1000, "what is too much at once is dropped")
})

test("after kill -9 of the platform, deployments run again, and what ran counts as ended", async t => {
  const env = { SVC_RUNTIME: "process" }
  const first = spawnSvc(t, { env })
  const connect = async (baseUrl: string) => {
    const svc = createSvc({ baseUrl, retries: 0, apiKey: readFirstRun(first.dataDir).api_key })
    return { svc, platform: { config: { port: Number(new URL(baseUrl).port) } } }
  }
  const before = await connect(await first.ready)
  const { id } = await before.svc.deployments.create({ name: "again", ...versioned("here"), public: true })
  await running(before, id)
  first.signal("SIGKILL")
  await first.exited
  const second = spawnSvc(t, { env, dataDir: first.dataDir })
  const after = await connect(await second.ready)
  const { url } = await after.svc.deployments.get({ id })
  assert.equal((await ask(after, url)).text, "here")
  const ids = (await after.svc.deployments.instances({ id })).data
  assert.deepEqual(
    ids.map(({ status }) => status),
    ["RUNNING", "STOPPED"],
  )
  assert.equal(ids[1]?.status_reason, "the platform was restarted")
})

test("a deleted deployment answers what it was asked, and no more", async t => {
  const world = await deploymentWorld(t)
  const { svc } = world
  const { id, url } = await svc.deployments.create({ name: "gone", ...program(SERVER), public: true })
  await running(world, id)
  const slow = ask(world, url, "/wait?ms=500")
  await eventually(
    "a request is under way",
    () => svc.deployments.instances({ id }),
    ({ data }) => data[0]?.in_flight_requests === 1,
  )
  await svc.deployments.delete({ id })
  assert.equal((await slow).status, 200)
  assert.equal((await ask(world, url)).status, 404)
  await assert.rejects(svc.deployments.get({ id }), refusedAs("deployment_not_found", 404))
  const { db } = world.platform.database
  await eventually("nothing runs", async () => {
    const { rows } = await sql`SELECT FROM deployments.instances WHERE stopped_at IS NULL`.execute(db)
    return rows.length === 0
  })
})

test("what cannot be is refused before anything is made", async t => {
  const { svc, platform: p } = await deploymentWorld(t, { env: { SVC_WORKLOAD_MEMORY_MB: "2048" } })
  const given = { name: "checked", ...versioned("x"), min_instances: 0 }
  const cases: [Parameters<typeof svc.deployments.create>[0], string, number][] = [
    [{ name: "checked", command: "true" }, "missing_parameter", 400],
    [{ name: "checked", image: "host-rootfs" }, "missing_parameter", 400],
    [{ ...given, min_instances: 3, max_instances: 2 }, "invalid_parameter", 400],
    [{ ...given, ports: [80, 80] }, "invalid_parameter", 400],
    [{ ...given, ports: [], health_check: { path: "/" } }, "invalid_parameter", 400],
    [{ ...given, command: "true", args: ["x"] }, "invalid_parameter", 400],
    [{ ...given, image: "no image/at all" }, "invalid_parameter", 400],
    [{ ...given, kind: "vm" }, "not_implemented", 501],
    [{ ...given, min_instances: 1, memory_mb: 16_384 }, "no_host_capacity", 503],
  ]
  for (const [input, code, status] of cases)
    await assert.rejects(svc.deployments.create(input), refusedAs(code, status))
  assert.equal((await svc.deployments.list({})).total, 0)
  const { id } = await svc.deployments.create({ ...given, max_instances: 50 })
  const other = await svc.deployments.create({ ...given, name: "other" })
  // What is stopped counts for nothing; what may run does, whether it does or not.
  await sql`
    UPDATE deployments.deployments SET min_instances = 1, host_id = gen_random_uuid() WHERE id = ${id}`.execute(
    p.database.db,
  )
  await assert.rejects(
    svc.deployments.scale({ id: other.id, min_instances: 1 }),
    refusedAs("plan_limit_reached", 402),
  )
  await assert.rejects(
    svc.deployments.create({ ...given, name: "third", min_instances: 1, max_instances: 1 }),
    refusedAs("plan_limit_reached", 402),
  )
})
