import { writeFile } from "node:fs/promises"
import { hashOf } from "../../../../../kernel/db/embedded/placement.ts"
import { type Groups, openGroups } from "../../../../runtime/drivers/process/groups.ts"
import type { Tier } from "../../../port.ts"

/**
 * How much memory the servers of volumes get: each process for itself, by resource limits, which hold everywhere; and
 * each server as a whole, by a control group, where this machine lets us make some.
 */
export interface VolumeMemory extends AsyncDisposable {
  ofProcess(tier: Tier): number
  /** Puts a server's first process into the volume's group; whatever it starts is in it too. */
  admit(volumeId: string, pid: number): Promise<void>
  /** Removes the group of a server that has ended. */
  release(volumeId: string): Promise<void>
}

/** No bounds but the machine's own: confinement bounds the processes already, and processors are shared by all. */
const VCPUS_MAX = 1024
const PROCESSES_MAX = 4096

export const createVolumeMemory = (options: {
  /** Tells the groups of one data folder from those of another on this machine. */
  root: string
  bytes: number
  dedicatedBytes: number | undefined
  log: (line: string) => void
}): VolumeMemory => {
  const { root, bytes, dedicatedBytes = bytes, log } = options
  let opening: Promise<Groups | undefined> | undefined

  /** Made when the first server starts. */
  const open = async (): Promise<Groups | undefined> => {
    const groups = await openGroups(`databases-${hashOf(root)}`)
    if (groups.limits.memory) return groups
    log(
      `servers of databases have no control groups, their processes are bounded: ${groups.reasons.join("; ")}`,
    )
    return undefined
  }

  return {
    ofProcess: tier => Math.floor((tier === "dedicated" ? dedicatedBytes : bytes) / 2),

    async admit(volumeId, pid) {
      opening ??= open()
      const groups = await opening
      if (!groups) return
      const limits = { memoryBytes: bytes, vcpus: VCPUS_MAX, processesMax: PROCESSES_MAX }
      try {
        const { joinFiles } = await groups.create(volumeId, limits)
        await Promise.all(joinFiles.map(file => writeFile(file, String(pid))))
      } catch (error) {
        log(`${volumeId}: no control group, its processes are bounded: ${error}`)
      }
    },

    async release(volumeId) {
      const groups = await opening
      await groups?.remove(volumeId).catch(error => log(`${volumeId}: ${error}`))
    },

    async [Symbol.asyncDispose]() {
      await (await opening)?.close()
    },
  }
}
