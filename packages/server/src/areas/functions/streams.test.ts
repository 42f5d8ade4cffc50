/** Replies that are sent while they are made. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { FUNCTION_STREAM_BYTES_MAX } from "@svc/contract"
import { eventually } from "../../testing/eventually.ts"
import { createFlights } from "./flights.ts"
import { createReplyBody, WINDOW_BYTES } from "./reply-body.ts"
import { deploy, type FunctionWorld, functionWorld, invoke } from "./testing/world.ts"

/** Its streams wait for `/go`, so that what comes before has come before. */
const CODE = `
let go, state = "none", made = 0
let waited = new Promise(resolve => { go = resolve })
const bytes = text => new TextEncoder().encode(text)
const events = (first, rest) => new Response(new ReadableStream({
  async start(controller) {
    if (first) controller.enqueue(bytes("data: first\\n\\n"))
    await waited
    await rest(controller)
  },
}), { headers: { "content-type": "text/event-stream" } })
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === "/go") { go(); waited = new Promise(resolve => { go = resolve }); return new Response("gone") }
    if (pathname === "/state") return Response.json({ state, made })
    const end = controller => { controller.enqueue(bytes("data: last\\n\\n")); controller.close() }
    if (pathname === "/events") return events(true, end)
    if (pathname === "/silent") return events(false, end)
    if (pathname === "/broken") return events(true, () => { throw new RangeError("midway") })
    if (pathname === "/late") return events(true, () => new Promise(() => {}))
    if (pathname === "/text") return new Response(new ReadableStream({ start(c) { c.enqueue("text") } }))
    if (pathname === "/wait") {
      state = "waiting"
      return new Promise((_, reject) => request.signal.addEventListener("abort", () => { state = "aborted"; reject(request.signal.reason) }))
    }
    if (pathname === "/endless") {
      state = "streaming"
      request.signal.addEventListener("abort", () => { state += " aborted" })
      return new Response(new ReadableStream({
        pull(controller) { made += 65536; controller.enqueue(new Uint8Array(65536)) },
        cancel() { state += " cancelled" },
      }))
    }
    const chunk = new Uint8Array(100000).fill(7)
    return new Response(new ReadableStream({
      async pull(controller) {
        await new Promise(setImmediate)
        if (made++ < 120) controller.enqueue(chunk); else controller.close()
      },
    }))
  },
}`

const streamWorld = async (t: Parameters<typeof functionWorld>[0], rest: object = {}) => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, CODE, { concurrency: 20, vcpus: 1, ...rest })
  const get = (path: string, init: RequestInit = {}) =>
    world.platform.request(`/v1/functions/${id}/http${path}`, {
      ...init,
      headers: { authorization: `Bearer ${world.secret}` },
    })
  return { world, id, get }
}

const readerOf = (reply: Response) => {
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader()
  return async () => (await reader?.read())?.value
}

/** The record of the invocation that made a reply, once it has ended. */
const recordOf = ({ svc }: FunctionWorld, id: string, reply: Response) =>
  eventually("it has ended", async () => {
    const invocation_id = reply.headers.get("x-svc-invocation-id") ?? ""
    return svc.functions.getInvocation({ id, invocation_id }).catch(() => undefined)
  })

test("an event reaches its caller when it is made, and headers before there is a first one", async t => {
  const { world, id, get } = await streamWorld(t)
  const reply = await get("/events")
  const read = readerOf(reply)
  assert.deepEqual([reply.status, reply.headers.get("content-type")], [200, "text/event-stream"])
  assert.equal(await read(), "data: first\n\n")
  const silent = await get("/silent")
  assert.equal(silent.status, 200)
  assert.equal(await (await get("/go")).text(), "gone")
  assert.equal(await read(), "data: last\n\n")
  assert.equal(await read(), undefined)
  assert.equal(await silent.text(), "data: last\n\n")
  const { status, status_code, response_bytes } = await recordOf(world, id, reply)
  assert.deepEqual([status, status_code, response_bytes], ["success", 200, 25])
  const head = await get("/silent", { method: "HEAD" })
  assert.deepEqual([head.status, await head.text()], [200, ""])
})

test("a large reply arrives whole, and invoking by JSON waits for all of a stream", async t => {
  const { world, id, get } = await streamWorld(t)
  const bytes = new Uint8Array(await (await get("/large")).arrayBuffer())
  assert.equal(bytes.length, 12_000_000)
  assert.ok(bytes.every(byte => byte === 7))
  const streaming = `export default { fetch: () => new Response(new ReadableStream({
    async start(c) { for (const n of [1, 2]) { await new Promise(setImmediate); c.enqueue(new TextEncoder().encode(n + ";")) } c.close() },
  })) }`
  await world.svc.functions.update({ id, code: streaming })
  assert.equal((await invoke(world, id)).result, "1;2;")
})

test("a reply that breaks off midway breaks off for its caller, and is recorded with its reason", async t => {
  const { world, id, get } = await streamWorld(t)
  const text = await get("/text")
  assert.deepEqual([text.status, ((await text.json()) as { code: string }).code], [502, "function_failed"])
  const broken = await get("/broken")
  const read = readerOf(broken)
  assert.equal(await read(), "data: first\n\n")
  await get("/go")
  await assert.rejects(read)
  const failed = await recordOf(world, id, broken)
  assert.deepEqual(
    [failed.status, failed.error?.type, failed.error?.message],
    ["error", "RangeError", "midway"],
  )
  // The limit counts before the head of the reply too, which a busy machine takes its time for.
  await world.svc.functions.update({ id, timeout_seconds: 10 })
  const late = await get("/late")
  await assert.rejects(late.text())
  assert.equal((await recordOf(world, id, late)).status, "timeout")
})

test("a caller who leaves aborts the request's signal in the function, and ends what it streams", async t => {
  const { world, id, get } = await streamWorld(t)
  const state = async () => (await (await get("/state")).json()) as { state: string; made: number }
  const is = (wanted: string) => eventually(wanted, async () => (await state()).state === wanted)
  for (const [path, begun, ended] of [
    ["/wait", "waiting", "aborted"],
    ["/endless", "streaming", "streaming aborted cancelled"],
  ] as const) {
    const leaving = new AbortController()
    const reply = get(path, { signal: leaving.signal })
    reply.catch(() => undefined)
    await is(begun)
    if (path === "/endless") await reply
    leaving.abort()
    await is(ended)
  }
  const [cancelled] = await eventually("both have ended", async () => {
    const { data } = await world.svc.functions.invocations({ id, status: "error" })
    return data.length === 2 && data
  })
  assert.equal(cancelled?.error?.type, "Cancelled")
})

test("of a reply that its caller does not take, no more is held than the window", async () => {
  let room = WINDOW_BYTES
  const body = createReplyBody(
    bytes => {
      room += bytes
    },
    () => assert.fail("nobody left"),
  )
  const chunk = Buffer.alloc(8_192)
  const send = () => {
    room -= chunk.length
    assert.ok(body.push(chunk))
  }
  // Nobody reads yet, so nothing gives room back.
  while (room > 0) send()
  let read = 0
  body.stream.on("data", (bytes: Buffer) => {
    read += bytes.length
  })
  await eventually("it goes on", () => room > WINDOW_BYTES / 2)
  send()
  body.end()
  await eventually("all is read", () => body.stream.readableEnded)
  assert.equal(read, WINDOW_BYTES + chunk.length)

  const flooded = createReplyBody(
    () => undefined,
    () => undefined,
  )
  assert.equal(flooded.push(Buffer.alloc(WINDOW_BYTES + 1)), false)
})

test("a harness that streams more than a reply may have, or without being asked, has broken the channel", () => {
  const nothing = () => undefined
  const flights = createFlights({
    ...{ nowMs: Date.now, empty: nothing, more: nothing, cancel: nothing },
    late: () => assert.fail("it is not late"),
  })
  const work = { frame: {}, timeoutMs: 60_000 }
  flights.take({ ...work, invocationId: "whole" })
  assert.equal(flights.head({ kind: "head", invocationId: "whole", reply: {} }), false)
  flights.take({ ...work, invocationId: "a", stream: (_reply, body) => void body.resume() })
  const chunk = { kind: "chunk", invocationId: "a", bytes: Buffer.alloc(WINDOW_BYTES / 2) } as const
  assert.equal(flights.chunk(chunk), false)
  assert.ok(flights.head({ kind: "head", invocationId: "a", reply: {} }))
  assert.equal(flights.head({ kind: "head", invocationId: "a", reply: {} }), false)
  flights.crash({ type: "Crash", message: "", stack: null }, nothing)
  assert.ok(flights.chunk({ ...chunk, invocationId: "gone" }))
  assert.ok(FUNCTION_STREAM_BYTES_MAX > WINDOW_BYTES)
})
