import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { onDisk, StartupError } from "../../startup-error.ts"
import { isLiving, postgresProcessesOf, signalProcess } from "./processes.ts"

const POLL_MS = 20
const QUIT_AFTER_MS = 5_000
const KILL_AFTER_MS = 8_000
const GIVE_UP_AFTER_MS = 15_000

/**
 * Clears the way after the death of the process that started PostgreSQL on this cluster: a server that outlived it
 * is shut down, and lock files that name a living stranger are removed. Call it only under the data directory's lock.
 */
export const clearLeftovers = async (
  cluster: string,
  socketDir: string,
  log: (line: string) => void,
): Promise<void> => {
  const pidFile = join(cluster, "postmaster.pid")
  if (!existsSync(pidFile)) return

  await endSurvivors(cluster, pidFile, log)
  onDisk(`remove the stale lock files of ${cluster}`, () => {
    // PostgreSQL sees for itself that a process is gone, and then that no shared memory of it is left in use. It
    // cannot see that the id belongs to another process now, and fails to start.
    const pid = readPid(pidFile)
    if (pid !== undefined && isLiving(pid)) rmSync(pidFile, { force: true })
    rmSync(join(socketDir, ".s.PGSQL.5432.lock"), { force: true })
    rmSync(join(socketDir, ".s.PGSQL.5432"), { force: true })
  })
}

const readPid = (pidFile: string): number | undefined => {
  if (!existsSync(pidFile)) return undefined
  const pid = Number.parseInt(readFileSync(pidFile, "utf8"), 10)
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
}

const endSurvivors = async (cluster: string, pidFile: string, log: (line: string) => void): Promise<void> => {
  let survivors = postgresProcessesOf(cluster)
  if (survivors.length === 0) return

  const postmaster = survivors.find(pid => pid === readPid(pidFile))
  log(`shutting down the PostgreSQL process ${postmaster ?? survivors[0]} that outlived the last Svc`)
  const steps: (readonly [NodeJS.Signals, number])[] = [
    ["SIGINT", 0], // a fast shutdown: roll back, checkpoint, exit
    ["SIGQUIT", QUIT_AFTER_MS],
    ["SIGKILL", KILL_AFTER_MS],
  ]
  const started = performance.now()
  while (survivors.length > 0) {
    const waited = performance.now() - started
    if (waited > GIVE_UP_AFTER_MS) throw stillRunning(cluster, survivors)
    if (waited >= (steps[0]?.[1] ?? Infinity)) sendAll(survivors, postmaster, steps.shift()?.[0])
    await delay(POLL_MS)
    survivors = postgresProcessesOf(cluster)
  }
}

/** The postmaster ends its children in order; without it (it was killed alone) they are told one by one. */
const sendAll = (
  survivors: readonly number[],
  postmaster: number | undefined,
  signal: NodeJS.Signals | undefined,
): void => {
  if (signal === undefined) return
  const addressed = postmaster !== undefined && signal !== "SIGKILL" ? [postmaster] : survivors
  // Cancelling a query (SIGINT) does not end the backend that runs it; SIGTERM does.
  const sent = postmaster === undefined && signal === "SIGINT" ? "SIGTERM" : signal
  for (const pid of addressed) signalProcess(pid, sent)
}

const stillRunning = (cluster: string, survivors: readonly number[]): StartupError =>
  new StartupError(
    `PostgreSQL still runs on ${cluster} (process ${survivors.join(", ")}) and does not shut down.`,
    `End it (kill -9 ${survivors.join(" ")}), then start Svc again.`,
  )
