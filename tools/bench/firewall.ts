/** What the firewall adds to a small request that no rule matches: two load balancers before one server, asked by turns. */
import { once } from "node:events"
import { rmSync } from "node:fs"
import { Agent, createServer, request as httpRequest, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { performance } from "node:perf_hooks"
import { createSvc, type Svc } from "@svc/sdk"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import { attempt, type Part } from "./figures.ts"
import { apiKeyOf, makeDataDir, median, start, stop } from "./platform.ts"

const REQUESTS = Number(process.env.BENCH_FIREWALL_REQUESTS ?? 3_000)
const WARM_UP = 1_000
const RULES = 20
const HOST = "127.0.0.1"

const HEADERS = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0",
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "accept-language": "en",
  cookie: "theme=dark; visit=2026-07-01",
}

const asker = (port: number) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    /** Milliseconds of one request. */
    async ask(url: string): Promise<number> {
      const { host } = new URL(url)
      const from = performance.now()
      const path = "/shop/items?id=12&q=red%20shoes"
      const asked = httpRequest({ host: HOST, port, path, agent, headers: { ...HEADERS, host } })
      asked.end()
      const [answer] = (await once(asked, "response")) as [IncomingMessage]
      await answer.toArray()
      if (answer.statusCode !== 200) throw new Error(`a request got ${answer.statusCode}`)
      return performance.now() - from
    },
    [Symbol.dispose]: () => agent.destroy(),
  }
}

const measure = async (svc: Svc, port: number) => {
  const server = createServer((_request, response) => void response.end("hello")).listen(0, HOST)
  await once(server, "listening")
  using stopped = new DisposableStack()
  stopped.defer(() => server.close())
  const backends = [{ address: HOST, port: (server.address() as AddressInfo).port }]
  const plain = await svc.lb.create({ name: "plain", backends })
  const guarded = await svc.lb.create({ name: "guarded", backends, waf_enabled: true })
  for (let rule = 0; rule < RULES; rule++)
    await svc.waf.createRule({
      pattern: `(?i)(?:union|into${rule})\\s+(?:select|outfile)${rule}`,
      action: "block",
    })
  const { ask, [Symbol.dispose]: end } = asker(port)
  stopped.defer(end)
  const without: number[] = []
  const within: number[] = []
  for (let sent = 0; sent < WARM_UP + REQUESTS; sent++) {
    const pair = [await ask(plain.url ?? ""), await ask(guarded.url ?? "")] as const
    if (sent < WARM_UP) continue
    without.push(pair[0])
    within.push(pair[1])
  }
  const added = median(within) - median(without)
  return {
    "load balancer alone, p50": `${median(without).toFixed(3)} ms`,
    [`with the firewall and ${RULES} rules, p50`]: `${median(within).toFixed(3)} ms (${added.toFixed(3)} ms more)`,
  }
}

export const firewallFigures: Part = async tell => {
  const dataDir = makeDataDir()
  const port = await freePort()
  // The server behind them is on this machine, and one client sends all that is sent.
  const { process: platform } = await start(
    dataDir,
    { SVC_OUTBOUND_ALLOW: `${HOST}/32`, SVC_WAF_RATE: "off" },
    port,
  )
  try {
    const svc = createSvc({ apiKey: apiKeyOf(dataDir), baseUrl: `http://${HOST}:${port}` })
    await attempt(tell, "firewall", () => measure(svc, port))
  } finally {
    await stop(platform)
    rmSync(dataDir, { recursive: true, force: true })
  }
}
