import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { BOTH } from "./testing/settled.ts"

const WAIT_MS_MAX = 60_000

interface SseEvent {
  readonly event: string
  readonly id: string | undefined
  readonly data: { readonly title?: string; readonly unread_count?: number }
}

/** A stream of an inbox, read event by event. */
const follow = async (t: TestContext, p: TestPlatform, secret: string, lastEventId?: string) => {
  const controller = new AbortController()
  t.after(() => controller.abort())
  const response = await fetch(`${p.url}/v1/notifications/stream`, {
    headers: {
      authorization: `Bearer ${secret}`,
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    signal: controller.signal,
  })
  assert.equal(response.status, 200)
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/)
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  let text = ""
  const chunk = async (): Promise<string | undefined> => {
    while (!text.includes("\n\n")) {
      const { done, value } = await Promise.race([
        reader.read(),
        new Promise<never>((_, reject) =>
          setTimeout(reject, WAIT_MS_MAX, new Error("no event came")).unref(),
        ),
      ])
      if (done) return undefined
      text += value
    }
    const end = text.indexOf("\n\n")
    const found = text.slice(0, end)
    text = text.slice(end + 2)
    return found
  }
  return {
    hangUp: () => controller.abort(),
    chunk,
    async next(): Promise<SseEvent> {
      for (;;) {
        const lines = (await chunk())?.split("\n")
        if (!lines) throw new Error("the stream has ended")
        if (lines[0]?.startsWith(":")) continue
        const field = (name: string) =>
          lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
        return { event: field("event") ?? "", id: field("id"), data: JSON.parse(field("data") ?? "null") }
      }
    },
  }
}

test("a stream tells the count first, then each notification as it comes, and the count as it changes", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", [...BOTH])
  const svc = p.as(secret)
  await svc.notifications.send({ title: "before" })
  const stream = await follow(t, p, secret)
  assert.deepEqual((await stream.next()).data, { unread_count: 1 })
  const { id } = await svc.notifications.send({ title: "now" })
  const events = [await stream.next(), await stream.next()]
  assert.deepEqual(
    events.map(({ event, data }) => [event, data.title ?? data.unread_count]),
    [
      ["unread_count", 2],
      ["notification", "now"],
    ],
  )
  await svc.notifications.read({ id })
  assert.deepEqual((await stream.next()).data, { unread_count: 1 })
})

test("after a reconnection a stream goes on where it was left, with nothing lost and nothing twice", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", [...BOTH])
  const svc = p.as(secret)
  const first = await follow(t, p, secret)
  await first.next()
  await svc.notifications.send({ title: "1" })
  await first.next()
  const { id: seen } = await first.next()
  first.hangUp()
  // More than one batch.
  const titles = Array.from({ length: 120 }, (_, index) => `while away ${index}`)
  for (const title of titles) await svc.notifications.send({ title })
  const second = await follow(t, p, secret, seen)
  assert.deepEqual((await second.next()).data, { unread_count: 121 })
  const got: (string | undefined)[] = []
  while (got.length < titles.length) got.push((await second.next()).data.title)
  assert.deepEqual(got, titles)
})

test("what one process takes in reaches the streams of another", async t => {
  const one = await platform(t)
  const two = await platform(t, { databaseUrl: one.config.databaseUrl ?? "" })
  const { secret } = await one.key("acme", [...BOTH])
  const [here, there] = [await follow(t, one, secret), await follow(t, two, secret)]
  await Promise.all([here.next(), there.next()])
  await one.as(secret).notifications.send({ title: "to both" })
  for (const stream of [here, there]) {
    assert.equal((await stream.next()).event, "unread_count")
    assert.equal((await stream.next()).data.title, "to both")
  }
  await two.as(secret).notifications.readAll()
  for (const stream of [here, there]) assert.deepEqual((await stream.next()).data, { unread_count: 0 })
})

test("a silent stream is kept open, and ends once its key is revoked", async t => {
  const p = await platform(t)
  const { id, secret } = await p.key("acme", [...BOTH])
  const stream = await follow(t, p, secret)
  await stream.next()
  await p.clock.advance(15_000)
  assert.equal(await stream.chunk(), ": ")
  const chief = await p.person("acme", "owner")
  await chief.keys.revoke({ id })
  await p.clock.advance(15_000)
  assert.equal(await stream.chunk(), undefined)
})

test("streams of one inbox have a bound, and those that end make room", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", [...BOTH])
  const streams = await Promise.all(Array.from({ length: 20 }, () => follow(t, p, secret)))
  const attempt = () =>
    p.request("/v1/notifications/stream", { headers: { authorization: `Bearer ${secret}` } })
  assert.equal((await attempt()).status, 429)
  for (const stream of streams) stream.hangUp()
  const response = await eventually("room is made", async () => {
    const again = await attempt()
    return again.status !== 429 && again
  })
  assert.equal(response.status, 200)
  await response.body?.cancel()
})

test("streams do not hold up a platform that stops", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", [...BOTH])
  const stream = await follow(t, p, secret)
  await stream.next()
  const ended = stream.chunk()
  await p[Symbol.asyncDispose]()
  assert.equal(await ended, undefined)
})
