/**
 * `npm run bench`: what the pipeline costs, as ratios against a bare server in the same run. Never a test. It takes less
 * with smaller `BENCH_SECONDS`, `BENCH_DENSITY`, `BENCH_STREAMS`, `BENCH_CRON_SCHEDULES` and `BENCH_SEARCH_DOCUMENTS`.
 */
import { execFile, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir, totalmem } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { cronFigures } from "./bench/cron.ts"
import { databaseFigures } from "./bench/databases.ts"
import { emailFigures } from "./bench/email.ts"
import { eventFigures } from "./bench/events.ts"
import { functionFigures } from "./bench/functions.ts"
import { jobFigures } from "./bench/jobs.ts"
import { measureKeyCheck } from "./bench/key-check.ts"
import { type Load, load } from "./bench/load.ts"
import { residentMegabytes } from "./bench/memory.ts"
import { apiKeyOf, median, PORT, start, stop } from "./bench/platform.ts"
import { runtimeFigures } from "./bench/runtime.ts"
import { sandboxFigures } from "./bench/sandboxes.ts"
import { searchFigures } from "./bench/search.ts"
import { storageFigures } from "./bench/storage.ts"
import { vectorFigures } from "./bench/vectors.ts"

const CONNECTIONS = [1, 32, 256] as const
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const BARE_PORT = 14_810

const startTimes = async (dataDir: string): Promise<{ first: number; warm: number }> => {
  const first = await start(dataDir)
  await stop(first.process)
  const warm: number[] = []
  for (let run = 0; run < 3; run++) {
    const started = await start(dataDir)
    warm.push(started.ms)
    await stop(started.process)
  }
  return { first: first.ms, warm: median(warm) }
}

interface Row {
  readonly what: string
  readonly connections: number
  readonly requests_per_second: number
  readonly of_bare: number
  readonly p50_ms: number
  readonly p99_ms: number
}

const row = (what: string, connections: number, measured: Load, bare: Load): Row => ({
  what,
  connections,
  requests_per_second: Math.round(measured.requestsPerSecond),
  of_bare: Number((measured.requestsPerSecond / bare.requestsPerSecond).toFixed(3)),
  p50_ms: measured.p50Ms,
  p99_ms: measured.p99Ms,
})

const throughput = async (apiKey: string): Promise<Row[]> => {
  const headers = { authorization: `Bearer ${apiKey}` }
  const get = { url: `http://127.0.0.1:${PORT}/v1/kv/get`, headers, body: { key: "bench" } }
  const set = {
    url: `http://127.0.0.1:${PORT}/v1/kv/set`,
    headers,
    body: { key: "bench", value: { text: "hello" } },
  }
  const encrypt = {
    url: `http://127.0.0.1:${PORT}/api/v1/encryption/encrypt`,
    headers,
    body: { plaintext: "x".repeat(1024), context: { bench: "1" } },
  }
  const echo = { url: `http://127.0.0.1:${BARE_PORT}/`, headers, body: { key: "bench" } }
  await load(set, 1, 1)
  await load(get, 32, 2)
  const rows: Row[] = []
  for (const connections of CONNECTIONS) {
    const bare = await load(echo, connections, SECONDS)
    rows.push(row("bare node:http echo", connections, bare, bare))
    rows.push(row("KV get", connections, await load(get, connections, SECONDS), bare))
    rows.push(row("KV set (on disk)", connections, await load(set, connections, SECONDS), bare))
    rows.push(row("encrypt 1 KiB", connections, await load(encrypt, connections, SECONDS), bare))
  }
  return rows
}

const print = (rows: readonly Row[]) => {
  for (const { what, connections, requests_per_second, of_bare, p50_ms, p99_ms } of rows) {
    const cells = [
      what.padEnd(22),
      `${connections}`.padStart(4),
      `${requests_per_second}`.padStart(8),
      `${(of_bare * 100).toFixed(1)} %`.padStart(8),
      `${p50_ms.toFixed(2)} ms`.padStart(10),
      `${p99_ms.toFixed(2)} ms`.padStart(10),
    ]
    process.stdout.write(`${cells.join("  ")}\n`)
  }
}

type Figures = Readonly<Record<string, string | number>>

/** What is measured on the running platform, by the names that `npm run bench -- NAME…` chooses from; all unless told. */
const parts: Readonly<Record<string, (dataDir: string, pid: number) => Promise<Figures>>> = {
  databases: databaseFigures,
  storage: storageFigures,
  vectors: vectorFigures,
  runtime: runtimeFigures,
  search: searchFigures,
  jobs: jobFigures,
  cron: cronFigures,
  functions: functionFigures,
  sandboxes: sandboxFigures,
  events: eventFigures,
  email: emailFigures,
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter(name => !Object.hasOwn(parts, name))
if (unknown.length > 0)
  throw new Error(`no such part: ${unknown.join(", ")}; there are ${Object.keys(parts).join(", ")}`)

const measure = async (dataDir: string, pid: number): Promise<Record<string, Figures>> => {
  const measured: Record<string, Figures> = {}
  for (const [name, figures] of Object.entries(parts)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    measured[name] = await figures(dataDir, pid)
    for (const [what, value] of Object.entries(measured[name]))
      process.stdout.write(`${what.padEnd(50)} ${value}\n`)
  }
  return measured
}

const dataDir = mkdtempSync(join(tmpdir(), "svc-bench-"))
const bare = spawn(process.execPath, ["tools/bench/bare.ts", String(BARE_PORT)], { stdio: "inherit" })
try {
  const starts = await startTimes(dataDir)
  const platform = await start(dataDir)
  await new Promise(resolve => setTimeout(resolve, 3_000))
  const idle = await residentMegabytes(platform.process.pid ?? 0)
  const rows = chosen.length > 0 ? [] : await throughput(apiKeyOf(dataDir))
  print(rows)
  const measured = await measure(dataDir, platform.process.pid ?? 0)
  await stop(platform.process)
  const key_check_us = await measureKeyCheck()

  const commit = await promisify(execFile)("git", ["rev-parse", "--short", "HEAD"]).then(
    ({ stdout }) => stdout.trim(),
    () => "",
  )
  const result = {
    date: new Date().toISOString(),
    commit,
    machine: {
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      memory_gb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
    },
    first_start_ms: Math.round(starts.first),
    warm_start_ms: Math.round(starts.warm),
    idle_pss_mb: idle,
    key_check_us,
    throughput: rows,
    ...measured,
  }
  process.stdout.write(
    `\nfirst start ${result.first_start_ms} ms, warm start ${result.warm_start_ms} ms, idle memory ${idle} MB, key check ${key_check_us} µs\n`,
  )
  mkdirSync("bench-results", { recursive: true })
  writeFileSync(
    `bench-results/${result.date.replaceAll(":", "-")}.json`,
    `${JSON.stringify(result, null, 2)}\n`,
  )
} finally {
  bare.kill()
  rmSync(dataDir, { recursive: true, force: true })
}
