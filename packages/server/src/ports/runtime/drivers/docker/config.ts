/** What a container is made of (ContainerCreate of the Engine API). */
import type { WorkloadSpec } from "../../port.ts"
import { seccompProfile } from "./seccomp.ts"

export interface ContainerGiven {
  readonly image: string
  readonly command: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** Whether the daemon has AppArmor, whose usual profile forbids every mount. */
  readonly hasAppArmor: boolean
  readonly disk: ContainerDisk
  readonly binds: readonly Bind[]
  /** Per process. */
  readonly openFiles: number
}

/** A directory or file of the machine, as it is there. */
export interface Bind {
  readonly source: string
  readonly target: string
}

/** What lies at DISK_AT: memory, a block device with an ext4, a directory, or a volume that Docker keeps. */
export type ContainerDisk =
  | { readonly memoryBytes: number }
  | { readonly device: string }
  | { readonly directory: string }
  | { readonly volume: string }

export const DISK_AT = "/.svc/disk"

/**
 * Of the agent, until it has become the workload's own root, who is nobody to the machine: to give him the disk (CHOWN),
 * to come to the platform's socket through a folder that is closed to others (DAC_OVERRIDE), and to say which of the
 * machine's users are his (SETUID, SETGID). Nothing that commands run ever has one of them.
 */
const capabilities = ["CHOWN", "DAC_OVERRIDE", "SETGID", "SETUID"]
/** The agent. */
const OWN_PROCESSES = 1
/** Of the agent: past the killer's usual choices, and before that of commands, which dies first (agent/commands.pl). */
const OOM_SCORE = 200
const CPU_PERIOD_US = 100_000
/** The kernel takes no smaller part of a period. */
const CPU_QUOTA_US_MIN = 1_000

const bind = ({ source, target }: Bind, readOnly = true) => ({
  ...{ Type: "bind", Source: source, Target: target, ReadOnly: readOnly },
  BindOptions: { Propagation: "rprivate" },
})

const diskMount = (disk: ContainerDisk) => {
  if ("directory" in disk) return [bind({ source: disk.directory, target: DISK_AT }, false)]
  if ("memoryBytes" in disk) return []
  if ("volume" in disk)
    return [{ Type: "volume", Source: disk.volume, Target: DISK_AT, VolumeOptions: { NoCopy: true } }]
  const options = { type: "ext4", device: disk.device, o: "nosuid,nodev" }
  // Without a name it goes with the container; who mounts it is Docker, so that it is gone when the container ends.
  const volume = { NoCopy: true, DriverConfig: { Name: "local", Options: options } }
  return [{ Type: "volume", Target: DISK_AT, VolumeOptions: volume }]
}

export const containerOf = (spec: WorkloadSpec, given: ContainerGiven) => ({
  Image: given.image,
  Cmd: given.command,
  Entrypoint: [],
  Env: [],
  WorkingDir: "/",
  User: "0:0",
  Hostname: spec.hostname,
  // So that a daemon that is stopped does not wait for it.
  StopSignal: "SIGKILL",
  Labels: given.labels,
  // A name space of its own with loopback alone, and no files about a network.
  NetworkDisabled: true,
  HostConfig: {
    ...{ NetworkMode: "none", IpcMode: "none", CgroupnsMode: "private" },
    // The users of a workload are its own already, whatever the daemon does with those of containers.
    UsernsMode: "host",
    ...{ CapDrop: ["ALL"], CapAdd: capabilities, Privileged: false },
    SecurityOpt: [
      "no-new-privileges:true",
      `seccomp=${seccompProfile()}`,
      ...(given.hasAppArmor ? ["apparmor=unconfined"] : []),
    ],
    ReadonlyRootfs: true,
    Memory: Math.floor(spec.memoryBytes),
    MemorySwap: Math.floor(spec.memoryBytes),
    CpuPeriod: CPU_PERIOD_US,
    CpuQuota: Math.max(CPU_QUOTA_US_MIN, Math.round(spec.vcpus * CPU_PERIOD_US)),
    PidsLimit: spec.processesMax + OWN_PROCESSES,
    OomScoreAdj: OOM_SCORE,
    Ulimits: [
      { Name: "core", Soft: 0, Hard: 0 },
      { Name: "nofile", Soft: given.openFiles, Hard: given.openFiles },
    ],
    Sysctls: { "net.ipv4.ip_unprivileged_port_start": "0" },
    LogConfig: { Type: "none" },
    RestartPolicy: { Name: "no" },
    // The agent is one.
    Init: false,
    Tmpfs:
      "memoryBytes" in given.disk
        ? { [DISK_AT]: `rw,exec,nosuid,nodev,mode=755,size=${given.disk.memoryBytes}` }
        : {},
    Mounts: [...diskMount(given.disk), ...given.binds.map(one => bind(one))],
  },
})
