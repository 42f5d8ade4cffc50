/**
 * Workloads in sandboxes of gVisor: what they call is a kernel of their own, a process of this machine without rights
 * (https://gvisor.dev/docs/architecture_guide). Their files are served by another process, which has the same users as
 * the workload's disk.
 */
import { constants } from "node:fs"
import { access, realpath } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { PortError } from "../../../port-error.ts"
import type { AgentKit } from "../../agent/kit.ts"
import type { GuestClient } from "../../guest/client.ts"
import { words } from "../../guest/frames.ts"
import type { Command, RuntimePort, WorkloadSpec } from "../../port.ts"
import { agentKitIn, isRoot, programIn, readOnlyPrograms, withoutDiskImages } from "../process/host.ts"
import { type Confinement, type LaunchedOptions, openLaunched } from "../process/launched.ts"
import { seccompFilter } from "../process/seccomp.ts"
import { bundleOf } from "./bundle.ts"

/**
 * What the sandbox's kernel and its gofer take beside what the workload takes: 13 to 16 MB at rest, 40 with 64 processes, a
 * walk through all files of the machine or a thousand connections; each further process takes 0.4 of the workload's own.
 */
const OWN_MEMORY_BYTES = 64 * 2 ** 20
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
  ...["run", "--detach", "--pid-file=/state/sandbox", "--bundle=/bundle", id],
]

/** Of gVisor before November 2023: statx and fstatat refuse a flag that programs since coreutils 9 give them. */
const tooOld =
  "this runsc is older than the machine's programs: `ls` and `stat` fail in sandboxes; one of 2024 or later, which SVC_RUNSC may name, has no such flaw"

/** Says whether the key came as a signal, once it came at all. */
const interrupted: Command = {
  argv: ["sh", "-c", "trap 'echo signal; exit' INT; echo up; read line; echo character"],
  ...{ cwd: "/", terminal: { columns: 80, rows: 24 } },
}

/** All output of a command that gets its input once it says something. */
const said = async (client: GuestClient, command: Command, input = ""): Promise<string> => {
  const { stdin, stdout, stderr, exited } = await client.exec(command)
  stderr.resume()
  const hear = async () => {
    let heard = ""
    for await (const part of stdout) {
      if (heard === "") stdin.write(input)
      heard += part
    }
    return heard
  }
  const [output] = await Promise.all([hear(), exited])
  return output
}

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
          agent: kit.argv,
          filter: seccompFilter(process.arch),
        }),
      ),
    ],
  ],
  groupLimits: ({ memoryBytes, vcpus, processesMax }) => ({
    ...{ memoryBytes: memoryBytes + OWN_MEMORY_BYTES, vcpus },
    processesMax: THREADS_EACH * processesMax + OWN_THREADS,
  }),
  capabilities: ({ groups, images, withoutRoots, withoutInstalls }, { reasons, terminalSignals }) => ({
    driver: "gvisor",
    isolation: "gvisor",
    overheadBytes: OWN_MEMORY_BYTES,
    limits: { ...groups.limits, processes: false, disk: images },
    network: "none",
    persistentDisks: true,
    scratchDisks: images,
    freeze: groups.freeze,
    outOfMemory: "workload",
    terminalSignals,
    ...{ separatesRoot: true, narrowsKernelFiles: true, mounts: true },
    sharedResources: {},
    roots: withoutRoots === undefined ? ["host", "image"] : ["host"],
    installs: withoutInstalls === undefined,
    perl: kit.perl,
    reasons: [
      ...groups.reasons,
      "gVisor counts no processes: a workload that starts far too many ends as a whole",
      ...(terminalSignals ? [] : ["its terminals make no signals of keys, so that Ctrl-C is a character"]),
      ...(images ? [] : [withoutDiskImages]),
      ...(withoutRoots === undefined ? [] : [`workloads cannot begin as images: ${withoutRoots}`]),
      ...(withoutInstalls === undefined ? [] : [readOnlyPrograms(withoutInstalls)]),
      ...reasons,
    ],
  }),
  async try(client) {
    const terminalSignals = (await said(client, interrupted, "\x03\n")).includes("signal")
    if ((await said(client, { argv: ["ls", "-d", "/"], cwd: "/" })).includes("/"))
      return { reasons: [], terminalSignals }
    if (!isDemanded) throw new PortError("refused", tooOld)
    return { reasons: [tooOld], terminalSignals }
  },
})

const findRunsc = async (named: string | undefined): Promise<string> => {
  const runsc = named ?? (await programIn("runsc"))
  if (runsc === undefined) throw new PortError("refused", "runsc is missing: install the package runsc")
  try {
    await access(runsc, constants.X_OK)
    return await realpath(runsc)
  } catch {
    throw new PortError("refused", `SVC_RUNSC is no program: ${runsc}`)
  }
}

/**
 * Only as root: runsc gives the users of a workload to nobody else. `isDemanded`: also with a runsc that usual programs
 * do not get on with.
 */
export const openGvisorRuntime = async (
  options: LaunchedOptions & { readonly isDemanded: boolean; readonly runsc?: string | undefined },
): Promise<RuntimePort> => {
  const runsc = await findRunsc(options.runsc)
  if (!isRoot()) throw new PortError("refused", "sandboxes of gVisor take root here")
  const kit = await agentKitIn(options.dataDir)
  return openLaunched(options, sandboxes(runsc, kit, options.isDemanded), "runsc starts no sandbox here")
}
