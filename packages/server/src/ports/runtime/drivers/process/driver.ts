/** Workloads as processes of this machine in namespaces of their own. They share this machine's kernel. */
import { fileURLToPath } from "node:url"
import type { RuntimeCapabilities, RuntimePort } from "../../port.ts"
import { readOnlyPrograms, withoutDiskImages } from "./host.ts"
import { type Confinement, type LaunchedOptions, openLaunched, type ProbeResult } from "./launched.ts"
import { seccompFilter } from "./seccomp.ts"

/** What namespaces and control groups of this machine's kernel give. */
export const capabilitiesOf = ({
  groups,
  images,
  ownUsers,
  withoutRoots,
  withoutInstalls,
}: ProbeResult): RuntimeCapabilities => ({
  driver: "process",
  isolation: "process",
  limits: { ...groups.limits, processes: groups.limits.processes || ownUsers, disk: images },
  overheadBytes: 0,
  network: "none",
  persistentDisks: true,
  scratchDisks: images,
  freeze: groups.freeze,
  outOfMemory: "command",
  terminalSignals: true,
  ...{ separatesRoot: ownUsers, narrowsKernelFiles: true, mounts: true },
  sharedResources: {},
  roots: withoutRoots === undefined ? ["host", "image"] : ["host"],
  installs: withoutInstalls === undefined,
  reasons: [
    ...groups.reasons,
    ...(images ? [] : [withoutDiskImages]),
    ...(ownUsers
      ? []
      : ["all workloads run as the platform's own user; only root can give each users of its own"]),
    ...(withoutRoots === undefined ? [] : [`workloads cannot begin as images: ${withoutRoots}`]),
    ...(withoutInstalls === undefined ? [] : [readOnlyPrograms(withoutInstalls)]),
    ...(seccompFilter(process.arch) ? [] : [`there is no filter of system calls for ${process.arch}`]),
  ],
})

const namespaces: Confinement = {
  program: fileURLToPath(new URL("launch.pl", import.meta.url)),
  countsItself: false,
  request({ processesMax }, { found }) {
    const filter = seccompFilter(process.arch)
    return [
      ...(filter ? [["filter", filter.toString("hex")] as const] : []),
      ...(found.groups.limits.processes ? [] : [["processes_max", String(processesMax)] as const]),
    ]
  },
  groupLimits: ({ memoryBytes, vcpus, processesMax }) => ({ memoryBytes, vcpus, processesMax }),
  capabilities: capabilitiesOf,
}

export const openProcessRuntime = (options: LaunchedOptions): Promise<RuntimePort> =>
  openLaunched(options, namespaces, "this machine forbids what isolates processes")
