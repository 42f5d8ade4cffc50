/** Workloads as processes of this machine in namespaces of their own. They share this machine's kernel. */
import { fileURLToPath } from "node:url"
import type { RuntimePort } from "../../port.ts"
import { type Confinement, type LaunchedOptions, openLaunched } from "./launched.ts"
import { seccompFilter } from "./seccomp.ts"

const namespaces: Confinement = {
  program: fileURLToPath(new URL("launch.pl", import.meta.url)),
  hasOwnKernel: false,
  request({ processesMax }, { found }) {
    const filter = seccompFilter(process.arch)
    return [
      ...(filter ? [["filter", filter.toString("hex")] as const] : []),
      ...(found.groups.limits.processes ? [] : [["processes_max", String(processesMax)] as const]),
    ]
  },
  groupLimits: ({ memoryBytes, vcpus, processesMax }) => ({ memoryBytes, vcpus, processesMax }),
  capabilities: ({ groups, images, ownUsers }) => ({
    driver: "process",
    isolation: "process",
    limits: { ...groups.limits, processes: groups.limits.processes || ownUsers, disk: images },
    network: "none",
    persistentDisks: true,
    freeze: groups.freeze,
    outOfMemory: "command",
    terminalSignals: true,
    separatesRoot: ownUsers,
    roots: ["host"],
    reasons: [
      ...groups.reasons,
      ...(images
        ? []
        : ["disks are not kept to their size: that takes root, mkfs.ext4 (e2fsprogs) and loop devices"]),
      ...(ownUsers
        ? []
        : ["all workloads run as the platform's own user; only root can give each users of its own"]),
      ...(seccompFilter(process.arch) ? [] : [`there is no filter of system calls for ${process.arch}`]),
    ],
  }),
}

export const openProcessRuntime = (options: LaunchedOptions): Promise<RuntimePort> =>
  openLaunched(options, namespaces, "this machine forbids what isolates processes")
