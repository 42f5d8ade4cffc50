/** The Kubernetes resources that volumes and workloads are made of, as far as their drivers read them. */

export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
}

export interface Condition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason?: string
  readonly lastTransitionTime?: string
}

export interface ClusterResource extends Resource {
  readonly spec: { readonly storage?: Readonly<Record<string, unknown>>; readonly [field: string]: unknown }
  readonly status?: {
    readonly phase?: string
    readonly phaseReason?: string
    readonly readyInstances?: number
    readonly conditions?: readonly Condition[]
    /** Which revision of the owner's Secret the operator has seen. */
    readonly secretsResourceVersion?: { readonly applicationSecretVersion?: string }
    /** Which revision of a role's Secret has been committed to the role. */
    readonly managedRolesStatus?: {
      readonly passwordStatus?: Readonly<Record<string, { readonly resourceVersion?: string }>>
    }
  }
}

export interface BackupResource extends Resource {
  readonly spec: { readonly cluster: { readonly name: string }; readonly method?: string }
  readonly status?: {
    readonly phase?: string
    readonly error?: string
    readonly startedAt?: string
    readonly stoppedAt?: string
    readonly beginLSN?: string
    readonly endLSN?: string
    readonly snapshotBackupStatus?: {
      readonly elements?: readonly { readonly name: string; readonly type: string }[]
    }
  }
}

export interface ObjectStoreResource extends Resource {
  readonly spec: { readonly retentionPolicy?: string; readonly [field: string]: unknown }
  readonly status?: {
    readonly serverRecoveryWindow?: Readonly<Record<string, { readonly firstRecoverabilityPoint?: string }>>
  }
}

export interface SecretResource extends Resource {
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>
}

export interface ClaimResource extends Resource {
  readonly status?: { readonly capacity?: { readonly storage?: string } }
}

export interface JobResource extends Resource {
  readonly status?: { readonly conditions?: readonly Condition[] }
}

export interface ContainerStatus {
  readonly name: string
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string }
    readonly running?: { readonly startedAt?: string }
    readonly terminated?: { readonly reason?: string; readonly exitCode: number; readonly message?: string }
  }
}

export interface PodResource extends Resource {
  readonly spec: { readonly hostUsers?: boolean; readonly [field: string]: unknown }
  readonly status?: {
    readonly phase?: string
    /** Of the Pod as a whole: `Evicted`, for one. */
    readonly reason?: string
    readonly message?: string
    readonly conditions?: readonly Condition[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

export interface RuntimeClassResource extends Resource {
  /** What nodes know the runtime by: `runsc`, `kata-qemu`… */
  readonly handler: string
}

/** Of kubernetes-sigs/agent-sandbox. */
export interface SandboxResource extends Resource {
  readonly spec?: {
    readonly operatingMode?: "Running" | "Suspended"
    readonly volumeClaimTemplates?: readonly object[]
  }
}

/** By the name they have in a path. */
export interface Resources {
  readonly clusters: ClusterResource
  readonly backups: BackupResource
  readonly scheduledbackups: Resource
  readonly objectstores: ObjectStoreResource
  readonly secrets: SecretResource
  readonly persistentvolumeclaims: ClaimResource
  readonly networkpolicies: Resource
  readonly jobs: JobResource
  readonly pods: PodResource
  readonly configmaps: Resource
  readonly runtimeclasses: RuntimeClassResource
  readonly sandboxes: SandboxResource
}

export type Kind = keyof Resources

const CNPG = "postgresql.cnpg.io/v1"

export const apiVersions: Readonly<Record<Kind, string>> = {
  clusters: CNPG,
  backups: CNPG,
  scheduledbackups: CNPG,
  objectstores: "barmancloud.cnpg.io/v1",
  secrets: "v1",
  persistentvolumeclaims: "v1",
  networkpolicies: "networking.k8s.io/v1",
  jobs: "batch/v1",
  pods: "v1",
  configmaps: "v1",
  runtimeclasses: "node.k8s.io/v1",
  sandboxes: "agents.x-k8s.io/v1beta1",
}

/** Those that are the whole cluster's. */
const ofCluster: ReadonlySet<Kind> = new Set<Kind>(["runtimeclasses"])

/** Where a version's resources are: below `/api/v1` the core ones, below `/apis/<group>` all others. */
export const versionPath = (kind: Kind): string => {
  const version = apiVersions[kind]
  return `/${version === "v1" ? "api" : "apis"}/${version}`
}

export const collectionPath = (kind: Kind, namespace: string): string =>
  ofCluster.has(kind)
    ? `${versionPath(kind)}/${kind}`
    : `${versionPath(kind)}/namespaces/${encodeURIComponent(namespace)}/${kind}`

/**
 * Which of two revisions of one resource is newer. The API calls them opaque, yet every server counts them up, and
 * without an order nobody could tell a late answer from news.
 */
export const isAtLeast = (revision: string | undefined, wanted: string | undefined): boolean => {
  if (revision === wanted) return true
  if (revision === undefined || wanted === undefined) return wanted === undefined
  return /^\d+$/.test(revision) && /^\d+$/.test(wanted) && BigInt(revision) >= BigInt(wanted)
}
