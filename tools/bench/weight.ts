/**
 * `npm run bench -- memory`: what a start costs and what an idle server holds, by process, area and large dependency. With
 * `--check` it fails when processor time or bytes exceed the budget; time on a clock is never judged.
 */
import { execFile } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { modules } from "../../packages/server/src/modules.ts"
import { family } from "./memory.ts"
import { makeDataDir, median, type Started, start, stop, stopAll } from "./platform.ts"

/** A start is judged by that of Node alone on the same machine in the same run: seconds differ between machines. */
const BUDGET = { startPerBareStart: 25, idleMegabytes: 100 }
const STARTS = 3
const BARE_STARTS = 3
const IDLE_SECONDS = [10, 130]
const DEPENDENCIES = ["typebox", "kysely", "fastify", "ajv", "pg", "pino", "ws", "undici", "yaml", "lmdb"]
const MORE_DEPENDENCIES = ["usearch", "ssh2", "mjml", "libpg-query", "nodemailer", "@aws-sdk/client-s3"]
/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100
const MIB = 2 ** 20

const processorSecondsOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Proportional set size without Node's own binary, which every Node program of a machine shares. */
const bytesOf = (pid: number): number => {
  let isOwn = true
  let kilobytes = 0
  for (const line of readFileSync(`/proc/${pid}/smaps`, "utf8").split("\n")) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isOwn = !/\/node$/.test(line)
    else if (isOwn) kilobytes += Number(/^Pss:\s+(\d+)/.exec(line)?.[1] ?? 0)
  }
  return kilobytes * 1024
}

const nameOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim().slice(0, 60)

const tell = (what: string, value: string) => void process.stdout.write(`${what.padEnd(64)} ${value}\n`)
const megabytes = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MB`

const idleBytes = (root: number): number => {
  let sum = 0
  for (const pid of family(root)) {
    try {
      const bytes = bytesOf(pid)
      tell(`  ${nameOf(pid)}`, megabytes(bytes))
      sum += bytes
    } catch {
      // It ended meanwhile.
    }
  }
  return sum
}

const loadOne = async (kind: "area" | "package", name: string): Promise<void> => {
  const words = ["--expose-gc", "tools/bench/load-one.ts", kind, name]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, words)
    const { cpuMs, bytes } = JSON.parse(stdout) as { cpuMs: number; bytes: number }
    tell(`  ${name}`, `${cpuMs.toFixed(0).padStart(5)} ms  ${megabytes(bytes).padStart(9)}`)
  } catch (error) {
    tell(`  ${name}`, `not measured: ${(error as Error).message.split("\n")[0]}`)
  }
}

/** Processor time of Node without a program. */
const bareStartSeconds = async (): Promise<number> => {
  const program = "const { user, system } = process.cpuUsage(); process.stdout.write(String(user + system))"
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", program])
  return Number(stdout) / 1e6
}

const measureStarts = async (dataDir: string): Promise<Started> => {
  await stop((await start(dataDir)).process)
  const seconds: number[] = []
  const bare: number[] = []
  for (let run = 0; run < STARTS; run++) {
    for (let one = 0; one < BARE_STARTS; one++) bare.push(await bareStartSeconds())
    const started = await start(dataDir)
    seconds.push(processorSecondsOf(started.process.pid ?? 0))
    await stop(started.process)
  }
  tell("processor time of the main process until it is ready", `${median(seconds).toFixed(2)} s`)
  tell("of Node alone", `${median(bare).toFixed(3)} s`)
  const times = median(seconds) / median(bare)
  tell("so a start is that of Node alone", `× ${times.toFixed(1)}, of ${BUDGET.startPerBareStart}`)
  if (times > BUDGET.startPerBareStart)
    over.push(`a start takes ${times.toFixed(1)} times the processor time of Node alone`)
  return start(dataDir)
}

const over: string[] = []

/** Gives what exceeds the budget. */
export const measureWeight = async (): Promise<readonly string[]> => {
  const dataDir = makeDataDir()
  try {
    const platform = await measureStarts(dataDir)
    let waited = 0
    for (const seconds of IDLE_SECONDS) {
      await delay((seconds - waited) * 1000)
      waited = seconds
      tell(`idle, ${seconds} s after the start`, "")
      const bytes = idleBytes(platform.process.pid ?? 0)
      tell("  together", megabytes(bytes))
      if (bytes > BUDGET.idleMegabytes * MIB) over.push(`idle after ${seconds} s: ${megabytes(bytes)}`)
    }
    await stop(platform.process)
    tell("areas, loaded from the sources beside what a start loads", "")
    for (const { name } of modules) await loadOne("area", name)
    tell("dependencies, each alone in a process", "")
    for (const name of [...DEPENDENCIES, ...MORE_DEPENDENCIES]) await loadOne("package", name)
    return over
  } finally {
    await stopAll()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
