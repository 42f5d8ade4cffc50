import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { CHILD_ENVIRONMENT } from "../../../../kernel/db/embedded/processes.ts"
import { PortError } from "../../../port-error.ts"

/** What is run, and as whom. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly options: { readonly uid?: number; readonly gid?: number }
}

export interface ServerProcess {
  readonly pid: number
  /** Settles when the process has ended, for whatever reason. */
  readonly exited: Promise<void>
  /** Rolls back, checkpoints, hands the log over to the archiver, exits; harsher after 20 and 25 seconds. */
  stop(): Promise<void>
  reload(): void
}

export interface StartHooks {
  /** What the server says, a line at a time. */
  readonly log: (line: string) => void
  /** Called with the process id before the server does anything of note. */
  readonly spawned?: (pid: number) => Promise<void>
}

const READY = /database system is ready to accept (?:read-only )?connections/
const TARGET_NOT_REACHED = "recovery ended before configured recovery target was reached"
const LINES_KEPT = 10
const QUIT_AFTER_MS = 20_000
const KILL_AFTER_MS = 25_000

/** The log ended before the point that recovery was told to reach. */
export class TargetNotReached extends PortError {
  constructor() {
    super("refused", "the history ends before that point")
  }
}

const running = new Set<ChildProcess>()
let hooked = false

/** Servers must not outlive us. One listener for all: Node warns of more than ten. */
const endWithUs = (child: ChildProcess) => {
  if (!hooked) {
    process.once("exit", () => {
      for (const server of running) server.kill("SIGINT")
    })
  }
  hooked = true
  running.add(child)
  child.once("exit", () => running.delete(child))
}

/** Starts a server and waits until it takes connections, however long it has to replay. */
export const startServerProcess = async (
  { command, args, options }: Command,
  { log, spawned = async () => undefined }: StartHooks,
): Promise<ServerProcess> => {
  const child = spawn(command, args, {
    ...options,
    env: CHILD_ENVIRONMENT,
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe"],
    // A group of its own: Ctrl-C in a terminal is for the platform, which then ends its servers in order.
    detached: true,
  })
  endWithUs(child)
  const lastLines: string[] = []
  const ready = Promise.withResolvers<"ready">()
  createInterface({ input: child.stderr }).on("line", line => {
    log(line)
    lastLines.push(line)
    if (lastLines.length > LINES_KEPT) lastLines.shift()
    if (READY.test(line)) ready.resolve("ready")
  })
  const begun = Promise.withResolvers<void>()
  const exited = new Promise<void>(resolve => {
    child.once("error", error => {
      if (child.pid !== undefined) return // a signal that could not be sent; the server runs on
      running.delete(child)
      begun.reject(new PortError("unavailable", "PostgreSQL cannot be run here", error))
      resolve()
    })
    child.once("exit", () => resolve())
  })
  child.once("spawn", () => begun.resolve())
  await begun.promise
  await spawned(child.pid as number).catch(error => {
    child.kill("SIGKILL")
    throw error
  })

  const outcome = await Promise.race([ready.promise, exited])
  if (outcome !== "ready") throw startFailure(lastLines)
  return {
    pid: child.pid as number,
    exited,
    stop: () => stop(child, exited),
    reload: () => void child.kill("SIGHUP"),
  }
}

const stop = async (child: ChildProcess, exited: Promise<void>): Promise<void> => {
  child.kill("SIGINT")
  const timers = [
    setTimeout(() => child.kill("SIGQUIT"), QUIT_AFTER_MS),
    setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS),
  ]
  await exited
  timers.forEach(clearTimeout)
}

const startFailure = (lastLines: readonly string[]): PortError => {
  const words = lastLines.join(" | ") || "none"
  if (words.includes(TARGET_NOT_REACHED)) return new TargetNotReached()
  if (/No space left on device|Disk quota exceeded/.test(words))
    return new PortError("unavailable", "the disk is full")
  return new PortError("unavailable", `PostgreSQL ended while starting; its last words: ${words}`)
}
