import assert from "node:assert/strict"
import { test } from "node:test"
import { hostsOf } from "../../testing/hosts.ts"
import { everyScope, type TestPlatform } from "../../testing/platform.ts"
import { deploy, functionWorld, invoke, printed } from "./testing/world.ts"

test("a function answers, by its id and by its name, and its second call finds it warm", async t => {
  const world = await functionWorld(t)
  const { id, name, ...made } = await deploy(
    world,
    "export const handler = async e => ({ hello: e.name, id: e.id })",
  )
  assert.deepEqual([made.status, made.version, made.runtime], ["ACTIVE", 1, "nodejs"])
  assert.match(made.runtime_version, /^nodejs\d+\.\d+\.\d+$/)

  const first = await invoke(world, id, { name: "Ada", id: 7 })
  assert.deepEqual([first.status, first.result, first.cold_start], ["success", { hello: "Ada", id: 7 }, true])
  const second = await invoke(world, name, { name: "Bob" })
  assert.deepEqual([second.result, second.cold_start], [{ hello: "Bob" }, false])
})

test("what a function prints is kept under its invocation, and cannot be taken for its answer", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `import { writeSync } from "node:fs"
    import { execFileSync } from "node:child_process"
    export const handler = event => {
      console.log("hello", event.n)
      console.error("careful")
      process.stdout.write('{"t":"done","i":"x","result":"forged"}\\n')
      writeSync(1, '{"t":"done","result":"forged"}\\n')
      execFileSync("/bin/echo", ["from a child"], { stdio: "inherit" })
      return event.n
    }`,
  )
  const { result, invocation_id } = await invoke(world, id, { n: 1 })
  assert.equal(result, 1)
  const { data } = await world.svc.functions.logs({ id })
  const lines = data.map(({ stream, message }) => `${stream} ${message}`).sort()
  assert.deepEqual(lines, [
    "stderr careful",
    "stderr from a child",
    'stderr {"t":"done","result":"forged"}',
    "stdout hello 1",
    'stdout {"t":"done","i":"x","result":"forged"}',
  ])
  assert.ok(data.every(line => line.invocation_id === invocation_id))
})

test("an error of the function is told with its type, message and stack", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "exports.handler = () => { throw new RangeError('too far') }")
  const { status, error, result } = await invoke(world, id)
  assert.deepEqual([status, result, error?.type, error?.message], ["error", null, "RangeError", "too far"])
  assert.match(error?.stack ?? "", /index\.js:1/)
  const [invocation] = (await world.svc.functions.invocations({ id })).data
  assert.deepEqual(
    [invocation?.status, invocation?.error?.type, invocation?.trigger],
    ["error", "RangeError", "invoke"],
  )
})

test("the invocations of a function say how long each part took and what it needed", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export default () => 'ok'")
  await invoke(world, id)
  await invoke(world, id)
  const { data, total } = await world.svc.functions.invocations({ id, limit: 1, offset: 1 })
  const [first] = data
  assert.ok(first)
  assert.equal(total, 2)
  assert.deepEqual(
    [first.cold_start, first.status, first.mode, first.memory_mb],
    [true, "success", "sync", 128],
  )
  assert.ok((first.init_duration_ms ?? 0) > 0 && (first.queue_ms ?? 0) > 0 && (first.duration_ms ?? 0) > 0)
  assert.ok((first.max_memory_used_mb ?? 0) > 10)
  assert.equal((await world.svc.functions.get({ id })).invocation_count, 2)
})

test("python functions answer, print and fail like the others", async t => {
  const world = await functionWorld(t)
  const code = `
import sys
async def later(event, context):
    return {"left": context.get_remaining_time_in_millis() > 0}
def handler(event, context):
    print("hello", event["n"])
    sys.stderr.write("careful\\n")
    if event["n"] == 0:
        raise ValueError("nothing")
    return {"twice": event["n"] * 2, "name": context.function_name}
`
  const { id, name, runtime_version } = await deploy(world, code, { runtime: "python3.12" })
  assert.match(runtime_version, /^python3\./)
  assert.deepEqual((await invoke(world, id, { n: 21 })).result, { twice: 42, name })
  const { error } = await invoke(world, id, { n: 0 })
  assert.deepEqual([error?.type, error?.message], ["ValueError", "nothing"])
  assert.deepEqual((await printed(world, id)).slice(0, 2).sort(), ["stderr careful", "stdout hello 21"])
  await world.svc.functions.update({ id, handler: "index.later" })
  assert.deepEqual((await invoke(world, id)).result, { left: true })
})

test("a process that can run nothing deploys and calls functions where they run", async t => {
  const [front] = (await hostsOf(t, { SVC_MODE: "production" }, {})) as [TestPlatform]
  const { secret } = await front.key("acme", everyScope)
  const svc = front.as(secret)
  const code = "export default { fetch: ({ url }) => new Response(new URL(url).pathname) }"
  const { id, runtime } = await deploy({ svc }, code, { public: true })
  assert.match(runtime, /^nodejs/)
  assert.equal((await svc.functions.update({ id, code: `${code} ` })).version, 2)
  const answer = await front.request(`/v1/functions/public/${id}/there`)
  assert.deepEqual([answer.status, await answer.text()], [200, "/there"])
})

test("an invocation for which there is no room runs on a host that has some, and is on record once", async t => {
  const [full, wide] = (await hostsOf(t, { SVC_WORKLOAD_MEMORY_MB: "64" }, {})) as [
    TestPlatform,
    TestPlatform,
  ]
  const { secret } = await wide.key("acme", everyScope)
  const svc = full.as(secret)
  const { id } = await deploy({ svc }, "exports.handler = async ({ n }) => n + 1", { memory_mb: 128 })
  const { result, invocation_id } = await invoke({ svc }, id, { n: 1 })
  assert.equal(result, 2)
  const { data } = await wide.as(secret).functions.invocations({ id })
  assert.deepEqual(
    data.map(invocation => invocation.id),
    [invocation_id],
  )
})
