/**
 * Workloads whose first processes one launcher starts, in control groups and on disks of this machine: what those
 * drivers have in common that differ in what shuts such a process in. With what every Linux has: Perl, and for disks
 * that keep to their size mkfs.ext4. Run by root, each workload has users of its own, whom a user namespace calls 0 to
 * 65535; run by somebody else, all have his.
 */
import { execFile } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { access, chmod, mkdir, open, realpath, rm } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { rangeExists } from "../../../engine/drivers/local/confine/id-range.ts"
import { PortError } from "../../../port-error.ts"
import type { Booted, Engine } from "../../engine.ts"
import { createGuestClient, type GuestClient } from "../../guest/client.ts"
import { words } from "../../guest/frames.ts"
import { type FoundNetwork, findNetwork, type NetworkDemand, withoutNetwork } from "../../network/demand.ts"
import type { Link, WorkloadNetwork } from "../../network/network.ts"
import type { Root, RuntimeCapabilities, RuntimePort, WorkloadSpec } from "../../port.ts"
import { createRuntime } from "../../runtime.ts"
import { createSlots, type Disks, openDisks, type Slots } from "./disks.ts"
import { type Groups, openGroups } from "./groups.ts"
import type { GroupLimits } from "./hierarchies.ts"
import { type Launcher, type LaunchRequest, openLauncher } from "./launcher.ts"

export interface LaunchedOptions {
  readonly dataDir: string
  readonly log: (line: string) => void
  /** Left out: workloads have none. */
  readonly network?: NetworkDemand | undefined
}

/** What the machine has for it. */
export interface Found {
  readonly groups: Pick<Groups, "limits" | "freeze" | "reasons">
  /** Disks are file systems of their own. */
  readonly images: boolean
  /** Each workload has users of its own. */
  readonly ownUsers: boolean
  /** Why workloads cannot begin as images; undefined where they can. */
  readonly withoutRoots?: string
}

/** How workloads are shut in. */
export interface Confinement {
  /** The launcher's, in Perl. */
  readonly program: string
  /** What it must know beside what all launchers must; `uidBase` is the machine's user who is the workload's 0. */
  request(spec: WorkloadSpec, given: { uidBase: number; found: Found }): LaunchRequest
  /** Of the control group, which has what serves the workload too. */
  groupLimits(spec: WorkloadSpec): GroupLimits
  /** `shortcomings` are what `try` found. */
  capabilities(found: Found, shortcomings: readonly string[]): RuntimeCapabilities
  /** The control group holds processes that are none of the workload's: the agent counts. */
  readonly countsItself: boolean
  /** Asks a first workload for more than that it starts. Gives what it lacks, or rejects where nobody could use it. */
  try?(client: GuestClient): Promise<readonly string[]>
}

/** Past what systemd gives to containers (systemd UIDS-GIDS: 524288 to 1879048191). */
export const UID_BASE = 1_900_000_000
export const UIDS_EACH = 65_536
export const SLOTS_MAX = 2_048
/** Of a disk in memory, which counts as the workload's memory; its processes need some too. */
const MEMORY_DISK_PART = 0.75
/** For a first workload, on a machine that is busy. */
const PROBE_MS_MAX = 30_000

export const isRoot = () => process.getuid?.() === 0

export const programIn = async (name: string): Promise<string | undefined> => {
  for (const directory of ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"]) {
    const path = join(directory, name)
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}

interface Parts {
  readonly launcher: Launcher
  readonly groups: Groups
  readonly disks: Disks
  readonly slots: Slots
  readonly found: Found
  readonly rootAt: string
  readonly confinement: Confinement
  readonly network: WorkloadNetwork | undefined
}

const requestOf = (
  { found, rootAt, confinement }: Parts,
  spec: WorkloadSpec,
  given: { slot: number; disk: string; joinFiles: readonly string[]; link: Link | undefined },
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
    ...(spec.root.kind === "image" ? [["image", spec.root.directory] as const] : []),
    ...(given.link ? [["link", given.link.words] as const] : []),
    ...given.joinFiles.map(file => ["group", file] as const),
    ...spec.mounts.map(({ source, target }) => ["mount", words(source, target)] as const),
    ...confinement.request(spec, { uidBase, found }),
  ]
}

/** A folder on the machine's own file system has to be counted. */
export const usedOn = async (source: string): Promise<{ readonly diskBytes?: number }> => {
  const folder = source.startsWith("directory:") ? source.slice("directory:".length) : undefined
  if (folder === undefined) return {}
  const { stdout } = await promisify(execFile)("du", ["-sx", "--block-size=1", folder])
  return { diskBytes: Number.parseInt(stdout, 10) }
}

const takeLink = async (
  network: WorkloadNetwork | undefined,
  { network: policy }: WorkloadSpec,
): Promise<Link | undefined> => {
  if (policy.mode === "none") return undefined
  if (!network) throw new PortError("refused", "there is no network")
  return await network.take(policy)
}

const boot = async (parts: Parts, spec: WorkloadSpec): Promise<Booted> => {
  const { launcher, groups, disks, slots, confinement } = parts
  const { disk, memoryBytes } = spec
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
  const link = await takeLink(parts.network, spec).catch(error => {
    leave()
    throw error
  })
  try {
    const group = await groups.create(spec.id, confinement.groupLimits(spec))
    const request = requestOf(parts, spec, { slot, disk: source, joinFiles: group.joinFiles, link })
    const { socket, pid, ended } = await launcher.launch(request).catch(async error => {
      await group.remove()
      throw error
    })
    return {
      stream: { input: socket, output: socket },
      ended: ended.then(async () => {
        const { outOfMemoryKills = 0 } = await group.stats()
        await group.remove()
        // Nobody waits for it but who asks for the same address.
        void link?.[Symbol.asyncDispose]()
        leave()
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
        return { ...counted, ...(isTrue ? { processes } : {}), ...(await usedOn(source)), network }
      },
    }
  } catch (error) {
    await link?.[Symbol.asyncDispose]()
    leave()
    throw error
  }
}

const engineOf = (parts: Parts, capabilities: RuntimeCapabilities): Engine => {
  const { launcher, groups, disks, network } = parts
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
      await network?.[Symbol.asyncDispose]()
      await groups.close()
    },
  }
}

const demandPerl = async (): Promise<string> => {
  if (process.platform !== "linux") throw new PortError("refused", "only Linux has what isolates processes")
  const perl = await programIn("perl")
  if (perl === undefined) throw new PortError("refused", "perl is missing: install the package perl-base")
  return perl
}

/** `forbidden` begins the sentence that tells why a first workload did not start. */
export const openLaunched = async (
  { dataDir, log, network: demand }: LaunchedOptions,
  confinement: Confinement,
  forbidden: string,
): Promise<RuntimePort> => {
  const perl = await demandPerl()
  const directory = join(await realpath(dataDir), "workloads")
  const [disksAt, rootAt] = [join(directory, "disks"), join(directory, "root")]
  await mkdir(rootAt, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  const ownUsers = isRoot() && (await rangeExists(UID_BASE, SLOTS_MAX * UIDS_EACH))
  if (isRoot() && !ownUsers)
    throw new PortError(
      "refused",
      `the users ${UID_BASE} to ${UID_BASE + SLOTS_MAX * UIDS_EACH} do not exist here`,
    )
  const instance = createHash("sha256").update(directory).digest("hex").slice(0, 12)
  const groups = await openGroups(instance)
  // What a crash left: nothing in them is wanted, for no workload outlives its platform.
  await Promise.all((await groups.list()).map(id => groups.remove(id)))
  const images =
    ownUsers && (await programIn("mkfs.ext4")) !== undefined && (await mayWrite("/dev/loop-control"))
  const slots = createSlots(SLOTS_MAX)
  const disks = await openDisks({ directory: disksAt, slots, images })
  const said: string[] = []
  const hear = (line: string) => {
    said[0] = line
    log(line)
  }
  const launcher = await openLauncher({ perl, program: confinement.program, directory, log: hear })
  const found = { groups, images, ownUsers }
  const alone: Parts = { launcher, groups, disks, slots, found, rootAt, confinement, network: undefined }
  try {
    const shortcomings = await probe(alone, { kind: "host" })
    const { network, reasons } = await networkFor(alone, { demand, perl, log })
    const parts = { ...alone, network }
    const withoutRoots = await probeImage(alone, directory)
    const all = { ...found, ...(withoutRoots !== undefined && { withoutRoots }) }
    const capabilities = confinement.capabilities(all, shortcomings)
    return createRuntime(
      engineOf(parts, {
        ...capabilities,
        network: network ? "filtered" : "none",
        reasons: [...capabilities.reasons, ...reasons],
      }),
    )
  } catch (error) {
    await launcher[Symbol.asyncDispose]()
    await groups.close()
    const cause = [error instanceof Error ? error.message : String(error), ...said].join(": ")
    throw new PortError("refused", `${forbidden}: ${cause}`, error)
  }
}

/** Opening it tells more than its mode: containers have the file and may not. */
export const mayWrite = async (path: string): Promise<boolean> => {
  try {
    await (await open(path, "r+")).close()
    return true
  } catch {
    return false
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

/** Starts a workload from an empty image and ends it; gives why that does not go. */
const probeImage = async (parts: Parts, directory: string): Promise<string | undefined> => {
  const image = join(directory, "probe")
  try {
    await mkdir(image, { recursive: true, mode: 0o755 })
    await probe(parts, { kind: "image", directory: image })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await rm(image, { recursive: true, force: true })
  }
}

/** Starts a workload and ends it. Rejects with what this machine does not grant. */
const probe = async (parts: Parts, root: Root): Promise<readonly string[]> => {
  const booted = await boot(parts, {
    ...{ id: randomUUID(), hostname: "probe", root, disk: { kind: "memory", bytes: 2 ** 20 } },
    ...{ vcpus: 1, memoryBytes: 2 ** 25, processesMax: 8, mounts: [] },
    network: parts.network ? { mode: "filtered", allow: [], deny: [] } : { mode: "none" },
  })
  const client = createGuestClient(booted.stream)
  // What it says to a workload that ends is that this has ended.
  const timer = setTimeout(booted.kill, PROBE_MS_MAX)
  try {
    await client.ready
    return (root.kind === "host" && (await parts.confinement.try?.(client))) || []
  } finally {
    clearTimeout(timer)
    booted.kill()
    await booted.ended
  }
}
