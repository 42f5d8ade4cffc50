/** What a workload has of this machine while it runs, for drivers whose workloads one launcher starts. */
import { PortError } from "../../../port-error.ts"
import { type Booted, type Engine, memoryDiskBytes } from "../../engine.ts"
import type { Link, WorkloadNetwork } from "../../network/network.ts"
import type { RuntimeCapabilities, WorkloadSpec } from "../../port.ts"
import { createSlots, type Disks, openDisks, type Slots } from "./disks.ts"
import { type Group, type Groups, openGroups } from "./groups.ts"
import type { GroupLimits } from "./hierarchies.ts"
import { instanceOf, SLOTS_MAX } from "./host.ts"
import { type Launcher, openLauncher } from "./launcher.ts"

export interface Holdings {
  readonly launcher: Launcher
  readonly groups: Groups
  readonly disks: Disks
  readonly slots: Slots
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
  const said: string[] = []
  const hear = (line: string) => {
    said[0] = line
    log(line)
  }
  const launcher = await openLauncher({ perl, program, directory, log: hear })
  return {
    ...{ launcher, groups, disks, slots, said: () => said },
    async [Symbol.asyncDispose]() {
      await launcher[Symbol.asyncDispose]()
      await groups.close()
    },
  }
}

export interface Held {
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

export const hold = async (
  { groups, disks, slots, network }: Holdings,
  spec: WorkloadSpec,
  limits: GroupLimits,
): Promise<Held> => {
  const { id, disk } = spec
  const isKept = disk.kind === "persistent"
  const { slot, source } = isKept
    ? await disks.prepare(id, disk.bytes)
    : { slot: slots.take(), source: `memory:${memoryDiskBytes(spec)}` }
  const leave = () => {
    if (!isKept) slots.free(slot)
  }
  const link = await takeLink(network, spec).catch(error => {
    leave()
    throw error
  })
  try {
    const group = await groups.create(id, limits)
    return {
      ...{ slot, disk: source, group, link },
      async release() {
        await group.remove()
        // Nobody waits for it but who asks for the same address.
        void link?.[Symbol.asyncDispose]()
        leave()
      },
    }
  } catch (error) {
    await link?.[Symbol.asyncDispose]()
    leave()
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
