/**
 * Workloads in machines of QEMU's, each with a kernel of its own: processes of this machine without rights, that run a
 * guest by KVM, or where there is none by translating its instructions. What a guest sees of this machine's files it asks
 * for one by one, read-only, of a process that has no more rights than itself.
 */
import { createHash, randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { chmod, mkdir, readFile, realpath, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { rangeExists } from "../../../engine/drivers/local/confine/id-range.ts"
import { PortError } from "../../../port-error.ts"
import type { Booted, Engine } from "../../engine.ts"
import { createGuestClient } from "../../guest/client.ts"
import { words } from "../../guest/frames.ts"
import type { RuntimeCapabilities, RuntimePort, WorkloadSpec } from "../../port.ts"
import { createRuntime } from "../../runtime.ts"
import { createSlots, type Disks, openDisks, type Slots } from "../process/disks.ts"
import { type Groups, openGroups } from "../process/groups.ts"
import { isRoot, type LaunchedOptions, programIn, UIDS_EACH } from "../process/launched.ts"
import { type Launcher, type LaunchRequest, openLauncher } from "../process/launcher.ts"
import { seccompFilter } from "../process/seccomp.ts"
import { UNPACKED_AT } from "./kernel.ts"
import { type Accelerator, argumentsOf, type Shape } from "./machine.ts"
import { openTemplates, type Templates } from "./templates.ts"

export interface QemuOptions extends LaunchedOptions {
  readonly isDemanded: boolean
  /** Has `boot` and `lib/modules` of a kernel for guests; left out: the machine's own. */
  readonly qemuKernel?: string | undefined
}

/** Past what systemd gives to containers, as the other drivers' (systemd UIDS-GIDS). */
const UID_BASE = 1_900_000_000
const SLOTS_MAX = 2_048
/** Of a disk in memory, which counts as the workload's memory; its processes need some too. */
const MEMORY_DISK_PART = 0.75
const MiB = 2 ** 20
/** What a guest's kernel, its first file system and its first processes take beside the workload. */
const GUEST_OWN_BYTES = 128 * MiB
/** QEMU itself, with the code that it has translated. */
const MACHINE_OWN_BYTES = { kvm: 48 * MiB, tcg: 128 * MiB }
/**
 * Who is first of all copies to touch a page that the template had not touched is charged for the template's too, which
 * the kernel makes then. All copies together pay that once.
 */
const TOUCHED_TWICE = 2
/** Memory of guests comes in powers of two from here on, so that few templates serve all; what is too much is set aside. */
const MEMORY_BYTES_MIN = 1024 * MiB
const PAGE_ASIDE_BYTES = 2 * MiB
/** Threads of QEMU's beside those that run the guest, and the process beside it. */
const MACHINE_THREADS = 128
/** A boot under KVM takes one; emulated it takes ten on a machine that is busy. */
const BOOT_MS_MAX = { kvm: 10_000, tcg: 90_000 }
const PROBE_MS_MAX = 30_000
/** How launch.pl ends when the guest's kernel had killed for memory. */
const OUT_OF_MEMORY = 3
/** Longer than launch.pl gives a guest to write what is on its disk. */
const END_MS_MAX = 6_000

interface Parts {
  readonly launcher: Launcher
  readonly groups: Groups
  readonly disks: Disks
  readonly slots: Slots
  readonly templates: Templates
  readonly accelerator: Accelerator
  readonly rootAt: string
  readonly qemu: string
  readonly kvmGroup: number | undefined
  readonly counterKhz: number
}

const shapeOf = ({ accelerator, counterKhz }: Parts, { vcpus, memoryBytes }: WorkloadSpec): Shape => {
  const wanted = Math.max(MEMORY_BYTES_MIN, memoryBytes + GUEST_OWN_BYTES)
  const processors = Math.ceil(vcpus)
  return { accelerator, processors, counterKhz, memoryBytes: 2 ** Math.ceil(Math.log2(wanted)) }
}

/** In a machine that is itself a guest without KVM, which is where guests are emulated, that is the counter's rate. */
const counterRate = async (): Promise<number> => {
  const [, text = ""] = /^cpu MHz\s*: ([\d.]+)$/m.exec(await readFile("/proc/cpuinfo", "utf8")) ?? []
  return Math.round(1_000 * Number(text))
}

const fixedRequest = (
  given: Pick<Parts, "rootAt" | "qemu" | "accelerator" | "kvmGroup">,
  uid: number,
): LaunchRequest => [
  ...[["root_at", given.rootAt] as const, ["qemu", given.qemu] as const],
  ...[["uid_base", String(uid)] as const, ["gid_base", String(uid)] as const],
  ["uid_count", String(UIDS_EACH)],
  ["disk", "none:"],
  ...(given.accelerator === "kvm" ? [["kvm_group", String(given.kvmGroup)] as const] : []),
]

const requestOf = (
  parts: Parts,
  spec: WorkloadSpec,
  given: { template: string; uid: number; disk: string; joinFiles: readonly string[] },
): LaunchRequest => {
  const shape = shapeOf(parts, spec)
  const aside = Math.floor((shape.memoryBytes - spec.memoryBytes - GUEST_OWN_BYTES) / PAGE_ASIDE_BYTES)
  const hasDisk = given.disk.startsWith("file:")
  const filter = seccompFilter(process.arch)
  return [
    ...fixedRequest(parts, given.uid),
    ...[
      ["from", given.template] as const,
      ["disk", given.disk] as const,
      ["hostname", spec.hostname] as const,
    ],
    ["arguments", words(...argumentsOf(shape, { beginning: "copy", hasDisk }))],
    ["memory_bytes", String(Math.floor(spec.memoryBytes))],
    ["processes_max", String(spec.processesMax)],
    ["pages_aside", String(Math.max(0, aside))],
    ...(filter ? [["filter", filter.toString("hex")] as const] : []),
    ...given.joinFiles.map(file => ["group", file] as const),
    ...spec.mounts.map(({ source, target }) => ["mount", words(source, target)] as const),
  ]
}

const limitsOf = (accelerator: Accelerator, { memoryBytes, vcpus }: WorkloadSpec) => ({
  memoryBytes: TOUCHED_TWICE * (memoryBytes + GUEST_OWN_BYTES) + MACHINE_OWN_BYTES[accelerator],
  ...{ vcpus, processesMax: MACHINE_THREADS + Math.ceil(vcpus) },
})

const boot = async (parts: Parts, spec: WorkloadSpec): Promise<Booted> => {
  const { launcher, groups, disks, slots, accelerator } = parts
  const { disk, memoryBytes } = spec
  const template = await parts.templates.of(shapeOf(parts, spec), BOOT_MS_MAX[accelerator])
  const isKept = disk.kind === "persistent"
  const { slot, source } = isKept
    ? await disks.prepare(spec.id, disk.bytes)
    : {
        slot: slots.take(),
        source: `memory:${Math.floor(Math.min(disk.bytes, memoryBytes * MEMORY_DISK_PART))}`,
      }
  const leave = () => {
    if (!isKept) slots.free(slot)
  }
  try {
    const group = await groups.create(spec.id, limitsOf(accelerator, spec))
    const uid = UID_BASE + slot * UIDS_EACH
    const request = requestOf(parts, spec, { template, uid, disk: source, joinFiles: group.joinFiles })
    const { socket, pid, ended } = await launcher.launch(request).catch(async error => {
      await group.remove()
      throw error
    })
    let hasEnded = false
    const signal = (name: "SIGTERM" | "SIGKILL") => {
      try {
        if (!hasEnded) process.kill(pid, name)
      } catch {
        // It has ended just now.
      }
    }
    return {
      stream: { input: socket, output: socket },
      ended: ended.then(async code => {
        hasEnded = true
        const { outOfMemoryKills = 0 } = await group.stats()
        await group.remove()
        leave()
        return code === OUT_OF_MEMORY || outOfMemoryKills > 0 ? ("out_of_memory" as const) : ("died" as const)
      }),
      kill() {
        void group.thaw().catch(() => undefined)
        // What is on a kept disk is written first.
        signal(isKept ? "SIGTERM" : "SIGKILL")
        if (isKept) setTimeout(signal, END_MS_MAX, "SIGKILL").unref()
      },
      ...{ freeze: group.freeze, thaw: group.thaw },
      async stats() {
        // The rest is counted inside.
        const { cpuMs } = await group.stats()
        return { ...(cpuMs !== undefined && { cpuMs }), network: null }
      },
    }
  } catch (error) {
    leave()
    throw error
  }
}

const engineOf = (parts: Parts, capabilities: RuntimeCapabilities): Engine => {
  const { launcher, groups, disks } = parts
  const running = new Set<string>()
  return {
    capabilities,
    health: async () => ({ ok: true }),
    async prepare({ id, disk }) {
      if (disk.kind === "persistent") await disks.prepare(id, disk.bytes)
    },
    async boot(spec) {
      const booted = await boot(parts, spec)
      running.add(spec.id)
      return { ...booted, ended: booted.ended.finally(() => running.delete(spec.id)) }
    },
    async erase(id) {
      await groups.remove(id)
      await disks.erase(id)
    },
    list: async () => [...new Set([...running, ...(await groups.list()), ...(await disks.list())])],
    async [Symbol.asyncDispose]() {
      await launcher[Symbol.asyncDispose]()
      await groups.close()
    },
  }
}

const capabilitiesOf = (accelerator: Accelerator, groups: Groups): RuntimeCapabilities => ({
  driver: "qemu",
  isolation: accelerator === "kvm" ? "microvm" : "microvm-emulated",
  limits: { memory: true, cpu: groups.limits.cpu, processes: false, disk: true },
  network: "none",
  persistentDisks: true,
  freeze: groups.freeze,
  outOfMemory: "command",
  terminalSignals: true,
  separatesRoot: true,
  overheadBytes: GUEST_OWN_BYTES + MACHINE_OWN_BYTES[accelerator],
  roots: ["host"],
  reasons: [
    ...groups.reasons,
    "a guest that starts processes without end is held to its number, and may end as a whole",
    ...(accelerator === "kvm"
      ? []
      : ["this machine has no KVM that works: guests' instructions are translated, ten times slower"]),
  ],
})

/** What there must be; the packages are Debian's. */
const demandPrograms = async () => {
  const refuse = (reason: string) => new PortError("refused", reason)
  if (process.platform !== "linux" || process.arch !== "x64")
    throw refuse("this driver knows the machines of x86-64 alone, on Linux")
  if (!isRoot()) throw refuse("giving each machine a user of its own takes root")
  const [qemu, perl, mkfs] = await Promise.all(["qemu-system-x86_64", "perl", "mkfs.ext4"].map(programIn))
  if (qemu === undefined) throw refuse("QEMU is missing: install the package qemu-system-x86")
  if (perl === undefined) throw refuse("perl is missing: install the package perl-base")
  if (mkfs === undefined) throw refuse("mkfs.ext4 is missing: install the package e2fsprogs")
  if (!(await rangeExists(UID_BASE, SLOTS_MAX * UIDS_EACH)))
    throw refuse(`the users ${UID_BASE} to ${UID_BASE + SLOTS_MAX * UIDS_EACH} do not exist here`)
  return { qemu, perl }
}

/** Starts a workload and ends it. Rejects with what this machine does not grant. */
const probe = async (parts: Parts): Promise<void> => {
  const booted = await boot(parts, {
    ...{ id: randomUUID(), hostname: "probe", root: { kind: "host" }, disk: { kind: "memory", bytes: MiB } },
    ...{ vcpus: 1, memoryBytes: 64 * MiB, processesMax: 8, network: { mode: "none" }, mounts: [] },
  })
  const timer = setTimeout(booted.kill, PROBE_MS_MAX)
  try {
    await createGuestClient(booted.stream).ready
  } finally {
    clearTimeout(timer)
    booted.kill()
    await booted.ended
  }
}

/** Who knows that KVM does not work here need not wait for it again until the machine is started anew. */
const withKvmNote = async (directory: string) => {
  const path = join(directory, "kvm-fails")
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8")
  return {
    fails: (await readFile(path, "utf8").catch(() => "")) === boot,
    write: () => writeFile(path, boot),
  }
}

/** KVM where it runs a guest, else emulation, where that is demanded. */
const accelerated = async (
  directory: string,
  isDemanded: boolean,
  make: (by: Accelerator) => Promise<Parts>,
) => {
  const slow = "there is no KVM that works here, and emulation is ten times slower: SVC_RUNTIME=qemu takes it"
  const group = await stat("/dev/kvm").then(
    ({ gid }) => gid,
    () => undefined,
  )
  const note = await withKvmNote(directory)
  if (group !== undefined && !note.fails) {
    const parts = await make("kvm")
    try {
      await probe(parts)
      return parts
    } catch {
      await note.write()
    }
  }
  if (!isDemanded) throw new PortError("refused", slow)
  const parts = await make("tcg")
  await probe(parts)
  return parts
}

/** `isDemanded`: also where guests can only be emulated. */
export const openQemuRuntime = async (options: QemuOptions): Promise<RuntimePort> => {
  const { dataDir, log, isDemanded } = options
  const kernelDir = options.qemuKernel ?? (existsSync(UNPACKED_AT) ? UNPACKED_AT : "/")
  const { qemu, perl } = await demandPrograms()
  const directory = join(await realpath(dataDir), "workloads")
  const rootAt = join(directory, "root")
  await mkdir(rootAt, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  const groups = await openGroups(createHash("sha256").update(directory).digest("hex").slice(0, 12))
  await Promise.all((await groups.list()).map(id => groups.remove(id)))
  const slots = createSlots(SLOTS_MAX)
  const disks = await openDisks({ directory: join(directory, "disks"), slots, images: true })
  const said: string[] = []
  const hear = (line: string) => {
    said[0] = line
    log(line)
  }
  const program = fileURLToPath(new URL("launch.pl", import.meta.url))
  const launcher = await openLauncher({ perl, program, directory, log: hear })
  const kvmGroup = await stat("/dev/kvm").then(
    ({ gid }) => gid,
    () => undefined,
  )
  const counterKhz = await counterRate()
  const make = async (accelerator: Accelerator): Promise<Parts> => {
    const fixed = { rootAt, qemu, accelerator, kvmGroup, counterKhz }
    const request = fixedRequest(fixed, UID_BASE + slots.take() * UIDS_EACH)
    const at = join(directory, "templates")
    const templates = await openTemplates({
      ...{ directory: at, qemu, perl, kernelDir, request },
      launch: launcher.launch,
    })
    return { launcher, groups, disks, slots, templates, ...fixed }
  }
  try {
    const parts = await accelerated(directory, isDemanded, make)
    return createRuntime(engineOf(parts, capabilitiesOf(parts.accelerator, groups)))
  } catch (error) {
    await launcher[Symbol.asyncDispose]()
    await groups.close()
    if (error instanceof PortError && error.kind === "refused") throw error
    const cause = [error instanceof Error ? error.message : String(error), ...said].join(": ")
    throw new PortError("refused", `no guest of QEMU's starts here: ${cause}`, error)
  }
}
