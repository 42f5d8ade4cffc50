/** What a workload has of this machine while it runs, for drivers whose workloads one launcher starts. */
import { PortError } from "../../../port-error.ts"
import type { Booted, Engine } from "../../engine.ts"
import type { Link, WorkloadNetwork } from "../../network/network.ts"
import { memoryDiskBytes, type RuntimeCapabilities, type WorkloadSpec } from "../../port.ts"
import { createSlots, type Disks, openDisks, type Slots } from "./disks.ts"
import { type Group, type Groups, openGroups } from "./groups.ts"
import type { GroupLimits } from "./hierarchies.ts"
import { instanceOf, SLOTS_MAX } from "./host.ts"
import { type Launcher, openLauncher } from "./launcher.ts"
import { openScratchDisks, type ScratchDisks } from "./scratch.ts"

export interface Holdings {
  readonly launcher: Launcher
  readonly groups: Groups
  readonly disks: Disks
  readonly slots: Slots
  /** Undefined where disks cannot be file systems of their own: then they are in memory. */
  readonly scratch: ScratchDisks | undefined
  readonly network: WorkloadNetwork | undefined
}

export interface Opened extends Omit<Holdings, "network">, AsyncDisposable {
  /** What the launcher said last. */
  readonly said: () => readonly string[]
}

/** `directory` is that of all workloads, and `program` the launcher's. */
export const openHoldings = async (options: {
  readonly directory: string
  readonly perl: string
  readonly program: string
  /** Disks are file systems of their own. */
  readonly images: boolean
  readonly log: (line: string) => void
}): Promise<Opened> => {
  const { directory, perl, program, images, log } = options
  const groups = await openGroups(instanceOf(directory))
  // What a crash left: nothing in them is wanted, for no workload outlives its platform.
  await Promise.all((await groups.list()).map(id => groups.remove(id)))
  const slots = createSlots(SLOTS_MAX)
  const disks = await openDisks({ directory: `${directory}/disks`, slots, images })
  const scratch = images ? await openScratchDisks(`${directory}/scratch`, perl) : undefined
  const said: string[] = []
  const hear = (line: string) => {
    said[0] = line
    log(line)
  }
  const launcher = await openLauncher({ perl, program, directory, log: hear })
  return {
    ...{ launcher, groups, disks, slots, scratch, said: () => said },
    async [Symbol.asyncDispose]() {
      await launcher[Symbol.asyncDispose]()
      await groups.close()
    },
  }
}

export interface HostResources {
  readonly slot: number
  /** For the launcher. */
  readonly disk: string
  readonly group: Group
  readonly link: Link | undefined
  /** For who did not start, or has ended: but for its disk nothing is left. */
  release(): Promise<void>
}

/** Undefined where the workload is to have none. */
export const takeLink = async (
  network: WorkloadNetwork | undefined,
  { network: policy }: WorkloadSpec,
): Promise<Link | undefined> => {
  if (policy.mode === "none") return undefined
  if (!network) throw new PortError("refused", "there is no network")
  return await network.take(policy)
}

interface HeldDisk {
  readonly slot: number
  readonly source: string
  leave(): Promise<void>
}

const holdDisk = async ({ disks, slots, scratch }: Holdings, spec: WorkloadSpec): Promise<HeldDisk> => {
  const { id, disk } = spec
  if (disk.kind === "persistent") {
    return { ...(await disks.prepare(id, disk.bytes)), leave: async () => undefined }
  }
  const slot = slots.take()
  try {
    const isFile = disk.kind === "scratch" && scratch !== undefined
    const source = isFile ? `file:${await scratch.make(id, disk.bytes)}` : `memory:${memoryDiskBytes(spec)}`
    return {
      slot,
      source,
      async leave() {
        slots.free(slot)
        if (isFile) await scratch.remove(id)
      },
    }
  } catch (error) {
    slots.free(slot)
    throw error
  }
}

export const hold = async (
  holdings: Holdings,
  spec: WorkloadSpec,
  limits: GroupLimits,
): Promise<HostResources> => {
  const { groups, network } = holdings
  const { slot, source, leave } = await holdDisk(holdings, spec)
  const link = await takeLink(network, spec).catch(async error => {
    await leave()
    throw error
  })
  try {
    const group = await groups.create(spec.id, limits)
    return {
      ...{ slot, disk: source, group, link },
      async release() {
        await group.remove()
        // Nobody waits for it but who asks for the same address.
        void link?.[Symbol.asyncDispose]()
        await leave()
      },
    }
  } catch (error) {
    await link?.[Symbol.asyncDispose]()
    await leave()
    throw error
  }
}

export const engineOf = (
  { launcher, groups, disks, network }: Holdings,
  capabilities: RuntimeCapabilities,
  boot: (spec: WorkloadSpec) => Promise<Booted>,
): Engine => {
  const running = new Set<string>()
  return {
    capabilities,
    health: async () => ({ ok: true }),
    async prepare({ id, disk }) {
      if (disk.kind === "persistent") await disks.prepare(id, disk.bytes)
    },
    async boot(spec) {
      const booted = await boot(spec)
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
      await network?.[Symbol.asyncDispose]()
      await groups.close()
    },
  }
}
