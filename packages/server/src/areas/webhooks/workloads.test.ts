/** What webhooks hear of what runs for a tenant. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { passing, typesOf, worldOf } from "./testing/world.ts"

test("a webhook hears of functions that were deployed, failed and were deleted", async t => {
  const { p, receiver, svc, register } = await worldOf(t)
  await register(["function.*"])
  const code = "exports.handler = async ({ fine }) => { if (!fine) throw new RangeError('too far') }"
  const { id } = await svc.functions.create({ name: "telling", runtime: "nodejs", code })
  await svc.functions.invoke({ id, payload: { fine: true } })
  const failed = await svc.functions.invoke({ id })
  await svc.functions.update({ id, code })
  // Records are written a moment later than invocations end.
  await svc.functions.invocations({ id })
  await svc.functions.delete({ id })
  await passing(p, "all of it is told", () => receiver.requests.length >= 4)

  assert.deepEqual(typesOf(receiver).toSorted(), [
    ...["function.deleted", "function.deployed", "function.deployed", "function.invocation.failed"],
  ])
  const events = receiver.requests.map(({ body }) => JSON.parse(body.toString()))
  assert.deepEqual(events.find(({ type }) => type === "function.invocation.failed")?.data, {
    ...{ function_id: id, name: "telling", invocation_id: failed.invocation_id },
    error: "RangeError: too far",
  })
  assert.deepEqual(events.find(({ type }) => type === "function.deleted")?.data, {
    function_id: id,
    name: "telling",
  })
})

test("an invocation that nobody waits for has failed when its last attempt has, and is told once", async t => {
  const { p, receiver, svc, register } = await worldOf(t, { env: { SVC_RETRY_DELAY_FACTOR: "0.001" } })
  await register(["function.invocation.failed"])
  const code = "exports.handler = async () => { throw new Error('no') }"
  const { id } = await svc.functions.create({ name: "failing", runtime: "nodejs", code })
  const { invocation_id } = await svc.functions.invoke({ id, mode: "async" })
  const ended = async () => (await svc.functions.getInvocation({ id, invocation_id })).status === "error"
  await passing(p, "its last attempt has failed", ended)
  await passing(p, "it is told", () => receiver.requests.length >= 1)
  assert.equal((await svc.functions.getInvocation({ id, invocation_id })).attempt, 3)
  assert.deepEqual(typesOf(receiver), ["function.invocation.failed"])
})

test("a webhook hears of sandboxes and computers that began and ended", async t => {
  const { p, receiver, svc, register } = await worldOf(t, { env: { SVC_SANDBOX_POOL: "0" } })
  await register(["sandbox.*", "computer.*"])
  const { id } = await svc.sandboxes.create({ memory_mb: 256, vcpus: 0.5 })
  await svc.sandboxes.runCommand({ id, command: "true" })
  await svc.sandboxes.delete({ id })
  const { id: computer } = await svc.computers.create({
    name: "told",
    memory_mb: 256,
    vcpus: 0.5,
    disk_gb: 1,
  })
  await svc.computers.exec({ id: computer, command: "true" })
  await svc.computers.stop({ id: computer })
  await svc.computers.delete({ id: computer })
  await passing(p, "all of it is told", () => receiver.requests.length >= 6)
  assert.deepEqual(typesOf(receiver).toSorted(), [
    ...["computer.created", "computer.deleted", "computer.started", "computer.stopped"],
    ...["sandbox.started", "sandbox.stopped"],
  ])
})
