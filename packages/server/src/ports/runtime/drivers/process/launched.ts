/**
 * Workloads whose first processes one launcher starts, in control groups and on disks of this machine: what those
 * drivers have in common that differ in what shuts such a process in. With what every Linux has: Perl, and for disks
 * that keep to their size mkfs.ext4. Run by root, each workload has users of its own, whom a user namespace calls 0 to
 * 65535; run by somebody else, all have his.
 */
import { randomUUID } from "node:crypto"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { PortError } from "../../../port-error.ts"
import type { Booted } from "../../engine.ts"
import { createGuestClient, type GuestClient } from "../../guest/client.ts"
import { words } from "../../guest/frames.ts"
import { type FoundNetwork, findNetwork, type NetworkDemand, withoutNetwork } from "../../network/demand.ts"
import type { Root, RuntimeCapabilities, RuntimePort, WorkloadSpec } from "../../port.ts"
import { createRuntime } from "../../runtime.ts"
import type { Groups } from "./groups.ts"
import { engineOf, type Holdings, type HostResources, hold, openHoldings } from "./held.ts"
import type { GroupLimits } from "./hierarchies.ts"
import {
  demandPerl,
  demandUsers,
  hasDiskImages,
  isRoot,
  openFilesPerProcess,
  programIn,
  UID_BASE,
  UIDS_EACH,
  usedOn,
  whyWithoutInstalls,
  whyWithoutRoots,
  workloadsIn,
} from "./host.ts"
import { createHostSettings, type HostSettings } from "./host-settings.ts"
import type { LaunchRequest } from "./launcher.ts"

export interface LaunchedOptions {
  readonly dataDir: string
  readonly log: (line: string) => void
  /** Left out: workloads have none. */
  readonly network?: NetworkDemand | undefined
}

/** What the machine has for it. */
export interface ProbeResult {
  readonly groups: Pick<Groups, "limits" | "freeze" | "reasons">
  /** Disks are file systems of their own. */
  readonly images: boolean
  /** Each workload has users of its own. */
  readonly ownUsers: boolean
  /** Files that one process may have open, in a workload of so many processes. */
  readonly openFiles: (processesMax: number) => number
  /** Why workloads cannot begin as images; undefined where they can. */
  readonly withoutRoots?: string
  /** Why workloads cannot change the machine's programs for themselves; undefined where they can. */
  readonly withoutInstalls?: string
}

/** What a first workload showed of how it is shut in. */
export type Shown = Pick<RuntimeCapabilities, "reasons" | "terminalSignals">

/** How workloads are shut in. */
export interface Confinement {
  /** The launcher's, in Perl. */
  readonly program: string
  /** What it must know beside what all launchers must; `uidBase` is the machine's user who is the workload's 0. */
  request(spec: WorkloadSpec, given: { uidBase: number; found: ProbeResult }): LaunchRequest
  /** Of the control group, which has what serves the workload too. */
  groupLimits(spec: WorkloadSpec): GroupLimits
  capabilities(found: ProbeResult, shown: Shown): RuntimeCapabilities
  /** The control group holds processes that are none of the workload's: the agent counts. */
  readonly countsItself: boolean
  /** Asks a first workload for more than that it starts. Rejects where nobody could use it. */
  try?(client: GuestClient): Promise<Shown>
}

/** For a first workload, on a machine that is busy. */
const PROBE_MS_MAX = 30_000

interface Parts extends Holdings {
  readonly found: ProbeResult
  readonly hostSettings: HostSettings
  readonly rootAt: string
  readonly confinement: Confinement
}

const requestOf = (
  { found, rootAt, confinement }: Parts,
  spec: WorkloadSpec,
  given: Pick<HostResources, "slot" | "disk" | "group" | "link"> & { readonly settings: string | undefined },
): LaunchRequest => {
  const { ownUsers } = found
  const ownBase = UID_BASE + given.slot * UIDS_EACH
  const uidBase = ownUsers ? ownBase : (process.getuid?.() ?? 0)
  return [
    ["hostname", spec.hostname],
    ["uid_base", String(uidBase)],
    ["gid_base", String(ownUsers ? ownBase : process.getgid?.())],
    ["uid_count", ownUsers ? String(UIDS_EACH) : "1"],
    ["root_at", rootAt],
    ["disk", given.disk],
    ["files_max", String(found.openFiles(spec.processesMax))],
    ...(spec.root.kind === "image" ? [["image", spec.root.directory] as const] : []),
    ...(spec.root.kind === "image" && spec.root.bare ? [["bare", "1"] as const] : []),
    ...(given.settings === undefined ? [] : [["settings", given.settings] as const]),
    ...(given.link ? [["link", given.link.words] as const] : []),
    ...given.group.joinFiles.map(file => ["group", file] as const),
    ...spec.mounts.map(({ source, target }) => ["mount", words(source, target)] as const),
    ...confinement.request(spec, { uidBase, found }),
  ]
}

/** What a workload begins with in /etc that may change the machine's programs for itself; undefined for others. */
const settingsFor = async ({ found, hostSettings }: Parts, { root, disk }: WorkloadSpec) =>
  root.kind === "host" && disk.kind === "persistent" && found.withoutInstalls === undefined
    ? await hostSettings()
    : undefined

/** `settings`: a file of settings for a root that may be changed. */
const boot = async (parts: Parts, spec: WorkloadSpec, settings?: string): Promise<Booted> => {
  const { launcher, confinement } = parts
  const held = await hold(parts, spec, confinement.groupLimits(spec))
  const { group, link, disk } = held
  const request = requestOf(parts, spec, { ...held, settings })
  const { socket, pid, ended } = await launcher.launch(request).catch(async error => {
    await held.release()
    throw error
  })
  return {
    stream: { input: socket, output: socket },
    ended: ended.then(async () => {
      const { outOfMemoryKills = 0 } = await group.stats()
      await held.release()
      return outOfMemoryKills > 0 ? ("out_of_memory" as const) : ("died" as const)
    }),
    kill() {
      void group.thaw().catch(() => undefined)
      try {
        process.kill(pid, "SIGKILL")
      } catch {
        // It has ended.
      }
    },
    freeze: group.freeze,
    thaw: group.thaw,
    async stats() {
      const { processes, ...counted } = await group.stats()
      const isTrue = processes !== undefined && !confinement.countsItself
      const network = link ? await link.stats() : null
      return { ...counted, ...(isTrue ? { processes } : {}), ...(await usedOn(disk)), network }
    },
  }
}

/** `forbidden` begins the sentence that tells why a first workload did not start. */
export const openLaunched = async (
  { dataDir, log, network: demand }: LaunchedOptions,
  confinement: Confinement,
  forbidden: string,
): Promise<RuntimePort> => {
  if (process.platform !== "linux") throw new PortError("refused", "only Linux has what isolates processes")
  const perl = await demandPerl()
  const directory = await workloadsIn(dataDir)
  const rootAt = join(directory, "root")
  await mkdir(rootAt, { recursive: true, mode: 0o700 })
  const ownUsers = isRoot()
  if (ownUsers) await demandUsers()
  const images = ownUsers && (await hasDiskImages())
  const holdings = await openHoldings({ directory, perl, program: confinement.program, images, log })
  const found = { groups: holdings.groups, images, ownUsers, openFiles: await openFilesPerProcess() }
  const hostSettings = createHostSettings(directory)
  const alone: Parts = { ...holdings, found, hostSettings, rootAt, confinement, network: undefined }
  try {
    const shown = await probe(alone, { kind: "host" })
    const { network, reasons } = await networkFor(alone, { demand, perl, log })
    const [withoutRoots, withoutInstalls] = await Promise.all([
      whyWithoutRoots(directory, root => probe(alone, root)),
      whyWithoutInstalls(settings => probe(alone, { kind: "host" }, settings)),
    ])
    const all = {
      ...found,
      ...(withoutRoots !== undefined && { withoutRoots }),
      ...(withoutInstalls !== undefined && { withoutInstalls }),
    }
    const parts = { ...alone, found: all, network }
    const capabilities = {
      ...confinement.capabilities(all, shown),
      network: network ? ("filtered" as const) : ("none" as const),
    }
    const told = { ...capabilities, reasons: [...capabilities.reasons, ...reasons] }
    return createRuntime(
      engineOf(parts, told, async spec => boot(parts, spec, await settingsFor(parts, spec))),
    )
  } catch (error) {
    await holdings[Symbol.asyncDispose]()
    const cause = [error instanceof Error ? error.message : String(error), ...holdings.said()].join(": ")
    throw new PortError("refused", `${forbidden}: ${cause}`, error)
  }
}

/** One that a first workload could be given. Rejects where it is demanded and there is none. */
const networkFor = async (
  parts: Parts,
  given: { demand: NetworkDemand | undefined; perl: string; log: (line: string) => void },
): Promise<FoundNetwork> => {
  const { demand, perl, log } = given
  const nft = await programIn("nft")
  const found = await findNetwork(demand, { perl, nft, isRoot: parts.found.ownUsers }, log)
  if (!found.network) return found
  try {
    await probe({ ...parts, network: found.network }, { kind: "host" })
    return found
  } catch (error) {
    await found.network[Symbol.asyncDispose]()
    return withoutNetwork(demand, error)
  }
}

/** Starts a workload and ends it. Rejects with what this machine does not grant. */
const probe = async (parts: Parts, root: Root, settings?: string): Promise<Shown> => {
  const spec: WorkloadSpec = {
    ...{ id: randomUUID(), hostname: "probe", root, disk: { kind: "memory", bytes: 2 ** 20 } },
    ...{ vcpus: 1, memoryBytes: 2 ** 25, processesMax: 8, mounts: [] },
    network: parts.network ? { mode: "filtered", allow: [], deny: [] } : { mode: "none" },
  }
  const booted = await boot(parts, spec, settings)
  const client = createGuestClient(booted.stream)
  // What it says to a workload that ends is that this has ended.
  const timer = setTimeout(booted.kill, PROBE_MS_MAX)
  try {
    await client.ready
    const shown =
      root.kind === "host" &&
      settings === undefined &&
      !parts.network &&
      (await parts.confinement.try?.(client))
    return shown || { reasons: [], terminalSignals: true }
  } finally {
    clearTimeout(timer)
    booted.kill()
    await booted.ended
  }
}
