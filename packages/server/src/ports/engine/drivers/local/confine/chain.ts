import type { Account } from "../../../../../kernel/db/embedded/account.ts"
import { isWithin, type ReadOnlyMount } from "./mounts.ts"

/** The places of one volume, all absolute. */
export interface ConfinedVolume {
  readonly slot: number
  readonly volumeDir: string
  readonly socketDir: string
  readonly programsDir: string
  /** Memory that each of its processes may have for itself; see `memory.ts`. Undefined: not bounded. */
  readonly processMemoryBytes?: number | undefined
}

export interface ConfinedCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly options: { readonly uid?: number; readonly gid?: number }
}

/** What a server finds instead of the machine's own directories. */
export interface View {
  /** Empty in its eyes; the volume's own places in them stay. Absolute, without links, existing. */
  readonly hidden: readonly string[]
  /** Empty at first, writable and its own. */
  readonly scratch: readonly string[]
  readonly readOnly: readonly ReadOnlyMount[]
  /** A path as a mount of its own that is read-only. */
  readOnlyMountOf(path: string): ReadOnlyMount
}

/**
 * Changes what is mounted and becomes the program that its last arguments name. Each step that fails ends it. The
 * volume's places are opened before something covers them, bound back through those descriptors, and closed again:
 * through an open directory of the machine one could walk out of the view.
 * Arguments: volume, socket, programs (`/` when nothing covers them), then three lists that `--` ends: hidden,
 * scratch, and pairs of mount options and read-only path.
 */
const viewScript = `set -eu
umask 022
volume=$1 socket=$2 programs=$3
shift 3
exec 3<"$volume" 4<"$socket" 5<"$programs"
empty() { mount -n -i -c -t tmpfs -o "nosuid,nodev,noexec,$1" svc "$2"; }
back() { [ -d "$2" ] || mkdir -p "$2"; mount -n -i -c --bind "/proc/self/fd/$1" "$2"; }
while [ "$1" != -- ]; do empty size=64k,nr_inodes=64,mode=755 "$1"; shift; done
shift
while [ "$1" != -- ]; do empty size=16m,nr_inodes=1k,mode=1777 "$1"; shift; done
shift
[ "$programs" = / ] || back 5 "$programs"
back 3 "$volume"
back 4 "$socket"
exec 3<&- 4<&- 5<&-
while [ "$1" != -- ]; do mount -n -i -c -o "$1" "$2"; shift 2; done
shift
`

/**
 * Of all processes only its own are left in /proc, and of the machine nothing (proc(5)). The first option is one that
 * kernels before 5.8 refuse: there the second would change the machine's own /proc.
 */
const hideProcesses = `mount -n -i -t proc -o nosuid,nodev,noexec,subset=pid,hidepid=2 svc /proc
`
const start = `exec "$@"
`

/** The one namespace below that the next program makes is the last one: a way to the kernel's rarer parts less. */
const lastNamespace = `echo 1 >/proc/sys/user/max_user_namespaces
`

const viewArguments = (view: View, volume: ConfinedVolume): readonly string[] => {
  const { volumeDir, socketDir, programsDir } = volume
  const covered = [...view.hidden, ...view.scratch].some(directory => isWithin(programsDir, directory))
  const readOnly = covered ? [...view.readOnly, view.readOnlyMountOf(programsDir)] : view.readOnly
  return [
    ...[volumeDir, socketDir, covered ? programsDir : "/"],
    ...[...view.hidden, "--", ...view.scratch, "--"],
    ...[...readOnly.flatMap(({ options, path }) => [options, path]), "--"],
  ]
}

/** Address space for programs, libraries and PostgreSQL's shared memory, which all processes of a server share. */
const SHARED_BYTES = 1024 ** 3

/**
 * RLIMIT_DATA holds what a process allocates; RLIMIT_AS what it maps besides, which are files of parallel queries. No
 * setting of PostgreSQL's does: a session may raise its `work_mem` as it likes. A process that reaches them gets an
 * ordinary error of PostgreSQL's (53200), and works on.
 */
const memoryBounds = (bytes: number | undefined): readonly string[] =>
  bytes === undefined ? [] : [`--data=${bytes}`, `--as=${2 * bytes + SHARED_BYTES}`]

const bounds = (
  processesMax: number | undefined,
  { processMemoryBytes }: ConfinedVolume,
): readonly string[] => [
  "prlimit",
  "--core=0",
  ...(processesMax === undefined ? [] : [`--nproc=${processesMax}`]),
  ...memoryBounds(processMemoryBytes),
  "--",
]

const withoutPrivileges = ["--no-new-privs", "--ambient-caps=-all", "--inh-caps=-all", "--bounding-set=-all"]

const asCommand = (words: readonly string[], options: ConfinedCommand["options"]): ConfinedCommand => {
  const [command = "", ...args] = words
  return { command, args, options }
}

type Start = (volume: ConfinedVolume, program: string, args: readonly string[]) => ConfinedCommand

/**
 * As a user of the volume's own, started by root. Every program replaces the one before it, so that the process which
 * is spawned is PostgreSQL's postmaster. `view` undefined leaves the machine's mounts, `namespaces` false its network.
 */
export const asOwnUser = (options: {
  ownerOf: (slot: number) => Account
  namespaces: boolean
  view: View | undefined
  /** The kernel can show each volume its own processes alone. */
  hidesProcesses: boolean
  processesMax: number
}): Start => {
  const { ownerOf, namespaces, view, hidesProcesses, processesMax } = options
  const script = viewScript + (hidesProcesses ? hideProcesses : "") + start
  return (volume, program, args) => {
    const { uid, gid } = ownerOf(volume.slot)
    const words = [
      ...(namespaces ? ["unshare", "--net", "--ipc", ...(view ? ["--mount"] : []), "--"] : []),
      ...(view ? ["sh", "-c", script, "sh", ...viewArguments(view, volume)] : []),
      ...bounds(processesMax, volume),
      ...["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", ...withoutPrivileges, "--"],
      ...[program, ...args],
    ]
    return asCommand(words, {})
  }
}

/**
 * As one ordinary user for all volumes, in a user namespace each. The first makes us root there, for the mounts; the
 * second lets us be the user again, as PostgreSQL demands, who cannot undo them.
 */
export const inUserNamespace = (options: {
  /** As whom all run; undefined: we are that user. */
  account: Account | undefined
  self: { uid: number; gid: number }
  view: View
  /** Undefined where the kernel would count the processes of all volumes. */
  processesMax: number | undefined
}): Start => {
  const { account, self, view, processesMax } = options
  const { uid, gid } = account ?? self
  return (volume, program, args) => {
    const words = [
      ...["unshare", "--user", "--map-root-user", "--net", "--ipc", "--mount", "--"],
      ...["sh", "-c", viewScript + lastNamespace + start, "sh", ...viewArguments(view, volume)],
      ...["unshare", "--user", "--keep-caps", `--map-user=${uid}`, `--map-group=${gid}`, "--"],
      ...bounds(processesMax, volume),
      ...["setpriv", ...withoutPrivileges, "--", program, ...args],
    ]
    return asCommand(words, account ? { uid, gid } : {})
  }
}
