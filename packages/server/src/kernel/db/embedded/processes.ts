import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { errorCode } from "../../startup-error.ts"

/** What child processes get instead of our own environment, which holds the platform's secrets. */
export const CHILD_ENVIRONMENT = {
  PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  LC_ALL: "C",
  TZ: "UTC",
}

const ENDED = "ended"

/** Sends a signal (0 only asks); false when the process is gone. A process of another user throws EPERM. */
export const signalProcess = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false
    throw error
  }
}

export const isLiving = (pid: number): boolean => {
  try {
    return pid > 0 && signalProcess(pid, 0)
  } catch {
    return true
  }
}

/**
 * A text that differs between two processes which bore the same id, across reboots too.
 * Undefined when the system does not tell; a zombie counts as ended.
 */
export const startTimeOf = (pid: number): string | undefined => {
  try {
    if (process.platform !== "linux") {
      const started = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { env: CHILD_ENVIRONMENT })
      return started.toString().trim() || undefined
    }
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    // The second field, the program's name in parentheses, may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    if (fields[0] === "Z" || fields[0] === "X") return ENDED
    const startedTicks = fields[19]
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()}:${startedTicks}`
  } catch {
    return undefined
  }
}

/** False only if the process with this id and start time has certainly ended. */
export const isSameProcess = (pid: number, startTime: string | undefined): boolean => {
  if (!isLiving(pid)) return false
  const current = startTimeOf(pid)
  return current === undefined || startTime === undefined || current === startTime
}

const isPostgresIn = (pid: string, cluster: string): boolean => {
  try {
    // Every PostgreSQL process keeps its data directory as working directory, whatever its title says.
    if (readlinkSync(`/proc/${pid}/cwd`) !== cluster) return false
    return /^([^\0]*\/)?postgres(\0|:)/.test(readFileSync(`/proc/${pid}/cmdline`, "latin1"))
  } catch {
    return false
  }
}

/**
 * Ids of the living PostgreSQL processes of a data directory (an absolute path without links).
 * Where there is no /proc only the postmaster is found, by the directory in its arguments.
 */
export const postgresProcessesOf = (cluster: string): readonly number[] => {
  if (process.platform === "linux") {
    const ids = readdirSync("/proc").filter(name => /^\d+$/.test(name))
    return ids.filter(pid => isPostgresIn(pid, cluster)).map(Number)
  }
  const listing = execFileSync("ps", ["-axww", "-o", "pid=,command="], { env: CHILD_ENVIRONMENT })
  return listing
    .toString()
    .split("\n")
    .filter(line => line.includes("postgres") && `${line} `.includes(` -D ${cluster} `))
    .map(line => Number.parseInt(line, 10))
}
