import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { setTimeout as delay } from "node:timers/promises"
import { StartupError } from "../../startup-error.ts"
import { type Account, spawnAs } from "./account.ts"
import { type Binaries, programOf } from "./binaries.ts"
import { cannotRun, diskFull } from "./cluster.ts"
import { CHILD_ENVIRONMENT } from "./processes.ts"

/** How a server's process ended; `expected` after stop(). */
export interface PostgresExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly expected: boolean
}

export interface PostgresServer {
  readonly pid: number
  readonly exited: Promise<PostgresExit>
  stop(): Promise<void>
}

const QUIT_AFTER_MS = 5_000
const KILL_AFTER_MS = 8_000
/** Redoing the log after a crash is bounded by max_wal_size, and takes seconds. */
const READY_TIMEOUT_MS = 120_000
const REMAINING_OUTPUT_MS = 1_000
const LINES_KEPT = 20
const READY = "database system is ready to accept connections"

/** Starts a server and waits until it accepts connections; throws a StartupError when it ends before that. */
export const startServer = async (options: {
  binaries: Binaries
  cluster: string
  settings: readonly string[]
  account: Account | undefined
  log: (line: string) => void
}): Promise<PostgresServer> => {
  const { binaries, cluster, settings, account, log } = options
  const child = spawn(
    programOf(binaries, "postgres"),
    ["-D", cluster, ...settings.flatMap(setting => ["-c", setting])],
    {
      ...spawnAs(account),
      env: CHILD_ENVIRONMENT,
      cwd: "/",
      stdio: ["ignore", "ignore", "pipe"],
      // A group of its own: Ctrl-C in a terminal must not end the database before the platform has drained.
      detached: true,
    },
  )
  const lastLines: string[] = []
  const ready = Promise.withResolvers<"ready">()
  createInterface({ input: child.stderr }).on("line", line => {
    log(line)
    lastLines.push(line)
    if (lastLines.length > LINES_KEPT) lastLines.shift()
    if (line.includes(READY)) ready.resolve("ready")
  })

  const { exited, stop } = control(child)
  const timeout = new AbortController()
  const late = delay(READY_TIMEOUT_MS, "late" as const, { signal: timeout.signal, ref: false })
  late.catch(() => undefined)
  const outcome = await Promise.race([ready.promise, exited, late])
  timeout.abort()

  if (outcome === "ready" && child.pid !== undefined) return { pid: child.pid, exited, stop }
  await stop()
  throw startFailure(cluster, outcome, lastLines)
}

const control = (child: ChildProcess) => {
  let stopping = false
  const exited = new Promise<PostgresExit>((resolve, reject) => {
    child.once("error", error => {
      if (child.pid !== undefined) return // a signal that could not be sent; the server runs on
      process.removeListener("exit", endWithUs)
      reject(cannotRun(error))
    })
    child.once("exit", async (code, signal) => {
      process.removeListener("exit", endWithUs)
      const expected = stopping
      // Its last lines may still be in the pipe, which closes once its children are gone too.
      if (child.stderr?.closed === false) await Promise.race([closed, delay(REMAINING_OUTPUT_MS)])
      resolve({ code, signal, expected })
    })
  })
  const closed = new Promise<void>(resolve => child.once("close", () => resolve()))
  exited.catch(() => undefined)

  const endWithUs = () => child.kill("SIGINT")
  process.once("exit", endWithUs)

  const stop = async (): Promise<void> => {
    if (child.pid === undefined) return
    stopping = true
    child.kill("SIGINT") // a fast shutdown: roll back, checkpoint, exit
    const timers = [
      setTimeout(() => child.kill("SIGQUIT"), QUIT_AFTER_MS),
      setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS),
    ]
    await exited
    timers.forEach(clearTimeout)
  }
  return { exited, stop }
}

const startFailure = (
  cluster: string,
  outcome: PostgresExit | "ready" | "late",
  lastLines: readonly string[],
): StartupError => {
  if (lastLines.some(line => /No space left on device|Disk quota exceeded/.test(line)))
    return diskFull(cluster)
  const what =
    typeof outcome === "string"
      ? `was not ready after ${READY_TIMEOUT_MS / 1000} seconds`
      : `ended while starting (${outcome.signal ?? `exit code ${outcome.code}`})`
  return new StartupError(
    `PostgreSQL ${what} on ${cluster}; its last words: ${lastLines.join(" | ") || "none"}`,
    "Mend what they name, or set SVC_DATABASE_URL to an existing PostgreSQL.",
  )
}
