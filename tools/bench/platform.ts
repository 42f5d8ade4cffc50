/** The platform as a user starts it, for measurements. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, readFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { freePort } from "../../packages/server/src/testing/ports.ts"

/** What `npm start` hands to Node. */
const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: { start: string } }
const START_WORDS = scripts.start.replace(/^(?:exec )?node /, "").split(" ")

// The bench's parts are processes of their own and find it here; runs beside each other have different ones.
process.env.BENCH_PORT ??= String(await freePort())
export const PORT = Number(process.env.BENCH_PORT)
const READY_MS_MAX = 120_000
const STOP_MS_MAX = 60_000
const ANSWER_MS_MAX = 2_000
/** Who measures may choose what runs workloads, and whether content is encrypted. */
const PASSED = [
  "PATH",
  "SVC_ENCRYPT_AT_REST",
  "SVC_RUNTIME",
  "SVC_RUNSC",
  "SVC_DOCKER_HOST",
  "SVC_QEMU_KERNEL",
] as const

export interface Started {
  readonly process: ChildProcess
  readonly ms: number
}

const running = new Set<ChildProcess>()
// A bench that fails leaves nobody behind who holds its port, and the end of its output.
process.once("exit", () => {
  for (const child of running) child.kill("SIGTERM")
})

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** Whoever listens there would be taken for the platform that is about to start. */
const demandFree = async (port: number): Promise<void> => {
  const server = createServer()
  try {
    await once(server.listen(port, "127.0.0.1"), "listening")
  } catch (error) {
    const hint = "perhaps a platform that a run before this one left; end it first"
    throw new Error(`something listens on port ${port}: ${hint}`, { cause: error })
  }
  await new Promise(resolve => server.close(resolve))
}

/** A data folder for a platform, which is gone when it is removed: what database servers cannot reach is placed elsewhere. */
export const makeDataDir = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-"))
  chmodSync(folder, 0o711)
  return folder
}

/** Starts the platform as a user would and waits until it really serves; a second one needs a port of its own. */
export const start = async (
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  port = PORT,
): Promise<Started> => {
  await demandFree(port)
  const passed = PASSED.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  const from = performance.now()
  const child = spawn(process.execPath, START_WORDS, {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...Object.fromEntries(passed),
      ...{ SVC_PORT: String(port), SVC_DATA_DIR: dataDir, SVC_RATE_LIMIT: "off", SVC_AUTH_RATE_LIMIT: "off" },
      ...env,
    },
  })
  running.add(child)
  child.once("exit", () => running.delete(child))
  while (!(await answers(`http://127.0.0.1:${port}/health/ready`))) {
    if (hasEnded(child)) throw new Error("the platform did not start")
    if (performance.now() - from > READY_MS_MAX) {
      await stop(child)
      throw new Error(`the platform was not ready within ${READY_MS_MAX / 1000} s`)
    }
    await delay(5)
  }
  return { process: child, ms: performance.now() - from }
}

export const answers = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })).ok
  } catch {
    return false
  }
}

/** Ends it in order, and where it does not end, without. */
export const stop = async (child: ChildProcess): Promise<void> => {
  if (hasEnded(child)) return
  const gone = once(child, "exit")
  child.kill("SIGTERM")
  const patience = setTimeout(() => {
    process.stderr.write(`the platform did not end within ${STOP_MS_MAX / 1000} s of SIGTERM and is killed\n`)
    child.kill("SIGKILL")
  }, STOP_MS_MAX)
  await gone
  clearTimeout(patience)
}

export const stopAll = async (): Promise<void> => {
  await Promise.all([...running].map(stop))
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

export const apiKeyOf = (dataDir: string): string =>
  (JSON.parse(readFileSync(join(dataDir, "first-run.json"), "utf8")) as { api_key: string }).api_key
