/** Processor time of a process and of its children that ended, in seconds. */
import { existsSync, readFileSync } from "node:fs"

const STAT = "/proc/self/stat"
/** Linux counts in hundredths of a second in /proc, whatever its clock (proc(5), sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100

/** Of descendants those count whom their parents waited for; what lives on as a service of its own does not. */
const ofChildren = (): number => {
  if (!existsSync(STAT)) return 0
  const stat = readFileSync(STAT, "utf8")
  // The name before may have spaces; after it come the fields from the third on, the children's are the 16th and 17th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
}

export const processorSeconds = (): number => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  return (userCPUTime + systemCPUTime) / 1e6 + ofChildren()
}
