/** Control groups: what a workload may use as a whole, in cgroup v1 or v2, whichever this machine has. */
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rmdir, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { PortError } from "../../../port-error.ts"
import { type GroupLimits, type GroupStats, type Hierarchy, hierarchies } from "./hierarchies.ts"

export interface Group {
  /** A process joins when its number is written to all of them. */
  readonly joinFiles: readonly string[]
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** What its controllers count. */
  stats(): Promise<Partial<GroupStats>>
  /** Ends what is left in it, and removes it. */
  remove(): Promise<void>
}

export interface Groups {
  readonly limits: { readonly memory: boolean; readonly cpu: boolean; readonly processes: boolean }
  readonly freeze: boolean
  readonly reasons: readonly string[]
  create(id: string, limits: GroupLimits): Promise<Group>
  /** Those that are there, of workloads that run and of ones that a crash left. */
  list(): Promise<readonly string[]>
  remove(id: string): Promise<void>
  /** Leaves nothing behind where no group is left. */
  close(): Promise<void>
}

const REMOVE_POLL_MS = 10
const REMOVE_MS_MAX = 10_000

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined

const ignoring =
  (...codes: readonly string[]) =>
  (error: unknown): undefined => {
    if (!codes.includes(String(codeOf(error)))) throw error
  }

const pidsIn = async (directory: string): Promise<readonly number[]> => {
  const text = await readFile(join(directory, "cgroup.procs"), "utf8").catch(ignoring("ENOENT", "ENODEV"))
  return (text ?? "").split("\n").filter(Boolean).map(Number)
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    ignoring("ESRCH")(error)
  }
}

const removeDirectory = async (directory: string): Promise<void> => {
  const deadline = performance.now() + REMOVE_MS_MAX
  for (;;) {
    try {
      return await rmdir(directory)
    } catch (error) {
      if (codeOf(error) === "ENOENT") return
      if (codeOf(error) !== "EBUSY" || performance.now() > deadline)
        throw new PortError("unavailable", `the control group ${directory} cannot be removed`, error)
    }
    for (const pid of await pidsIn(directory)) kill(pid)
    await delay(REMOVE_POLL_MS)
  }
}

const groupAt = (id: string, used: readonly Hierarchy[]): Group => {
  const directories = used.map(({ parentDir }) => join(parentDir, id))
  const each = (what: "freeze" | "thaw") =>
    Promise.all(used.map(({ parentDir, ...does }) => does[what]?.(join(parentDir, id))))
  return {
    joinFiles: directories.map(directory => join(directory, "cgroup.procs")),
    freeze: async () => void (await each("freeze")),
    thaw: async () => void (await each("thaw")),
    async stats() {
      const parts = await Promise.all(used.map(({ parentDir, stats }) => stats(join(parentDir, id))))
      return Object.assign({}, ...parts)
    },
    async remove() {
      await each("thaw").catch(ignoring("ENOENT", "ENODEV"))
      await Promise.all(directories.map(removeDirectory))
    },
  }
}

/** Tries in earnest: the files may be there and refuse. */
const works = async ({ parentDir, limit }: Hierarchy): Promise<string | undefined> => {
  const probe = join(parentDir, "probe")
  try {
    await mkdir(probe, { recursive: true })
    await limit(probe, { memoryBytes: 2 ** 26, vcpus: 1, processesMax: 10 })
    await rmdir(probe)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Long past the moment between a group's making and its first process. */
const ABANDONED_MS = 60_000

/** Looking through them takes longer the more there are, and a second server of one process would find the same. */
const searched = new Set<string>()

/**
 * Empty groups of data folders that nobody opened again after a crash. Those with processes are left alone: whose they
 * are is not known here.
 */
const removeAbandoned = async (allInstancesDir: string): Promise<void> => {
  if (searched.has(allInstancesDir)) return
  searched.add(allInstancesDir)
  const instances = await readdir(allInstancesDir, { withFileTypes: true }).catch(() => [])
  for (const instance of instances.filter(entry => entry.isDirectory())) {
    const parentDir = join(allInstancesDir, instance.name)
    const inside = await readdir(parentDir, { withFileTypes: true }).catch(() => [])
    for (const { name } of inside.filter(entry => entry.isDirectory())) {
      const made = await stat(join(parentDir, name)).catch(() => undefined)
      if (made && Date.now() - made.ctimeMs > ABANDONED_MS)
        await rmdir(join(parentDir, name)).catch(() => undefined)
    }
  }
}

/** `instance` tells the groups of one data folder from those of another on this machine. */
export const openGroups = async (instance: string, root = "/sys/fs/cgroup"): Promise<Groups> => {
  const found = await hierarchies(root, join("svc", instance))
  await Promise.all(found.used.map(({ parentDir }) => removeAbandoned(dirname(parentDir))))
  const tried = await Promise.all(found.used.map(async one => ({ one, problem: await works(one) })))
  const used = tried.filter(({ problem }) => problem === undefined).map(({ one }) => one)
  const enforced = new Set(used.flatMap(({ enforces }) => enforces))
  const problems = tried.flatMap(({ problem }) => (problem === undefined ? [] : [problem]))
  return {
    limits: {
      memory: enforced.has("memory"),
      cpu: enforced.has("cpu"),
      processes: enforced.has("processes"),
    },
    freeze: enforced.has("freeze"),
    reasons: [...found.reasons, ...problems],
    async create(id, limits) {
      try {
        await Promise.all(
          used.map(async ({ parentDir, limit }) => {
            const directory = join(parentDir, id)
            await mkdir(directory).catch(ignoring("EEXIST"))
            await limit(directory, limits)
          }),
        )
      } catch (error) {
        throw new PortError("unavailable", `the control group of workload ${id} cannot be made`, error)
      }
      return groupAt(id, used)
    },
    async list() {
      const names = await Promise.all(
        used.map(({ parentDir }) =>
          existsSync(parentDir) ? readdir(parentDir, { withFileTypes: true }) : [],
        ),
      )
      return [...new Set(names.flat().flatMap(entry => (entry.isDirectory() ? [entry.name] : [])))]
    },
    remove: id => groupAt(id, used).remove(),
    async close() {
      await Promise.all(used.map(({ parentDir }) => rmdir(parentDir).catch(() => undefined)))
    },
  }
}
