import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "./index.ts"
import { openEndpoint } from "./testing/endpoint.ts"

test("an attempt that lasts too long ends as a timeout and counts as a failure worth repeating", async t => {
  const { url } = await openEndpoint(t, () => "hang")
  let waits = 0
  const sleep = async () => void waits++
  const svc = createSvc({ baseUrl: url, timeoutMs: 30, retries: 1, sleep })

  await assert.rejects(svc.kv.get({ key: "a" }), { name: "SvcError", status: 0, code: "timeout" })

  assert.equal(waits, 1)
})

test("the caller's abort ends a call that is under way, with the caller's reason", async t => {
  const controller = new AbortController()
  const { url, received } = await openEndpoint(t, () => {
    controller.abort(new Error("enough"))
    return "hang"
  })

  await assert.rejects(createSvc({ baseUrl: url }).kv.get({ key: "a" }, { signal: controller.signal }), {
    message: "enough",
  })

  assert.equal(received.length, 1)
})

test("the caller's abort ends the wait between two attempts", async t => {
  const { url, received } = await openEndpoint(t, () => ({ status: 503, headers: { "retry-after": "50" } }))
  const controller = new AbortController()
  const svc = createSvc({
    baseUrl: url,
    sleep: (ms, signal) =>
      new Promise((_, reject) => {
        assert.ok(ms >= 50_000)
        signal?.addEventListener("abort", () => reject(signal.reason))
        controller.abort(new Error("enough"))
      }),
  })

  await assert.rejects(svc.kv.get({ key: "a" }, { signal: controller.signal }), { message: "enough" })

  assert.equal(received.length, 1)
})

test("an abort before the call sends nothing", async t => {
  const { url, received } = await openEndpoint(t, () => ({ body: {} }))

  await assert.rejects(
    createSvc({ baseUrl: url }).kv.get({ key: "a" }, { signal: AbortSignal.abort(new Error("enough")) }),
    { message: "enough" },
  )

  assert.equal(received.length, 0)
})

test("the own timer stops waiting when the caller aborts", async t => {
  const { url } = await openEndpoint(t, () => ({ status: 503, headers: { "retry-after": "50" } }))
  const controller = new AbortController()
  const call = createSvc({ baseUrl: url }).kv.get({ key: "a" }, { signal: controller.signal })
  setImmediate(() => controller.abort(new Error("enough")))

  await assert.rejects(call, { message: "enough" })
})

test("a platform that is not there is a network error that names its address", async () => {
  const svc = createSvc({ baseUrl: "http://127.0.0.1:1", retries: 0 })

  await assert.rejects(svc.identity.me(), {
    code: "network_error",
    message: /^cannot reach http:\/\/127\.0\.0\.1:1: ./,
  })
})

test("only an HTTP address is taken as base URL", () => {
  assert.throws(() => createSvc({ baseUrl: "file:///etc" }), TypeError)
  assert.throws(() => createSvc({ baseUrl: "not an address" }), TypeError)
})
