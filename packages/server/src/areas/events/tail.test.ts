import assert from "node:assert/strict"
import { test } from "node:test"
import { type EventWorld, eventWorld } from "./testing/world.ts"

/** A tail that has begun, and its key. */
const follow = async ({ platform, topicId }: EventWorld) => {
  const { id, secret } = await platform.key("acme", ["events:read"])
  const headers = { authorization: `Bearer ${secret}` }
  const response = await platform.request(`/v1/events/topics/${topicId}/tail`, { headers })
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8")
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  assert.equal((await reader.read()).value, ": watching\n\n")
  return { id, reader }
}

test("a tail is kept open, and ends once its key is revoked", { timeout: 60_000 }, async t => {
  const world = await eventWorld(t)
  const { id, reader } = await follow(world)
  await world.platform.clock.advance(15_000)
  assert.equal((await reader.read()).value, ": \n\n")
  await (await world.platform.person("acme", "owner")).keys.revoke({ id })
  await world.platform.clock.advance(15_000)
  assert.equal((await reader.read()).done, true)
})

test("tails do not hold up a platform that stops", { timeout: 60_000 }, async t => {
  const world = await eventWorld(t)
  const { reader } = await follow(world)
  await world.platform[Symbol.asyncDispose]()
  assert.equal((await reader.read()).done, true)
})
