/** An engine that dies takes its own area with it, and nothing else. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { type Svc, SvcError } from "@svc/sdk"
import { createRealServer, serverProgram } from "../../ports/kv/drivers/redis/testing/real-server.ts"
import { platform } from "../../testing/platform.ts"

const statusOf = async (svc: Svc) =>
  (await svc.identity.services()).services.find(({ name }) => name === "kv")

/** Waits for an outside process to be back, for a minute at most. */
const untilAvailable = async (svc: Svc): Promise<void> => {
  const deadline = Date.now() + 60_000
  while ((await statusOf(svc))?.status !== "available") {
    assert.ok(Date.now() < deadline, "the area is not available after a minute")
    await delay(20)
  }
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof SvcError &&
  error.status === 503 &&
  error.code === "service_unavailable" &&
  Number(error.retryAfter) > 0

const skip = serverProgram ? false : "neither valkey-server nor redis-server is installed"

test("without its engine key-value answers 503, other areas go on, and it works again once that is back", {
  skip,
}, async t => {
  const server = await createRealServer(serverProgram ?? "", ["--appendonly", "yes"])
  t.after(() => server[Symbol.asyncDispose]())
  await server.start()
  const p = await platform(t, { env: { SVC_KV_URL: server.url } })
  const acme = await p.client("acme", "kv:read", "kv:write")
  await acme.kv.set({ key: "a", value: 1 })
  assert.equal((await statusOf(acme))?.status, "available")

  await server.stop()

  for (const act of [
    () => acme.kv.set({ key: "a", value: 2 }),
    () => acme.kv.get({ key: "a" }),
    () => acme.kv.exists({ key: "a" }),
    () => acme.kv.del({ key: "a" }),
    () => acme.kv.keys(),
    () => acme.kv.batch({ ops: [{ op: "get", key: "a" }] }),
  ]) {
    await assert.rejects(act, isUnavailable)
  }
  const state = await statusOf(acme)
  assert.equal(state?.status, "degraded")
  assert.equal(state?.setting, "SVC_KV_URL")
  assert.ok(state?.reason)
  const person = await p.person("acme")
  assert.equal((await person.projects.create({ name: "made meanwhile" })).name, "made meanwhile")
  // Sweeping goes on in the background and must not end the process.
  await p.clock.advance(60_000)

  await server.start()
  await untilAvailable(acme)
  assert.equal((await acme.kv.get({ key: "a" })).value, 1)
  assert.equal((await acme.kv.set({ key: "a", value: 3 })).ok, true)
})

test("an engine that is down from the start is an area that waits, not a platform that fails", {
  skip,
}, async t => {
  const server = await createRealServer(serverProgram ?? "")
  t.after(() => server[Symbol.asyncDispose]())
  const p = await platform(t, { env: { SVC_KV_URL: server.url } })
  const acme = await p.client("acme", "kv:read", "kv:write")
  assert.equal((await statusOf(acme))?.status, "degraded")
  await assert.rejects(acme.kv.get({ key: "a" }), isUnavailable)

  await server.start()
  await untilAvailable(acme)
  assert.equal((await acme.kv.set({ key: "a", value: 1 })).ok, true)
})
