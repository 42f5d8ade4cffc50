/**
 * Workloads in Pods of a Kubernetes cluster, whose nodes pull, place, limit and end them. In each the agent is the first
 * process of a container; the platform comes to it by a program run in the Pod's other container, the sidecar, because what
 * a container itself says is kept in its node's logs. How well a Pod is shut in is the cluster's matter: its RuntimeClass,
 * its NetworkPolicies, its storage.
 */
import { randomBytes } from "node:crypto"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type ApiOptions, createKubernetesApi, type KubernetesApi } from "../../../kubernetes/api.ts"
import { observe } from "../../../kubernetes/observed.ts"
import { PortError } from "../../../port-error.ts"
import type { Engine } from "../../engine.ts"
import type { Isolation, RuntimeCapabilities, RuntimePort } from "../../port.ts"
import { createRuntime } from "../../runtime.ts"
import { boot, describePod, endPod, type Parts } from "./boot.ts"
import { createPodCarrier, createSandboxCarrier } from "./carriers.ts"
import { configMapOf, INSTANCE_LABEL, keptPlaces, type PodOptions, SIDECAR_BYTES } from "./manifests.ts"
import { denyAll, denyAllName, egressOf } from "./policies.ts"
import { type Probed, probe } from "./probe.ts"
import { readScripts } from "./scripts.ts"

export interface KubernetesOptions extends ApiOptions {
  readonly dataDir: string
  readonly log: (line: string) => void
  /** What workloads without an image start from: a Linux with Perl's base, as Debian has. */
  readonly image?: string | undefined
  readonly runtimeClass?: string | undefined
  readonly storageClass?: string | undefined
  readonly seccompProfile?: string | undefined
  /** Left out: workloads have none. */
  readonly hasNetwork?: boolean | undefined
  readonly startMsMax?: number | undefined
  readonly endMsMax?: number | undefined
  readonly sandboxMsMax?: number | undefined
}

export const IMAGE = "docker.io/library/debian:13-slim"
const START_MS_MAX = 120_000
const END_MS_MAX = 60_000
const SANDBOX_MS_MAX = 60_000
const WATCH_RETRY_MS = 200

/** Of a data folder, which is one platform's whatever machine it is on. */
const instanceOf = async (dataDir: string): Promise<string> => {
  const directory = join(dataDir, "workloads")
  const path = join(directory, "kubernetes-instance")
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(path, randomBytes(5).toString("hex"), { flag: "wx" }).catch(() => undefined)
  const instance = (await readFile(path, "utf8")).trim()
  if (!/^[0-9a-f]{10}$/.test(instance)) throw new PortError("refused", `${path} holds no name of an instance`)
  return instance
}

/** By what the nodes call it: runsc is gVisor's, and Kata's begin with its name. */
export const isolationOf = (handler: string | undefined): Isolation => {
  if (handler === undefined) return "container"
  if (/^(runsc|gvisor)/.test(handler)) return "gvisor"
  return /^kata/.test(handler) ? "microvm" : "container"
}

const findIsolation = async (api: KubernetesApi, runtimeClass: string | undefined): Promise<Isolation> => {
  if (runtimeClass === undefined) return "container"
  const found = await api.get("runtimeclasses", runtimeClass)
  if (!found) throw new PortError("refused", `the cluster has no RuntimeClass ${runtimeClass}`)
  return isolationOf(found.handler)
}

/** What a container runtime lets all Pods of a node have together. */
const ofTheNode =
  "a node's kernel counts inotify instances, timers and message queues of all Pods for the same users, and terminals for " +
  "all together: one workload can take them from the others; a RuntimeClass of gVisor or Kata has a kernel for each"
const sharedResources: RuntimeCapabilities["sharedResources"] = {
  inotify: ofTheNode,
  timers: ofTheNode,
  "message queues": ofTheNode,
  terminals: ofTheNode,
  sockets: ofTheNode,
  files: ofTheNode,
}

interface ProbeResult extends Probed {
  readonly isolation: Isolation
  readonly hasSandboxes: boolean
  readonly hasNetwork: boolean
}

const capabilitiesOf = ({
  isolation,
  hasNetwork,
  hasSandboxes,
  withoutUsers,
}: ProbeResult): RuntimeCapabilities => ({
  driver: "kubernetes",
  isolation,
  limits: { memory: true, cpu: true, processes: false, disk: false },
  overheadBytes: SIDECAR_BYTES,
  network: hasNetwork ? "filtered" : "none",
  ...{ persistentDisks: true, scratchDisks: true, freeze: false, outOfMemory: "workload", mounts: false },
  ...{
    terminalSignals: true,
    separatesRoot: true,
    narrowsKernelFiles: false,
    roots: ["host"],
    installs: false,
  },
  sharedResources: isolation === "container" ? sharedResources : {},
  reasons: [
    ...(isolation === "container" ? [ofTheNode] : []),
    "a node with control groups of version 1, or with singleProcessOOMKill, ends one command for want of memory, uncounted",
    "how many processes a workload may have is its node's to say (podPidsLimit of the kubelet)",
    "whether a disk keeps to its size, and what it counts as used, is its storage class's matter",
    `of a persistent disk ${keptPlaces.join(", ")} are kept; the rest of the root is the image's, and read-only`,
    "workloads cannot begin as images: they begin as SVC_KUBERNETES_IMAGE",
    "directories of this machine cannot be shown in Pods, so functions do not run",
    ...(hasNetwork ? ["domains cannot be allowed one by one: NetworkPolicies know addresses only"] : []),
    ...(isolation === "container" && withoutUsers !== undefined
      ? [`root in a workload is its node's root without rights: ${withoutUsers}`]
      : []),
    ...(hasSandboxes ? ["the controller of agent-sandbox makes the Pods, and takes its time for it"] : []),
  ],
})

const engineOf = (parts: Parts, capabilities: RuntimeCapabilities, close: () => Promise<void>): Engine => {
  const { api, carrier, options } = parts
  return {
    capabilities,
    async health() {
      try {
        // A selector that nothing matches: what counts is whether the answer comes.
        await api.list("pods", `${INSTANCE_LABEL}=none`)
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: (error as Error).message }
      }
    },
    async prepare(spec) {
      egressOf(spec.network)
      await carrier.prepare(options, spec)
    },
    boot: spec => boot(parts, spec),
    async erase(id) {
      await endPod(parts, { id, isKept: false })
      await carrier.erase(id)
    },
    list: carrier.list,
    [Symbol.asyncDispose]: close,
  }
}

/** What a crash left: no workload outlives its platform. */
const clearUp = async (parts: Parts, selector: string): Promise<void> => {
  const { api, carrier, options, log } = parts
  const leftover = await carrier.running()
  await Promise.all(
    leftover.map(one =>
      endPod(parts, one).catch(error => log(`a Pod of a former platform was left to its end: ${error}`)),
    ),
  )
  const policies = (await api.list("networkpolicies", selector)).items.map(({ metadata }) => metadata.name)
  const left = policies.filter(name => name !== denyAllName(options.instance))
  await Promise.all(left.map(name => api.remove("networkpolicies", name)))
}

export const openKubernetesRuntime = async (given: KubernetesOptions): Promise<RuntimePort> => {
  const { dataDir, log, runtimeClass, hasNetwork = false } = given
  const instance = await instanceOf(dataDir)
  const selector = `${INSTANCE_LABEL}=${instance}`
  await using opened = new AsyncDisposableStack()
  const api = opened.use(createKubernetesApi(given))
  const isolation = await findIsolation(api, runtimeClass)
  const hasSandboxes = await api.knows("sandboxes")
  const carrier = (hasSandboxes ? createSandboxCarrier : createPodCarrier)(api, instance)
  const scripts = await readScripts(`svc-${instance}`)
  const kept = async () => {
    await api.remove("configmaps", scripts.name)
    await api.remove("networkpolicies", denyAllName(instance))
  }
  // What cannot be removed is there for the next one, or goes with the namespace.
  opened.defer(() => kept().catch(() => undefined))
  await api.create("configmaps", configMapOf(instance, scripts))
  await api.create("networkpolicies", denyAll(instance))
  const observed = { selector, retryMs: WATCH_RETRY_MS, log, describe: describePod }
  const pods = opened.use(observe(api, "pods", observed))
  const options: PodOptions = {
    ...{ instance, image: given.image ?? IMAGE, scripts: scripts.name, hasOwnUsers: true },
    ...{ runtimeClass, storageClass: given.storageClass, seccompProfile: given.seccompProfile },
  }
  const limits = {
    startMsMax: given.startMsMax ?? START_MS_MAX,
    endMsMax: given.endMsMax ?? END_MS_MAX,
    sandboxMsMax: given.sandboxMsMax ?? SANDBOX_MS_MAX,
  }
  const parts: Parts = { api, pods, carrier, options, log, ...limits }
  await clearUp(parts, selector)
  const probed = await probe(parts)
  const capabilities = capabilitiesOf({ ...probed, isolation, hasSandboxes, hasNetwork })
  const found: Parts = { ...parts, options: { ...options, hasOwnUsers: probed.withoutUsers === undefined } }
  const stack = opened.move()
  return createRuntime(engineOf(found, capabilities, () => stack.disposeAsync()))
}
