/** How late schedules are: ten thousand that fall due within ten seconds, each with a request to a receiver. Fewer are as dense. */
import { once } from "node:events"
import { rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { createSvc } from "../../packages/sdk/src/index.ts"
import { readConfig } from "../../packages/server/src/config.ts"
import { type Platform, startPlatform } from "../../packages/server/src/platform.ts"
import { type Part, printFigures } from "./figures.ts"
import { apiKeyOf, makeDataDir } from "./platform.ts"

const SCHEDULES = Number(process.env.BENCH_CRON_SCHEDULES ?? 10_000)
const WITHIN_MS = SCHEDULES
/** More than the scanner takes to hear of what is changed behind its back. */
const LEAD_MS = 7_000
const CREATORS = 16
const WAIT_MS_MAX = 60_000

/** Answers everything with 200, and counts. */
const startReceiver = async () => {
  let requests = 0
  const server = createServer((request, reply) => {
    requests++
    request.resume().on("end", () => reply.end())
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, count: () => requests, close: () => server.close() }
}

const createAll = async (apiKey: string, baseUrl: string, url: string) => {
  const svc = createSvc({ apiKey, baseUrl })
  const run_at = new Date(Date.now() + 86_400_000).toISOString()
  await Promise.all(
    Array.from({ length: CREATORS }, async (_, creator) => {
      for (let n = creator; n < SCHEDULES; n += CREATORS) {
        await svc.cron.create({ name: `bench-${n}`, run_at, target: { type: "http", url } })
      }
    }),
  )
}

/** Spreads them over the ten seconds, by hand: creating them takes longer than that. */
const SPREAD = `
  UPDATE cron.schedules SET due_at = given.at, run_at = given.at, next_runs = ARRAY[given.at]
  FROM (SELECT id AS of, $1::timestamptz + row_number() OVER (ORDER BY id) * ($2 / $3::float8) * interval '1 millisecond' AS at
        FROM cron.schedules) AS given
  WHERE id = given.of`

const LAGS = `
  SELECT count(*)::integer AS count, percentile_disc(0.5) WITHIN GROUP (ORDER BY lag_ms) AS p50,
    percentile_disc(0.99) WITHIN GROUP (ORDER BY lag_ms) AS p99, max(lag_ms) AS max
  FROM cron.executions WHERE status = 'succeeded' AND attempt = 1`

const measure = async ({ database, url: baseUrl }: Platform, apiKey: string) => {
  const receiver = await startReceiver()
  const from = performance.now()
  await createAll(apiKey, baseUrl, receiver.url)
  const cron_created_per_s = Math.round((SCHEDULES * 1_000) / (performance.now() - from))
  const cpuFrom = process.cpuUsage()
  await delay(LEAD_MS)
  const cpu = process.cpuUsage(cpuFrom)
  const cron_idle_cpu_percent = Number(((cpu.user + cpu.system) / (LEAD_MS * 10)).toFixed(2))
  await database.pool.query(SPREAD, [new Date(Date.now() + LEAD_MS), WITHIN_MS, SCHEDULES])
  const until = Date.now() + WAIT_MS_MAX
  for (;;) {
    await delay(500)
    const { rows } = await database.pool.query(LAGS)
    const [{ count, p50, p99, max }] = rows
    if (count < SCHEDULES && Date.now() < until) continue
    receiver.close()
    return {
      ...{ cron_created_per_s, cron_idle_cpu_percent, cron_executions: count },
      ...{ cron_lag_p50_ms: p50, cron_lag_p99_ms: p99, cron_lag_max_ms: max },
      cron_requests: receiver.count(),
    }
  }
}

export const cronFigures: Part = async tell => {
  const dataDir = makeDataDir()
  try {
    const settings = readConfig({
      ...{
        SVC_PORT: "0",
        SVC_DATA_DIR: dataDir,
        SVC_RATE_LIMIT: "off",
        SVC_AUTH_RATE_LIMIT: "off",
        SVC_LOG_LEVEL: "warn",
      },
      SVC_OUTBOUND_ALLOW: "127.0.0.0/8",
    })
    await using platform = await startPlatform(settings)
    tell(await measure(platform, apiKeyOf(dataDir)))
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

if (import.meta.main) await cronFigures(printFigures, "", 0)
