/** What makes workloads' Pods and keeps their disks: we do, or the controller of agent-sandbox. */
import { setTimeout as delay } from "node:timers/promises"
import type { KubernetesApi } from "../../../kubernetes/api.ts"
import { apiVersions, type Kind, type Resource } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import type { WorkloadSpec } from "../../port.ts"
import {
  claimOf,
  claimSpec,
  DISK,
  INSTANCE_LABEL,
  labelsOf,
  nameOf,
  type PodOptions,
  podOf,
  podTemplate,
  WORKLOAD_LABEL,
} from "./manifests.ts"

export interface Carrier {
  /** Makes the disk, if the workload has one that stays. Does nothing when it is there. */
  prepare(options: PodOptions, spec: WorkloadSpec): Promise<void>
  /** Asks for the Pod, which has the workload's name. False while there is another of that name. */
  launch(options: PodOptions, spec: WorkloadSpec): Promise<boolean>
  /** Asks that the Pod end. `isKept`: its disk stays. */
  end(id: string, isKept: boolean): Promise<void>
  /** Resolves once all of a workload is gone that has no Pod; rejects with `unavailable` when that takes too long. */
  erase(id: string): Promise<void>
  /** The workloads that have something here. */
  list(): Promise<readonly string[]>
  /** Those that have a Pod, or would get one, and whether their disks stay without it. */
  running(): Promise<readonly { readonly id: string; readonly isKept: boolean }[]>
}

const CLAIM_MS_MAX = 60_000
const CLAIM_POLL_MS = 100

const idsOf = (found: readonly Resource[]) =>
  found.flatMap(({ metadata }) => metadata.labels?.[WORKLOAD_LABEL] ?? [])

/** A cluster keeps claims for a moment that were asked to go, and gives them to nobody any more. */
const untilClaimsGone = async (api: KubernetesApi, instance: string, id: string): Promise<void> => {
  const selector = `${INSTANCE_LABEL}=${instance},${WORKLOAD_LABEL}=${id}`
  const deadline = performance.now() + CLAIM_MS_MAX
  while ((await api.list("persistentvolumeclaims", selector)).items.length > 0) {
    if (performance.now() > deadline)
      throw new PortError("unavailable", `the cluster does not let go of the disk of workload ${id}`)
    await delay(CLAIM_POLL_MS)
  }
}

/** Pods and claims of our own. */
export const createPodCarrier = (api: KubernetesApi, instance: string): Carrier => {
  const selector = `${INSTANCE_LABEL}=${instance}`
  const prepare: Carrier["prepare"] = async (options, spec) => {
    if (spec.disk.kind === "persistent") await api.create("persistentvolumeclaims", claimOf(options, spec))
  }
  return {
    prepare,
    async launch(options, spec) {
      await prepare(options, spec)
      return (await api.create("pods", podOf(options, spec))) !== undefined
    },
    end: id => api.remove("pods", nameOf(instance, id)),
    async erase(id) {
      await api.remove("pods", nameOf(instance, id))
      await api.remove("persistentvolumeclaims", nameOf(instance, id))
      await untilClaimsGone(api, instance, id)
    },
    async list() {
      const kinds: readonly Kind[] = ["pods", "persistentvolumeclaims"]
      const found = await Promise.all(kinds.map(async kind => (await api.list(kind, selector)).items))
      return [...new Set(idsOf(found.flat()))]
    },
    running: async () => idsOf((await api.list("pods", selector)).items).map(id => ({ id, isKept: true })),
  }
}

/** Sandboxes (https://github.com/kubernetes-sigs/agent-sandbox), whose controller makes a Pod of the same name. */
export const createSandboxCarrier = (api: KubernetesApi, instance: string): Carrier => {
  const selector = `${INSTANCE_LABEL}=${instance}`
  const sandboxOf = (options: PodOptions, spec: WorkloadSpec, operatingMode: "Running" | "Suspended") => {
    const { metadata, spec: pod } = podTemplate(options, spec)
    const isKept = spec.disk.kind === "persistent"
    // The controller names the claim, and mounts it under the template's name.
    const volumes = pod.volumes.filter(({ name }) => !isKept || name !== DISK)
    const claim = {
      metadata: { name: DISK, labels: labelsOf(instance, spec.id) },
      spec: claimSpec(options, spec),
    }
    return {
      ...{ apiVersion: apiVersions.sandboxes, kind: "Sandbox" },
      metadata: { name: nameOf(instance, spec.id), labels: labelsOf(instance, spec.id) },
      spec: {
        ...{ podTemplate: { metadata, spec: { ...pod, volumes } }, operatingMode, service: false },
        ...(isKept && { volumeClaimTemplates: [claim] }),
      },
    }
  }
  const mode = (id: string, operatingMode: "Running" | "Suspended", change: object = {}) =>
    api.patch("sandboxes", nameOf(instance, id), { spec: { operatingMode, ...change } })
  return {
    async prepare(options, spec) {
      if (spec.disk.kind === "persistent")
        await api.create("sandboxes", sandboxOf(options, spec, "Suspended"))
    },
    async launch(options, spec) {
      if (await api.get("pods", nameOf(instance, spec.id))) return false
      const wanted = sandboxOf(options, spec, "Running")
      if (await api.create("sandboxes", wanted)) return true
      if (spec.disk.kind !== "persistent") return false
      return (await mode(spec.id, "Running", { podTemplate: wanted.spec.podTemplate })) !== undefined
    },
    end: async (id, isKept) =>
      void (isKept ? await mode(id, "Suspended") : await api.remove("sandboxes", nameOf(instance, id))),
    async erase(id) {
      await api.remove("sandboxes", nameOf(instance, id))
      await untilClaimsGone(api, instance, id)
    },
    list: async () => [...new Set(idsOf((await api.list("sandboxes", selector)).items))],
    async running() {
      const { items } = await api.list("sandboxes", selector)
      return items.flatMap(sandbox => {
        const isKept = (sandbox.spec?.volumeClaimTemplates ?? []).length > 0
        const isOver = isKept && sandbox.spec?.operatingMode === "Suspended"
        return isOver ? [] : idsOf([sandbox]).map(id => ({ id, isKept }))
      })
    },
  }
}
