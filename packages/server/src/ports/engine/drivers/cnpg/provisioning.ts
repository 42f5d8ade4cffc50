/** The resources of a volume, made in an order in which a repeated call finds what it needs, and freed again. */
import { PortError } from "../../../port-error.ts"
import type { VolumeCredentials, VolumeRef, VolumeSize } from "../../port.ts"
import {
  clusterManifest,
  clusterName,
  clusterSelector,
  emptyBootstrap,
  networkPolicyManifest,
  type Origin,
  objectStoreManifest,
  POINT_ANNOTATION,
  scheduledBackupManifest,
  TIER_ANNOTATION,
  VERSION_ANNOTATION,
  volumeSelector,
} from "./manifests.ts"
import type { ClusterLifecycle } from "./power.ts"
import { quantityOf } from "./quantity.ts"
import { type ClusterContext, findCluster, getCluster, poll } from "./site.ts"

export interface Provisioning {
  create(volume: VolumeRef, credentials: VolumeCredentials): Promise<void>
  /** Makes a volume of an origin unless it exists, and waits until it is awake. */
  raise(volume: VolumeRef, credentials: VolumeCredentials, origin: Origin): Promise<void>
  raze(volume: VolumeRef): Promise<void>
  setCredentials(volume: VolumeRef, credentials: VolumeCredentials): Promise<void>
  size(volume: VolumeRef): Promise<VolumeSize>
}

export const createProvisioning = (site: ClusterContext, power: ClusterLifecycle): Provisioning => {
  const { api, manifests, observed } = site
  const { backup, network } = manifests

  const makeCluster = async (volume: VolumeRef, origin: Origin) => {
    const made = await api.create("clusters", clusterManifest(volume, manifests, origin))
    const cluster = made ?? (await api.get("clusters", clusterName(volume.id)))
    if (!cluster || cluster.metadata.deletionTimestamp !== undefined)
      throw new PortError("unavailable", `${clusterName(volume.id)} is still being removed`)
    observed.note(cluster)
  }

  const raise: Provisioning["raise"] = async (volume, credentials, origin) => {
    const { id } = volume
    await power.setPasswords(volume, credentials)
    if (backup) await api.create("objectstores", objectStoreManifest(id, backup))
    if (network) await api.create("networkpolicies", networkPolicyManifest(id, network))
    await makeCluster(volume, origin)
    await power.start(volume)
    // Last: its first base backup is at once, and fails for good while nothing is there to copy.
    if (backup) await api.create("scheduledbackups", scheduledBackupManifest(id))
  }

  return {
    raise,

    async create(volume, credentials) {
      const annotations = (await findCluster(site, volume))?.metadata.annotations
      const isOther =
        annotations !== undefined &&
        (annotations[VERSION_ANNOTATION] !== `${volume.pgVersion}` ||
          annotations[TIER_ANNOTATION] !== volume.tier ||
          annotations[POINT_ANNOTATION] !== undefined)
      if (isOther) throw new PortError("refused", `the volume ${volume.id} exists and is something else`)
      await raise(volume, credentials, { bootstrap: emptyBootstrap(volume) })
    },

    async setCredentials(volume, credentials) {
      await getCluster(site, volume)
      await power.setPasswords(volume, credentials)
    },

    async raze({ id }) {
      const mine = volumeSelector(id)
      await api.removeAll("scheduledbackups", mine)
      await api.removeAll("backups", clusterSelector(id))
      await api.remove("clusters", clusterName(id))
      // Its servers read the Secrets and the store as long as they run.
      await poll(site, `the removal of ${clusterName(id)}`, site.stateTimeoutMs, async () =>
        (await api.get("clusters", clusterName(id))) === undefined ? true : undefined,
      )
      await api.removeAll("persistentvolumeclaims", clusterSelector(id))
      for (const kind of ["objectstores", "networkpolicies", "secrets"] as const)
        await api.removeAll(kind, mine)
    },

    async size(volume) {
      await getCluster(site, volume)
      const { items } = await api.list("persistentvolumeclaims", clusterSelector(volume.id))
      const sizes = items.map(({ status }) => quantityOf(status?.capacity?.storage ?? "0"))
      const physicalBytes = sizes.reduce((sum, bytes) => sum + bytes, 0)
      return { dataBytes: physicalBytes, physicalBytes, historyBytes: 0 }
    },
  }
}
