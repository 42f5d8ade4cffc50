import assert from "node:assert/strict"
import { test } from "node:test"
import type { ServerSentEvent } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { supportWorld } from "./testing/world.ts"

const EVENTS_MAX = 50

/** Events until one fits, that one included. */
const untilEvent = async (
  stream: AsyncIterator<ServerSentEvent>,
  fits: (event: ServerSentEvent) => boolean,
) => {
  const seen: ServerSentEvent[] = []
  while (seen.length < EVENTS_MAX) {
    const { value, done } = await stream.next()
    if (done) return assert.fail("the stream ended")
    seen.push(value)
    if (fits(value)) return seen
  }
  return assert.fail("it did not come")
}

const eventsOf = (opened: unknown): AsyncIterator<ServerSentEvent> =>
  (opened as AsyncIterable<ServerSentEvent>)[Symbol.asyncIterator]()

const says =
  (content: string) =>
  ({ event, data }: ServerSentEvent): boolean =>
    event === "message" && JSON.parse(data).content === content

const isSession = ({ event }: ServerSentEvent) => event === "session"

test("both sides see at once what the other says, from the last message that they know on", {
  timeout: 60_000,
}, async t => {
  const { customer, desk } = await supportWorld(t)
  const { id } = await customer.support.createChat({ message: "One" })
  const mine = eventsOf(await customer.support.streamChat({ id }))
  const theirs = eventsOf(await desk.support.agentStreamChat({ id }, { headers: { "last-event-id": "0" } }))
  const first = await untilEvent(theirs, says("One"))
  assert.equal(first.at(-1)?.id, "1")
  await untilEvent(mine, isSession)
  await desk.support.agentPostMessage({ id, content: "Two" })
  const heard = await untilEvent(mine, says("Two"))
  assert.ok(!heard.some(says("One")))
  const [told] = (await untilEvent(mine, isSession)).slice(-1)
  assert.equal(JSON.parse(told?.data ?? "").unread_count, 1)
  await customer.support.postMessage({ id, content: "Three" })
  await untilEvent(theirs, says("Three"))
  await mine.return?.()
  await theirs.return?.()
})

test("a stream hears what another process is told", { timeout: 60_000 }, async t => {
  const { p } = await supportWorld(t)
  const databaseUrl = p.config.databaseUrl
  assert.ok(databaseUrl)
  const { secret } = await p.key("acme", [])
  const customer = p.as(secret)
  const second = await platform(t, { databaseUrl })
  const { id } = await customer.support.createChat()
  const stream = eventsOf(await second.as(secret).support.streamChat({ id }))
  await untilEvent(stream, isSession)
  for (const content of ["One", "Two", "Three"]) await customer.support.postMessage({ id, content })
  const heard = await untilEvent(stream, says("Three"))
  assert.deepEqual(
    heard.filter(({ event }) => event === "message").map(({ data }) => JSON.parse(data).content),
    ["One", "Two", "Three"],
  )
  await stream.return?.()
})

test("an organization follows at most 50 chats at a time, and those left count no more", {
  timeout: 60_000,
}, async t => {
  const { customer, stranger, desk } = await supportWorld(t)
  const { id } = await customer.support.createChat()
  const open = async () => {
    const stream = eventsOf(await customer.support.streamChat({ id }))
    await untilEvent(stream, isSession)
    return stream
  }
  const streams = []
  for (let count = 0; count < 50; count++) streams.push(await open())
  await assert.rejects(open(), { status: 429, code: "rate_limited" })
  const followed: AsyncIterator<ServerSentEvent>[] = []
  for (let count = 0; count < 50; count++) {
    followed.push(eventsOf(await desk.support.agentStreamChat({ id })))
  }
  const more = desk.support.agentStreamChat({ id })
  await assert.rejects(more, { status: 429, code: "rate_limited" })
  for (const stream of followed) await stream.return?.()
  const { id: other } = await stranger.support.createChat()
  const elsewhere = eventsOf(await stranger.support.streamChat({ id: other }))
  await untilEvent(elsewhere, isSession)
  for (const stream of [elsewhere, ...streams.splice(0, 10)]) await stream.return?.()
  streams.push(await eventually("those left count no more", () => open().catch(() => undefined)))
  for (const stream of streams) await stream.return?.()
})

test("a stream ends after a quarter of an hour, so that whose key was revoked is shut out", {
  timeout: 60_000,
}, async t => {
  const { p, customer } = await supportWorld(t)
  const { id } = await customer.support.createChat()
  const stream = eventsOf(await customer.support.streamChat({ id }))
  await untilEvent(stream, isSession)
  await p.clock.advance(900_000)
  await customer.support.postMessage({ id, content: "Anybody?" })
  let ended = false
  for (let count = 0; count < EVENTS_MAX && !ended; count++) ended = (await stream.next()).done === true
  assert.ok(ended)
})

test("streams do not keep the platform from stopping", { timeout: 60_000 }, async t => {
  const { p, customer } = await supportWorld(t)
  const { id } = await customer.support.createChat()
  const stream = eventsOf(await customer.support.streamChat({ id }))
  await untilEvent(stream, isSession)
  await p[Symbol.asyncDispose]()
  const ended = await stream.next().then(
    ({ done }) => done === true,
    () => true,
  )
  assert.ok(ended)
})
