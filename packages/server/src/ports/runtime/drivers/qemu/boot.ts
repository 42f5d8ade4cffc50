/** How one workload becomes a machine of QEMU's: what the launcher is asked for, and what is done with what it started. */
import { randomUUID } from "node:crypto"
import type { Booted } from "../../engine.ts"
import { createGuestClient } from "../../guest/client.ts"
import { words } from "../../guest/frames.ts"
import type { Root, WorkloadSpec } from "../../port.ts"
import { type Holdings, type HostResources, hold } from "../process/held.ts"
import { UID_BASE, UIDS_EACH } from "../process/host.ts"
import type { LaunchRequest } from "../process/launcher.ts"
import { seccompFilter } from "../process/seccomp.ts"
import { type Accelerator, argumentsOf, type Shape } from "./machine.ts"
import type { Templates } from "./templates.ts"

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
/** A boot under KVM takes one; emulated it takes three, and twenty on a machine that is busy. */
const BOOT_MS_MAX = { kvm: 10_000, tcg: 180_000 }
/** A copy takes half a second, but for many that begin at once emulated. */
export const START_MS_MAX = { kvm: 30_000, tcg: 120_000 }
/** How launch.pl ends when the guest's kernel had killed for memory. */
const OUT_OF_MEMORY = 3
/** Longer than launch.pl gives a guest to write what is on its disk. */
const END_MS_MAX = 36_000

export interface Parts extends Holdings {
  readonly templates: Templates
  readonly accelerator: Accelerator
  readonly rootAt: string
  readonly qemu: string
  readonly kvmGroup: number | undefined
  readonly counterKhz: number
}

/** Of a machine beside what its workload has. */
export const overheadBytes = (accelerator: Accelerator): number =>
  GUEST_OWN_BYTES + MACHINE_OWN_BYTES[accelerator]

/** What probes and most workloads have. */
type Size = Pick<WorkloadSpec, "vcpus" | "memoryBytes">

const shapeOf = ({ accelerator, counterKhz, network }: Parts, { vcpus, memoryBytes }: Size): Shape => {
  const wanted = Math.max(MEMORY_BYTES_MIN, memoryBytes + GUEST_OWN_BYTES)
  return {
    ...{ accelerator, counterKhz, hasNetwork: network !== undefined },
    ...{ processors: Math.ceil(vcpus), memoryBytes: 2 ** Math.ceil(Math.log2(wanted)) },
  }
}

export const fixedRequest = (
  given: Pick<Parts, "rootAt" | "qemu" | "accelerator" | "kvmGroup">,
  slot: number,
): LaunchRequest => {
  const uid = String(UID_BASE + slot * UIDS_EACH)
  return [
    ...[["root_at", given.rootAt] as const, ["qemu", given.qemu] as const],
    ...[["uid_base", uid] as const, ["gid_base", uid] as const],
    ["uid_count", String(UIDS_EACH)],
    ["disk", "none:"],
    ...(given.accelerator === "kvm" ? [["kvm_group", String(given.kvmGroup)] as const] : []),
  ]
}

const requestOf = (
  parts: Parts,
  spec: WorkloadSpec,
  given: HostResources & { readonly template: string },
): LaunchRequest => {
  const shape = shapeOf(parts, spec)
  const aside = Math.floor((shape.memoryBytes - spec.memoryBytes - GUEST_OWN_BYTES) / PAGE_ASIDE_BYTES)
  const hasDisk = given.disk.startsWith("file:")
  const filter = seccompFilter(process.arch)
  return [
    ...fixedRequest(parts, given.slot),
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
    ...(shape.hasNetwork ? [["has_network", "1"] as const] : []),
    ...(given.link ? [["link", given.link.words] as const] : []),
    ...(spec.root.kind === "image" ? [["image", spec.root.directory] as const] : []),
    ...given.group.joinFiles.map(file => ["group", file] as const),
    ...spec.mounts.map(({ source, target }) => ["mount", words(source, target)] as const),
  ]
}

const limitsOf = (accelerator: Accelerator, { memoryBytes, vcpus }: WorkloadSpec) => ({
  memoryBytes: TOUCHED_TWICE * (memoryBytes + GUEST_OWN_BYTES) + MACHINE_OWN_BYTES[accelerator],
  ...{ vcpus, processesMax: MACHINE_THREADS + Math.ceil(vcpus) },
})

/** Of the machine that the workload has; made where there is none yet. */
const templateFor = (parts: Parts, size: Size): Promise<string> =>
  parts.templates.of(shapeOf(parts, size), BOOT_MS_MAX[parts.accelerator])

export const boot = async (parts: Parts, spec: WorkloadSpec): Promise<Booted> => {
  const { launcher, accelerator } = parts
  const template = await templateFor(parts, spec)
  const held = await hold(parts, spec, limitsOf(accelerator, spec))
  const { group, link } = held
  const request = requestOf(parts, spec, { ...held, template })
  const { socket, pid, ended } = await launcher.launch(request).catch(async error => {
    await held.release()
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
      await held.release()
      return code === OUT_OF_MEMORY || outOfMemoryKills > 0 ? ("out_of_memory" as const) : ("died" as const)
    }),
    kill() {
      void group.thaw().catch(() => undefined)
      // What is on a kept disk is written first.
      const isKept = spec.disk.kind === "persistent"
      signal(isKept ? "SIGTERM" : "SIGKILL")
      if (isKept) setTimeout(signal, END_MS_MAX, "SIGKILL").unref()
    },
    ...{ freeze: group.freeze, thaw: group.thaw },
    async stats() {
      // The rest is counted inside.
      const { cpuMs } = await group.stats()
      return { ...(cpuMs !== undefined && { cpuMs }), network: link ? await link.stats() : null }
    },
  }
}

/** Rejects where no guest comes up at all. */
export const probeTemplate = (parts: Parts): Promise<string> => templateFor(parts, probed)

const probed: Size = { vcpus: 1, memoryBytes: 64 * MiB }

/** Starts a workload and ends it. Rejects with what this machine does not grant. */
export const probe = async (parts: Parts, root: Root): Promise<void> => {
  const booted = await boot(parts, {
    ...{ id: randomUUID(), hostname: "probe", root, disk: { kind: "memory", bytes: MiB } },
    ...{ ...probed, processesMax: 8, mounts: [] },
    network: parts.network ? { mode: "filtered", allow: [], deny: [] } : { mode: "none" },
  })
  const timer = setTimeout(booted.kill, START_MS_MAX[parts.accelerator])
  try {
    await createGuestClient(booted.stream).ready
  } finally {
    clearTimeout(timer)
    booted.kill()
    await booted.ended
  }
}
