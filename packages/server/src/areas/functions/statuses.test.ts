/** Every way in answers alike when the function, or the host, cannot. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { FUNCTIONS_MAX } from "@svc/contract"
import { everyScope, platform } from "../../testing/platform.ts"
import { advanceUntil, deploy, type FunctionWorld, functionWorld } from "./testing/world.ts"

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]

/** The status and code of each way in: by key, in public, and by `invoke` where that is asked for. */
const knock = async (
  { platform: p, secret }: Pick<FunctionWorld, "platform" | "secret">,
  id: string,
  path: string,
  ways: readonly string[] = [`/v1/functions/${id}/http`, `/v1/functions/public/${id}`],
): Promise<string[]> => {
  const answers: string[] = []
  for (const way of ways) {
    for (const method of METHODS) {
      const headers = way.includes("/public/") ? {} : { authorization: `Bearer ${secret}` }
      const reply = await p.request(`${way}${path}`, { method, headers })
      const text = await reply.text()
      answers.push(`${reply.status} ${text === "" ? "" : JSON.parse(text).code}`)
    }
  }
  return answers
}

const all = (answer: string) => Array<string>(METHODS.length * 2).fill(answer)
const NOBODY = "0198b5c4-0000-7000-8000-000000000000"

test("what a function does, each way in tells with the same status", async t => {
  const world = await functionWorld(t)
  const code = `export default { fetch(request) {
    if (request.url.endsWith("/throw")) throw new Error("no")
    if (request.url.endsWith("/late")) return new Promise(() => {})
    return new Response(null, { status: 204 })
  } }`
  const { id } = await deploy(world, code, { public: true, concurrency: 10 })
  // Only what never ends is cut off, not what a busy machine takes its time for.
  const brief = await deploy(world, code, { public: true, timeout_seconds: 1, concurrency: 10 })
  assert.deepEqual(await knock(world, id, "/a"), all("204 "))
  assert.deepEqual(await knock(world, id, "/throw"), all("502 function_failed"))
  assert.deepEqual(await knock(world, brief.id, "/late"), all("504 function_timed_out"))
  assert.deepEqual(await knock(world, NOBODY, "/a"), all("404 function_not_found"))
  for (const method of METHODS)
    assert.equal((await world.platform.request("/v1/functions/public/no-id/a", { method })).status, 404)
  assert.deepEqual(await knock(world, id, "/%00"), all("400 validation_failed"))
  const missing = { code: "function_not_found", status: 404 }
  for (const read of ["versions", "invocations", "logs"] as const)
    await assert.rejects(world.svc.functions[read]({ id: NOBODY }), missing)
  const invocation = { id: NOBODY, invocation_id: NOBODY }
  await assert.rejects(world.svc.functions.getInvocation(invocation), missing)
  await assert.rejects(world.svc.functions.retryInvocation(invocation), missing)
})

test("a host without room says so, and a function whose queue is full is throttled, whichever way one comes", async t => {
  const world = await functionWorld(t, { env: { SVC_WORKLOAD_MEMORY_MB: "200" } })
  const { id: large } = await deploy(world, "export const handler = () => 1", {
    public: true,
    memory_mb: 512,
  })
  assert.deepEqual(await knock(world, large, "/a"), all("503 no_host_capacity"))
  const full = { code: "no_host_capacity", status: 503 }
  await assert.rejects(world.svc.functions.invoke({ id: large, payload: {} }), full)

  const code = "export const handler = () => new Promise(() => {})"
  const { id } = await deploy(world, code, { public: true, timeout_seconds: 300 })
  // One runs and 256 wait; those beyond are refused, which tells that it is full.
  const ends = new AbortController()
  t.after(() => ends.abort())
  const sent = Array.from({ length: 260 }, () =>
    world.svc.functions.invoke({ id, payload: {} }, { signal: ends.signal }),
  )
  const refused = await Promise.race(
    sent.map(one =>
      one.then(
        () => assert.fail("it ended"),
        (error: { status: number }) => error.status,
      ),
    ),
  )
  assert.equal(refused, 429)
  assert.deepEqual(await knock(world, id, "/a"), all("429 function_throttled"))
})

test("where nothing runs workloads any more, functions are 501, and still listed", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = () => 1", { public: true })
  const { databaseUrl = "" } = world.platform.config
  const p = await platform(t, {
    ...{ databaseUrl, env: { SVC_MODE: "production", SVC_RETRY_DELAY_FACTOR: "0.001" } },
  })
  assert.deepEqual(await knock({ platform: p, secret: world.secret }, id, "/a"), all("501 not_implemented"))
  const svc = p.as(world.secret)
  const absent = { code: "not_implemented", status: 501 }
  await assert.rejects(svc.functions.invoke({ id, payload: {} }), absent)
  await assert.rejects(svc.functions.update({ id, memory_mb: 256 }), absent)
  assert.equal((await svc.functions.list({})).total, 1)
  // Now this process alone could run it.
  await world.platform[Symbol.asyncDispose]()
  const { invocation_id } = await svc.functions.invoke({ id, mode: "async", payload: {} })
  const failed = await advanceUntil({ platform: p }, async () => {
    const found = await svc.functions.getInvocation({ id, invocation_id })
    return found.status === "error" && found
  })
  assert.deepEqual([failed.attempt, failed.error?.type], [3, "not_implemented"])
})

test("a project has so many functions and no more", async t => {
  const world = await functionWorld(t)
  const { organizationId, projectId } = await world.platform.tenant("acme")
  await world.platform.database.pool.query(
    `INSERT INTO functions.functions SELECT gen_random_uuid(), $1, $2, 'f' || n, '', '{}', false, 1, 'ACTIVE', NULL, 0,
      NULL, now(), now() FROM generate_series(1, $3) AS n`,
    [organizationId, projectId, FUNCTIONS_MAX],
  )
  await assert.rejects(deploy(world, "x"), { code: "plan_limit_reached", message: /1000/ })
  const { secret } = await world.platform.key("other", everyScope)
  await deploy({ svc: world.platform.as(secret) }, "x")
})
