import { readdirSync, readFileSync } from "node:fs"

const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])

export const family = (root: number): number[] => {
  const pids = readdirSync("/proc").flatMap(name => (/^\d+$/.test(name) ? [Number(name)] : []))
  const members = [root]
  for (const member of members) {
    members.push(
      ...pids.filter(pid => {
        try {
          return parentOf(pid) === member
        } catch {
          return false
        }
      }),
    )
  }
  return members
}

/** Memory of a process with its fair part of what it shares (PSS). Zero for one that has ended meanwhile. */
export const kilobytesOf = (pid: number): number => {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Memory of a process and all it started: the sum of their proportional set sizes, in MB. Linux only. */
export const residentMegabytes = async (pid: number): Promise<number> => {
  const kilobytes = family(pid).map(kilobytesOf)
  return Math.round((kilobytes.reduce((sum, value) => sum + value, 0) / 1024) * 10) / 10
}
