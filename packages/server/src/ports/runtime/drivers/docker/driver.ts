/**
 * Workloads in containers of a Docker daemon of this machine, hardened and without a network of Docker's. The daemon makes
 * them, with their limits; in each the agent then makes users, mounts and a root of the workload's own, as that of the
 * process driver does, and comes to the platform over a socket that the container sees until then. They share this
 * machine's kernel.
 */
import { createHash, randomUUID } from "node:crypto"
import { chmod, mkdir, realpath, rm } from "node:fs/promises"
import { join } from "node:path"
import { PortError } from "../../../port-error.ts"
import type { Engine } from "../../engine.ts"
import { createGuestClient } from "../../guest/client.ts"
import { findNetwork, type NetworkDemand } from "../../network/demand.ts"
import type { Root, RuntimeCapabilities, RuntimePort } from "../../port.ts"
import { createRuntime } from "../../runtime.ts"
import { createSlots, openDisks } from "../process/disks.ts"
import { isRoot, mayWrite, programIn, SLOTS_MAX } from "../process/launched.ts"
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

interface Found {
  readonly info: DaemonInfo
  /** Disks are file systems of their own. */
  readonly diskImages: boolean
  readonly hasNetwork: boolean
  /** Why workloads cannot begin as images; undefined where they can. */
  readonly withoutRoots: string | undefined
  /** What the network lacks. */
  readonly reasons: readonly string[]
}

const capabilitiesOf = (found: Found): RuntimeCapabilities => {
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
    freeze: true,
    outOfMemory: "command",
    terminalSignals: true,
    separatesRoot: true,
    roots: withoutRoots === undefined ? ["host", "image"] : ["host"],
    reasons: [
      "Docker does not always tell that a container ended for want of memory: some have just died",
      ...unlimited.map(what => `this Docker does not limit ${what}`),
      ...(diskImages
        ? []
        : ["disks are not kept to their size: that takes root, mkfs.ext4 (e2fsprogs) and loop devices"]),
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

/** Starts a workload from an empty image and ends it; gives why that does not go. */
const probeImage = async (parts: Parts, directory: string): Promise<string | undefined> => {
  if (!isRoot()) return "only root can show them with users of their own"
  const image = join(directory, "probe")
  try {
    await mkdir(image, { recursive: true, mode: 0o755 })
    await probe(parts, { kind: "image", directory: image }, "memory")
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await rm(image, { recursive: true, force: true })
  }
}

const openDirectory = async (dataDir: string): Promise<string> => {
  const directory = join(await realpath(dataDir), "workloads")
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  return directory
}

const demandPerl = async (): Promise<string> => {
  const perl = await programIn("perl")
  if (perl === undefined) throw new PortError("refused", "perl is missing: install the package perl-base")
  return perl
}

export const openDockerRuntime = async (options: DockerOptions): Promise<RuntimePort> => {
  const { dataDir, dockerHost = DOCKER_HOST, network: demand, log } = options
  const perl = await demandPerl()
  await using opened = new AsyncDisposableStack()
  const api = opened.use(await openDockerApi(dockerHost))
  const info = await demandLinux(api)
  const directory = await openDirectory(dataDir)
  const containers = createContainers(api, createHash("sha256").update(directory).digest("hex").slice(0, 12))
  // What a crash left: no workload outlives its platform.
  await Promise.all((await containers.list()).map(id => containers.remove(containers.nameOf(id))))
  const shownImages = opened.use(await openShownImages(perl, join(directory, "images")))
  const diskImages =
    isRoot() && (await programIn("mkfs.ext4")) !== undefined && (await mayWrite("/dev/loop-control"))
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
