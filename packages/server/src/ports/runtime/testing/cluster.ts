/** A Kubernetes cluster of a test's own: the fake API with a node that runs what Pods say. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  type FakeKubernetes,
  type FakeOptions,
  type Stored,
  startFakeKubernetes,
} from "../../kubernetes/testing/kubernetes.ts"
import { type KubernetesOptions, openKubernetesRuntime } from "../drivers/kubernetes/driver.ts"
import type { RuntimePort } from "../port.ts"
import { type Kubelet, type KubeletOptions, startKubelet } from "./kubelet.ts"

export interface Cluster extends AsyncDisposable {
  readonly kubernetes: FakeKubernetes
  readonly kubelet: Kubelet
  /** What a driver is opened with. */
  readonly place: Pick<KubernetesOptions, "apiUrl" | "namespace" | "token">
}

export interface ClusterOptions extends KubeletOptions, Pick<FakeOptions, "lacks"> {
  /** Whether its API server knows users of Pods. */
  readonly knowsUsers?: boolean
}

const withoutUsers = (kind: string, object: Stored): Stored => {
  if (kind !== "pods") return object
  const { hostUsers: _, ...spec } = object.spec
  return { ...object, spec }
}

const NAMESPACE = "workloads"

export const startCluster = async (options: ClusterOptions = {}): Promise<Cluster> => {
  const { knowsUsers = false, lacks = ["sandboxes"] } = options
  const kubernetes = await startFakeKubernetes(NAMESPACE, {
    ...{ lacks, hasNodes: true },
    ...(!knowsUsers && { admit: withoutUsers }),
  })
  const { hostname: host, port } = new URL(kubernetes.url)
  const kubelet = await startKubelet(kubernetes, { apiServer: { host, port: Number(port) }, ...options })
  return {
    ...{ kubernetes, kubelet },
    place: { apiUrl: kubernetes.url, token: kubernetes.token, namespace: NAMESPACE },
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]()
      await kubernetes[Symbol.asyncDispose]()
    },
  }
}

/** With a data folder of its own. */
export const openIn = async (
  { place }: Pick<Cluster, "place">,
  options: Partial<KubernetesOptions> = {},
): Promise<RuntimePort> => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-runtime-"))
  const leave = () => rm(dataDir, { recursive: true, force: true })
  const given = { dataDir, log: () => undefined, endMsMax: 30_000, ...place, ...options }
  const runtime = await openKubernetesRuntime(given).catch(async error => {
    await leave()
    throw error
  })
  return {
    ...runtime,
    async [Symbol.asyncDispose]() {
      await runtime[Symbol.asyncDispose]()
      await leave()
    },
  }
}
