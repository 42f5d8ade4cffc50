import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readFile, rmdir, statfs, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { CHILD_ENVIRONMENT } from "../../../../../kernel/db/embedded/processes.ts"
import { errorCode } from "../../../../../kernel/startup-error.ts"
import { PortError } from "../../../../port-error.ts"

/** What a volume has for itself and cannot exceed. */
export interface Limits {
  /** Of its processes, its shared memory and its part of the page cache; more of the last is given back first. */
  readonly memoryBytes: number
  /** Processors; 0.5 is half of one. */
  readonly cpus: number
  readonly processesMax: number
}

/** A control group (cgroup v2) for each volume, named after it, in one parent directory. */
export interface ResourceGroups {
  /**
   * Puts a process into the volume's group, which is made or gets these limits; what it starts from then on is in it
   * too. Call it right after the spawn. `unavailable` when the kernel refuses or the process is gone.
   */
  admit(volumeId: string, pid: number, limits: Limits): Promise<void>
  /** Ends what is left in the group and removes it; does nothing when there is none. */
  remove(volumeId: string): Promise<void>
}

export type ResourceGroupsFound =
  | { readonly groups: ResourceGroups }
  | { readonly groups: undefined; readonly reason: string }

/** CGROUP2_SUPER_MAGIC of linux/magic.h. */
const CGROUP2_MAGIC = 0x63677270
const controllers = ["cpu", "memory", "pids"] as const
const CPU_PERIOD_US = 100_000
/** The kernel takes no smaller part of a period. */
const CPU_QUOTA_US_MIN = 1_000
const REMOVE_POLL_MS = 20
const REMOVE_TIMEOUT_MS = 5_000
const groupNamePattern = /^[A-Za-z0-9][A-Za-z0-9-]*$/

const groupDir = (parentDir: string, volumeId: string): string => {
  if (!groupNamePattern.test(volumeId))
    throw new PortError("refused", "a volume's id names its control group")
  return join(parentDir, volumeId)
}

const makeDir = async (directory: string): Promise<void> => {
  await mkdir(directory).catch(error => {
    if (errorCode(error) !== "EEXIST") throw error
  })
}

const ignoring =
  (...codes: readonly string[]) =>
  (error: unknown): undefined => {
    if (!codes.includes(errorCode(error) ?? "")) throw error
  }

const limit = async (directory: string, { memoryBytes, cpus, processesMax }: Limits): Promise<void> => {
  const quotaUs = Math.max(CPU_QUOTA_US_MIN, Math.round(cpus * CPU_PERIOD_US))
  await writeFile(join(directory, "memory.max"), String(Math.floor(memoryBytes)))
  // Absent on a kernel that does not count swap. A database that swaps is slower than one that is told no.
  await writeFile(join(directory, "memory.swap.max"), "0").catch(ignoring("ENOENT", "EACCES"))
  await writeFile(join(directory, "cpu.max"), `${quotaUs} ${CPU_PERIOD_US}`)
  await writeFile(join(directory, "pids.max"), String(processesMax))
}

const removeGroup = async (directory: string): Promise<void> => {
  const deadline = performance.now() + REMOVE_TIMEOUT_MS
  for (;;) {
    try {
      return await rmdir(directory)
    } catch (error) {
      if (errorCode(error) === "ENOENT") return
      if (errorCode(error) !== "EBUSY" || performance.now() > deadline) throw error
    }
    // Linux 5.14. On an older kernel they are waited for.
    await writeFile(join(directory, "cgroup.kill"), "1").catch(ignoring("ENOENT", "EACCES"))
    await delay(REMOVE_POLL_MS)
  }
}

const refusal = (what: string, error: unknown): PortError =>
  error instanceof PortError ? error : new PortError("unavailable", what, error)

export const createResourceGroups = (parentDir: string): ResourceGroups => ({
  async admit(volumeId, pid, limits) {
    const directory = groupDir(parentDir, volumeId)
    try {
      await makeDir(directory)
      await limit(directory, limits)
      await writeFile(join(directory, "cgroup.procs"), String(pid))
    } catch (error) {
      throw refusal(`the control group ${directory} cannot be set`, error)
    }
  },
  async remove(volumeId) {
    const directory = groupDir(parentDir, volumeId)
    await removeGroup(directory).catch(error => {
      throw refusal(`the control group ${directory} cannot be removed`, error)
    })
  },
})

const missingControllers = async (directory: string): Promise<readonly string[]> => {
  const offered = (await readFile(join(directory, "cgroup.controllers"), "utf8")).trim().split(" ")
  return controllers.filter(controller => !offered.includes(controller))
}

/** Lets the groups in a directory have limits. */
const enableControllers = async (directory: string): Promise<void> =>
  await writeFile(join(directory, "cgroup.subtree_control"), controllers.map(name => `+${name}`).join(" "))

const endProbe = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
}

/** Puts a process that only waits into a group: the kernel may let us make groups, but move nobody. */
const probe = async (groups: ResourceGroups): Promise<void> => {
  const name = `probe-${process.pid}`
  const child = spawn("sleep", ["60"], { env: CHILD_ENVIRONMENT, cwd: "/", stdio: "ignore" })
  try {
    await once(child, "spawn")
    await groups.admit(name, child.pid as number, { memoryBytes: 2 ** 26, cpus: 1, processesMax: 10 })
  } finally {
    if (child.pid !== undefined) await endProbe(child)
    await groups.remove(name)
  }
}

const causeOf = (error: unknown): string => {
  const cause = error instanceof PortError && error.cause !== undefined ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}

/**
 * Whether volumes can have resources of their own here. `parentDir` is a directory of a cgroup v2 hierarchy that we may
 * write and that holds no processes, such as /sys/fs/cgroup/svc; it is made when only it is missing. Groups of cgroup
 * v1 are not used. An ordinary user needs a delegated subtree that holds us as well (systemd: `Delegate=yes`).
 */
export const detectResourceGroups = async (parentDir: string | undefined): Promise<ResourceGroupsFound> => {
  const absent = (reason: string): ResourceGroupsFound => ({ groups: undefined, reason })
  if (process.platform !== "linux") return absent("this system has no control groups")
  if (parentDir === undefined) return absent("no directory for control groups is set")
  try {
    const above = dirname(parentDir)
    if ((await statfs(above)).type !== CGROUP2_MAGIC)
      return absent(`${above} is not in a cgroup v2 hierarchy`)
    const withheld = await missingControllers(above)
    if (withheld.length > 0) return absent(`${above} does not offer the controllers ${withheld.join(", ")}`)
    await makeDir(parentDir)
    if ((await missingControllers(parentDir)).length > 0) await enableControllers(above)
    await enableControllers(parentDir)
    const groups = createResourceGroups(parentDir)
    await probe(groups)
    return { groups }
  } catch (error) {
    return absent(`${basename(parentDir)} cannot be used for control groups: ${causeOf(error)}`)
  }
}
