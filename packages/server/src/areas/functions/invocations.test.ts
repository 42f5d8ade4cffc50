import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { IDLE_MS_MAX } from "./fleet.ts"
import { INSTANCES_MAX } from "./group.ts"
import { advanceUntil, deploy, functionWorld, invoke, printed } from "./testing/world.ts"

const queue = async (world: Awaited<ReturnType<typeof functionWorld>>, id: string, payload = {}) => {
  const answer = await world.svc.functions.invoke({ id, mode: "async", payload })
  assert.equal(answer.status, "queued")
  return answer.invocation_id
}

test("an asynchronous invocation is answered before it runs, and its record has the result", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = async e => ({ twice: e.n * 2 })")
  const invocation_id = await queue(world, id, { n: 4 })
  const done = await advanceUntil(world, async () => {
    const found = await world.svc.functions.getInvocation({ id, invocation_id })
    return found.status === "success" && found
  })
  assert.deepEqual([done.result, done.mode, done.attempt, done.payload_bytes], [{ twice: 8 }, "async", 1, 7])
  assert.ok((done.queue_ms ?? 0) > 0 && (done.init_duration_ms ?? 0) > 0 && (done.duration_ms ?? 0) > 0)
  await assert.rejects(world.svc.functions.retryInvocation({ id, invocation_id }), {
    ...{ code: "invalid_state_transition", status: 409 },
  })
})

test("`Prefer: respond-async` asks for the same", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = () => 1")
  const reply = await world.platform.request(`/v1/functions/${id}/invoke`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.secret}`,
      "content-type": "application/json",
      prefer: "wait=5, respond-async",
    },
    body: "{}",
  })
  assert.equal(reply.status, 202)
})

test("an asynchronous invocation that fails is tried three times, then kept, and can be sent off again", async t => {
  const world = await functionWorld(t, { env: { SVC_RETRY_DELAY_FACTOR: "0.001" } })
  const { id } = await deploy(world, "export const handler = () => { throw new Error('not yet') }")
  const invocation_id = await queue(world, id)
  const dead = await advanceUntil(world, async () => {
    const found = await world.svc.functions.getInvocation({ id, invocation_id })
    return found.status === "error" && found
  })
  assert.deepEqual([dead.attempt, dead.error?.message], [3, "not yet"])
  await world.svc.functions.update({ id, code: "export const handler = () => 'now'" })
  const again = await world.svc.functions.retryInvocation({ id, invocation_id })
  assert.deepEqual(again, { invocation_id, status: "queued" })
  const done = await advanceUntil(world, async () => {
    const found = await world.svc.functions.getInvocation({ id, invocation_id })
    return found.status === "success" && found
  })
  assert.deepEqual([done.result, done.function_version], ["now", 2])
})

test("an invocation of another function, or none, is not found", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = () => 1")
  const other = await deploy(world, "export const handler = () => 1")
  const { invocation_id } = await invoke(world, id)
  const missing = { code: "invocation_not_found", status: 404 }
  await assert.rejects(world.svc.functions.getInvocation({ id: other.id, invocation_id }), missing)
  await assert.rejects(world.svc.functions.retryInvocation({ id: other.id, invocation_id }), missing)
})

test("an idle function scales to zero, and one with min_instances does not", async t => {
  const world = await functionWorld(t)
  const idle = await deploy(world, "let n = 0; export const handler = () => ++n")
  const kept = await deploy(world, "let n = 0; export const handler = () => ++n", { min_instances: 1 })
  await invoke(world, idle.id)
  await invoke(world, kept.id)
  await world.platform.clock.advance(2 * IDLE_MS_MAX)
  assert.deepEqual([(await invoke(world, idle.id)).result, (await invoke(world, kept.id)).result], [1, 2])
})

test("with concurrency one instance serves many at once, and without it each has its own", async t => {
  const world = await functionWorld(t)
  // Instances are known by what they draw: each sees process ids of its own.
  const together = `let running = 0
    const instance = crypto.randomUUID()
    export const handler = async ({ beside }) => {
      running++
      while (running < beside) await new Promise(setImmediate)
      return instance
    }`
  const { id } = await deploy(world, together, { timeout_seconds: 300, concurrency: 10 })
  const answers = await Promise.all(Array.from({ length: 4 }, () => invoke(world, id, { beside: 4 })))
  assert.equal(new Set(answers.map(({ result }) => result)).size, 1)

  const endless = `const instance = crypto.randomUUID()
  export const handler = () => {
    console.log(instance)
    return new Promise(() => {})
  }`
  const alone = await deploy(world, endless, { timeout_seconds: 300 })
  const ends = new AbortController()
  // None ends, so those that began run at the same time.
  for (let count = 0; count < 4; count++)
    world.svc.functions
      .invoke({ id: alone.id, payload: {} }, { signal: ends.signal })
      .catch(error => assert.ok(ends.signal.aborted, error))
  const begun = await eventually("all run", async () => {
    const lines = await printed(world, alone.id)
    return lines.length >= 4 && lines
  })
  assert.equal(new Set(begun).size, 4)
  ends.abort()
})

test("more invocations than can wait are throttled and told when to try again", async t => {
  const world = await functionWorld(t)
  const code = "export const handler = () => new Promise(() => {})"
  const { id } = await deploy(world, code, { timeout_seconds: 300 })
  // None ends: what neither runs nor waits is refused, however slowly all come.
  const ends = new AbortController()
  const refused: { code: string; status: number; retryAfter: number }[] = []
  for (let count = 0; count < 320; count++)
    world.svc.functions.invoke({ id, payload: {} }, { signal: ends.signal }).catch(error => {
      refused.push(error)
    })
  await eventually("all beyond are refused", () => refused.length >= 320 - 256 - INSTANCES_MAX)
  assert.ok(refused.length < 100)
  for (const { code, status, retryAfter } of refused)
    assert.deepEqual([code, status, retryAfter], ["function_throttled", 429, 1])
  ends.abort()
})

test("what is deployed anew is what the next call runs, while calls under way end on what they began with", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `export const handler = async e => {
      console.log("begins", e.ms)
      await new Promise(resolve => setTimeout(resolve, e.ms))
      return 1
    }`,
  )
  await invoke(world, id, { ms: 0 })
  const underWay = invoke(world, id, { ms: 2_000 })
  await eventually("it is under way", async () => (await printed(world, id)).includes("stdout begins 2000"))
  const { version } = await world.svc.functions.update({
    id,
    code: "export const handler = () => 2",
    env: { A: "1" },
  })
  assert.deepEqual([version, (await invoke(world, id)).result], [2, 2])
  assert.equal((await underWay).result, 1)
  const { data } = await world.svc.functions.versions({ id })
  assert.deepEqual(
    data.map(({ version, active, env_names }) => [version, active, env_names]),
    [
      [2, true, ["A"]],
      [1, false, []],
    ],
  )
})

test("code that cannot be loaded makes the function FAILED with its reason, and mending it ACTIVE", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = (")
  const { status, error } = await invoke(world, id)
  assert.deepEqual([status, error?.type], ["error", "SyntaxError"])
  const failed = await advanceUntil(world, async () => {
    const found = await world.svc.functions.get({ id })
    return found.status === "FAILED" && found
  })
  assert.match(failed.status_reason ?? "", /^SyntaxError/)
  await world.svc.functions.update({ id, handler: "lib/none.handler" })
  assert.equal((await invoke(world, id)).error?.type, "InitError")
  await world.svc.functions.update({ id, handler: "index.handler", code: "export const handler = () => 1" })
  assert.equal((await invoke(world, id)).result, 1)
  assert.equal((await world.svc.functions.get({ id })).status, "ACTIVE")
})

test("lines of a log come in order, by invocation, by stream, and from where the last page ended", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    "export const handler = e => { console.log('a', e.n); console.error('b', e.n) }",
  )
  const { invocation_id } = await invoke(world, id, { n: 1 })
  const first = await world.svc.functions.logs({ id })
  assert.deepEqual(
    first.data.map(({ message }) => message),
    ["a 1", "b 1"],
  )
  await invoke(world, id, { n: 2 })
  const more = await world.svc.functions.logs({ id, after: first.cursor ?? "0" })
  assert.deepEqual(
    more.data.map(({ message }) => message),
    ["a 2", "b 2"],
  )
  const none = await world.svc.functions.logs({ id, after: more.cursor ?? "0" })
  assert.deepEqual([none.data, none.cursor], [[], more.cursor])
  const only = await world.svc.functions.logs({ id, invocation_id, stream: "stderr" })
  assert.deepEqual(
    only.data.map(({ message }) => message),
    ["b 1"],
  )
})

test("a deleted function is gone with its records, and its instances end", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = () => console.log('x')")
  await invoke(world, id)
  assert.deepEqual(await world.svc.functions.delete({ id }), { id, deleted: true })
  await assert.rejects(invoke(world, id), { code: "function_not_found", status: 404 })
  await assert.rejects(world.svc.functions.get({ id }), { code: "function_not_found" })
  const { rows } = await world.platform.database.pool.query(
    "SELECT count(*)::int AS n FROM functions.invocations",
  )
  assert.equal(rows[0].n, 0)
})
