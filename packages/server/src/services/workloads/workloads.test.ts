/** What workloads of every kind guarantee to their callers, each kind on the same platform. */

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Svc } from "@svc/sdk"
import { refusedAs } from "../../areas/sandboxes/testing/sandboxes.ts"
import { withoutBusybox } from "../../ports/runtime/testing/busybox.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { busyboxLayer } from "../images/testing/busybox.ts"
import { startRegistry } from "../images/testing/registry.ts"
import { tarOf } from "../images/testing/tar.ts"
import { type Kind, type KindClient, kinds, SCOPES } from "./testing/kinds.ts"

const ends: (() => unknown)[] = []
const t = { after: (end: () => unknown) => void ends.push(end) }
let p: TestPlatform

before(async () => {
  const images = { SVC_OUTBOUND_ALLOW: "127.0.0.1", SVC_IMAGE_REGISTRIES: "any" }
  p = await platform(t, { env: { ...images, SVC_SANDBOX_POOL: "0" } })
})
after(async () => {
  for (const end of ends.reverse()) await end()
})

/** Of which tenant a test's workloads are; what it leaves is deleted. */
const forEach = (what: string, check: (kind: Kind, client: KindClient, svc: Svc) => Promise<void>) => {
  for (const kind of kinds) {
    test(`${kind.name}: ${what}`, async () => {
      const svc = await p.client("acme", ...SCOPES)
      const client = kind.on(svc)
      try {
        await check(kind, client, svc)
      } finally {
        for (const id of (await client.list()).ids) await client.delete(id)
      }
    })
  }
}

const output = async (client: KindClient, id: string, command: string) =>
  (await client.run(id, { command })).stdout

const runningOf = async (client: KindClient, input: Parameters<KindClient["create"]>[0] = {}) => {
  const { id } = await client.create(input)
  assert.equal((await client.run(id, { command: "true" })).exit_code, 0)
  return id
}

forEach("takes commands at once, is listed, and is gone when it is deleted", async (kind, client) => {
  const made = await client.create({ env: { COLOR: "red" }, labels: { team: "a" } })
  const { id } = made
  assert.deepEqual(
    [made.status, made.labels, made.env_names, made.started_at],
    [kind.states.starting, { team: "a" }, ["COLOR"], null],
  )
  assert.equal(await output(client, id, "pwd; id -un; echo $COLOR"), `${kind.home}\nuser\nred\n`)
  const running = await client.get(id)
  assert.deepEqual([running.status, running.isolation, running.stopped_at], ["RUNNING", "process", null])
  assert.deepEqual(await client.list(), { ids: [id], total: 1 })

  assert.equal(await client.delete(id), undefined)
  await assert.rejects(client.get(id), refusedAs(...kind.notFound))
  const calls = [...client.uses(id), ...client.changes(id), () => client.delete(id)]
  for (const call of calls) await assert.rejects(call(), refusedAs(...kind.notFound))
})

forEach("is stopped once, refuses use, and starts again where it keeps its disk", async (kind, client) => {
  const id = await runningOf(client, { env: { COLOR: "red" } })
  await client.writeFile(id, "kept.txt", "kept")
  const stopped = await client.stop(id)
  assert.equal(stopped.status, "STOPPED")
  assert.partialDeepStrictEqual(stopped, { ...kind.reasons.stopped, status_reason: null })
  assert.equal((await client.stop(id)).stopped_at, stopped.stopped_at)
  for (const use of client.uses(id)) await assert.rejects(use(), refusedAs(...kind.notRunning))

  if (!kind.keepsDisk)
    return await assert.rejects(client.start(id), refusedAs("invalid_state_transition", 409))
  const started = await client.start(id)
  assert.deepEqual([started.status, started.stopped_at, started.id], ["RUNNING", null, id])
  assert.deepEqual((await client.start(id)).started_at, started.started_at)
  assert.equal(await output(client, id, "cat kept.txt; echo $COLOR"), "keptred\n")
})

forEach("ends when nobody used it for its idle time; a command that runs is use", async (kind, client) => {
  const id = await runningOf(client, { idleSeconds: 30 })
  await p.clock.advance(25_000)
  await client.run(id, { command: "true" })
  await p.clock.advance(25_000)
  const done = client.run(id, { command: "until [ -e go ]; do sleep 0.01; done" })
  await eventually(
    "the command runs",
    () => client.run(id, { command: "grep -l ^sleep /proc/[0-9]*/comm" }),
    ({ exit_code }) => exit_code === 0,
  )
  await p.clock.advance(60_000)
  assert.equal((await client.get(id)).status, "RUNNING")
  await client.writeFile(id, "go", "")
  assert.equal((await done).exit_code, 0)
  await p.clock.advance(29_000)
  assert.equal((await client.get(id)).status, "RUNNING")
  await p.clock.advance(2_000)
  assert.partialDeepStrictEqual(await client.get(id), { ...kind.reasons.idle, status: "STOPPED" })
  if (!kind.keepsDisk) return
  await client.start(id)
  assert.equal(await output(client, id, "ls"), "go\n")
})

forEach(
  "does not exist for another tenant, nor beside the project or organization it is of",
  async (kind, client, svc) => {
    const id = await runningOf(client)
    const wide = kind.on(p.as((await p.key("acme", SCOPES, { project_id: null })).secret))
    const whole = await runningOf(wide)
    assert.equal((await wide.get(whole)).project_id, null)
    assert.notEqual((await client.get(id)).project_id, null)
    const foreign: readonly (readonly [KindClient, string])[] = [
      [kind.on(await p.client("globex", ...SCOPES)), id],
      [kind.on(svc), whole],
      [wide, id],
    ]
    for (const [stranger, hidden] of foreign) {
      assert.ok(!(await stranger.list()).ids.includes(hidden))
      const others = [stranger.get, stranger.delete]
      for (const act of others) await assert.rejects(act(hidden), refusedAs(...kind.notFound))
      const calls = [...stranger.uses(hidden), ...stranger.changes(hidden)]
      for (const call of calls) await assert.rejects(call(), refusedAs(...kind.notFound))
    }
    assert.equal((await client.get(id)).status, "RUNNING")
    await wide.delete(whole)
  },
)

forEach(
  "takes a command as an argument vector unless it is one string, with what it is given",
  async (_kind, client) => {
    const id = await runningOf(client, { env: { A: "1", B: "2" } })
    const run = (input: Parameters<KindClient["run"]>[1]) => client.run(id, input)
    assert.equal((await run({ command: ["printf", "%s|", "$A", "b c"] })).stdout, "$A|b c|")
    assert.equal((await run({ command: "printf", args: ["%s", "$(id)"] })).stdout, "$(id)")
    assert.equal((await run({ command: "cat", stdin: "über\n" })).stdout, "über\n")
    assert.equal((await run({ command: "cat" })).stdout, "")
    assert.equal((await run({ command: "echo $A$B", env: { B: "3" } })).stdout, "13\n")
    assert.equal((await run({ command: "pwd", cwd: "/tmp" })).stdout, "/tmp\n")
    assert.equal((await run({ command: "id -u", user: "root" })).stdout, "0\n")
    const killed = await run({ command: "kill -TERM $$" })
    assert.deepEqual([killed.exit_code, killed.signal], [143, "SIGTERM"])
    const ran = await run({ command: "echo out; echo no >&2; exit 3" })
    assert.deepEqual(
      [ran.exit_code, ran.stdout, ran.stderr, ran.timed_out, ran.truncated, ran.signal],
      [3, "out\n", "no\n", false, false, null],
    )
    for (const wrong of [
      { command: ["/no/such/program"] },
      { command: "true", cwd: "/no/such/folder" },
      { command: "true", env: { "NOT A NAME": "x" } },
    ]) {
      await assert.rejects(run(wrong), refusedAs("invalid_parameter", 400))
    }
  },
)

test("a command past its timeout is killed with all it started, and the workload goes on, whatever its kind", async () => {
  const svc = await p.client("acme", ...SCOPES)
  const check = async (client: KindClient) => {
    const id = await runningOf(client)
    const ran = await client.run(id, {
      command: "trap '' TERM; echo begun; sleep 1000 & sleep 1000; wait",
      // Enough for its first word on any machine.
      timeout_seconds: 10,
    })
    assert.deepEqual([ran.exit_code, ran.timed_out, ran.stdout], [124, true, "begun\n"])
    await eventually(
      "nothing of the command runs",
      () => client.run(id, { command: "grep -l ^sleep /proc/[0-9]*/comm" }),
      ({ exit_code }) => exit_code !== 0,
    )
    await client.delete(id)
  }
  // At once, for the timeout is real time.
  await Promise.all(kinds.map(kind => check(kind.on(svc))))
})

forEach("lets what is left in the background go on without holding the answer up", async (_kind, client) => {
  const id = await runningOf(client)
  const ran = await client.run(id, { command: "sleep 1000 & echo done" })
  assert.deepEqual([ran.exit_code, ran.stdout], [0, "done\n"])
  // Its shell may have ended before it was a sleep at all.
  await eventually(
    "it goes on",
    () => client.run(id, { command: "grep -l ^sleep /proc/[0-9]*/comm" }),
    ({ exit_code }) => exit_code === 0,
  )
})

forEach(
  "answers each output up to 1 MiB, and says that a flood beyond was dropped",
  async (_kind, client) => {
    const id = await runningOf(client)
    const ran = await client.run(id, { command: "head -c 40000000 /dev/zero | tr '\\0' x; echo end >&2" })
    assert.deepEqual(
      [ran.exit_code, ran.truncated, ran.stdout.length, ran.stderr],
      [0, true, 2 ** 20, "end\n"],
    )
  },
)

for (const kind of kinds) {
  test(`${kind.name}: running time and memory are counted up to the stop, a disk while it is kept`, async () => {
    const tenant = `metered ${kind.name}`
    const client = kind.on(await p.client(tenant, ...SCOPES))
    const { organizationId } = await p.tenant(tenant)
    const id = await runningOf(client)
    await p.clock.advance(100_000)
    await client.stop(id)
    await p.clock.advance(600_000)
    const counts = await p.database.db
      .selectFrom("core.usage")
      // There is a row for each day, and the clock may have passed midnight.
      .select(({ fn }) => ["metric", fn.sum<number>("quantity").as("quantity")])
      .where("organization_id", "=", organizationId)
      .where("metric", "like", "workload_%")
      .groupBy("metric")
      .execute()
    const of = (metric: string) => counts.find(row => row.metric === metric)?.quantity ?? 0
    const { vcpus, memoryMb, diskGb } = kind.size
    assert.equal(Math.round(of("workload_vcpu_seconds")), 100 * vcpus)
    assert.equal(Math.round(of("workload_memory_gb_seconds")), (100 * memoryMb) / 1024)
    const diskHours = of("workload_disk_gb_hours")
    if (!kind.keepsDisk) assert.equal(diskHours.toFixed(3), ((diskGb * 100) / 3600).toFixed(3))
    else assert.ok(diskHours >= (diskGb * 600) / 3600, `${diskHours}`)
    await client.delete(id)
  })
}

const skip = withoutBusybox

/** Names of images in a registry of the test's own. */
const openRegistry = async () => {
  const [registry, layer] = await Promise.all([startRegistry(t), busyboxLayer()])
  return { registry, layer, at: (name: string) => `${registry.host}/${name}` }
}

for (const kind of kinds) {
  test(`${kind.name}: an image that cannot be pulled is a failure with its reason on record`, {
    skip,
  }, async () => {
    const { registry, layer, at } = await openRegistry()
    registry.push("climbing", "1", [tarOf({ path: "../../../../x", content: "x" })])
    registry.push("linked", "1", [layer, tarOf({ path: "proc", type: "SymbolicLink", linkpath: "/etc" })])
    const client = kind.on(await p.client("acme", ...SCOPES))
    const reasons = {
      "missing:1": /no such image/,
      "climbing:1": /leads out of the image/,
      "linked:1": /could not be started/,
    }
    for (const [name, reason] of Object.entries(reasons)) {
      const { id } = await client.create({ image: at(name) })
      // Who uses it waits for its start, and so for the failure.
      await assert.rejects(client.run(id, { command: "true" }), refusedAs(...kind.notRunning), name)
      const failed = await client.get(id)
      assert.partialDeepStrictEqual(failed, { ...kind.reasons.failed, status: kind.states.failed })
      assert.match(failed.status_reason ?? "", reason)
      const code = name === "linked:1" ? "host_unavailable" : "image_unavailable"
      if (kind.keepsDisk) await assert.rejects(client.start(id), refusedAs(code, 503))
      await client.delete(id)
    }
    for (const name of ["No Such", "http://example.com/x", "10.0.0.1/x", "../../etc", "a:b:c"])
      await assert.rejects(client.create({ image: name }), refusedAs("invalid_parameter", 400), name)
  })

  test(`${kind.name}: deleted or stopped while its image is pulled, it does not start`, {
    skip,
  }, async () => {
    const { registry, layer, at } = await openRegistry()
    const client = kind.on(await p.client("acme", ...SCOPES))
    registry.push("slow", "1", [layer, tarOf({ path: "slow" })])
    const { promise: pulled, resolve: release } = Promise.withResolvers<void>()
    registry.beforeBlob = () => pulled
    const create = async () => (await client.create({ image: at("slow:1") })).id
    const [deleted, stopped, started] = [await create(), await create(), await create()]
    await client.delete(deleted)
    assert.equal((await client.stop(stopped)).status, "STOPPED")
    release()
    assert.equal(await output(client, started, "cat /etc/motd"), "an image\n")
    assert.equal((await client.get(stopped)).status, "STOPPED")
    await assert.rejects(client.get(deleted), refusedAs(...kind.notFound))
    if (kind.keepsDisk) {
      await client.start(stopped)
      assert.equal(await output(client, stopped, "cat /etc/motd"), "an image\n")
    }
    for (const id of [stopped, started]) await client.delete(id)
  })
}
