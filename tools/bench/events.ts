/** Events: how many are accepted over HTTP, how many are delivered, and how long that takes. */
import { once } from "node:events"
import { rmSync } from "node:fs"
import { Agent, createServer, request as httpRequest, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { createSvc, type Svc } from "@svc/sdk"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import { attempt, type Part, printFigures } from "./figures.ts"
import { load } from "./load.ts"
import { apiKeyOf, makeDataDir, start, stop } from "./platform.ts"

const PORT = await freePort()
const ACCEPT_CONNECTIONS = 64
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const DELIVERIES = 20_000
const AT_ONCE = 100
const PUBLISHERS = 4
const LIGHT_EVENTS = 250
const LIGHT_EVERY_MS = 20
const BUSY_PER_SECOND = 1_000
const BUSY_SUBSCRIPTIONS = 3
const BUSY_SECONDS = 5
const TEXT = "x".repeat(500)

const range = (count: number) => Array.from({ length: count }, (_, n) => n)
const baseUrl = `http://127.0.0.1:${PORT}`

interface Sink extends AsyncDisposable {
  readonly url: string
  /** When each event came, by its number. */
  readonly arrivals: Map<number, number>
  received(count: number): Promise<void>
}

/** An endpoint in this process; a dead one never answers. */
const openSink = async (isDead = false): Promise<Sink> => {
  const arrivals = new Map<number, number>()
  const server: Server = createServer((request, reply) => {
    const atMs = performance.now()
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      if (isDead) return
      reply.end()
      const n = Number(/"n":(\d+)/.exec(Buffer.concat(chunks).toString("latin1"))?.[1])
      if (!arrivals.has(n)) arrivals.set(n, atMs)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivals,
    async received(count) {
      const deadline = performance.now() + 60_000
      while (arrivals.size < count) {
        if (performance.now() > deadline) throw new Error(`${arrivals.size} of ${count} events came`)
        await delay(5)
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** As a program without our SDK publishes: no Idempotency-Key, and connections that are kept. */
const createPublish =
  (apiKey: string) =>
  (topicId: string, body: object): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" }
      const url = `${baseUrl}/v1/events/topics/${topicId}/publish`
      const request = httpRequest(url, { method: "POST", agent, headers }, reply => {
        reply.resume().on("end", () => {
          if (reply.statusCode === 200) resolve()
          else reject(new Error(`publish answered ${reply.statusCode}`))
        })
      })
      request.on("error", reject).end(JSON.stringify(body))
    })

type Publish = ReturnType<typeof createPublish>

const openTopic = async (svc: Svc, name: string, sinks: readonly Sink[]): Promise<string> => {
  const { id: topic_id } = await svc.events.createTopic({ name })
  for (const { url } of sinks) {
    await svc.events.createSubscription({ topic_id, sub_type: "webhook", config: { url } })
  }
  return topic_id
}

const accepted = async (svc: Svc, apiKey: string) => {
  const topic = await openTopic(svc, "accepted", [])
  const target = {
    url: `${baseUrl}/v1/events/topics/${topic}/publish`,
    headers: { authorization: `Bearer ${apiKey}` },
    body: { event_type: "order.paid", data: { text: TEXT }, source: "bench" },
  }
  await load(target, ACCEPT_CONNECTIONS, 1)
  const { requestsPerSecond, p99Ms } = await load(target, ACCEPT_CONNECTIONS, SECONDS)
  return { events_accepted_per_s: Math.round(requestsPerSecond), publish_p99_ms: p99Ms }
}

const delivered = async (svc: Svc, publish: Publish) => {
  await using sink = await openSink()
  const topic_id = await openTopic(svc, "delivered", [sink])
  const fromMs = performance.now()
  await Promise.all(
    range(PUBLISHERS).map(async publisher => {
      for (let from = publisher * AT_ONCE; from < DELIVERIES; from += PUBLISHERS * AT_ONCE) {
        const events = range(AT_ONCE).map(at => ({ event_type: "a", data: { n: from + at, text: TEXT } }))
        await publish(topic_id, { events })
      }
    }),
  )
  await sink.received(DELIVERIES)
  return { deliveries_per_s: Math.round((DELIVERIES * 1_000) / (performance.now() - fromMs)) }
}

const quantiles = (waits: readonly number[]) => {
  const sorted = [...waits].sort((a, b) => a - b)
  const at = (part: number) => Number((sorted[Math.floor(part * sorted.length)] ?? 0).toFixed(2))
  return { p50: at(0.5), p99: at(0.99) }
}

/** From the call of publish to the call of the endpoint, one event every now and then. */
const light = async (svc: Svc, publish: Publish, name: string, sinks: readonly Sink[], sink: Sink) => {
  const topic_id = await openTopic(svc, name, sinks)
  const waits: number[] = []
  for (const n of range(LIGHT_EVENTS)) {
    const fromMs = performance.now()
    await publish(topic_id, { event_type: "a", data: { n, text: TEXT } })
    await sink.received(n + 1)
    waits.push((sink.arrivals.get(n) ?? 0) - fromMs)
    await delay(LIGHT_EVERY_MS)
  }
  // The first ones find everything cold.
  return quantiles(waits.slice(10))
}

const busy = async (svc: Svc, publish: Publish) => {
  const sinks = await Promise.all(range(BUSY_SUBSCRIPTIONS).map(() => openSink()))
  const topic_id = await openTopic(svc, "busy", sinks)
  const count = BUSY_PER_SECOND * BUSY_SECONDS
  const from = new Map<number, number>()
  const startMs = performance.now()
  const publishing: Promise<unknown>[] = []
  for (let n = 0; n < count; ) {
    const due = Math.min(count, Math.ceil(((performance.now() - startMs) / 1_000) * BUSY_PER_SECOND))
    for (; n < due; n++) {
      from.set(n, performance.now())
      publishing.push(publish(topic_id, { event_type: "a", data: { n, text: TEXT } }))
    }
    await delay(5)
  }
  await Promise.all(publishing)
  await Promise.all(sinks.map(sink => sink.received(count)))
  const waits = sinks.flatMap(({ arrivals }) => [...arrivals].map(([n, atMs]) => atMs - (from.get(n) ?? 0)))
  await Promise.all(sinks.map(sink => sink[Symbol.asyncDispose]()))
  return quantiles(waits)
}

/** On a platform of its own, which may send to this machine. */
export const eventFigures: Part = async tell => {
  const dataDir = makeDataDir()
  const platform = await start(dataDir, { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" }, PORT)
  try {
    const apiKey = apiKeyOf(dataDir)
    const svc = createSvc({ apiKey, baseUrl })
    const publish = createPublish(apiKey)
    await using alone = await openSink()
    await using beside = await openSink()
    await using dead = await openSink(true)
    const named = (what: string, { p50, p99 }: { readonly p50: number; readonly p99: number }) =>
      tell({ [`${what}_p50_ms`]: p50, [`${what}_p99_ms`]: p99 })
    named("publish_to_endpoint", await light(svc, publish, "light", [alone], alone))
    named("beside_a_dead_endpoint", await light(svc, publish, "beside", [dead, beside], beside))
    named("at_1000_events_by_3", await busy(svc, publish))
    await attempt(tell, "events_accepted_per_s", () => accepted(svc, apiKey))
    tell(await delivered(svc, publish))
  } finally {
    agent.destroy()
    await stop(platform.process)
    rmSync(dataDir, { recursive: true, force: true })
  }
}

if (import.meta.main) await eventFigures(printFigures, "", 0)
