/**
 * Workloads in containers of a Docker daemon of this machine, hardened and without a network of Docker's. The daemon makes
 * them, with their limits; in each the agent then makes users, mounts and a root of the workload's own, as that of the
 * process driver does, and comes to the platform over a socket that the container sees until then. They share this
 * machine's kernel.
 */
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { PortError } from "../../../port-error.ts"
import type { Engine } from "../../engine.ts"
import { createGuestClient } from "../../guest/client.ts"
import { findNetwork, type NetworkDemand } from "../../network/demand.ts"
import type { Root, RuntimeCapabilities, RuntimePort } from "../../port.ts"
import { createRuntime } from "../../runtime.ts"
import { createSlots, openDisks } from "../process/disks.ts"
import {
  demandPerl,
  hasDiskImages,
  instanceOf,
  isRoot,
  openFilesPerProcess,
  programIn,
  readOnlyPrograms,
  SLOTS_MAX,
  whyWithoutRoots,
  withoutDiskImages,
  workloadsIn,
} from "../process/host.ts"
import { openScratchDisks } from "../process/scratch.ts"
import { openDockerApi } from "./api.ts"
import { openArrivals } from "./arrivals.ts"
import { boot, type Parts } from "./boot.ts"
import { createContainers, type DaemonInfo, demandLinux, hasSecurity } from "./daemon.ts"
import { openHostRoot } from "./host-root.ts"
import { openShownImages } from "./shown-images.ts"
import { createVolumes } from "./volumes.ts"

export interface DockerOptions {
  readonly dataDir: string
  readonly log: (line: string) => void
  readonly dockerHost?: string
  readonly network?: NetworkDemand
}

/** Of containerd-shim-runc-v2, which keeps each container. */
const SHIM_BYTES = 16 * 2 ** 20
const DOCKER_HOST = "unix:///var/run/docker.sock"

const engineOf = (parts: Parts, capabilities: RuntimeCapabilities, close: () => Promise<void>): Engine => {
  const { api, containers, disks } = parts
  return {
    capabilities,
    async health() {
      try {
        await api.call("GET", "/_ping")
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: (error as Error).message }
      }
    },
    async prepare({ id, disk }) {
      if (disk.kind === "persistent") await disks.prepare(id, disk.bytes)
    },
    boot: spec => boot(parts, spec),
    async erase(id) {
      await containers.remove(containers.nameOf(id))
      if (!isRoot()) await parts.volumes.remove(containers.nameOf(id))
      await disks.erase(id)
    },
    list: async () => [...new Set([...(await containers.list()), ...(await disks.list())])],
    [Symbol.asyncDispose]: close,
  }
}

interface ProbeResult {
  readonly info: DaemonInfo
  /** Disks are file systems of their own. */
  readonly diskImages: boolean
  readonly hasNetwork: boolean
  /** Why workloads cannot begin as images; undefined where they can. */
  readonly withoutRoots: string | undefined
  /** What the network lacks. */
  readonly reasons: readonly string[]
}

const capabilitiesOf = (found: ProbeResult): RuntimeCapabilities => {
  const { info, diskImages, hasNetwork, withoutRoots } = found
  const [memory, cpu, processes] = [info.MemoryLimit, info.CpuCfsQuota, info.PidsLimit].map(
    has => has === true,
  )
  const limits = {
    memory: memory === true,
    cpu: cpu === true,
    processes: processes === true,
    disk: diskImages,
  }
  const unlimited = Object.entries({ ...limits, disk: true }).flatMap(([what, has]) => (has ? [] : [what]))
  return {
    driver: "docker",
    isolation: "container",
    limits,
    overheadBytes: SHIM_BYTES,
    network: hasNetwork ? "filtered" : "none",
    persistentDisks: true,
    scratchDisks: diskImages,
    freeze: true,
    outOfMemory: "command",
    terminalSignals: true,
    ...{ separatesRoot: true, narrowsKernelFiles: true, mounts: true, installs: false },
    sharedResources: {},
    roots: withoutRoots === undefined ? ["host", "image"] : ["host"],
    reasons: [
      "Docker does not always tell that a container ended for want of memory: some have just died",
      ...unlimited.map(what => `this Docker does not limit ${what}`),
      ...(diskImages ? [] : [withoutDiskImages]),
      readOnlyPrograms("containers of Docker show them read-only; an image is theirs to change"),
      ...(withoutRoots === undefined ? [] : [`workloads cannot begin as images: ${withoutRoots}`]),
      ...(hasSecurity(info, "seccomp") ? [] : ["this Docker has no filter of system calls"]),
      ...(hasSecurity(info, "apparmor")
        ? ["AppArmor is off in containers: its usual profile forbids what the agent sets up"]
        : []),
      ...found.reasons,
    ],
  }
}

/** Starts a workload and ends it: what it takes is only known by trying. */
const probe = async (parts: Parts, root: Root, kind: "memory" | "persistent"): Promise<void> => {
  const id = randomUUID()
  const network = parts.network
    ? ({ mode: "filtered", allow: [], deny: [] } as const)
    : ({ mode: "none" } as const)
  const booted = await boot(parts, {
    ...{ id, hostname: "probe", root, disk: { kind, bytes: 2 ** 20 }, network },
    ...{ vcpus: 1, memoryBytes: 2 ** 26, processesMax: 8, mounts: [] },
  })
  try {
    await createGuestClient(booted.stream).ready
  } finally {
    booted.kill()
    await booted.ended
    await parts.disks.erase(id)
  }
}

const probeImage = async (parts: Parts, directory: string): Promise<string | undefined> =>
  isRoot()
    ? whyWithoutRoots(directory, root => probe(parts, root, "memory"))
    : "only root can show them with users of their own"

export const openDockerRuntime = async (options: DockerOptions): Promise<RuntimePort> => {
  const { dataDir, dockerHost = DOCKER_HOST, network: demand, log } = options
  const perl = await demandPerl()
  await using opened = new AsyncDisposableStack()
  const api = opened.use(await openDockerApi(dockerHost))
  const info = await demandLinux(api)
  const directory = await workloadsIn(dataDir)
  const containers = createContainers(api, instanceOf(directory))
  // What a crash left: no workload outlives its platform.
  await Promise.all((await containers.list()).map(id => containers.remove(containers.nameOf(id))))
  const shownImages = opened.use(await openShownImages(perl, join(directory, "images")))
  const diskImages = await hasDiskImages()
  const slots = createSlots(SLOTS_MAX)
  const disks = await openDisks({ directory: join(directory, "disks"), slots, images: diskImages })
  const hostRoot = await openHostRoot(api)
  const arrivals = opened.use(await openArrivals(join(directory, "arrivals")))
  const { network, reasons } = await findNetwork(
    demand,
    { perl, nft: await programIn("nft"), isRoot: isRoot() },
    log,
  )
  if (network) opened.use(network)
  const parts: Parts = {
    ...{ api, containers, arrivals, disks, slots, hostRoot, shownImages, network, perl, info },
    volumes: createVolumes(api),
    scratch: diskImages ? await openScratchDisks(join(directory, "scratch"), perl) : undefined,
    openFiles: await openFilesPerProcess(),
  }
  const [failure, withoutRoots] = await Promise.all([
    probe(parts, { kind: "host" }, diskImages ? "persistent" : "memory").then(
      () => undefined,
      (error: Error) => error,
    ),
    probeImage(parts, directory),
  ])
  if (failure) throw new PortError("refused", `no container of ours runs here: ${failure.message}`, failure)
  const kept = opened.move()
  const found = { info, diskImages, hasNetwork: network !== undefined, withoutRoots, reasons }
  return createRuntime(engineOf(parts, capabilitiesOf(found), () => kept.disposeAsync()))
}
