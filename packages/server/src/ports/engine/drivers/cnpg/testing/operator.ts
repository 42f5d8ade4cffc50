/**
 * Does what CloudNativePG and its Barman Cloud plugin do with the resources of volumes, with the local engine's servers
 * in place of pods, and their history in place of an object store.
 */

import { eventually } from "../../../../../testing/eventually.ts"
import type { Change, FakeKubernetes, Stored } from "../../../../kubernetes/testing/kubernetes.ts"
import { runSql } from "../../../conformance/fixture.ts"
import {
  type Endpoint,
  type EnginePort,
  OWNER_ROLE,
  OWNER_SESSION_ROLE,
  type PgVersion,
  READER_ROLE,
  type RecoveryPoint,
  type VolumeRef,
} from "../../../port.ts"
import { HIBERNATION, UNRECOVERABLE } from "../cluster-state.ts"
import { CLUSTER_LABEL, PLUGIN, TIER_ANNOTATION, VERSION_ANNOTATION } from "../manifests.ts"

export interface FakeOperator extends AsyncDisposable {
  /** The Unix socket behind the service of that name. */
  socketOf(host: string): string | undefined
  /** Recoveries fail from now on, or no longer. */
  failRecoveries(fail: boolean): void
  /** Nothing is done about any change until this is called with false. */
  setPaused(paused: boolean): void
}

const volumeOf = (name: string): string => name.slice("svc-".length)

const refOf = ({ metadata }: Stored): VolumeRef => ({
  id: volumeOf(metadata.name),
  pgVersion: Number(metadata.annotations[VERSION_ANNOTATION]) as PgVersion,
  tier:
    metadata.annotations[TIER_ANNOTATION] === "dedicated"
      ? "isolated"
      : metadata.annotations[TIER_ANNOTATION],
})

const decoded = (secret: Stored, field: string): string =>
  Buffer.from(secret.data[field], "base64").toString()

const pointOf = (recovery: Stored): RecoveryPoint => {
  const { targetTime, targetLSN } = recovery?.recoveryTarget ?? {}
  if (targetTime !== undefined) return { kind: "time", time: new Date(targetTime) }
  return targetLSN === undefined ? { kind: "head" } : { kind: "lsn", lsn: targetLSN }
}

/** The volume that a copy's `origin` names, by its archive or by its service. */
const sourceOf = ({ spec }: Stored): string => {
  const [{ plugin, connectionParameters }] = spec.externalClusters
  return volumeOf(plugin?.parameters.serverName ?? connectionParameters.host.split("-rw.")[0])
}

export const startFakeOperator = (
  kubernetes: FakeKubernetes,
  engine: EnginePort,
  ca: string,
): FakeOperator => {
  const endpoints = new Map<string, Endpoint>()
  const made = new Map<string, VolumeRef>()
  const givenUp = new Set<string>()
  let isPaused = false
  let failing = false
  let backupsMade = 0

  const setStatus = (cluster: string, status: object) => {
    if (kubernetes.get("clusters", cluster)) kubernetes.put("clusters", cluster, { status })
  }
  const secretsOf = ({ spec }: Stored) => {
    const { initdb, recovery, pg_basebackup } = spec.bootstrap
    const [reader, session] = spec.managed.roles
    const owner = kubernetes.get("secrets", (initdb ?? recovery ?? pg_basebackup).secret.name)
    return {
      owner,
      session: kubernetes.get("secrets", session.passwordSecret.name),
      reader: kubernetes.get("secrets", reader.passwordSecret.name),
    }
  }
  const passwordsOf = ({ owner, reader }: { owner: Stored; reader: Stored }) => {
    if (decoded(owner, "username") !== OWNER_ROLE || decoded(reader, "username") !== READER_ROLE)
      throw new Error("a Secret names another role than it is for")
    return { owner: decoded(owner, "password"), reader: decoded(reader, "password") }
  }

  const build = async (cluster: Stored, ref: VolumeRef) => {
    const { bootstrap } = cluster.spec
    const passwords = passwordsOf(secretsOf(cluster))
    if (bootstrap.initdb) return engine.create(ref, passwords)
    if (failing) throw new Error("told to fail")
    const source = { ...ref, id: sourceOf(cluster) }
    await engine.branch(source, ref, pointOf(bootstrap.recovery), passwords, { others: "kept" })
  }

  const make = async (cluster: Stored) => {
    const { name } = cluster.metadata
    const ref = refOf(cluster)
    made.set(name, ref)
    setStatus(name, { phase: "Setting up primary", readyInstances: 0 })
    const labels = { [CLUSTER_LABEL]: name, ...cluster.spec.inheritedMetadata.labels }
    try {
      await build(cluster, ref)
    } catch (error) {
      made.delete(name)
      // Only a recovery is made by a job that gives up.
      if (cluster.spec.bootstrap.initdb) throw error
      kubernetes.put("jobs", `${name}-1-full-recovery`, {
        metadata: { labels },
        status: { conditions: [{ type: "Failed", status: "True", message: `${error}` }] },
      })
      return
    }
    kubernetes.put("persistentvolumeclaims", `${name}-1`, {
      metadata: { labels },
      status: { capacity: { storage: cluster.spec.storage.size } },
    })
    kubernetes.put("secrets", `${name}-ca`, {
      metadata: { labels },
      data: { "ca.crt": Buffer.from(ca).toString("base64") },
    })
  }

  const unmake = async (name: string) => {
    const ref = made.get(name)
    made.delete(name)
    givenUp.delete(name)
    endpoints.delete(name)
    kubernetes.remove("secrets", `${name}-ca`)
    kubernetes.remove("jobs", `${name}-1-full-recovery`)
    if (ref) await engine.destroy(ref)
  }

  const hibernate = async (name: string, ref: VolumeRef) => {
    endpoints.delete(name)
    const condition = { type: HIBERNATION, lastTransitionTime: new Date().toISOString() }
    setStatus(name, { conditions: [{ ...condition, status: "False", reason: "DeletingPods" }] })
    await engine.suspend(ref)
    setStatus(name, {
      readyInstances: 0,
      conditions: [{ ...condition, status: "True", reason: "Hibernated" }],
    })
  }

  const run = async (cluster: Stored, ref: VolumeRef) => {
    const { name } = cluster.metadata
    setStatus(name, { conditions: [{ type: "ContinuousArchiving", status: "True" }] })
    endpoints.set(name, await engine.wake(ref))
    const secrets = secretsOf(cluster)
    const owner = secrets.owner.metadata.resourceVersion
    const reader = secrets.reader.metadata.resourceVersion
    const known = kubernetes.get("clusters", name)?.status
    const isNews =
      known?.managedRolesStatus?.passwordStatus[READER_ROLE].resourceVersion !== reader ||
      known?.secretsResourceVersion?.applicationSecretVersion !== owner
    if (isNews) await engine.setCredentials(ref, passwordsOf(secrets))
    setStatus(name, {
      phase: "Cluster in healthy state",
      readyInstances: 1,
      secretsResourceVersion: { applicationSecretVersion: owner },
      managedRolesStatus: {
        passwordStatus: {
          [OWNER_SESSION_ROLE]: { resourceVersion: secrets.session.metadata.resourceVersion },
          [READER_ROLE]: { resourceVersion: reader },
        },
      },
    })
  }

  const reconcile = async (name: string) => {
    const cluster = kubernetes.get("clusters", name)
    if (!cluster) return unmake(name)
    if (givenUp.has(name)) return
    if (!made.has(name)) await make(cluster)
    const ref = made.get(name)
    if (!ref) return
    const isHibernated = cluster.status?.conditions?.some(({ reason }: Stored) => reason === "Hibernated")
    if (cluster.metadata.annotations[HIBERNATION] !== "on") return run(cluster, ref)
    if (!isHibernated) await hibernate(name, ref)
  }

  const positionIn = async (name: string): Promise<string> => {
    const endpoint = endpoints.get(name)
    if (!endpoint) throw new Error("cannot backup a hibernated cluster")
    const { owner } = passwordsOf(secretsOf(kubernetes.get("clusters", name)))
    const text = "SELECT pg_current_wal_flush_lsn()::text AS lsn"
    const [row] = await runSql({ endpoint, role: OWNER_ROLE, password: owner }, text)
    return `${row?.lsn}`
  }

  const backUp = async ({ metadata, spec }: Stored) => {
    const cluster = spec.cluster.name
    try {
      // A volume's servers begin their history by themselves; a backup that ended before would promise too much.
      const ref = refOf(kubernetes.get("clusters", cluster))
      await eventually("the history", async () => (await engine.window(ref)).earliest)
      const lsn = await positionIn(cluster)
      const stoppedAt = new Date().toISOString()
      const elements =
        spec.method === "volumeSnapshot" ? [{ name: `${metadata.name}-data`, type: "PG_DATA" }] : []
      if (spec.method === "plugin" && spec.pluginConfiguration.name === PLUGIN)
        beginWindow(cluster, stoppedAt)
      const status = {
        phase: "completed",
        stoppedAt,
        beginLSN: lsn,
        endLSN: lsn,
        snapshotBackupStatus: { elements },
      }
      if (kubernetes.get("backups", metadata.name)) kubernetes.put("backups", metadata.name, { status })
    } catch (error) {
      kubernetes.put("backups", metadata.name, { status: { phase: "failed", error: `${error}` } })
    }
  }

  const beginWindow = (cluster: string, at: string) => {
    const store = kubernetes.get("objectstores", cluster)
    if (!store || store.status?.serverRecoveryWindow) return
    const serverRecoveryWindow = { [cluster]: { firstRecoverabilityPoint: at } }
    kubernetes.put("objectstores", cluster, { status: { serverRecoveryWindow } })
  }

  const schedule = ({ metadata, spec }: Stored) => {
    if (!spec.immediate || metadata.labels === undefined) return
    backupsMade += 1
    const { cluster, method, pluginConfiguration } = spec
    kubernetes.put("backups", `${metadata.name}-${backupsMade}`, {
      metadata: { labels: { [CLUSTER_LABEL]: cluster.name, "cnpg.io/scheduled-backup": metadata.name } },
      spec: { cluster, method, pluginConfiguration },
    })
  }

  /** A test whose machine cannot do it, for its disk is full for instance, ends at once and says why. */
  const giveUp = (name: string, error: unknown) => {
    givenUp.add(name)
    setStatus(name, { phase: UNRECOVERABLE, phaseReason: `${error}` })
  }

  /** One pass after the other for each Cluster. */
  const passes = new Map<string, Promise<void>>()
  const soon = (name: string, pass: () => Promise<void>) => {
    passes.set(
      name,
      (passes.get(name) ?? Promise.resolve()).then(pass).catch(error => giveUp(name, error)),
    )
  }

  const take = ({ kind, type, object }: Change) => {
    const { name } = object.metadata
    if (isPaused) return
    if (kind === "clusters") soon(name, () => reconcile(name))
    if (kind === "secrets" && type !== "DELETED") {
      const cluster = name.replace(/-(owner|session|reader)$/, "")
      if (cluster !== name) soon(cluster, async () => (made.has(cluster) ? reconcile(cluster) : undefined))
    }
    if (kind === "backups" && type === "ADDED") soon(object.spec.cluster.name, () => backUp(object))
    if (kind === "scheduledbackups" && type === "ADDED") schedule(object)
  }
  kubernetes.listen(take)

  return {
    socketOf(host) {
      const endpoint = endpoints.get(host.replace(/-rw\..*$/, ""))
      return endpoint && `${endpoint.host}/.s.PGSQL.${endpoint.port}`
    },
    failRecoveries(fail) {
      failing = fail
    },
    setPaused(paused) {
      isPaused = paused
      if (paused) return
      for (const { metadata } of kubernetes.list("clusters"))
        soon(metadata.name, () => reconcile(metadata.name))
    },
    async [Symbol.asyncDispose]() {
      isPaused = true
      await Promise.all(passes.values())
    },
  }
}
