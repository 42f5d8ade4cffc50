import type { Duplex, Readable, Writable } from "node:stream"
import { openedToken } from "../../kernel/token.ts"

/**
 * Where code of tenants runs: a workload is one root filesystem with processes in it, kept from the machine, the
 * platform and its neighbours as well as the driver can. The port knows workloads only: names, tenants, deadlines and
 * prices are the areas'.
 *
 * Promises, tested by `conformance.ts` over every driver:
 *
 * - Life: `start` resolves once commands can run. A workload ends with the platform's process, whatever ends that;
 *   its disk stays until `destroy`. `stop` ends every process in it, also those that ignore signals or left their
 *   parents. Both may be repeated.
 * - Disk: what was written is there after stop and start, and after a crash of the platform; `destroy` frees it. Where
 *   `capabilities.installs`, that is all of the root, programs included, and all of it counts on the disk's size. A
 *   workload whose `disk.kind` is `memory` or `scratch` begins empty at each start.
 * - Limits: what `capabilities.limits` names is enforced on the workload as a whole. Who exceeds memory is killed,
 *   processor time is shared out, a full disk and too many processes are errors inside.
 * - Network: exactly what `spec.network` says. `start` refuses what the driver cannot enforce.
 * - Files: paths are resolved inside the workload and never follow a link out of the roots that the call names.
 * - Bounds: streams have back-pressure both ways; whatever a workload sends, the platform holds a bounded part of it.
 * - Errors: `PortError`s: `missing` when the workload does not exist, `refused` when the call cannot succeed,
 *   `unavailable` when it may later.
 */
export interface RuntimePort extends AsyncDisposable {
  readonly capabilities: RuntimeCapabilities
  health(): Promise<{ readonly ok: boolean; readonly reason?: string }>
  /** Makes the workload's disk. Does nothing when it is there. */
  create(spec: WorkloadSpec): Promise<void>
  /** Creates it if needed and starts it. Gives the running one when it runs already. */
  start(spec: WorkloadSpec): Promise<Guest>
  /** The running workload; undefined when it does not run. */
  running(id: string): Guest | undefined
  /** Ends every process in it: SIGTERM, then SIGKILL after the grace. Does nothing when it does not run. */
  stop(id: string, graceMs: number): Promise<void>
  /** Stops it and removes all that it left on the host. Does nothing when it is not there. */
  destroy(id: string): Promise<void>
  /** All workloads that have something on the host, running or not: what remains after a crash is found by this. */
  list(): Promise<readonly string[]>
  stats(id: string): Promise<WorkloadStats>
}

/** How a workload is kept from its host, weakest first. */
export const isolations = ["process", "container", "gvisor", "microvm-emulated", "microvm"] as const
export type Isolation = (typeof isolations)[number]

/** Whether it is what is demanded, or more. */
export const isAsStrong = (isolation: Isolation, demanded: Isolation | undefined): boolean =>
  demanded === undefined || isolations.indexOf(isolation) >= isolations.indexOf(demanded)

export interface RuntimeCapabilities {
  /** process, bubblewrap, gvisor, qemu, docker, kubernetes. */
  readonly driver: string
  readonly isolation: Isolation
  /** What the host lets us enforce on a workload as a whole. */
  readonly limits: {
    readonly memory: boolean
    readonly cpu: boolean
    readonly processes: boolean
    readonly disk: boolean
  }
  /** Memory that each running workload takes beside its own `memoryBytes`. */
  readonly overheadBytes: number
  /** `none`: workloads have loopback alone, and a spec that asks for more is refused. */
  readonly network: "none" | "filtered"
  /** Whether disks can outlive a stop. */
  readonly persistentDisks: boolean
  /** Whether disks that do not outlive a stop are beside the memory. */
  readonly scratchDisks: boolean
  readonly freeze: boolean
  /** What ends when a workload exceeds its memory: one of its commands, or all of it. */
  readonly outOfMemory: "command" | "workload"
  /** Whether Ctrl-C and the like, typed into a terminal, are signals. */
  readonly terminalSignals: boolean
  /** Whether root in a workload is somebody else than its user; where not, each may do what the other may. */
  readonly separatesRoot: boolean
  /**
   * Whether /dev, /proc and /sys show what we leave of them; where not, what a cluster's container runtime shows, which
   * is harmless and more.
   */
  readonly narrowsKernelFiles: boolean
  /** Whether directories of this machine can be shown in a workload (`mounts`); where not, a spec with one is refused. */
  readonly mounts: boolean
  /** What one workload can take all of from its neighbours and its host, each with the reason; empty: nothing. */
  readonly sharedResources: Readonly<Partial<Record<CountedResource, string>>>
  /**
   * Whether a workload with a persistent disk whose root is `host` may change the machine's programs for itself, as one
   * does that begins as an image; where not, they are read-only in it.
   */
  readonly installs: boolean
  /** Kinds of root filesystem it can start from. */
  readonly roots: readonly RootKind[]
  /**
   * Begins a command that runs Perl, whatever the image of the workload has; left out where nothing but the image's own
   * programs is there.
   */
  readonly perl?: readonly [string, ...string[]]
  /** What is weaker here than the driver could be and why, for the operator; empty when nothing is. */
  readonly reasons: readonly string[]
}

/** What a kernel has a limited number of, beside memory and disk. */
export const countedResources = [
  ...(["processes", "pids", "threads", "files", "sockets", "inotify", "timers", "message queues"] as const),
  ...(["aio", "terminals", "keys", "user namespaces", "huge pages", "loop devices"] as const),
]
export type CountedResource = (typeof countedResources)[number]

/** `host`: the machine's own programs; read-only but where `installs` says otherwise. `image`: an unpacked OCI image. */
export type RootKind = "host" | "image"

export type Root =
  | { readonly kind: "host" }
  /**
   * `directory` holds the unpacked filesystem, which is never written to. `bare`: no user and no directories are added to
   * it, so that what is there after a command is the command's. Only where `capabilities.perl`.
   */
  | { readonly kind: "image"; readonly directory: string; readonly bare?: true }

/** A directory of the host that a workload sees, read-only, as it is: also what is added to it after the start. */
export interface Mount {
  readonly source: string
  /** Absolute; made when the root has no such directory. */
  readonly target: string
}

export type NetworkPolicy =
  /** Loopback alone. */
  | { readonly mode: "none" }
  /** Public addresses alone, and of them those that are allowed; null: all. */
  | {
      readonly mode: "filtered"
      /** CIDRs, and domains: `example.com`, or `*.example.com` for all below it. */
      readonly allow: readonly string[] | null
      /** CIDRs. */
      readonly deny: readonly string[]
      /** Its own, in 10.0.0.0/8; left out: any. */
      readonly address?: string
    }

export type DiskKind = "memory" | "scratch" | "persistent"

/** All that a driver must know of a workload; the same at each start of one id, but for limits, env and mounts. */
export interface WorkloadSpec {
  /** UUID. */
  readonly id: string
  readonly hostname: string
  readonly root: Root
  /**
   * One in memory counts as such, and takes up to three quarters of `memoryBytes`. A scratch disk has its bytes beside
   * the memory where `scratchDisks` says so, and is one in memory where not.
   */
  readonly disk: { readonly kind: DiskKind; readonly bytes: number }
  /** Processors; 0.5 is half of one. */
  readonly vcpus: number
  readonly memoryBytes: number
  readonly processesMax: number
  readonly network: NetworkPolicy
  readonly mounts: readonly Mount[]
}

const MEMORY_DISK_PART = 0.75

/** Of a disk in memory, which counts as the workload's memory; its processes need some too. */
export const memoryDiskBytes = ({ disk, memoryBytes }: Pick<WorkloadSpec, "disk" | "memoryBytes">): number =>
  Math.floor(Math.min(disk.bytes, memoryBytes * MEMORY_DISK_PART))

/** What its disk holds. */
export const diskBytesOf = ({ scratchDisks }: RuntimeCapabilities, spec: WorkloadSpec): number => {
  const { kind, bytes } = spec.disk
  return kind === "persistent" || (kind === "scratch" && scratchDisks) ? bytes : memoryDiskBytes(spec)
}

/** The user in a workload, whose home is /home/user; it is root there under `user: "root"`. */
export type GuestUser = "user" | "root"

export interface Command {
  /** Program and arguments; found along PATH. */
  readonly argv: readonly [string, ...string[]]
  /** Absolute; /workspace when left out. */
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly user?: GuestUser
  /** A terminal of this size instead of pipes; all output then comes on stdout. */
  readonly terminal?: TerminalSize
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null
  /** SIGKILL, SIGTERM…; null when it ended by itself. */
  readonly signal: string | null
}

/** A command that runs. It and all it started end with `kill`, and when the workload ends. */
export interface GuestProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the command has ended; rejects with `unavailable` when the workload ended under it. */
  readonly exited: Promise<Exit>
  /** To the whole process group. */
  kill(signal: "SIGTERM" | "SIGKILL" | "SIGINT" | "SIGHUP"): void
  resize(size: TerminalSize): void
}

export interface FileStat {
  readonly sizeBytes: number
  /** Permission bits. */
  readonly mode: number
  readonly modifiedAt: Date
}

/**
 * Why a file call was `refused`: the `cause` of its PortError is `{ reason }`. `outside`: the path, or a link on it, leaves
 * the roots; `not_a_file`: a directory or device is there, a file where a directory is needed, or the name is too long.
 */
export type FileRefusal = "outside" | "not_a_file" | "no_space"

/** Absolute directories; empty: the whole filesystem. */
export type Roots = readonly string[]

/** A running workload. */
export interface Guest {
  readonly id: string
  /** Resolves when it ended, with what the driver knows of the reason. */
  readonly ended: Promise<"stopped" | "out_of_memory" | "died">
  /** Rejects with `refused` when the program or directory does not exist. */
  exec(command: Command): Promise<GuestProcess>
  /** A regular file. Rejects with `missing`, or `refused` when the path leaves the roots or is no file. */
  readFile(path: string, roots: Roots): Promise<{ readonly stat: FileStat; readonly bytes: Readable }>
  /** Writes beside and renames, so nobody reads half a file; makes the directories above. */
  writeFile(path: string, bytes: Readable | Buffer, options: WriteOptions): Promise<void>
  /** A connection to a port on the workload's loopback; rejects with `unavailable` when nobody listens. */
  connect(port: number): Promise<Duplex>
  /** Stops all its processes where they are, and lets them go on. Only where `capabilities.freeze`. */
  freeze(): Promise<void>
  thaw(): Promise<void>
}

export interface WriteOptions {
  readonly roots: Roots
  readonly mode?: number
  readonly user?: GuestUser
}

export interface WorkloadStats {
  /** Processor time used since the start, in milliseconds. */
  readonly cpuMs: number
  readonly memoryBytes: number
  readonly memoryPeakBytes: number
  /** Processes that were killed because the workload exceeded its memory. */
  readonly outOfMemoryKills: number
  readonly processes: number
  readonly diskBytes: number
  /** Null when there is no network. */
  readonly network: { readonly receivedBytes: number; readonly sentBytes: number } | null
}

/** Runs code of tenants. */
export const runtime = openedToken<RuntimePort>("runtime")
