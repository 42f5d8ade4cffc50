/**
 * `npm run bench`: what the pipeline costs, as ratios against a bare server in the same run. Never a test. It takes less
 * with smaller `BENCH_SECONDS`, `BENCH_DENSITY`, `BENCH_STREAMS`, `BENCH_CRON_SCHEDULES` and `BENCH_SEARCH_DOCUMENTS`;
 * no part takes longer than `BENCH_PART_SECONDS`. `npm run bench -- memory` measures start and idle memory alone. What could not be measured is told, and the rest is measured.
 */
import { execFile, spawn } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { cpus, totalmem } from "node:os"
import { promisify } from "node:util"
import { freePort } from "../packages/server/src/testing/ports.ts"
import { type Figures, loadAverage } from "./bench/figures.ts"
import { measureKeyCheck } from "./bench/key-check.ts"
import { type Load, load } from "./bench/load.ts"
import { residentMegabytes } from "./bench/memory.ts"
import { parts } from "./bench/parts.ts"
import {
  answers,
  apiKeyOf,
  makeDataDir,
  median,
  PORT,
  type Started,
  start,
  stop,
  stopAll,
} from "./bench/platform.ts"
import { endCurrentPart, runPart } from "./bench/run-part.ts"

const CONNECTIONS = [1, 32, 256] as const
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const BARE_PORT = await freePort()

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

const print = ({ what, connections, requests_per_second, of_bare, p50_ms, p99_ms }: Row) => {
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
  const rows: Row[] = []
  const tell = (one: Row) => {
    rows.push(one)
    print(one)
  }
  try {
    await load(set, 1, 1)
    await load(get, 32, 2)
    for (const connections of CONNECTIONS) {
      const bare = await load(echo, connections, SECONDS)
      tell(row("bare node:http echo", connections, bare, bare))
      tell(row("KV get", connections, await load(get, connections, SECONDS), bare))
      tell(row("KV set (on disk)", connections, await load(set, connections, SECONDS), bare))
      tell(row("encrypt 1 KiB", connections, await load(encrypt, connections, SECONDS), bare))
    }
  } catch (error) {
    process.stdout.write(`throughput: not finished: ${(error as Error).message}\n`)
    process.exitCode = 1
  }
  return rows
}

if (process.argv[2] === "memory") {
  const { measureWeight } = await import("./bench/weight.ts")
  const over = await measureWeight()
  for (const excess of over) process.stderr.write(`over budget: ${excess}\n`)
  process.exit(over.length > 0 && process.argv.includes("--check") ? 1 : 0)
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter(name => !Object.hasOwn(parts, name))
if (unknown.length > 0)
  throw new Error(`no such part: ${unknown.join(", ")}; there are ${Object.keys(parts).join(", ")}`)

let platform: Started | undefined

/** The parts one after another. After one that was cut off the platform may be busy with it still, and is started anew. */
const measure = async (dataDir: string): Promise<Record<string, Figures>> => {
  const measured: Record<string, Figures> = {}
  for (const name of Object.keys(parts)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    process.stdout.write(`\n${name} (load ${loadAverage()})\n`)
    platform ??= await start(dataDir)
    const { figures, isWhole } = await runPart(name, dataDir, platform.process.pid ?? 0)
    measured[name] = figures
    if (isWhole && (await answers(`http://127.0.0.1:${PORT}/health/ready`))) continue
    process.exitCode = 1
    await stop(platform.process)
    platform = undefined
  }
  return measured
}

const dataDir = makeDataDir()
const bare = spawn(process.execPath, ["tools/bench/bare.ts", String(BARE_PORT)], { stdio: "inherit" })

const cleanUp = async () => {
  bare.kill()
  await endCurrentPart()
  await stopAll()
  rmSync(dataDir, { recursive: true, force: true })
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => void cleanUp().finally(() => process.exit(1)))

try {
  const load_before = loadAverage()
  const starts = await startTimes(dataDir)
  platform = await start(dataDir)
  await new Promise(resolve => setTimeout(resolve, 3_000))
  const idle = await residentMegabytes(platform.process.pid ?? 0)
  const key_check_us = await measureKeyCheck()
  process.stdout.write(
    `first start ${Math.round(starts.first)} ms, warm start ${Math.round(starts.warm)} ms, idle memory ${idle} MB, key check ${key_check_us} µs\n`,
  )
  const rows = chosen.length > 0 ? [] : await throughput(apiKeyOf(dataDir))
  const measured = await measure(dataDir)

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
      load_before,
      load_after: loadAverage(),
    },
    first_start_ms: Math.round(starts.first),
    warm_start_ms: Math.round(starts.warm),
    idle_pss_mb: idle,
    key_check_us,
    throughput: rows,
    ...measured,
  }
  mkdirSync("bench-results", { recursive: true })
  writeFileSync(
    `bench-results/${result.date.replaceAll(":", "-")}.json`,
    `${JSON.stringify(result, null, 2)}\n`,
  )
} finally {
  await cleanUp()
}
