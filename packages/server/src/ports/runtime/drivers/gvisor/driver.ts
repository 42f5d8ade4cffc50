/**
 * Workloads in sandboxes of gVisor: what they call is a kernel of their own, a process of this machine without rights
 * (https://gvisor.dev/docs/architecture_guide). Their files are served by another process, which has the same users as
 * the workload's disk.
 */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PortError } from "../../../port-error.ts"
import { type AgentKit, makeAgentKit } from "../../agent/kit.ts"
import { words } from "../../guest/frames.ts"
import type { RuntimePort, WorkloadSpec } from "../../port.ts"
import {
  type Confinement,
  isRoot,
  type LaunchedOptions,
  openLaunched,
  programIn,
} from "../process/launched.ts"
import { seccompFilter } from "../process/seccomp.ts"
import { bundleOf } from "./bundle.ts"

/** What the sandbox's kernel and its gofer take beside what the workload takes. */
const OWN_MEMORY_BYTES = 96 * 2 ** 20
/** Each process in it is one of the machine's, with about as many threads as the sandbox's kernel has. */
const OWN_THREADS = 256
const THREADS_EACH = 32

/**
 * The platform is runsc's own choice: what it takes by default works without more of the machine. Files are shared with
 * the machine, or what was written would be in the sandbox's memory when a crash ends it.
 */
const argumentsOf = ({ id, network }: WorkloadSpec): readonly string[] => [
  ...[
    "--root=/state",
    network.mode === "none" ? "--network=none" : "--network=sandbox",
    "--overlay2=none",
    "--file-access=shared",
    "--ignore-cgroups",
    "--host-uds=none",
  ],
  ...["run", "--bundle=/bundle", id],
]

/** Of gVisor before 2023: statx and fstatat refuse a flag that programs since coreutils 9 give them. */
const tooOld =
  "this runsc is older than the machine's programs: `ls` and `stat` fail in sandboxes (a runsc of 2023 or later helps)"

const sandboxes = (runsc: string, kit: AgentKit, isDemanded: boolean): Confinement => ({
  program: fileURLToPath(new URL("launch.pl", import.meta.url)),
  countsItself: true,
  request: (spec, { uidBase }) => [
    ["runsc", runsc],
    ["arguments", words(...argumentsOf(spec))],
    ["kit", kit.directory],
    [
      "config",
      JSON.stringify(
        bundleOf(spec, {
          uidBase,
          agent: kit.argv("/.svc/agent", "init.pl"),
          filter: seccompFilter(process.arch),
        }),
      ),
    ],
  ],
  groupLimits: ({ memoryBytes, vcpus, processesMax }) => ({
    ...{ memoryBytes: memoryBytes + OWN_MEMORY_BYTES, vcpus },
    processesMax: THREADS_EACH * processesMax + OWN_THREADS,
  }),
  capabilities: ({ groups, images, withoutRoots }, shortcomings) => ({
    driver: "gvisor",
    isolation: "gvisor",
    overheadBytes: OWN_MEMORY_BYTES,
    limits: { ...groups.limits, processes: false, disk: images },
    network: "none",
    persistentDisks: true,
    freeze: groups.freeze,
    outOfMemory: "workload",
    terminalSignals: false,
    separatesRoot: true,
    roots: withoutRoots === undefined ? ["host", "image"] : ["host"],
    reasons: [
      ...groups.reasons,
      "gVisor counts no processes: a workload that starts far too many ends as a whole",
      "its terminals make no signals of keys, so that Ctrl-C is a character",
      ...(images
        ? []
        : ["disks are not kept to their size: that takes root, mkfs.ext4 (e2fsprogs) and loop devices"]),
      ...(withoutRoots === undefined ? [] : [`workloads cannot begin as images: ${withoutRoots}`]),
      ...shortcomings,
    ],
  }),
  async try(client) {
    const listing = await client.exec({ argv: ["ls", "/"], cwd: "/" })
    for (const stream of [listing.stdout, listing.stderr]) stream.resume()
    if ((await listing.exited).code === 0) return []
    if (!isDemanded) throw new PortError("refused", tooOld)
    return [tooOld]
  },
})

/**
 * Only as root: runsc gives the users of a workload to nobody else. `isDemanded`: also with a runsc that usual programs
 * do not get on with.
 */
export const openGvisorRuntime = async (
  options: LaunchedOptions & { readonly isDemanded: boolean },
): Promise<RuntimePort> => {
  const runsc = await programIn("runsc")
  if (runsc === undefined) throw new PortError("refused", "runsc is missing: install the package runsc")
  if (!isRoot()) throw new PortError("refused", "sandboxes of gVisor take root here")
  const perl = await programIn("perl")
  if (perl === undefined) throw new PortError("refused", "perl is missing: install the package perl-base")
  const directory = join(options.dataDir, "workloads")
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const kit = await makeAgentKit(perl, directory)
  return openLaunched(options, sandboxes(runsc, kit, options.isDemanded), "runsc starts no sandbox here")
}
