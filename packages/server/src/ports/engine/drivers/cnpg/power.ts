/** Volumes that wake and rest, and the passwords that must be in force before anybody may connect. */

import { type ClusterResource, isAtLeast, type SecretResource } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import {
  type Endpoint,
  OWNER_SESSION_ROLE,
  READER_ROLE,
  type VolumeCredentials,
  type VolumeRef,
} from "../../port.ts"
import { HIBERNATION, isAtRest, isAwake, isRestDeferred, wantsRest } from "./cluster-state.ts"
import {
  clusterName,
  type LoginRole,
  ownerSecretName,
  readerSecretName,
  secretManifest,
  secretName,
  serviceHost,
} from "./manifests.ts"
import { annotate, type ClusterContext, getCluster, poll } from "./site.ts"

export interface ClusterLifecycle {
  /** Wakes the volume and waits until its passwords are those of its Secrets. */
  start(volume: VolumeRef): Promise<void>
  stop(volume: VolumeRef): Promise<void>
  /** Where an awake volume is. */
  endpoint(volume: VolumeRef, wakeMs: number): Promise<Endpoint>
  /** Writes the Secrets; a volume that is awake has the passwords when this resolves. */
  setPasswords(volume: VolumeRef, credentials: VolumeCredentials): Promise<void>
  /** Commits something in the volume, and waits until that is done. */
  mark(volume: VolumeRef, annotation: Readonly<Record<string, string>>): Promise<void>
}

const PORT = 5432
/** The operator renews its authority long before the old one ends. */
const AUTHORITY_AGE_MS_MAX = 10 * 60_000
const AUTHORITIES_MAX = 10_000

interface Revisions {
  readonly owner: string | undefined
  readonly session: string | undefined
  readonly reader: string | undefined
}

/** For our own roles the operator says what it has committed; for the owner, which it does not manage, what it saw. */
const isInForce =
  ({ owner, session, reader }: Revisions) =>
  ({ status }: ClusterResource): boolean =>
    isAtLeast(status?.secretsResourceVersion?.applicationSecretVersion, owner) &&
    isAtLeast(status?.managedRolesStatus?.passwordStatus?.[OWNER_SESSION_ROLE]?.resourceVersion, session) &&
    isAtLeast(status?.managedRolesStatus?.passwordStatus?.[READER_ROLE]?.resourceVersion, reader)

const revisionOf = (secret: SecretResource | undefined) => secret?.metadata.resourceVersion

const createAuthorities = (site: ClusterContext) => {
  const known = new Map<string, { ca: string; readAt: number }>()
  return async (volumeId: string): Promise<string> => {
    const cached = known.get(volumeId)
    if (cached && performance.now() - cached.readAt < AUTHORITY_AGE_MS_MAX) return cached.ca
    const secret = await site.api.get("secrets", `${clusterName(volumeId)}-ca`)
    const encoded = secret?.data?.["ca.crt"]
    if (encoded === undefined)
      throw new PortError("unavailable", `the authority of ${clusterName(volumeId)} is not there yet`)
    const ca = Buffer.from(encoded, "base64").toString("utf8")
    if (known.size >= AUTHORITIES_MAX) known.clear()
    known.set(volumeId, { ca, readAt: performance.now() })
    return ca
  }
}

/** `admits` opens a session as the owner, and fails as `unavailable` while that cannot be done. */
export const createPower = (
  site: ClusterContext,
  admits: (volume: VolumeRef) => Promise<void>,
): ClusterLifecycle => {
  const { api, observed, stateTimeoutMs } = site
  const authorityOf = createAuthorities(site)

  const until = (id: string, isWanted: (cluster: ClusterResource) => boolean) =>
    observed.until(clusterName(id), isWanted, stateTimeoutMs)

  /** The operator tells neither when the owner's password has been set, nor when the service leads somewhere. */
  const untilAdmitted = (volume: VolumeRef) =>
    poll(site, `the first session in ${volume.id}`, stateTimeoutMs, async () => {
      await admits(volume)
      return true
    })

  /** Base backups are not asked for while there is nothing to copy. */
  const pauseBackups = async (id: string, suspend: boolean) => {
    if (site.manifests.backup) await api.patch("scheduledbackups", clusterName(id), { spec: { suspend } })
  }

  const putSecret = async (volumeId: string, role: LoginRole, password: string) => {
    const manifest = secretManifest(volumeId, role, password)
    const made = await api.create("secrets", manifest)
    if (made) return made
    const name = secretName(volumeId, role)
    const patched = await api.patch("secrets", name, manifest)
    if (!patched) throw new PortError("unavailable", `the Secret ${name} comes and goes`)
    return patched
  }

  return {
    async start(volume) {
      const { id } = volume
      if (wantsRest(await getCluster(site, volume))) {
        // Pods that are being taken away could still look ready to whoever gives them back too early.
        await until(id, cluster => isAtRest(cluster) || isRestDeferred(cluster))
        await annotate(site, id, { [HIBERNATION]: "off" })
        await pauseBackups(id, false)
      }
      const [owner, session, reader] = await Promise.all([
        api.get("secrets", ownerSecretName(id)),
        api.get("secrets", secretName(id, "session")),
        api.get("secrets", readerSecretName(id)),
      ])
      const hasPasswords = isInForce({
        owner: revisionOf(owner),
        session: revisionOf(session),
        reader: revisionOf(reader),
      })
      await until(id, cluster => isAwake(cluster) && hasPasswords(cluster))
      await untilAdmitted(volume)
    },

    async stop(volume) {
      const { id } = volume
      if (isAtRest(await getCluster(site, volume))) return
      await pauseBackups(id, true)
      await annotate(site, id, { [HIBERNATION]: "on" })
      await until(id, isAtRest)
    },

    async endpoint({ id }, wakeMs) {
      const service = serviceHost(id, site.manifests.namespace)
      const tls = { ca: await authorityOf(id), servername: service }
      return { ...site.reach({ host: service, port: PORT }), tls, wakeMs }
    },

    async setPasswords(volume, credentials) {
      const { id } = volume
      const owner = revisionOf(await putSecret(id, "owner", credentials.owner))
      const session = revisionOf(await putSecret(id, "session", credentials.reader))
      const reader = revisionOf(await putSecret(id, "reader", credentials.reader))
      const cluster = observed.get(clusterName(id))
      if (cluster && isAwake(cluster)) {
        const hasPasswords = isInForce({ owner, session, reader })
        const now = await until(id, now => wantsRest(now) || hasPasswords(now))
        if (!wantsRest(now)) await untilAdmitted(volume)
      }
    },

    async mark({ id }, annotations) {
      // A Secret that changed is set as the role's password again, which is a transaction of its own.
      const secret = await api.patch("secrets", readerSecretName(id), { metadata: { annotations } })
      if (!secret) throw new PortError("missing", `there is no volume ${id}`)
      await until(id, isInForce({ owner: undefined, session: undefined, reader: revisionOf(secret) }))
    },
  }
}
