/** What functions hold while nothing is invoked: instances, and the code of what was deleted. */

import assert from "node:assert/strict"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { everyScope, type TestPlatform } from "../../testing/platform.ts"
import { advanceUntil } from "../events/testing/world.ts"
import { REST_AFTER_MS } from "./fleet.ts"
import { shareOut } from "./keeping.ts"
import { deploy, functionWorld, invoke } from "./testing/world.ts"

const CODE = "export const handler = () => 1"

/** A figure of this process. */
const gaugeOf = async (p: TestPlatform, name: string): Promise<number> => {
  const text = await (await fetch(`${p.url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1])
}

test("what is kept is bounded by the plan of each project and by the host, and who was called last comes first", () => {
  const GiB = 2 ** 30
  const row = (project_id: string, plan: string, min_instances: number, memory_mb = 128) => ({
    ...{ project_id, plan, min_instances, memory_mb },
  })
  const counts = (rows: ReturnType<typeof row>[], memoryBytes: number) =>
    shareOut(rows, memoryBytes).map(({ instances }) => instances)
  const rows = [
    row("a", "starter", 1),
    row("a", "starter", 5),
    row("b", "enterprise", 5),
    row("a", "starter", 1),
  ]
  assert.deepEqual(counts(rows, 8 * GiB), [1, 1, 5, 0])
  assert.deepEqual(counts([row("a", "pro", 3, 512), row("b", "pro", 2)], 2 * GiB), [2, 0])
  assert.deepEqual(counts([row("a", "pro", 1, 4096), row("b", "pro", 2)], 2 * GiB), [0, 2])
})

test("a project's functions keep as many instances as its plan allows, and a host that is full keeps none", async t => {
  const world = await functionWorld(t, { env: { SVC_WORKLOAD_MEMORY_MB: "300" } })
  await world.platform.tenant("small", "free")
  const { secret } = await world.platform.key("small", everyScope)
  const svc = world.platform.as(secret)
  const { id } = await deploy({ svc }, CODE, { min_instances: 1 })
  const full = { code: "plan_limit_reached", status: 402 }
  await assert.rejects(deploy({ svc }, CODE, { min_instances: 1 }), full)
  const { id: other } = await deploy({ svc }, CODE)
  await assert.rejects(svc.functions.update({ id: other, min_instances: 1 }), full)
  await svc.functions.update({ id, min_instances: 0 })
  await svc.functions.update({ id: other, min_instances: 1 })
  await svc.functions.update({ id: other, memory_mb: 64, min_instances: 1 })
  // One that found no room beside what is on its way out is tried again.
  await eventually("it is kept", async () => {
    await world.platform.clock.advance(5_000)
    return (await gaugeOf(world.platform, "svc_function_instances")) === 1
  })
  // Kept instances have half of 300 MB, so none of these; and they make room for what is invoked.
  await deploy(world, CODE, { min_instances: 2, memory_mb: 128 })
  const { id: large } = await deploy(world, CODE, { memory_mb: 280 })
  // What is starting only now cannot make room yet.
  await eventually("there is room", () =>
    invoke(world, large).then(
      ({ result }) => result === 1,
      ({ code }) => {
        assert.equal(code, "no_host_capacity")
        return false
      },
    ),
  )
})

const row = async (p: TestPlatform, sql: string): Promise<Record<string, number>> =>
  (await p.database.pool.query(sql)).rows[0]

test("what a deleted project or organization had is removed, its code from database and disk too", async t => {
  const world = await functionWorld(t)
  const { platform: p } = world
  const person = await p.person("acme")
  const { id: project } = await person.projects.create({ name: "gone" })
  const inProject = await p.key("acme", everyScope, { project_id: project })
  const inOther = await p.key("other", everyScope)
  const { id: kept } = await deploy(world, CODE)
  const functions = [inProject, inOther].map(({ secret }, n) => ({
    svc: p.as(secret),
    code: `${CODE} + ${n}`,
  }))
  for (const { svc, code } of functions) await invoke({ svc }, (await deploy({ svc }, code)).id)
  await invoke(world, kept)
  const { organizationId } = await p.tenant("other")
  await person.projects.delete({ id: project })
  await p.database.pool.query("UPDATE core.organizations SET deleted_at = now() WHERE id = $1", [
    organizationId,
  ])
  const counted = `SELECT (SELECT count(*)::int FROM functions.functions) AS functions,
    (SELECT count(*)::int FROM functions.codes) AS codes, (SELECT count(*)::int FROM functions.versions) AS versions`
  assert.deepEqual(await row(p, counted), { functions: 3, codes: 3, versions: 3 })
  const folders = () => readdir(join(p.config.dataDir, "functions", "code"))
  assert.equal((await folders()).length, 3)
  await p.clock.advance(3_600_000)
  await advanceUntil(world, async () => {
    const { functions, codes, versions } = await row(p, counted)
    return functions === 1 && codes === 1 && versions === 1 && (await folders()).length <= 1
  })
  assert.equal((await invoke(world, kept)).result, 1)
})

/** Processor time of the process of that title, in hundredths of a second. */
const cpuOf = async (title: string): Promise<number> => {
  for (const pid of (await readdir("/proc")).filter(name => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")
    if (!line.startsWith(title)) continue
    const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /s, "").split(" ")
    return Number(fields[11]) + Number(fields[12])
  }
  throw new Error(`there is no process ${title}`)
}

test("an idle instance uses no processor, also one whose code never rests, and goes on with the next call", async t => {
  const world = await functionWorld(t)
  const title = `busy-${process.pid}`
  const busy = await deploy(
    world,
    `process.title = "${title}"
    let turns = 0
    setInterval(() => { turns++; for (const end = Date.now() + 15; Date.now() < end;); }, 5)
    export const handler = () => turns`,
    { vcpus: 0.5 },
  )
  const other = await deploy(world, CODE)
  const before = (await invoke(world, busy.id)).result as number
  await invoke(world, other.id)
  await world.platform.clock.advance(REST_AFTER_MS + 1_000)
  assert.ok((await gaugeOf(world.platform, "svc_function_instances_frozen")) >= 1)
  await eventually("it has stopped", async () => {
    const cpu = await cpuOf(title)
    for (let n = 0; n < 30; n++) await invoke(world, other.id)
    return (await cpuOf(title)) === cpu
  })
  const { result, cold_start } = await invoke(world, busy.id)
  assert.deepEqual([cold_start, (result as number) > before], [false, true])
  // One that is stopped can be ended.
  await world.platform.clock.advance(REST_AFTER_MS + 1_000)
  await world.svc.functions.delete({ id: busy.id })
  await eventually("its process is gone", () =>
    cpuOf(title).then(
      () => false,
      () => true,
    ),
  )
})
