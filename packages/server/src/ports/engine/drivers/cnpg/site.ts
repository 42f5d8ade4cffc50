/** What the parts of this driver share, and the two ways in which they wait. */
import { setTimeout as delay } from "node:timers/promises"
import type { Clock } from "../../../../kernel/clock.ts"
import type { KubernetesApi } from "../../../kubernetes/api.ts"
import type { ClusterResource } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import type { VolumeRef } from "../../port.ts"
import { isLeaving } from "./cluster-state.ts"
import { clusterName, type ManifestOptions, VOLUME_LABEL } from "./manifests.ts"
import type { ObservedClusters } from "./observed-clusters.ts"

export interface ClusterContext {
  readonly api: KubernetesApi
  readonly observed: ObservedClusters
  readonly manifests: ManifestOptions
  readonly clock: Pick<Clock, "now">
  readonly log: (line: string) => void
  /** How long the operator may take to bring a volume to a state. */
  readonly stateTimeoutMs: number
  /** How long a base backup, or a recovery from one, may take. */
  readonly copyTimeoutMs: number
  readonly pollMs: number
  /** Where this process finds a service of the cluster. */
  readonly reach: (service: Address) => Address
}

export interface Address {
  readonly host: string
  readonly port: number
}

export const isUnavailable = (error: unknown): boolean =>
  error instanceof PortError && error.kind === "unavailable"

/** Asks again and again until there is an answer; that the API does not answer in between is waited out. */
export const poll = async <Answer>(
  { pollMs }: Pick<ClusterContext, "pollMs">,
  what: string,
  timeoutMs: number,
  look: () => Promise<Answer | undefined>,
): Promise<Answer> => {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await look().catch(error => {
      if (!isUnavailable(error) || performance.now() > deadline) throw error
      return undefined
    })
    if (answer !== undefined) return answer
    if (performance.now() > deadline)
      throw new PortError("unavailable", `${what} takes longer than ${timeoutMs} ms`)
    await delay(pollMs)
  }
}

export const findCluster = async (
  site: ClusterContext,
  { id }: VolumeRef,
): Promise<ClusterResource | undefined> => {
  const cluster = await site.api.get("clusters", clusterName(id))
  if (!cluster) return undefined
  if (cluster.metadata.labels?.[VOLUME_LABEL] !== id)
    throw new PortError("refused", `the Cluster ${clusterName(id)} was not made by this engine`)
  site.observed.note(cluster)
  return isLeaving(cluster) ? undefined : cluster
}

export const getCluster = async (site: ClusterContext, volume: VolumeRef): Promise<ClusterResource> => {
  const cluster = await findCluster(site, volume)
  if (!cluster) throw new PortError("missing", `there is no volume ${volume.id}`)
  return cluster
}

/** Changes annotations of a Cluster; null takes one away. */
export const annotate = async (
  site: ClusterContext,
  volumeId: string,
  annotations: Readonly<Record<string, string | null>>,
): Promise<ClusterResource> => {
  const cluster = await site.api.patch("clusters", clusterName(volumeId), { metadata: { annotations } })
  if (!cluster) throw new PortError("missing", `there is no volume ${volumeId}`)
  site.observed.note(cluster)
  return cluster
}
