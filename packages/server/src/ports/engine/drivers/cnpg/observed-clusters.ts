/** The Clusters of all volumes as the API last told of them, and what waits for them. */
import type { KubernetesApi } from "../../../kubernetes/api.ts"
import { type Observed, type ObserverOptions, observe } from "../../../kubernetes/observed.ts"
import type { ClusterResource } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import { failureOf } from "./cluster-state.ts"

export interface ObservedClusters
  extends Pick<Observed<ClusterResource>, "note" | "get" | "all">,
    AsyncDisposable {
  /**
   * Waits until a Cluster is as wanted. Fails as `missing` when it goes, as `refused` when the operator has given it up,
   * and as `unavailable` after `timeoutMs`.
   */
  until(
    name: string,
    isWanted: (cluster: ClusterResource) => boolean,
    timeoutMs: number,
  ): Promise<ClusterResource>
  untilGone(name: string, timeoutMs: number): Promise<void>
}

const describe = (cluster: ClusterResource | undefined): string => {
  const { phase = "no status", phaseReason = "" } = cluster?.status ?? {}
  return `${phase} ${phaseReason}`.trim()
}

export const observeClusters = (
  api: KubernetesApi,
  options: Omit<ObserverOptions<ClusterResource>, "describe">,
): ObservedClusters => {
  const observed = observe(api, "clusters", { ...options, describe })
  return {
    ...observed,
    until: (name, isWanted, timeoutMs) =>
      observed.wait(name, timeoutMs, cluster => {
        if (!cluster) throw new PortError("missing", `there is no Cluster ${name}`)
        const failure = failureOf(cluster)
        if (failure !== undefined) throw new PortError("refused", `${name}: ${failure}`)
        return isWanted(cluster) ? { answer: cluster } : undefined
      }),
    untilGone: (name, timeoutMs) =>
      observed.wait(name, timeoutMs, cluster => (cluster === undefined ? { answer: undefined } : undefined)),
  }
}
