/**
 * Workloads as the process driver has them, shut in by bubblewrap (https://github.com/containers/bubblewrap): a small
 * program without rights of its own makes the namespaces and loads the filter of system calls, and the agent is under
 * that filter too. They share this machine's kernel.
 */
import { chmod } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PortError } from "../../../port-error.ts"
import type { AgentKit } from "../../agent/kit.ts"
import { words } from "../../guest/frames.ts"
import type { RuntimePort, WorkloadSpec } from "../../port.ts"
import { capabilitiesOf } from "../process/driver.ts"
import { agentKitIn, programIn } from "../process/host.ts"
import { type Confinement, type LaunchedOptions, openLaunched } from "../process/launched.ts"
import { seccompFilter } from "../process/seccomp.ts"

/** bwrap, which stays, and an agent that shares no memory with others: 2.5 MB, where one of the process driver takes 1. */
const OVERHEAD_BYTES = 4 * 2 ** 20
/** bwrap itself, in the workload's control group. */
const OWN_PROCESSES = 1
const LOADER = "loader"

/** The agent's; it lays down SETPCAP. SETFCAP is asked of who gives root another name in a user namespace. */
const capabilityNames = (ownUsers: boolean): readonly string[] => [
  ...["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"],
  ...["CAP_NET_BIND_SERVICE", "CAP_SETPCAP", ...(ownUsers ? [] : ["CAP_SETFCAP"])],
]

/** The launcher has made the user and the network namespace already, and adds what is hidden in /proc, and the filter. */
const argumentsOf = ({ hostname }: WorkloadSpec, ownUsers: boolean): readonly string[] => [
  ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--hostname", hostname],
  ...["--die-with-parent", "--as-pid-1", "--new-session", "--clearenv", "--chdir", "/"],
  ...["--cap-drop", "ALL", ...capabilityNames(ownUsers).flatMap(name => ["--cap-add", name])],
  // Those that bwrap makes have terminals without number.
  ...["--bind", "/workload", "/", "--proc", "/proc", "--dev-bind", "/dev", "/dev"],
]

const bubbles = (bwrap: string, kit: AgentKit): Confinement => ({
  program: fileURLToPath(new URL("launch.pl", import.meta.url)),
  countsItself: true,
  request(spec, { found: { ownUsers, groups } }) {
    const commands = seccompFilter(process.arch)?.toString("hex") ?? ""
    const agent = seccompFilter(process.arch, "agent")?.toString("hex") ?? ""
    const init = ownUsers ? ["", ""] : [commands, "1"]
    return [
      ["bwrap", bwrap],
      ["kit", kit.directory],
      ["arguments", words(...argumentsOf(spec, ownUsers))],
      ["command", words(...kit.argv, ...init)],
      ["filter", ownUsers ? commands : agent],
      ...(groups.limits.processes ? [] : [["processes_max", String(spec.processesMax)] as const]),
    ]
  },
  groupLimits: ({ memoryBytes, vcpus, processesMax }) => ({
    ...{ memoryBytes: memoryBytes + OVERHEAD_BYTES, vcpus },
    processesMax: processesMax + OWN_PROCESSES,
  }),
  capabilities: found => ({
    ...capabilitiesOf(found),
    driver: "bubblewrap",
    overheadBytes: OVERHEAD_BYTES,
    perl: kit.perl,
  }),
})

export const openBubblewrapRuntime = async (options: LaunchedOptions): Promise<RuntimePort> => {
  const bwrap = await programIn("bwrap")
  if (bwrap === undefined) throw new PortError("refused", "bwrap is missing: install the package bubblewrap")
  const kit = await agentKitIn(options.dataDir)
  // Of a process whose program its own user namespace cannot read, the kernel shows that namespace's root nothing.
  await chmod(join(kit.directory, LOADER), 0o711)
  return openLaunched(options, bubbles(bwrap, kit), "bwrap starts nothing here")
}
