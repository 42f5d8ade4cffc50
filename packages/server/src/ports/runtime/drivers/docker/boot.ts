/** One workload: what its container needs of this machine, the container, and the connection of the agent in it. */
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { PortError } from "../../../port-error.ts"
import type { Booted } from "../../engine.ts"
import { words } from "../../guest/frames.ts"
import type { Link, WorkloadNetwork } from "../../network/network.ts"
import { memoryDiskBytes, type WorkloadSpec } from "../../port.ts"
import type { Disks, Slots } from "../process/disks.ts"
import { takeLink } from "../process/held.ts"
import { countsOf } from "../process/hierarchies.ts"
import { isRoot, UID_BASE, UIDS_EACH, usedOn } from "../process/host.ts"
import type { ScratchDisks } from "../process/scratch.ts"
import { seccompFilter } from "../process/seccomp.ts"
import type { DockerApi } from "./api.ts"
import type { Arrivals } from "./arrivals.ts"
import { type Bind, type ContainerDisk, containerOf } from "./config.ts"
import { type Containers, type DaemonInfo, hasSecurity } from "./daemon.ts"
import type { HostRoot } from "./host-root.ts"
import { attachLoop } from "./loop.ts"
import type { ShownImages } from "./shown-images.ts"
import type { Volumes } from "./volumes.ts"

export interface Parts {
  readonly api: DockerApi
  readonly containers: Containers
  readonly arrivals: Arrivals
  readonly disks: Disks
  readonly slots: Slots
  readonly hostRoot: HostRoot
  readonly shownImages: ShownImages
  readonly volumes: Volumes
  readonly scratch: ScratchDisks | undefined
  readonly network: WorkloadNetwork | undefined
  readonly perl: string
  readonly info: DaemonInfo
  /** Files that one process may have open, in a workload of so many processes. */
  readonly openFiles: (processesMax: number) => number
}

/** For a daemon that is busy. */
const ARRIVAL_MS_MAX = 30_000
const runtimeDir = fileURLToPath(new URL("../../", import.meta.url))

interface TakenDisk {
  readonly slot: number
  readonly source: string
  readonly disk: ContainerDisk
}

/** What is `held` goes when the workload ends, what is `needed` as soon as its container runs. */
const takeDisk = async (
  { containers, disks, slots, scratch, perl }: Parts,
  spec: WorkloadSpec,
  { held, needed }: { held: AsyncDisposableStack; needed: AsyncDisposableStack },
): Promise<TakenDisk> => {
  const { id, disk } = spec
  if (disk.kind !== "persistent") {
    const slot = slots.take()
    held.defer(() => slots.free(slot))
    if (disk.kind === "scratch" && scratch) {
      const path = await scratch.make(id, disk.bytes)
      held.defer(() => scratch.remove(id))
      return {
        slot,
        source: `file:${path}`,
        disk: { device: needed.use(await attachLoop(perl, path)).device },
      }
    }
    return { slot, source: "memory", disk: { memoryBytes: memoryDiskBytes(spec) } }
  }
  const { slot, source } = await disks.prepare(id, disk.bytes)
  if (!isRoot()) return { slot, source: "volume", disk: { volume: containers.nameOf(id) } }
  const [kind, path] = [source.slice(0, source.indexOf(":")), source.slice(source.indexOf(":") + 1)]
  if (kind === "directory") return { slot, source, disk: { directory: path } }
  const { device } = needed.use(await attachLoop(perl, path))
  return { slot, source, disk: { device } }
}

const imageBinds = async (
  { shownImages }: Parts,
  { id, root }: WorkloadSpec,
  { held, uidBase }: { held: AsyncDisposableStack; uidBase: number },
): Promise<readonly Bind[]> => {
  if (root.kind !== "image") return []
  const source = await shownImages.show(id, root.directory, uidBase)
  held.defer(() => shownImages.hide(id))
  return [{ source, target: "/.svc/image" }]
}

/** What the agent is told: init.pl, and launchers' requests in process/launched.ts. */
const requestOf = (spec: WorkloadSpec, uidBase: number, ticket: string): string => {
  const filter = seccompFilter(process.arch)
  const request: readonly (readonly [string, string | Buffer])[] = [
    ["ticket", ticket],
    ["hostname", spec.hostname],
    ["uid_base", String(uidBase)],
    ["uid_count", String(UIDS_EACH)],
    ["root_at", "/.svc/root"],
    ["disk", "directory:/.svc/disk"],
    ...(spec.root.kind === "image" ? [["image", "/.svc/image"] as const] : []),
    ...(filter ? [["filter", filter.toString("hex")] as const] : []),
    ...spec.mounts.map(({ target }, number) => ["mount", words(`/.svc/mounts/${number}`, target)] as const),
  ]
  return words(...request.flat()).toString("hex")
}

const create = (
  { containers, hostRoot, arrivals, perl, info, openFiles }: Parts,
  spec: WorkloadSpec,
  given: { disk: ContainerDisk; request: string; imageBinds: readonly Bind[] },
): Promise<string> => {
  const config = containerOf(spec, {
    image: hostRoot.image,
    command: [perl, "/.svc/runtime/drivers/docker/init.pl", given.request],
    labels: containers.labels(spec.id),
    hasAppArmor: hasSecurity(info, "apparmor"),
    disk: given.disk,
    openFiles: openFiles(spec.processesMax),
    binds: [
      ...hostRoot.binds,
      ...given.imageBinds,
      { source: runtimeDir, target: "/.svc/runtime" },
      { source: arrivals.directory, target: "/.svc/platform" },
      ...spec.mounts.map(({ source }, number) => ({ source, target: `/.svc/mounts/${number}` })),
    ],
  })
  return containers.create(spec.id, config).catch(async error => {
    if (!(error instanceof PortError && error.kind === "missing")) throw error
    // Somebody tidied up, and took the image for one that nobody needs.
    await hostRoot.restore()
    return containers.create(spec.id, config)
  })
}

/** The agent's connection; rejects when it does not come. */
const meet = async (arrived: Promise<Socket>, containerEnded: Promise<void>): Promise<Socket> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new PortError("unavailable", "the workload did not start in time")),
    ARRIVAL_MS_MAX,
  )
  const ended = containerEnded.then(() => {
    throw new PortError("unavailable", "the container ended before its agent spoke")
  })
  ended.catch(() => undefined)
  try {
    return await Promise.race([arrived, ended, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

interface Running {
  readonly container: string
  readonly socket: Socket
  readonly link: Link | undefined
  readonly disk: TakenDisk
  readonly counts: NonNullable<Awaited<ReturnType<typeof countsOf>>>
  readonly ended: Promise<void>
  readonly held: AsyncDisposableStack
}

const bootedOf = (parts: Parts, { container, socket, link, disk, counts, ...running }: Running): Booted => {
  const { api, containers } = parts
  const command = async (what: string) => void (await api.call("POST", `/containers/${container}/${what}`))
  return {
    stream: { input: socket, output: socket },
    ended: running.ended.then(async () => {
      // A daemon that went away tells of an end too; without its platform the agent ends in any case.
      socket.destroy()
      const isOut = await containers.wasOutOfMemory(container).catch(() => false)
      // What cannot be removed now is when the driver is opened again.
      await running.held.disposeAsync().catch(() => undefined)
      return isOut ? "out_of_memory" : "died"
    }),
    kill: () => void command("kill").catch(() => socket.destroy()),
    freeze: () => command("pause"),
    thaw: () => command("unpause"),
    stats: async () => ({
      ...(await counts()),
      ...("volume" in disk.disk ? { diskBytes: await parts.volumes.bytesOf(disk.disk.volume) } : {}),
      ...(await usedOn(disk.source)),
      network: link ? await link.stats() : null,
    }),
  }
}

const begin = async (parts: Parts, spec: WorkloadSpec, held: AsyncDisposableStack): Promise<Running> => {
  const { api, containers, arrivals } = parts
  await using needed = new AsyncDisposableStack()
  const disk = await takeDisk(parts, spec, { held, needed })
  const uidBase = UID_BASE + disk.slot * UIDS_EACH
  const link = held.use(await takeLink(parts.network, spec))
  const binds = await imageBinds(parts, spec, { held, uidBase })
  const expected = needed.use(arrivals.expect())
  const request = requestOf(spec, uidBase, expected.ticket)
  const container = await create(parts, spec, { disk: disk.disk, request, imageBinds: binds })
  held.defer(() => containers.remove(container))
  const { ended } = await api.waitFor(container)
  await api.call("POST", `/containers/${container}/start`)
  const { State } = await containers.inspect(container)
  const [socket, counts] = await Promise.all([
    meet(expected.arrived, ended),
    countsOf(State.Pid),
    link?.joinProcess(State.Pid),
  ])
  if (!counts) throw new PortError("refused", "the platform does not see the processes of this Docker")
  return { container, socket, link, disk, counts, ended, held }
}

export const boot = async (parts: Parts, spec: WorkloadSpec): Promise<Booted> => {
  const held = new AsyncDisposableStack()
  try {
    return bootedOf(parts, await begin(parts, spec, held))
  } catch (error) {
    await held.disposeAsync().catch(() => undefined)
    if (error instanceof PortError && error.kind === "missing")
      throw new PortError("unavailable", error.message, error)
    throw error
  }
}
