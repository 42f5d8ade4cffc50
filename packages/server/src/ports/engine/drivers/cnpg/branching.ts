import { setTimeout as delay } from "node:timers/promises"
import type { BackupResource, ClusterResource } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import type {
  BranchedFrom,
  Lsn,
  RecoveryPoint,
  RolePasswords,
  VolumeCredentials,
  VolumeRef,
} from "../../port.ts"
import type { History } from "./history.ts"
import {
  clusterName,
  clusterSelector,
  type Origin,
  PARTED_AT_ANNOTATION,
  PARTED_LSN_ANNOTATION,
  POINT_ANNOTATION,
  recoveryBootstrap,
  streamingBootstrap,
} from "./manifests.ts"
import type { Sessions } from "./sessions.ts"
import { annotate, type ClusterContext, findCluster, getCluster, isUnavailable } from "./site.ts"

export interface Branching {
  branch(
    source: VolumeRef,
    target: VolumeRef,
    point: RecoveryPoint,
    credentials: VolumeCredentials,
    roles: RolePasswords,
  ): Promise<BranchedFrom>
}

interface Needs {
  readonly wakeSource: (source: VolumeRef) => Promise<void>
  /** Makes the Cluster and what belongs to it, and waits until it is awake. */
  readonly raise: (target: VolumeRef, credentials: VolumeCredentials, origin: Origin) => Promise<void>
  /** Frees what is left of a copy that failed. */
  readonly raze: (target: VolumeRef) => Promise<void>
  readonly history: Pick<History, "reach" | "takeBackup">
  readonly sessions: Pick<Sessions, "position" | "lockOtherRoles">
}

interface Copy {
  readonly origin: object
  /** The position is null where only the copy itself can tell it. */
  readonly parted: { readonly lsn: Lsn | null; readonly time: Date }
}

const pointText = (sourceId: string, point: RecoveryPoint): string => {
  if (point.kind === "time") return `${sourceId} time ${point.time.toISOString()}`
  return point.kind === "lsn" ? `${sourceId} lsn ${point.lsn}` : `${sourceId} head`
}

const partedOf = (cluster: ClusterResource): Copy["parted"] => {
  const { [PARTED_LSN_ANNOTATION]: lsn = null, [PARTED_AT_ANNOTATION]: at = "" } =
    cluster.metadata.annotations ?? {}
  return { lsn, time: new Date(at) }
}

const snapshotOf = (backup: BackupResource): string => {
  const data = backup.status?.snapshotBackupStatus?.elements?.find(({ type }) => type === "PG_DATA")
  if (!data)
    throw new PortError("unavailable", `the Backup ${backup.metadata.name} holds no snapshot of the data`)
  return data.name
}

export const createBranching = (site: ClusterContext, needs: Needs): Branching => {
  const { api, manifests, clock } = site
  const { history } = needs

  /** Without an archive the source itself is read. */
  const streamHead = async (sourceId: string, targetId: string): Promise<Copy> => ({
    origin: streamingBootstrap(sourceId, targetId, manifests.namespace),
    parted: { lsn: null, time: new Date(clock.now()) },
  })

  const copyHead = async (source: VolumeRef, targetId: string, backupName: string): Promise<Copy> => {
    await needs.wakeSource(source)
    if (!manifests.backup) return streamHead(source.id, targetId)
    const usesSnapshot = manifests.backup.snapshotClass !== undefined
    const backup = await history.takeBackup(source, backupName, usesSnapshot)
    const { endLSN = null, stoppedAt } = backup.status ?? {}
    return {
      origin: recoveryBootstrap({
        sourceId: source.id,
        targetId,
        point: { kind: "head" },
        snapshot: usesSnapshot ? snapshotOf(backup) : undefined,
      }),
      parted: { lsn: endLSN, time: new Date(stoppedAt ?? clock.now()) },
    }
  }

  /** The operator picks the base itself: the newest in the object store from before the point. */
  const copyPoint = async (
    source: VolumeRef,
    targetId: string,
    point: RecoveryPoint,
    backupName: string,
  ): Promise<Copy> => {
    await history.reach(source, point, backupName)
    return {
      origin: recoveryBootstrap({ sourceId: source.id, targetId, point, snapshot: undefined }),
      parted: {
        lsn: point.kind === "lsn" ? point.lsn : null,
        time: point.kind === "time" ? point.time : new Date(clock.now()),
      },
    }
  }

  /** Resolves when the job that makes the copy has given up; a Cluster's own phase does not say so. */
  const recoveryFailure = async (targetId: string, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const failed = await api
        .list("jobs", clusterSelector(targetId))
        .then(({ items }) => items.some(hasFailed))
        .catch(error => {
          if (!isUnavailable(error)) throw error
          return false
        })
      if (failed) return
      await delay(site.pollMs, undefined, { signal }).catch(() => undefined)
    }
  }

  const raiseOrRaze = async (target: VolumeRef, credentials: VolumeCredentials, origin: Origin) => {
    const done = new AbortController()
    const failing = recoveryFailure(target.id, done.signal).then(() => "failed" as const)
    const raising = needs.raise(target, credentials, origin).then(() => "raised" as const)
    try {
      const end = await Promise.race([raising, failing])
      if (end === "raised") return
    } finally {
      done.abort()
      // Whichever comes second is of no interest any more.
      for (const late of [raising, failing]) late.catch(() => undefined)
    }
    await needs.raze(target)
    throw new PortError(
      "unavailable",
      `the recovery of ${clusterName(target.id)} failed; its pods' log says why`,
    )
  }

  /** What a copy needs before anybody but us may know of it. Repeatable. */
  const finish = async (
    target: VolumeRef,
    { lsn, time }: Copy["parted"],
    roles: RolePasswords,
  ): Promise<BranchedFrom> => {
    // Only the operator's superuser could read the passwords of another volume: a role's is what it was at the point.
    if (roles.others === "cleared") await needs.sessions.lockOtherRoles(target)
    if (lsn !== null) return { lsn, time }
    const position = await needs.sessions.position(target)
    await annotate(site, target.id, { [PARTED_LSN_ANNOTATION]: position })
    return { lsn: position, time }
  }

  return {
    async branch(source, target, point, credentials, roles) {
      if (source.pgVersion !== target.pgVersion || source.tier !== target.tier)
        throw new PortError("refused", "a copy has the version and the tier of its source")
      const asked = pointText(source.id, point)
      const existing = await findCluster(site, target)
      if (existing) {
        if (existing.metadata.annotations?.[POINT_ANNOTATION] !== asked)
          throw new PortError("refused", `the volume ${target.id} exists and is something else`)
        await raiseOrRaze(target, credentials, { bootstrap: {} })
        return finish(target, partedOf(existing), roles)
      }
      const { spec } = await getCluster(site, source)
      const backupName = `${clusterName(target.id)}-base`
      const copy =
        point.kind === "head"
          ? await copyHead(source, target.id, backupName)
          : await copyPoint(source, target.id, point, backupName)
      await raiseOrRaze(target, credentials, {
        bootstrap: copy.origin,
        sourceId: source.id,
        storage: spec.storage,
        annotations: {
          [POINT_ANNOTATION]: asked,
          ...(copy.parted.lsn === null ? {} : { [PARTED_LSN_ANNOTATION]: copy.parted.lsn }),
          [PARTED_AT_ANNOTATION]: copy.parted.time.toISOString(),
        },
      })
      // A snapshot holds on to what the source has changed since. A base in the object store is of use again.
      if (manifests.backup?.snapshotClass !== undefined) await api.remove("backups", backupName)
      return finish(target, copy.parted, roles)
    },
  }
}

const hasFailed = (job: {
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] }
}) => job.status?.conditions?.some(({ type, status }) => type === "Failed" && status === "True") ?? false
