/** The controllers of this machine: one hierarchy for each in cgroup v1, one for all in v2 (kernel docs, cgroup-v2.rst). */
import { existsSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"

export interface GroupLimits {
  readonly memoryBytes: number
  readonly vcpus: number
  readonly processesMax: number
}

export interface GroupStats {
  readonly cpuMs: number
  readonly memoryBytes: number
  /** Never less than what is used: the two are read one after the other, while the workload takes more. */
  readonly memoryPeakBytes: number
  readonly outOfMemoryKills: number
  readonly processes: number
}

export type Enforced = "memory" | "cpu" | "processes" | "freeze"

export interface Hierarchy {
  /** Holds a directory for each workload. */
  readonly parentDir: string
  readonly enforces: readonly Enforced[]
  limit(directory: string, limits: GroupLimits): Promise<void>
  stats(directory: string): Promise<Partial<GroupStats>>
  readonly freeze?: (directory: string) => Promise<void>
  readonly thaw?: (directory: string) => Promise<void>
}

const CPU_PERIOD_US = 100_000
/** The kernel takes no smaller part of a period. */
const CPU_QUOTA_US_MIN = 1_000
/** The agent. */
const OWN_PROCESSES = 1

const quotaUs = (vcpus: number) => Math.max(CPU_QUOTA_US_MIN, Math.round(vcpus * CPU_PERIOD_US))

const write = (directory: string, file: string, value: string | number) =>
  writeFile(join(directory, file), String(value))

/** Files that a kernel may have been built without. */
const writeIfThere = async (directory: string, file: string, value: string | number): Promise<void> => {
  if (existsSync(join(directory, file))) await write(directory, file, value)
}

const read = async (directory: string, file: string): Promise<string> =>
  await readFile(join(directory, file), "utf8").catch(() => "")

const numberIn = async (directory: string, file: string): Promise<number> =>
  Number((await read(directory, file)).trim()) || 0

/** Of a file with a name and a number on each line. */
const fieldIn = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0)

const v1: Readonly<Record<string, Omit<Hierarchy, "parentDir">>> = {
  memory: {
    enforces: ["memory"],
    async limit(directory, { memoryBytes }) {
      await write(directory, "memory.limit_in_bytes", Math.floor(memoryBytes))
      await writeIfThere(directory, "memory.memsw.limit_in_bytes", Math.floor(memoryBytes))
    },
    async stats(directory) {
      const [used, peak, stat, control] = await Promise.all([
        numberIn(directory, "memory.usage_in_bytes"),
        numberIn(directory, "memory.max_usage_in_bytes"),
        read(directory, "memory.stat"),
        read(directory, "memory.oom_control"),
      ])
      return {
        memoryBytes: Math.max(0, used - fieldIn(stat, "total_inactive_file")),
        memoryPeakBytes: Math.max(peak, used),
        outOfMemoryKills: fieldIn(control, "oom_kill"),
      }
    },
  },
  cpu: {
    enforces: ["cpu"],
    async limit(directory, { vcpus }) {
      await write(directory, "cpu.cfs_period_us", CPU_PERIOD_US)
      await write(directory, "cpu.cfs_quota_us", quotaUs(vcpus))
    },
    stats: async () => ({}),
  },
  cpuacct: {
    enforces: [],
    limit: async () => undefined,
    stats: async directory => ({ cpuMs: (await numberIn(directory, "cpuacct.usage")) / 1e6 }),
  },
  pids: {
    enforces: ["processes"],
    limit: (directory, { processesMax }) => write(directory, "pids.max", processesMax + OWN_PROCESSES),
    stats: async directory => ({ processes: await numberIn(directory, "pids.current") }),
  },
  freezer: {
    enforces: ["freeze"],
    limit: async () => undefined,
    stats: async () => ({}),
    freeze: directory => write(directory, "freezer.state", "FROZEN"),
    thaw: directory => write(directory, "freezer.state", "THAWED"),
  },
}

const v2: Omit<Hierarchy, "parentDir"> = {
  enforces: ["memory", "cpu", "processes", "freeze"],
  async limit(directory, { memoryBytes, vcpus, processesMax }) {
    await write(directory, "memory.max", Math.floor(memoryBytes))
    await writeIfThere(directory, "memory.swap.max", 0)
    await write(directory, "cpu.max", `${quotaUs(vcpus)} ${CPU_PERIOD_US}`)
    await write(directory, "pids.max", processesMax + OWN_PROCESSES)
  },
  async stats(directory) {
    const [cpu, used, peak, stat, events, processes] = await Promise.all([
      read(directory, "cpu.stat"),
      numberIn(directory, "memory.current"),
      numberIn(directory, "memory.peak"),
      read(directory, "memory.stat"),
      read(directory, "memory.events"),
      numberIn(directory, "pids.current"),
    ])
    return {
      cpuMs: fieldIn(cpu, "usage_usec") / 1e3,
      memoryBytes: Math.max(0, used - fieldIn(stat, "inactive_file")),
      memoryPeakBytes: Math.max(peak, used),
      outOfMemoryKills: fieldIn(events, "oom_kill"),
      processes,
    }
  },
  freeze: directory => write(directory, "cgroup.freeze", 1),
  thaw: directory => write(directory, "cgroup.freeze", 0),
}

const enableBelow = async (root: string, path: string): Promise<void> => {
  let directory = root
  for (const part of ["", ...path.split("/")]) {
    directory = join(directory, part)
    await mkdir(directory, { recursive: true })
    await write(directory, "cgroup.subtree_control", "+cpu +memory +pids")
  }
}

/** Those that are there, made down to `path`. */
export const hierarchies = async (
  root: string,
  path: string,
): Promise<{ readonly used: readonly Hierarchy[]; readonly reasons: readonly string[] }> => {
  if (existsSync(join(root, "cgroup.controllers"))) {
    try {
      await enableBelow(root, path)
      return { used: [{ ...v2, parentDir: join(root, path) }], reasons: [] }
    } catch (error) {
      return { used: [], reasons: [`control groups cannot be made: ${(error as Error).message}`] }
    }
  }
  const names = Object.keys(v1)
  const used: Hierarchy[] = []
  const reasons: string[] = []
  for (const name of names) {
    const parentDir = join(root, name, path)
    const part = v1[name]
    if (!part || !existsSync(join(root, name, "cgroup.procs"))) {
      reasons.push(`the machine has no control groups for ${name}`)
      continue
    }
    await mkdir(parentDir, { recursive: true }).then(
      () => used.push({ ...part, parentDir }),
      (error: Error) => reasons.push(`control groups for ${name} cannot be made: ${error.message}`),
    )
  }
  return { used, reasons }
}

/**
 * Tells what the groups count that a process is in, which somebody else made (/proc/<pid>/cgroup, cgroups(7)); undefined
 * where they are not seen from here.
 */
export const countsOf = async (
  pid: number,
  root = "/sys/fs/cgroup",
): Promise<(() => Promise<Partial<GroupStats>>) | undefined> => {
  const text = await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => "")
  const lines = text.split("\n").map(line => line.split(":"))
  const pathOf = (name: string) => lines.find(([, names]) => names?.split(",").includes(name))?.[2]
  const isUnified = existsSync(join(root, "cgroup.controllers"))
  const places = isUnified
    ? [{ ...v2, directory: join(root, pathOf("") ?? "none") }]
    : Object.entries(v1).map(([name, part]) => ({
        ...part,
        directory: join(root, name, pathOf(name) ?? "none"),
      }))
  if (!places.every(({ directory }) => existsSync(directory))) return undefined
  return async () => Object.assign({}, ...(await Promise.all(places.map(one => one.stats(one.directory)))))
}
