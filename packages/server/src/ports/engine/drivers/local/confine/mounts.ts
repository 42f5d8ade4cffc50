import { existsSync, realpathSync } from "node:fs"
import { isAbsolute, relative } from "node:path"

/** A mount that a confined server gets to see read-only. */
export interface ReadOnlyMount {
  readonly path: string
  /** What `mount -o` wants. Flags that are set stay named: a user namespace may add to them, not take away. */
  readonly options: string
}

const flagsKept = ["nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime"]
/** File systems that hold no files of anybody. */
const kernelTypes = new Set([
  ...[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
  ],
  ...[
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "sysfs",
    "tracefs",
  ],
])

const kernelDirs = ["/proc", "/sys", "/dev"]

const withoutEscapes = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

export const isWithin = (path: string, directory: string): boolean => {
  const way = relative(directory, path)
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way))
}

/** The existing ones of some directories, without links, and without those that lie in another one. */
export const outermost = (directories: readonly string[]): readonly string[] => {
  const real = [...new Set(directories.filter(path => existsSync(path)).map(path => realpathSync(path)))]
  return real.filter(path => !real.some(other => other !== path && isWithin(path, other)))
}

interface Mount {
  readonly path: string
  readonly type: string
  readonly flags: readonly string[]
}

/** The mounts of a /proc/self/mountinfo (proc_pid_mountinfo(5)); of several on one path the last, which is seen. */
export const readMounts = (mountinfo: string): readonly Mount[] => {
  const seen = new Map<string, Mount>()
  for (const line of mountinfo.split("\n")) {
    const fields = line.split(" ")
    // Optional fields end with a dash; the type follows it.
    const type = fields[fields.indexOf("-", 6) + 1]
    const [point, flags] = [fields[4], fields[5]]
    if (point === undefined || flags === undefined || type === undefined) continue
    const path = withoutEscapes(point)
    seen.set(path, { path, type, flags: flags.split(",") })
  }
  return [...seen.values()]
}

const readOnly = (path: string, flags: readonly string[]): ReadOnlyMount => {
  const kept = flagsKept.filter(flag => flags.includes(flag))
  return { path, options: ["remount", "bind", "ro", ...kept].join() }
}

/** The writable mounts that hold files and are not covered anyway. */
export const writableMounts = (
  mounts: readonly Mount[],
  covered: readonly string[],
): readonly ReadOnlyMount[] =>
  mounts
    .filter(({ type, flags }) => flags.includes("rw") && !kernelTypes.has(type))
    .filter(({ path }) => !kernelDirs.some(directory => isWithin(path, directory)))
    .filter(({ path }) => !covered.some(directory => isWithin(path, directory)))
    .map(({ path, flags }) => readOnly(path, flags))

/** A path as a read-only mount of its own, with the flags of the mount that it is on. */
export const readOnlyMountOf = (mounts: readonly Mount[], path: string): ReadOnlyMount => {
  const [on] = mounts
    .filter(mount => isWithin(path, mount.path))
    .sort((a, b) => b.path.length - a.path.length)
  return readOnly(path, on?.flags ?? [])
}
