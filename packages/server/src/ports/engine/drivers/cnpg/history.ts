/** What volumes can be restored from: an archive of their log in an object store, and base backups. */

import type { BackupResource, ClusterResource } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import type { Lsn, RecoveryPoint, RecoveryWindow, VolumeRef } from "../../port.ts"
import { conditionOf, HIBERNATION, isAtRest, protectionOf } from "./cluster-state.ts"
import {
  backupManifest,
  clusterName,
  clusterSelector,
  MARK_ANNOTATION,
  SEALED_AT_ANNOTATION,
  SEALED_LSN_ANNOTATION,
} from "./manifests.ts"
import type { ClusterLifecycle } from "./power.ts"
import { annotate, type ClusterContext, getCluster, poll } from "./site.ts"

export interface History {
  window(volume: VolumeRef): Promise<RecoveryWindow>
  prune(volume: VolumeRef, before: Date): Promise<void>
  /** Takes a base backup now, which also brings everything before it to the archive. The name makes it one of a kind. */
  takeBackup(volume: VolumeRef, name: string, snapshot: boolean): Promise<BackupResource>
  /** Brings an earlier point into the archive, or throws `refused` when it is outside the window. */
  reach(volume: VolumeRef, point: RecoveryPoint, backupName: string): Promise<void>
}

const DAY_MS = 86_400_000
const NO_LSN: Lsn = "0/0"

/** A log position as a number: two halves of 32 bits in hexadecimal. */
export const lsnValue = (lsn: Lsn): bigint => {
  const [, high, low] = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(lsn) ?? []
  if (high === undefined || low === undefined) throw new PortError("refused", "that is no position in a log")
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

const maxLsn = (lsns: readonly Lsn[]): Lsn | null =>
  lsns.reduce<Lsn | null>((max, lsn) => (max === null || lsnValue(lsn) > lsnValue(max) ? lsn : max), null)

const timeOf = (text: string | undefined): number => (text === undefined ? Number.NaN : Date.parse(text))

interface Completed {
  readonly name: string
  readonly stoppedAt: number
  readonly endLsn: Lsn
  readonly inObjectStore: boolean
}

const completedOf = ({ metadata, spec, status }: BackupResource): readonly Completed[] =>
  status?.phase === "completed" && status.endLSN && status.stoppedAt
    ? [
        {
          name: metadata.name,
          stoppedAt: timeOf(status.stoppedAt),
          endLsn: status.endLSN,
          inObjectStore: spec.method === "plugin",
        },
      ]
    : []

const outside = (what: string): PortError =>
  new PortError("refused", `the point is outside the window: ${what}`)

export const createHistory = (
  site: ClusterContext,
  power: Pick<ClusterLifecycle, "start" | "mark">,
): History => {
  const { api, clock, manifests } = site

  /** Oldest first. */
  const completed = async ({ id }: VolumeRef): Promise<readonly Completed[]> => {
    const { items } = await api.list("backups", clusterSelector(id))
    return items.flatMap(completedOf).sort((a, b) => a.stoppedAt - b.stoppedAt)
  }

  /** The plugin's own word, after what its retention has already dropped. */
  const earliestOf = async ({ id }: VolumeRef): Promise<number | null> => {
    const store = await api.get("objectstores", clusterName(id))
    const at = timeOf(store?.status?.serverRecoveryWindow?.[clusterName(id)]?.firstRecoverabilityPoint)
    return Number.isNaN(at) ? null : at
  }

  const latestOf = (cluster: ClusterResource): number =>
    isAtRest(cluster)
      ? timeOf(conditionOf(cluster, HIBERNATION)?.lastTransitionTime) || clock.now()
      : clock.now()

  const takeBackup: History["takeBackup"] = async ({ id }, name, snapshot) => {
    // One that an earlier try left would be of an earlier state.
    await api.remove("backups", name)
    const made = await api.create("backups", backupManifest(id, name, snapshot))
    if (!made) throw new PortError("unavailable", `the Backup ${name} is still being removed`)
    return poll(site, `the Backup ${name}`, site.copyTimeoutMs, async () => {
      const backup = await api.get("backups", name)
      if (!backup) throw new PortError("missing", `the Backup ${name} was removed`)
      const { phase, error = "" } = backup.status ?? {}
      // Not `unavailable`, which would be waited out.
      if (phase === "failed") throw new Error(`the Backup ${name} failed: ${error}`)
      return phase === "completed" ? backup : undefined
    }).catch(error => {
      throw error instanceof PortError ? error : new PortError("unavailable", `${error}`, error)
    })
  }

  const isSealed = (cluster: ClusterResource, point: RecoveryPoint): boolean => {
    const sealed = cluster.metadata.annotations ?? {}
    if (point.kind === "time") return point.time.getTime() <= timeOf(sealed[SEALED_AT_ANNOTATION])
    const lsn = sealed[SEALED_LSN_ANNOTATION]
    return point.kind === "lsn" && lsn !== undefined && lsnValue(point.lsn) <= lsnValue(lsn)
  }

  /**
   * Replay up to a time ends well only if the archive has a commit after it. So one is made, and a base backup closes
   * the segment that it is in and waits until that is archived.
   */
  const seal = async (volume: VolumeRef, backupName: string): Promise<Lsn> => {
    await power.start(volume)
    const at = new Date(clock.now()).toISOString()
    await power.mark(volume, { [MARK_ANNOTATION]: at })
    const backup = await takeBackup(volume, backupName, manifests.backup?.snapshotClass !== undefined)
    const lsn = backup.status?.beginLSN ?? NO_LSN
    await annotate(site, volume.id, { [SEALED_AT_ANNOTATION]: at, [SEALED_LSN_ANNOTATION]: lsn })
    return lsn
  }

  return {
    takeBackup,

    async window(volume) {
      const cluster = await getCluster(site, volume)
      const protection = protectionOf(cluster)
      const earliest = manifests.backup ? await earliestOf(volume) : null
      if (earliest === null) return { earliest: null, latest: null, latestLsn: null, protection }
      return {
        earliest: new Date(earliest),
        latest: new Date(Math.max(earliest, latestOf(cluster))),
        latestLsn: maxLsn((await completed(volume)).map(({ endLsn }) => endLsn)),
        protection,
      }
    },

    async prune(volume, before) {
      await getCluster(site, volume)
      if (!manifests.backup) return
      const days = Math.max(1, Math.ceil((clock.now() - before.getTime()) / DAY_MS))
      // The plugin keeps the newest base from before its window by itself.
      const change = { spec: { retentionPolicy: `${days}d` } }
      await api.patch("objectstores", clusterName(volume.id), change)
      const older = (await completed(volume)).filter(({ stoppedAt }) => stoppedAt < before.getTime())
      for (const { name } of older.slice(0, -1)) await api.remove("backups", name)
    },

    async reach(volume, point, backupName) {
      if (point.kind === "head") throw new Error("the head is copied, not replayed to")
      const cluster = await getCluster(site, volume)
      const earliest = manifests.backup ? await earliestOf(volume) : null
      if (earliest === null) throw outside("nothing can be restored yet")
      if (point.kind === "time") {
        const time = point.time.getTime()
        if (!(time >= earliest && time <= clock.now()))
          throw outside(`it reaches from ${new Date(earliest).toISOString()} to now`)
        if (!isSealed(cluster, point)) await seal(volume, backupName)
        return
      }
      const lsn = lsnValue(point.lsn)
      const oldest = (await completed(volume)).find(
        ({ stoppedAt, inObjectStore }) => inObjectStore && stoppedAt >= earliest,
      )
      if (oldest && lsn < lsnValue(oldest.endLsn)) throw outside(`it begins at ${oldest.endLsn}`)
      if (!isSealed(cluster, point) && lsnValue(await seal(volume, backupName)) < lsn)
        throw outside("the log has not come so far")
    },
  }
}
