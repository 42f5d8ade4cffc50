/**
 * Workloads in machines of QEMU's, each with a kernel of its own: processes of this machine without rights, that run a
 * guest by KVM, or where there is none by translating its instructions. What a guest sees of this machine's files it asks
 * for one by one, read-only, of a process that has no more rights than itself.
 */
import { existsSync } from "node:fs"
import { mkdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PortError } from "../../../port-error.ts"
import { type FoundNetwork, findNetwork, type NetworkDemand, withoutNetwork } from "../../network/demand.ts"
import type { WorkloadNetwork } from "../../network/network.ts"
import type { RuntimeCapabilities, RuntimePort } from "../../port.ts"
import { createRuntime } from "../../runtime.ts"
import { engineOf, openHoldings } from "../process/held.ts"
import {
  demandPerl,
  demandUsers,
  isRoot,
  mayWrite,
  programIn,
  readOnlyPrograms,
  whyWithoutRoots,
  workloadsIn,
} from "../process/host.ts"
import type { LaunchedOptions } from "../process/launched.ts"
import { boot, fixedRequest, overheadBytes, type Parts, probe, probeTemplate, START_MS_MAX } from "./boot.ts"
import { UNPACKED_AT } from "./kernel.ts"
import type { Accelerator } from "./machine.ts"
import { openTemplates } from "./templates.ts"

export interface QemuOptions extends LaunchedOptions {
  readonly isDemanded: boolean
  /** Has `boot` and `lib/modules` of a kernel for guests; left out: the machine's own. */
  readonly qemuKernel?: string | undefined
}

const NOBODYS_GROUP = 65_534

/** In a machine that is itself a guest without KVM, which is where guests are emulated, that is the counter's rate. */
const counterRate = async (): Promise<number> => {
  const [, text = ""] = /^cpu MHz\s*: ([\d.]+)$/m.exec(await readFile("/proc/cpuinfo", "utf8")) ?? []
  return Math.round(1_000 * Number(text))
}

const emulated =
  "this machine has no KVM that works: guests' instructions are translated, ten times slower, and programs lie at the " +
  "same addresses in all of them"

const capabilitiesOf = ({ parts, withoutRoots, reasons }: Opened): RuntimeCapabilities => {
  const { accelerator, groups, network } = parts
  return {
    driver: "qemu",
    isolation: accelerator === "kvm" ? "microvm" : "microvm-emulated",
    limits: { memory: true, cpu: groups.limits.cpu, processes: false, disk: true },
    network: network ? "filtered" : "none",
    persistentDisks: true,
    scratchDisks: true,
    freeze: groups.freeze,
    outOfMemory: "command",
    terminalSignals: true,
    ...{ separatesRoot: true, narrowsKernelFiles: true, mounts: true, installs: false },
    sharedResources: {},
    overheadBytes: overheadBytes(accelerator),
    roots: withoutRoots === undefined ? ["host", "image"] : ["host"],
    reasons: [
      ...groups.reasons,
      "a guest that starts processes without end is held to its number, and may end as a whole",
      ...(accelerator === "kvm" ? [] : [emulated]),
      readOnlyPrograms("guests read them over FUSE; an image is theirs to change"),
      ...(withoutRoots === undefined ? [] : [`workloads cannot begin as images: ${withoutRoots}`]),
      ...reasons,
    ],
  }
}

/** What there must be; the packages are Debian's. */
const demandPrograms = async () => {
  const refuse = (reason: string) => new PortError("refused", reason)
  if (process.platform !== "linux" || process.arch !== "x64")
    throw refuse("this driver knows the machines of x86-64 alone, on Linux")
  if (!isRoot()) throw refuse("giving each machine a user of its own takes root")
  const [qemu, mkfs] = await Promise.all(["qemu-system-x86_64", "mkfs.ext4"].map(programIn))
  if (qemu === undefined) throw refuse("QEMU is missing: install the package qemu-system-x86")
  if (mkfs === undefined) throw refuse("mkfs.ext4 is missing: install the package e2fsprogs")
  await demandUsers()
  return { qemu, perl: await demandPerl() }
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

/** Who may use KVM beside root, which QEMU is not; undefined where there is none or nobody may. */
const kvmGroupHere = async (): Promise<number | undefined> => {
  // Containers have the file and may not open it, and so have machines with nothing behind it.
  if (!(await mayWrite("/dev/kvm"))) return undefined
  const { gid, mode } = await stat("/dev/kvm")
  if ((mode & 0o006) === 0o006) return NOBODYS_GROUP
  return (mode & 0o060) === 0o060 && gid !== 0 ? gid : undefined
}

interface Opened {
  readonly parts: Parts
  readonly withoutRoots: string | undefined
  /** Why there is no network, or less of it. */
  readonly reasons: readonly string[]
}

interface Opening {
  readonly directory: string
  readonly isDemanded: boolean
  readonly hasKvm: boolean
  readonly demand: NetworkDemand | undefined
  readonly found: FoundNetwork
  make(by: Accelerator, network: WorkloadNetwork | undefined): Promise<Parts>
}

/** With the network that was found, or without where a guest comes up without it alone. */
const openedBy = async (accelerator: Accelerator, opening: Opening): Promise<Opened> => {
  const { found, make, directory, demand } = opening
  const attempt = async (network: WorkloadNetwork | undefined) => {
    const parts = await make(accelerator, network)
    // What does not come up at all needs no second try.
    await probeTemplate(parts)
    const withoutRoots = await whyWithoutRoots(directory, root => probe(parts, root))
    if (withoutRoots !== undefined) await probe(parts, { kind: "host" })
    return { parts, withoutRoots }
  }
  if (!found.network) return { ...(await attempt(undefined)), reasons: found.reasons }
  try {
    return { ...(await attempt(found.network)), reasons: found.reasons }
  } catch (error) {
    const opened = await attempt(undefined)
    const { reasons } = withoutNetwork(demand, error)
    await found.network[Symbol.asyncDispose]()
    return { ...opened, reasons }
  }
}

/** KVM where it runs a guest, else emulation, where that is demanded. */
const accelerated = async (opening: Opening): Promise<Opened> => {
  const slow = "there is no KVM that works here, and emulation is ten times slower: SVC_RUNTIME=qemu takes it"
  const note = await withKvmNote(opening.directory)
  if (opening.hasKvm && !note.fails) {
    try {
      return await openedBy("kvm", opening)
    } catch (error) {
      // Of a network that is demanded, or for want of a kernel.
      if (error instanceof PortError && error.kind === "refused") throw error
      await note.write()
    }
  }
  if (!opening.isDemanded) throw new PortError("refused", slow)
  return await openedBy("tcg", opening)
}

/** `isDemanded`: also where guests can only be emulated. */
export const openQemuRuntime = async (options: QemuOptions): Promise<RuntimePort> => {
  const { dataDir, log, isDemanded, network: demand } = options
  const kernelDir = options.qemuKernel ?? (existsSync(UNPACKED_AT) ? UNPACKED_AT : "/")
  const { qemu, perl } = await demandPrograms()
  const directory = await workloadsIn(dataDir)
  const rootAt = join(directory, "root")
  await mkdir(rootAt, { recursive: true, mode: 0o700 })
  const program = fileURLToPath(new URL("launch.pl", import.meta.url))
  const holdings = await openHoldings({ directory, perl, program, images: true, log })
  const kvmGroup = await kvmGroupHere()
  const counterKhz = await counterRate()
  const make: Opening["make"] = async (accelerator, network) => {
    const fixed = { rootAt, qemu, accelerator, kvmGroup, counterKhz }
    const request = fixedRequest(fixed, holdings.slots.take())
    const at = join(directory, "templates")
    const { launch } = holdings.launcher
    const templates = await openTemplates({ directory: at, qemu, perl, kernelDir, request, launch })
    return { ...holdings, ...fixed, templates, network }
  }
  let found: FoundNetwork = { reasons: [] }
  try {
    found = await findNetwork(demand, { perl, nft: await programIn("nft"), isRoot: true }, log)
    const hasKvm = kvmGroup !== undefined
    const opened = await accelerated({ directory, isDemanded, hasKvm, demand, found, make })
    const { parts } = opened
    const engine = engineOf(parts, capabilitiesOf(opened), spec => boot(parts, spec))
    return createRuntime({ ...engine, startMsMax: START_MS_MAX[parts.accelerator] })
  } catch (error) {
    await found.network?.[Symbol.asyncDispose]()
    await holdings[Symbol.asyncDispose]()
    if (error instanceof PortError && error.kind === "refused") throw error
    const cause = [error instanceof Error ? error.message : String(error), ...holdings.said()].join(": ")
    throw new PortError("refused", `no guest of QEMU's starts here: ${cause}`, error)
  }
}
