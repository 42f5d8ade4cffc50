/**
 * Volumes as CloudNativePG Clusters in a namespace of Kubernetes, for operators who have both. Follows CloudNativePG 1.26
 * and later with its Barman Cloud plugin; earlier releases keep object stores elsewhere.
 *
 * Where this differs from what runs on the platform's own host:
 * - A volume wakes by the operator's pace, in seconds, and many starts at once wait in the operator's and the
 *   scheduler's queues.
 * - The history is an archive of whole segments: a crash that loses the volume's storage loses the newest commits, so
 *   the protection of a running volume is `asynchronous`. Without `backup` there is no history at all.
 * - In a copy, roles that the owner made lose their passwords; one over which the owner has no more power keeps it, and
 *   the log says so.
 * - `prune` sets the plugin's retention, which counts in whole days.
 * - `destroy` frees everything in Kubernetes. What is in the object store has no owner there; give the bucket a rule by
 *   which it ends.
 * - `size` is what the volume may take: the capacity of its claims. The object store does not tell what it holds (0).
 *
 * The token must be allowed to get, list, watch, create, patch, delete and deletecollection `clusters`, `backups`,
 * `scheduledbackups`, `objectstores`, `secrets`, `persistentvolumeclaims` and `networkpolicies`, and to list `jobs`.
 */

import { type Clock, systemClock } from "../../../../kernel/clock.ts"
import { createKeyedMutex } from "../../../../kernel/concurrency/keyed-mutex.ts"
import { type ApiOptions, createKubernetesApi } from "../../../kubernetes/api.ts"
import type { ClusterResource } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import {
  type EngineCapabilities,
  type EngineEvents,
  type EnginePort,
  type PgVersion,
  pgVersions,
  type Tier,
  type VolumeRef,
} from "../../port.ts"
import { createBranching } from "./branching.ts"
import { isAwake, protectionOf, stateOf, wantsRest } from "./cluster-state.ts"
import { createHistory } from "./history.ts"
import {
  type BackupOptions,
  clusterName,
  type ManifestOptions,
  type NetworkOptions,
  type Resourcing,
  VOLUME_LABEL,
} from "./manifests.ts"
import { type ObservedClusters, observeClusters } from "./observed-clusters.ts"
import { createPower } from "./power.ts"
import { createProvisioning } from "./provisioning.ts"
import { createSessions } from "./sessions.ts"
import { type Address, type ClusterContext, findCluster } from "./site.ts"

export interface CnpgOptions extends ApiOptions {
  readonly storageClass?: string | undefined
  /** A quantity of Kubernetes, as `10Gi`. */
  readonly storageSize?: string | undefined
  readonly backup?: BackupOptions | undefined
  /** Without it volumes may connect to wherever the cluster lets them. */
  readonly network?: NetworkOptions | undefined
  /** Images by version, in place of the project's own; they must hold amcheck and pg_stat_statements. */
  readonly imageNames?: { readonly [Version in PgVersion]?: string | undefined } | undefined
  readonly resources?: { readonly [T in Tier]?: Resourcing | undefined } | undefined
  /** Servers of a volume: with more than one, another takes over when the first is lost. */
  readonly instances?: { readonly [T in Tier]?: number | undefined } | undefined
  /**
   * Where this process finds a service of the cluster when it runs outside of it: a forwarded port, a load balancer.
   * Endpoints then name that address; their certificate is still the service's.
   */
  readonly reach?: ((service: Address) => Address) | undefined
  readonly stateTimeoutMs?: number | undefined
  readonly copyTimeoutMs?: number | undefined
  readonly pollMs?: number | undefined
  readonly clock?: Clock | undefined
  readonly log?: ((line: string) => void) | undefined
}

const STORAGE_SIZE = "10Gi"
const STATE_TIMEOUT_MS = 5 * 60_000
const COPY_TIMEOUT_MS = 60 * 60_000
const POLL_MS = 1_000

const resourcesOf: Readonly<Record<Tier, Resourcing>> = {
  shared: { requests: { cpu: "25m", memory: "128Mi" }, limits: { cpu: "1", memory: "512Mi" } },
  isolated: { requests: { cpu: "100m", memory: "256Mi" }, limits: { cpu: "1", memory: "1Gi" } },
  dedicated: { requests: { cpu: "1", memory: "2Gi" }, limits: { cpu: "1", memory: "2Gi" } },
}

const imageOf = (version: PgVersion): string => `ghcr.io/cloudnative-pg/postgresql:${version}-standard-trixie`

const definedOf = <Value extends object>(
  some: { readonly [Key in keyof Value]?: Value[Key] | undefined } = {},
) => Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as Partial<Value>

const manifestOptions = (options: CnpgOptions): ManifestOptions => ({
  namespace: options.namespace,
  storageSize: options.storageSize ?? STORAGE_SIZE,
  storageClass: options.storageClass,
  backup: options.backup,
  network: options.network,
  imageNames: {
    ...{ 16: imageOf(16), 17: imageOf(17), 18: imageOf(18) },
    ...definedOf<Record<PgVersion, string>>(options.imageNames),
  },
  resources: { ...resourcesOf, ...definedOf<Record<Tier, Resourcing>>(options.resources) },
  instances: {
    ...{ shared: 1, isolated: 1, dedicated: 1 },
    ...definedOf<Record<Tier, number>>(options.instances),
  },
})

const capabilitiesOf = ({ backup, network }: CnpgOptions): EngineCapabilities => ({
  driver: "cnpg",
  versions: pgVersions,
  tiers: ["shared", "isolated", "dedicated"],
  copies: backup?.snapshotClass === undefined ? "copy" : "snapshot",
  isolation: "container",
  network: network ? "policy" : "open",
  // The operator keeps the superuser.
  verifiers: false,
  readOnlyVolumes: false,
})

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Ids become names and selectors, so nothing else may pass. */
const checked = <Volume extends VolumeRef>(volume: Volume): Volume => {
  if (!UUID.test(volume.id)) throw new PortError("refused", "the id of a volume is a UUID in lower case")
  return volume
}

/** A caller may stop waiting; what it waited for goes on for the others. */
const abandonable = async <Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> => {
  if (!signal) return work
  const gone = Promise.withResolvers<never>()
  const leave = () => gone.reject(new PortError("unavailable", "the caller stopped waiting"))
  if (signal.aborted) leave()
  signal.addEventListener("abort", leave, { once: true })
  try {
    return await Promise.race([work, gone.promise])
  } finally {
    signal.removeEventListener("abort", leave)
    work.catch(() => undefined)
  }
}

const volumeOf = (cluster: ClusterResource): string => cluster.metadata.labels?.[VOLUME_LABEL] ?? ""

const runningOf = (observed: ObservedClusters) =>
  [...observed.all()].flatMap(cluster => {
    const state = stateOf(cluster)
    if (state === "idle") return []
    return [
      { id: volumeOf(cluster), state, walLagBytes: null, loggedLsn: null, protection: protectionOf(cluster) },
    ]
  })

const createSubscriptions = () => {
  const subscribers = new Set<EngineEvents>()
  return {
    subscribe(events: EngineEvents): Disposable {
      subscribers.add(events)
      return { [Symbol.dispose]: () => void subscribers.delete(events) }
    },
    /** A volume that was awake and no longer is, though nobody told it to rest. */
    changed(now: ClusterResource | undefined, before: ClusterResource | undefined) {
      if (!before || !isAwake(before) || (now && (isAwake(now) || wantsRest(now)))) return
      for (const { stopped } of subscribers) stopped(volumeOf(before))
    },
  }
}

const healthOf =
  (api: ClusterContext["api"]): EnginePort["health"] =>
  async () => {
    try {
      // A selector that nothing matches: what counts is whether the answer comes.
      await api.list("clusters", `${VOLUME_LABEL}=none`)
      return { ok: true }
    } catch (error) {
      return {
        ok: false,
        reason: error instanceof PortError ? error.message : "the Kubernetes API cannot be used",
      }
    }
  }

const createSite = (
  options: CnpgOptions,
  changed: Parameters<typeof observeClusters>[1]["changed"],
): ClusterContext => {
  const { log = () => undefined, pollMs = POLL_MS } = options
  const api = createKubernetesApi(options)
  return {
    api,
    observed: observeClusters(api, { selector: VOLUME_LABEL, retryMs: pollMs, log, changed }),
    manifests: manifestOptions(options),
    clock: options.clock ?? systemClock,
    log,
    pollMs,
    reach: options.reach ?? (service => service),
    stateTimeoutMs: options.stateTimeoutMs ?? STATE_TIMEOUT_MS,
    copyTimeoutMs: options.copyTimeoutMs ?? COPY_TIMEOUT_MS,
  }
}

/** Does not wait for the API: one that is away now makes calls `unavailable`, not the start fail. */
/** A volume's claim has a size, which bounds it; PostgreSQL's operator can make no primary read-only. */
const refuseReadOnly = (): never => {
  throw new PortError("refused", "databases of a cluster are bounded by the size of their volumes")
}

export const openCnpgEngine = async (options: CnpgOptions): Promise<EnginePort> => {
  const subscriptions = createSubscriptions()
  const site = createSite(options, subscriptions.changed)
  const { api, observed } = site
  const mutex = createKeyedMutex()
  const waking = new Map<string, Promise<void>>()
  const power = createPower(site, volume => sessions.admits(volume))
  const sessions = createSessions(site, volume => power.endpoint(volume, 0))
  const provisioning = createProvisioning(site, power)

  /** Every caller that comes while the volume starts waits for the same start. */
  const wakeShared = (volume: VolumeRef): Promise<void> => {
    const { id } = volume
    const known = waking.get(id)
    if (known) return known
    const started = mutex.run(id, () => power.start(volume)).finally(() => waking.delete(id))
    waking.set(id, started)
    return started
  }

  const history = createHistory(site, { start: wakeShared, mark: power.mark })
  const branching = createBranching(site, { wakeSource: wakeShared, history, sessions, ...provisioning })

  return {
    capabilities: capabilitiesOf(options),
    subscribe: subscriptions.subscribe,
    health: healthOf(api),

    create: async (volume, credentials) =>
      mutex.run(checked(volume).id, () => provisioning.create(volume, credentials)),

    async wake(volume, signal) {
      const { id } = checked(volume)
      const startedAt = performance.now()
      const known = observed.get(clusterName(id))
      if (known && isAwake(known) && !waking.has(id)) return power.endpoint(volume, 0)
      await abandonable(wakeShared(volume), signal)
      return power.endpoint(volume, Math.ceil(performance.now() - startedAt))
    },

    suspend: async volume => mutex.run(checked(volume).id, () => power.stop(volume)),

    branch: async (source, target, point, credentials, roles = { others: "cleared" }) =>
      mutex.run(checked(target).id, () =>
        branching.branch(checked(source), target, point, credentials, roles),
      ),

    setCredentials: async (volume, credentials) =>
      mutex.run(checked(volume).id, () => provisioning.setCredentials(volume, credentials)),

    // The operator gives the roles that it manages their login, limits and passwords back by itself.
    restoreAccess: async (volume, credentials) =>
      mutex.run(checked(volume).id, () => provisioning.setCredentials(volume, credentials)),

    async verifierOf() {
      throw new PortError("refused", "this engine does not read what a server keeps of passwords")
    },

    window: async volume => history.window(checked(volume)),
    prune: async (volume, before) => history.prune(checked(volume), before),
    size: async volume => provisioning.size(checked(volume)),
    async inspect(volume) {
      const cluster = await findCluster(site, checked(volume))
      return cluster && isAwake(cluster) ? sessions.inspect(volume) : undefined
    },
    setReadOnly: async () => refuseReadOnly(),
    whileWritable: async () => refuseReadOnly(),
    destroy: async volume => mutex.run(checked(volume).id, () => provisioning.raze(volume)),
    running: () => runningOf(observed),

    async [Symbol.asyncDispose]() {
      api[Symbol.dispose]()
      await observed[Symbol.asyncDispose]()
    },
  }
}
