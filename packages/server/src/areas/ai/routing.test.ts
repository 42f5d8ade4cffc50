import assert from "node:assert/strict"
import { test } from "node:test"
import { aiWorld } from "./testing/world.ts"

const providerOf = (response: Response) => response.headers.get("x-svc-provider")

test("what the request itself is to blame for is told at once and tried nowhere else", async t => {
  const { first, second, chat } = await aiWorld(t)
  for (const status of [400, 422, 413]) {
    first.next({ status })
    const refused = await chat()
    assert.equal(refused.status, 400)
    const { code, error } = (await refused.json()) as { code: string; error: string }
    assert.equal(code, "ai_request_refused")
    assert.match(error, new RegExp(`failed with ${status}`))
  }
  assert.equal(first.asked.length, 3)
  assert.equal(second.asked.length, 0)
})

test("an upstream with a wrong key, without credit or without the model rests, and the next one answers", async t => {
  const { p, first, chat } = await aiWorld(t)
  for (const [status, restsMs] of [
    [401, 60_000],
    [404, 60_000],
    [402, 3_600_000],
  ] as const) {
    first.next({ status })
    const asked = first.asked.length
    assert.equal(providerOf(await chat()), "second")
    assert.equal(providerOf(await chat()), "second")
    assert.equal(first.asked.length, asked + 1, "it is left alone meanwhile")
    await p.clock.advance(restsMs)
    assert.equal(providerOf(await chat()), "first")
  }
})

test("Retry-After is honoured: one upstream rests so long, and where all rest the caller is told how long", async t => {
  const { p, first, second, chat } = await aiWorld(t)
  first.next({ status: 429, headers: { "retry-after": "30" } })
  assert.equal(providerOf(await chat()), "second")
  second.next({ status: 429, headers: { "retry-after": "90" } })
  const exhausted = await chat()
  assert.equal(exhausted.status, 503)
  assert.equal(exhausted.headers.get("retry-after"), "30")
  const again = await chat()
  assert.equal(again.status, 503)
  assert.equal(first.asked.length + second.asked.length, 3)
  await p.clock.advance(30_000)
  assert.equal(providerOf(await chat()), "first")
})

test("an upstream that fails once is tried again, within a bound, and the trail is told", async t => {
  const { first, second, chat } = await aiWorld(t)
  first.next({ status: 500 })
  second.next({ status: 502 })
  const mended = await chat()
  assert.equal(providerOf(mended), "first")
  assert.equal(mended.headers.get("x-svc-attempts"), "3")
  first.always({ status: 503 })
  second.always({ dropAfter: 0 })
  const exhausted = await chat()
  assert.equal(exhausted.status, 503)
  assert.match(((await exhausted.json()) as { error: string }).error, /first: .*second: /)
  assert.ok(first.asked.length + second.asked.length <= 3 + 5)
})

test("a breaker opens after failures, leaves the upstream alone, and one request probes it", async t => {
  const { p, first, chat } = await aiWorld(t)
  first.always({ status: 500 })
  for (let n = 0; n < 5; n++) assert.equal(providerOf(await chat()), "second")
  const asked = first.asked.length
  for (let n = 0; n < 3; n++) assert.equal(providerOf(await chat()), "second")
  assert.equal(first.asked.length, asked)
  await p.clock.advance(6_000)
  const probed = Promise.withResolvers<void>()
  first.always({ before: probed.promise })
  const probe = chat()
  assert.equal(providerOf(await chat()), "second", "only one request probes")
  probed.resolve()
  assert.equal(providerOf(await probe), "first")
  assert.equal(providerOf(await chat()), "first")
})

test("where every breaker is open the one that failed longest ago is tried", async t => {
  const { first, second, chat } = await aiWorld(t)
  first.always({ status: 500 })
  second.always({ status: 500 })
  for (let n = 0; n < 4; n++) assert.equal((await chat()).status, 503)
  const asked = first.asked.length + second.asked.length
  assert.equal((await chat()).status, 503)
  assert.ok(first.asked.length + second.asked.length > asked)
  first.always({})
  second.always({})
  assert.equal((await chat()).status, 200)
})

test("within one priority the weights share the requests", async t => {
  const { first, second, chat } = await aiWorld(t, { second: { priority: 0, weight: 4 } })
  for (let n = 0; n < 60; n++) assert.equal((await chat()).status, 200)
  assert.ok(second.asked.length > first.asked.length, `${first.asked.length} to ${second.asked.length}`)
  assert.ok(first.asked.length > 0)
})

test("the first answer is waited for so long and no longer", async t => {
  const { p, first, chat } = await aiWorld(t)
  first.next({ before: new Promise(() => undefined) })
  const streaming = chat({ stream: true })
  while (first.asked.length === 0) await new Promise(resolve => setImmediate(resolve))
  await p.clock.advance(31_000)
  const response = await streaming
  assert.equal(providerOf(response), "second")
  await response.text()
})

test("models that the caller lists are tried in their order", async t => {
  const { first, second, chat } = await aiWorld(t)
  first.next({ status: 500 })
  const response = await chat({ model: "first/gpt-test", models: ["second/gpt-test"] })
  assert.equal(providerOf(response), "second")
  assert.equal("models" in (second.asked[0]?.body ?? {}), false)
})

test("an answer that is not what was asked for is a failure", async t => {
  const { first, chat } = await aiWorld(t)
  const bodies = ["<html>", "[]", '{"choices": 1}', '{"error": {"message": "no", "code": 500}}']
  for (const body of bodies) {
    first.next({ body })
    assert.equal(providerOf(await chat()), "second", body)
    await chat({ model: "first/gpt-test" })
    await chat({ model: "first/gpt-test" })
  }
})
