import assert from "node:assert/strict"
import { after, before, type TestContext, test } from "node:test"
import type { ServerSentEvent } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { PortError } from "../port-error.ts"
import { fanoutConformance, listenTo } from "./conformance.ts"
import { type NatsServer, natsIsMissing, startNats } from "./drivers/nats/testing/server.ts"
import { openFanout } from "./index.ts"
import type { FanoutPort } from "./port.ts"

const skip = natsIsMissing()
let server: NatsServer

before(async () => {
  if (!skip) server = await startNats()
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

/** Connections are closed before the server they go to. */
const stacks = new WeakMap<TestContext, AsyncDisposableStack>()

const openedBy = (t: TestContext): AsyncDisposableStack => {
  const known = stacks.get(t)
  if (known) return known
  const opened = new AsyncDisposableStack()
  stacks.set(t, opened)
  t.after(() => opened.disposeAsync())
  return opened
}

const ownServer = async (t: TestContext, args: readonly string[] = []): Promise<NatsServer> =>
  openedBy(t).use(await startNats(args))

const openNats = async (t: TestContext, { url } = server): Promise<FanoutPort> => {
  const fanout = openedBy(t).use(await openFanout({ driver: "nats", url, log: () => undefined }))
  await eventually("it is connected", () => fanout.health().ok)
  return fanout
}

fanoutConformance("NATS", { open: openNats }, { skip })

test("a NATS that is killed delays nobody, and when it is back all are told to look", { skip }, async t => {
  const own = await ownServer(t)
  const fanout = await openNats(t, own)
  const heard = listenTo(fanout, "lanes")
  await own.kill()
  await assert.rejects(fanout.tell("lanes", ["a"]), error => error instanceof PortError)
  heard.length = 0
  await own.start()
  await eventually("they are told", () => heard.includes(undefined))
  await eventually("news are taken", () =>
    fanout.tell("lanes", ["b"]).then(
      () => true,
      () => false,
    ),
  )
  await eventually("news are heard", () => heard.some(ids => ids?.includes("b")))
})

test("a process starts while NATS is away, and hears when it comes", { skip }, async t => {
  const own = await ownServer(t)
  await own.kill()
  const fanout = openedBy(t).use(await openFanout({ driver: "nats", url: own.url, log: () => undefined }))
  const heard = listenTo(fanout, "lanes")
  assert.equal(fanout.health().ok, false)
  await own.start()
  await eventually("they are told", () => heard.includes(undefined))
})

test("a NATS that asks for a token, or a user and password, gets them from its address", {
  skip,
}, async t => {
  for (const [args, login] of [
    [["--auth", "t%ken"], "t%25ken"],
    [["--user", "svc", "--pass", "p:ss"], "svc:p%3Ass"],
  ] as const) {
    const own = await ownServer(t, args)
    await openNats(t, { ...own, url: own.url.replace("//", `//${login}@`) })
  }
})

test("processes of one platform wake each other by NATS when it is set", { skip }, async t => {
  const env = { SVC_NATS_URL: server.url }
  const one = await platform(t, { env })
  const { secret } = await one.key("acme", [])
  const other = await platform(t, { env, databaseUrl: one.config.databaseUrl ?? "" })
  const heard = listenTo(await openNats(t), "support.chats")
  const { id } = await one.as(secret).support.createChat()
  const stream = await other.as(secret).support.streamChat({ id })
  const contents: string[] = []
  for await (const { event, data } of stream as unknown as AsyncIterable<ServerSentEvent>) {
    if (event === "message") contents.push(JSON.parse(data).content)
    else if (contents.length === 0) await one.as(secret).support.postMessage({ id, content: "Hello" })
    if (contents.length > 0) break
  }
  assert.deepEqual(contents, ["Hello"])
  await eventually("NATS carried it", () => heard.some(ids => ids?.includes(id)))
})
