/** What a node's container runtime is told (OCI runtime spec), as containerd makes it of a Pod's container. */
import { seccompProfile } from "../drivers/docker/seccomp.ts"

// biome-ignore lint/suspicious/noExplicitAny: a container as the API has it.
export type Container = any

export interface BundleGiven {
  readonly container: Container
  readonly rootDir: string
  readonly env: readonly string[]
  /** Name spaces of the Pod, by path. */
  readonly namespaces: Readonly<Record<"network" | "ipc" | "uts", string>>
  readonly mounts: readonly object[]
  readonly cgroupsPath: string
  readonly isUnified: boolean
}

/** What else the profile of container runtimes forbids to who has not the right to it. */
const administrative = [
  ...["mount", "umount2", "pivot_root", "unshare", "setns", "chroot", "move_mount", "open_tree"],
  ...["mount_setattr", "fsopen", "fsmount", "fsconfig", "fspick", "mknod"],
]

/** CLONE_NEW* of linux/sched.h. */
const newNamespaces = [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]

const runtimeDefault = () => {
  const { syscalls, ...rest } = JSON.parse(seccompProfile())
  const making = (flag: number) => [{ index: 0, value: flag, valueTwo: flag, op: "SCMP_CMP_MASKED_EQ" }]
  return {
    ...rest,
    syscalls: [
      ...syscalls,
      { names: administrative, action: "SCMP_ACT_ERRNO", errnoRet: 1 },
      ...newNamespaces.map(flag => ({
        names: ["clone"],
        action: "SCMP_ACT_ERRNO",
        errnoRet: 1,
        args: making(flag),
      })),
    ],
  }
}

const masked = [
  ...["/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"],
  ...["/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
  ...["/sys/devices/virtual/powercap"],
]
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]

const usual = [
  { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
  {
    ...{ destination: "/dev", type: "tmpfs", source: "tmpfs" },
    options: ["nosuid", "strictatime", "mode=755", "size=65536k"],
  },
  {
    ...{ destination: "/dev/pts", type: "devpts", source: "devpts" },
    options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
  },
  { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: ["nosuid", "noexec", "nodev"] },
  { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"] },
  {
    ...{ destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup" },
    options: ["nosuid", "noexec", "nodev", "relatime", "ro"],
  },
  {
    ...{ destination: "/dev/shm", type: "tmpfs", source: "shm" },
    options: ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
  },
]

const units: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, m: 1e-3 }

/** Of a quantity of Kubernetes. */
export const quantity = (text: unknown): number => {
  const [, number, unit = ""] = /^(\d+)([A-Za-z]*)$/.exec(String(text)) ?? []
  return Number(number) * (unit === "" ? 1 : (units[unit] ?? Number.NaN))
}

const resourcesOf = ({ limits = {} }: { limits?: Record<string, string> }, isUnified: boolean) => ({
  devices: [{ allow: false, access: "rwm" }],
  ...(limits.memory !== undefined && {
    memory: {
      ...{ limit: quantity(limits.memory), swap: quantity(limits.memory) },
      // Where the kernel cannot end a whole group, who waits for memory waits until the kubelet does.
      ...(!isUnified && { disableOOMKiller: true }),
    },
  }),
  ...(isUnified && { unified: { "memory.oom.group": "1" } }),
  ...(limits.cpu !== undefined && {
    cpu: { period: 100_000, quota: Math.max(1_000, Math.round(quantity(limits.cpu) * 100_000)) },
  }),
})

const capabilitiesOf = ({ capabilities = {} }: Container): readonly string[] => {
  if (!capabilities.drop?.includes("ALL")) throw new Error("a container keeps its usual capabilities")
  return (capabilities.add ?? []).map((name: string) => `CAP_${name}`)
}

export const bundleOf = (given: BundleGiven) => {
  const { container, namespaces, isUnified } = given
  const { securityContext } = container
  const caps = capabilitiesOf(securityContext)
  return {
    ociVersion: "1.0.2",
    process: {
      ...{ terminal: false, user: { uid: 0, gid: 0 }, cwd: "/", args: container.command },
      env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...given.env],
      capabilities: { bounding: caps, effective: caps, permitted: caps },
      noNewPrivileges: securityContext.allowPrivilegeEscalation === false,
      oomScoreAdj: 900,
    },
    root: { path: given.rootDir, readonly: securityContext.readOnlyRootFilesystem === true },
    mounts: [...usual, ...given.mounts],
    linux: {
      namespaces: [
        { type: "pid" },
        { type: "mount" },
        ...(isUnified ? [{ type: "cgroup" }] : []),
        ...Object.entries(namespaces).map(([type, path]) => ({ type, path })),
      ],
      ...{ cgroupsPath: given.cgroupsPath, resources: resourcesOf(container.resources ?? {}, isUnified) },
      ...{ maskedPaths: masked, readonlyPaths, seccomp: runtimeDefault() },
    },
  }
}
