import assert from "node:assert/strict"
import { test } from "node:test"
import { prepare } from "./prepare.ts"
import { unwrap } from "./reply.ts"
import type { Route } from "./route.ts"
import { readSettings } from "./settings.ts"
import { readEvents, type ServerSentEvent } from "./sse.ts"
import { openEndpoint } from "./testing/endpoint.ts"
import { createTransport } from "./transport.ts"

const collect = async (events: AsyncIterable<ServerSentEvent>) => {
  const seen: ServerSentEvent[] = []
  for await (const event of events) seen.push(event)
  return seen
}

/** A reply whose body arrives in these chunks. */
const replyOf = (chunks: readonly string[], onCancel = () => {}) => {
  const rest = chunks.values()
  return new Response(
    new ReadableStream({
      pull(controller) {
        const { done, value } = rest.next()
        if (done) controller.close()
        else controller.enqueue(new TextEncoder().encode(value))
      },
      cancel: onCancel,
    }),
  )
}

const eventsOf = (...chunks: string[]) => collect(readEvents(replyOf(chunks)))

test("events are read whatever their line ends and wherever the chunks are cut", async () => {
  const text =
    ': hello\r\nid: 7\r\nevent: delta\r\ndata: {"a":1}\r\ndata: more\r\n\r\ndata:plain\n\nevent: end\n\n'
  const expected = [
    { event: "delta", data: '{"a":1}\nmore', id: "7" },
    { event: "message", data: "plain", id: "7" },
  ]

  assert.deepEqual(await eventsOf(text), expected)
  assert.deepEqual(await eventsOf(...text), expected)
  assert.deepEqual(await eventsOf("data: a\r\rdata: b\r\r\n"), [
    { event: "message", data: "a", id: undefined },
    { event: "message", data: "b", id: undefined },
  ])
})

test("an event that the stream did not finish is left out", async () => {
  assert.deepEqual(await eventsOf("data: whole\n\ndata: half"), [
    { event: "message", data: "whole", id: undefined },
  ])
})

test("leaving the loop closes the connection", async () => {
  let cancelled = false
  const reply = replyOf(["data: 1\n\n", "data: 2\n\n"], () => {
    cancelled = true
  })
  for await (const _ of readEvents(reply)) break
  assert.ok(cancelled)
})

const call = async (url: string, route: Route, body?: ReadableStream<Uint8Array> | Uint8Array) => {
  const settings = readSettings({ baseUrl: url, sleep: async () => {} })
  const answer = await createTransport(settings).send(prepare(settings, route, { id: "x" }, { body }))
  return unwrap(route, answer.body)
}

test("an operation that replies with bytes gives the open Response", async t => {
  const { url } = await openEndpoint(t, () => ({ body: "raw bytes" }))
  const route: Route = { method: "GET", path: "/files/{id}", reply: "bytes", effect: "read" }

  const response = await call(url, route)

  assert.ok(response instanceof Response)
  assert.equal(await response.text(), "raw bytes")
})

test("an operation that can stream gives events, or the payload when the platform answers with JSON", async t => {
  const type = "text/event-stream; charset=utf-8"
  const { url } = await openEndpoint(t, (_, index) =>
    index === 0
      ? { headers: { "content-type": type }, body: "data: 1\n\n" }
      : { body: { data: { done: true } } },
  )
  const route: Route = { method: "POST", path: "/chat", reply: "sse", effect: "read" }

  assert.deepEqual(await collect((await call(url, route)) as AsyncIterable<ServerSentEvent>), [
    { event: "message", data: "1", id: undefined },
  ])
  assert.deepEqual(await call(url, route), { done: true })
})

test("bytes are sent as they are and repeated; a stream is sent once", async t => {
  const { url, received } = await openEndpoint(t, (_, index) =>
    index % 2 === 0 ? { status: 503 } : { status: 204 },
  )
  const route: Route = { method: "PUT", path: "/files/{id}", body: "bytes", effect: "write", keyed: true }

  await call(url, route, new Uint8Array([104, 105]))
  await assert.rejects(call(url, route, new Blob(["hi"]).stream()), { status: 503 })

  assert.deepEqual(
    received.map(({ body, headers }) => [body, headers["content-type"]]),
    Array(3).fill(["hi", "application/octet-stream"]),
  )
})
