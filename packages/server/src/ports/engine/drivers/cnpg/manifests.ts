/**
 * What is written to Kubernetes for a volume. Follows CloudNativePG 1.26 and later, whose object stores belong to the
 * Barman Cloud plugin (`barmancloud.cnpg.io/v1`); the older `barmanObjectStore` of the Cluster itself is not used.
 */
import { createHash } from "node:crypto"
import { apiVersions } from "../../../kubernetes/resources.ts"
import { databaseSetup, ownerSetup, platformRoles } from "../../furnishing.ts"
import {
  DATABASE_NAME,
  OWNER_ROLE,
  OWNER_SESSION_ROLE,
  type PgVersion,
  READER_ROLE,
  type RecoveryPoint,
  type Tier,
  type VolumeRef,
} from "../../port.ts"

export interface BackupOptions {
  /**
   * Where the log and the base backups go: the `spec.configuration` of an ObjectStore of the Barman Cloud plugin, word
   * for word (`destinationPath`, `endpointURL`, `s3Credentials`, …). Every volume is a server of its own in it.
   */
  readonly objectStore: Readonly<Record<string, unknown>>
  /** A VolumeSnapshotClass; with it a copy of the newest state shares the storage of its source. */
  readonly snapshotClass?: string | undefined
}

/** Rules of a NetworkPolicy (networking.k8s.io/v1), word for word: who may connect, and where volumes may. */
export interface NetworkOptions {
  readonly ingress: readonly object[]
  readonly egress: readonly object[]
}

export interface Resourcing {
  readonly requests: Readonly<Record<string, string>>
  readonly limits: Readonly<Record<string, string>>
}

export interface ManifestOptions {
  readonly namespace: string
  readonly imageNames: Readonly<Record<PgVersion, string>>
  readonly storageSize: string
  readonly storageClass?: string | undefined
  readonly resources: Readonly<Record<Tier, Resourcing>>
  readonly instances: Readonly<Record<Tier, number>>
  readonly backup?: BackupOptions | undefined
  readonly network?: NetworkOptions | undefined
}

export const VOLUME_LABEL = "svc/volume"
/** The volume that a copy was made of. */
export const SOURCE_LABEL = "svc/source"
export const CLUSTER_LABEL = "cnpg.io/cluster"
export const VERSION_ANNOTATION = "svc/pg-version"
export const TIER_ANNOTATION = "svc/tier"
/** Which copy a Cluster is (source and point), and where it parted from the source. */
export const POINT_ANNOTATION = "svc/point"
export const PARTED_LSN_ANNOTATION = "svc/parted-lsn"
export const PARTED_AT_ANNOTATION = "svc/parted-at"
/** Up to where the archive is known to hold the log whole. */
export const SEALED_AT_ANNOTATION = "svc/sealed-at"
export const SEALED_LSN_ANNOTATION = "svc/sealed-lsn"
export const MARK_ANNOTATION = "svc/mark"

export const PLUGIN = "barman-cloud.cloudnative-pg.io"

/** 40 characters; the operator allows 50. */
export const clusterName = (volumeId: string): string => `svc-${volumeId}`
export const ownerSecretName = (volumeId: string): string => `${clusterName(volumeId)}-owner`
export const readerSecretName = (volumeId: string): string => `${clusterName(volumeId)}-reader`

/** Each role that logs in has a Secret of its own, which names it. */
export type LoginRole = "owner" | "session" | "reader"
const roleNames: Readonly<Record<LoginRole, string>> = {
  owner: OWNER_ROLE,
  session: OWNER_SESSION_ROLE,
  reader: READER_ROLE,
}
export const secretName = (volumeId: string, role: LoginRole): string => `${clusterName(volumeId)}-${role}`

export const volumeSelector = (volumeId: string): string => `${VOLUME_LABEL}=${volumeId}`
export const clusterSelector = (volumeId: string): string => `${CLUSTER_LABEL}=${clusterName(volumeId)}`

const base64 = (text: string): string => Buffer.from(text).toString("base64")

export const secretManifest = (volumeId: string, role: LoginRole, password: string): object => ({
  apiVersion: apiVersions.secrets,
  kind: "Secret",
  type: "kubernetes.io/basic-auth",
  metadata: {
    name: secretName(volumeId, role),
    // The operator takes a change of such a Secret into the database at once.
    labels: { [VOLUME_LABEL]: volumeId, "cnpg.io/reload": "true" },
  },
  data: { username: base64(roleNames[role]), password: base64(password) },
})

export const objectStoreManifest = (volumeId: string, { objectStore }: BackupOptions): object => ({
  apiVersion: apiVersions.objectstores,
  kind: "ObjectStore",
  metadata: { name: clusterName(volumeId), labels: { [VOLUME_LABEL]: volumeId } },
  spec: { configuration: objectStore },
})

/** Spread over the day by the volume's name, or all would be copied in the same minute. */
const scheduleOf = (volumeId: string): string => {
  const second = createHash("sha256").update(volumeId).digest().readUInt32BE() % 86_400
  return `${second % 60} ${Math.floor(second / 60) % 60} ${Math.floor(second / 3600)} * * *`
}

const pluginMethod = { method: "plugin", pluginConfiguration: { name: PLUGIN } }

/** A base backup at once, from which the volume can be restored at all, and one a day. */
export const scheduledBackupManifest = (volumeId: string): object => ({
  apiVersion: apiVersions.scheduledbackups,
  kind: "ScheduledBackup",
  metadata: { name: clusterName(volumeId), labels: { [VOLUME_LABEL]: volumeId } },
  spec: {
    cluster: { name: clusterName(volumeId) },
    schedule: scheduleOf(volumeId),
    immediate: true,
    backupOwnerReference: "cluster",
    ...pluginMethod,
  },
})

/** A base backup of `sourceId` for one purpose, named after whom it is for. */
export const backupManifest = (sourceId: string, name: string, snapshot: boolean): object => ({
  apiVersion: apiVersions.backups,
  kind: "Backup",
  metadata: {
    name,
    labels: { [VOLUME_LABEL]: sourceId, [CLUSTER_LABEL]: clusterName(sourceId) },
  },
  spec: {
    cluster: { name: clusterName(sourceId) },
    ...(snapshot
      ? {
          method: "volumeSnapshot",
          online: true,
          onlineConfiguration: { immediateCheckpoint: true, waitForArchive: true },
        }
      : pluginMethod),
  },
})

export const networkPolicyManifest = (volumeId: string, { ingress, egress }: NetworkOptions): object => {
  const podsOf = (label: string, value: string) => ({ podSelector: { matchLabels: { [label]: value } } })
  const own = podsOf(CLUSTER_LABEL, clusterName(volumeId))
  return {
    apiVersion: apiVersions.networkpolicies,
    kind: "NetworkPolicy",
    metadata: { name: clusterName(volumeId), labels: { [VOLUME_LABEL]: volumeId } },
    spec: {
      ...own,
      policyTypes: ["Ingress", "Egress"],
      // A copy without an archive streams from its source.
      ingress: [{ from: [own, podsOf(SOURCE_LABEL, volumeId)] }, ...ingress],
      egress: [{ to: [own] }, ...egress],
    },
  }
}

/** As the local engine's: code point order of PostgreSQL's own, so no image's library can change an index. */
const localeOf = (version: PgVersion): object =>
  version === 16
    ? { localeProvider: "libc", localeCollate: "C", localeCType: "C.UTF-8" }
    : { localeProvider: "builtin", builtinLocale: "C.UTF-8", localeCollate: "C", localeCType: "C" }

const setup = [...ownerSetup, ...platformRoles]

const application = (volumeId: string) => ({
  database: DATABASE_NAME,
  owner: OWNER_ROLE,
  secret: { name: ownerSecretName(volumeId) },
})

export const emptyBootstrap = ({ id, pgVersion }: VolumeRef): object => ({
  bootstrap: {
    initdb: {
      ...application(id),
      dataChecksums: true,
      encoding: "UTF8",
      ...localeOf(pgVersion),
      postInitSQL: setup,
      postInitApplicationSQL: databaseSetup,
    },
  },
})

const recoveryTarget = (point: RecoveryPoint): object => {
  if (point.kind === "time") return { recoveryTarget: { targetTime: point.time.toISOString() } }
  if (point.kind === "lsn") return { recoveryTarget: { targetLSN: point.lsn } }
  return {}
}

/**
 * Replays the archive of `sourceId`, from the newest base backup before the point or from a snapshot. The target reads
 * the archive through an ObjectStore of its own, so the source may go while the copy stays.
 */
export const recoveryBootstrap = (options: {
  sourceId: string
  targetId: string
  point: RecoveryPoint
  snapshot: string | undefined
}): object => {
  const { sourceId, targetId, point, snapshot } = options
  const storage = { name: snapshot, kind: "VolumeSnapshot", apiGroup: "snapshot.storage.k8s.io" }
  return {
    bootstrap: {
      recovery: {
        source: "origin",
        ...application(targetId),
        ...(snapshot === undefined ? {} : { volumeSnapshots: { storage } }),
        ...recoveryTarget(point),
      },
    },
    externalClusters: [
      {
        name: "origin",
        plugin: {
          name: PLUGIN,
          parameters: { barmanObjectName: clusterName(targetId), serverName: clusterName(sourceId) },
        },
      },
    ],
  }
}

/** Copies a running source over the network, with the certificate that the operator made for its standbys. */
export const streamingBootstrap = (sourceId: string, targetId: string, namespace: string): object => {
  const source = clusterName(sourceId)
  const key = (secret: string, field: string) => ({ name: `${source}-${secret}`, key: field })
  return {
    bootstrap: { pg_basebackup: { source: "origin", ...application(targetId) } },
    externalClusters: [
      {
        name: "origin",
        connectionParameters: {
          host: serviceHost(sourceId, namespace),
          user: "streaming_replica",
          sslmode: "verify-full",
        },
        sslKey: key("replication", "tls.key"),
        sslCert: key("replication", "tls.crt"),
        sslRootCert: key("ca", "ca.crt"),
      },
    ],
  }
}

/** The service that always leads to the primary; its certificate carries the same name. */
export const serviceHost = (volumeId: string, namespace: string): string =>
  `${clusterName(volumeId)}-rw.${namespace}.svc`

const sharedBuffers: Readonly<Record<Tier, string>> = { shared: "64MB", isolated: "64MB", dedicated: "256MB" }

const parametersOf = ({ tier, pgVersion }: VolumeRef): Readonly<Record<string, string>> => ({
  shared_buffers: sharedBuffers[tier],
  max_connections: "100",
  jit: "off",
  ...(pgVersion >= 18 ? { io_method: "sync" } : {}),
  "pg_stat_statements.max": "1000",
  "pg_stat_statements.track_utility": "off",
  track_activity_query_size: "4096",
  idle_in_transaction_session_timeout: "10min",
  temp_file_limit: "10GB",
  max_slot_wal_keep_size: "2GB",
  password_encryption: "scram-sha-256",
  // Failed statements are their caller's to see, and could carry values of users.
  log_min_messages: "log",
  log_min_error_statement: "panic",
})

export interface Origin {
  /** What `emptyBootstrap` and its like give. */
  readonly bootstrap: object
  readonly sourceId?: string
  readonly annotations?: Readonly<Record<string, string>>
  /** The storage of the source, which a copy's may not be smaller than. */
  readonly storage?: Readonly<Record<string, unknown>> | undefined
}

export const clusterManifest = (volume: VolumeRef, options: ManifestOptions, origin: Origin): object => {
  const { id, pgVersion, tier } = volume
  const { backup, storageClass, storageSize: size } = options
  const labels = {
    [VOLUME_LABEL]: id,
    ...(origin.sourceId === undefined ? {} : { [SOURCE_LABEL]: origin.sourceId }),
  }
  const archive = { barmanObjectName: clusterName(id), serverName: clusterName(id) }
  const snapshots = { className: backup?.snapshotClass, snapshotOwnerReference: "backup" }
  return {
    apiVersion: apiVersions.clusters,
    kind: "Cluster",
    metadata: {
      name: clusterName(id),
      labels,
      annotations: { [VERSION_ANNOTATION]: `${pgVersion}`, [TIER_ANNOTATION]: tier, ...origin.annotations },
    },
    spec: {
      instances: options.instances[tier],
      imageName: options.imageNames[pgVersion],
      inheritedMetadata: { labels },
      enableSuperuserAccess: false,
      // Sessions are ended, not waited for.
      smartShutdownTimeout: 1,
      storage: origin.storage ?? { size, ...(storageClass === undefined ? {} : { storageClass }) },
      resources: options.resources[tier],
      postgresql: { parameters: parametersOf(volume) },
      // The owner is not managed: it makes roles, and the operator would take from it what it was not told of.
      managed: {
        roles: [
          {
            name: READER_ROLE,
            ensure: "present",
            login: true,
            passwordSecret: { name: readerSecretName(id) },
          },
          {
            name: OWNER_SESSION_ROLE,
            ensure: "present",
            login: true,
            inRoles: [OWNER_ROLE],
            passwordSecret: { name: secretName(id, "session") },
          },
        ],
      },
      ...(backup ? { plugins: [{ name: PLUGIN, isWALArchiver: true, parameters: archive }] } : {}),
      ...(backup?.snapshotClass === undefined ? {} : { backup: { volumeSnapshot: snapshots } }),
      ...origin.bootstrap,
    },
  }
}
