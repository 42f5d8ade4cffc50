/** What a Cluster's status means for the volume it is. */

import type { ClusterResource, Condition } from "../../../kubernetes/resources.ts"
import type { RecoveryWindow, VolumeState } from "../../port.ts"

/** An annotation by which pods are taken away or given back, and the condition that tells how far that is. */
export const HIBERNATION = "cnpg.io/hibernation"

const HEALTHY = "Cluster in healthy state"
export const UNRECOVERABLE = "Cluster is unrecoverable and needs manual intervention"

/** Phases that no waiting ends. */
const FAILED: readonly string[] = [
  UNRECOVERABLE,
  "Invalid cluster definition",
  "Cluster has incomplete or invalid image catalog",
  "Cluster cannot proceed to reconciliation due to an unknown plugin being required",
]

export const conditionOf = (cluster: ClusterResource, type: string): Condition | undefined =>
  cluster.status?.conditions?.find(condition => condition.type === type)

export const isLeaving = (cluster: ClusterResource): boolean =>
  cluster.metadata.deletionTimestamp !== undefined

/** Whether the volume was told to be at rest. */
export const wantsRest = (cluster: ClusterResource): boolean =>
  cluster.metadata.annotations?.[HIBERNATION] === "on"

export const isAtRest = (cluster: ClusterResource): boolean =>
  wantsRest(cluster) && conditionOf(cluster, HIBERNATION)?.status === "True"

/** Whether being put to rest has not begun yet: the operator waits until the volume is well. */
export const isRestDeferred = (cluster: ClusterResource): boolean =>
  wantsRest(cluster) && conditionOf(cluster, HIBERNATION)?.reason === "WaitingForHealthy"

/** A status that is older than the wish to wake still tells of the rest, so the condition must be gone too. */
export const isAwake = (cluster: ClusterResource): boolean =>
  !isLeaving(cluster) &&
  !wantsRest(cluster) &&
  conditionOf(cluster, HIBERNATION) === undefined &&
  cluster.status?.phase === HEALTHY &&
  (cluster.status.readyInstances ?? 0) >= 1

/** Why the volume will never be awake, or undefined. */
export const failureOf = (cluster: ClusterResource): string | undefined => {
  const { phase = "", phaseReason = "" } = cluster.status ?? {}
  return FAILED.includes(phase) ? `${phase}${phaseReason && `: ${phaseReason}`}` : undefined
}

export const stateOf = (cluster: ClusterResource): VolumeState => {
  if (isAtRest(cluster)) return "idle"
  if (wantsRest(cluster) || isLeaving(cluster)) return "stopping"
  return isAwake(cluster) ? "active" : "starting"
}

/** The log goes to the archive by whole segments, so the newest commits of a running volume are never certain there. */
export const protectionOf = (cluster: ClusterResource): RecoveryWindow["protection"] =>
  isAtRest(cluster) ? "at_rest" : "asynchronous"
