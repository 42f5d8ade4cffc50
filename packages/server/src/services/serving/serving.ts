/**
 * Programs that answer requests: instances of a revision are started by the requests that need them, share them out, and
 * end when there are none. One engine for everything that is served so; what a revision is, and whose, is the area's.
 */
import { join } from "node:path"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every, stopAll } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../hosts/hosts.ts"
import { openCodeFolders } from "./code-folders.ts"
import {
  type Instance,
  type InstanceObserver,
  type Lease,
  type StartOptions,
  startInstance,
} from "./instance.ts"
import { createLogWriter, type ProgramLogs } from "./logs.ts"
import { createPool, type Pool, type Replica } from "./pool.ts"
import { createReplicas } from "./replicas.ts"
import { type RevisionSpec, UnservedError } from "./spec.ts"
import type { WorkloadKind } from "./workload.ts"

export interface Serving extends AsyncDisposable {
  /** An instance for one request, started where there is none. Throws an UnservedError, or `no_host_capacity`. */
  acquire(spec: RevisionSpec, signal: AbortSignal): Promise<Lease>
  /** Keeps so many instances of these running, and none of any other. */
  keep(wanted: readonly { readonly spec: RevisionSpec; readonly instances: number }[]): void
  /** Ends the instances of revisions that are not wanted any more, each with its last request. */
  retire(isWanted: (spec: RevisionSpec) => boolean): void
  /** How it is with the instances of a revision that are kept. */
  replicas(revisionId: string): readonly Replica[]
  /** Those of this process. */
  instances(): readonly Instance[]
  /** Services with a revision that runs here, or is to. */
  services(): readonly string[]
  /** What they printed. */
  readonly logs: ProgramLogs
  /** Requests that wait for an instance. */
  waiting(serviceId?: string): number
}

export interface ServingKind extends WorkloadKind, Pick<InstanceObserver, "changed" | "ended"> {
  /** Names the folder of its files. */
  readonly name: string
  /** It cannot be started. */
  failed?(spec: RevisionSpec, reason: string): void
  /** How it is with instances that are kept has changed. */
  shifted?(spec: RevisionSpec): void
}

export interface ServingNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly dataDir: string
  readonly retryDelayFactor: number
}

const SWEEP_EVERY_MS = 1_000
const TIDY_EVERY_MS = 600_000
const TRIM_EVERY_MS = 60_000
const FILES_UNUSED_MS = 3_600_000

export const openServing = async (kind: ServingKind, needs: ServingNeeds): Promise<Serving> => {
  const { runtime, hosts, clock, log } = needs
  const folders = await openCodeFolders(join(needs.dataDir, kind.name), clock.now)
  const logs = createLogWriter({ db: needs.database.db, log, nowMs: clock.now })
  const pools = new Map<string, Pool>()
  const living = new Set<Instance>()
  /** Those that take no more. */
  const retired = new Set<Pool>()
  let isClosed = false

  const observe: InstanceObserver = {
    changed(instance) {
      living.add(instance)
      if (isClosed) instance.giveUp()
      kind.changed(instance)
    },
    ended(instance, end) {
      living.delete(instance)
      logs.ended(instance, end)
      kind.ended(instance, end)
    },
    printed: logs.printed,
  }
  const instanceNeeds = { kind, runtime, hosts, folders, log, nowMs: clock.now, observe }

  const poolOf = (spec: RevisionSpec): Pool => {
    const known = pools.get(spec.id)
    known?.scale(spec)
    if (known) return known
    const poolNeeds = {
      start: (of: RevisionSpec, options: StartOptions) => startInstance(instanceNeeds, of, options),
      ...{ nowMs: clock.now, log, delayFactor: needs.retryDelayFactor },
    }
    const pool = spec.restart
      ? createReplicas(spec, spec.restart, { ...poolNeeds, shifted: of => kind.shifted?.(of) })
      : createPool(spec, { ...poolNeeds, failed: (of, reason) => kind.failed?.(of, reason) })
    pools.set(spec.id, pool)
    return pool
  }

  const retire = (pool: Pool) => {
    pools.delete(pool.spec.id)
    retired.add(pool)
    pool.retire()
  }

  const works = [
    every(clock, SWEEP_EVERY_MS, () => {
      for (const pool of retired) {
        pool.sweep()
        if (pool.isEmpty) retired.delete(pool)
      }
      for (const pool of pools.values()) {
        pool.sweep()
        if (pool.isEmpty) pools.delete(pool.spec.id)
      }
    }),
    every(clock, TIDY_EVERY_MS, () => folders.sweep(clock.now() - FILES_UNUSED_MS), {
      log,
      failure: "deleting unused files of services failed; will retry",
    }),
    every(clock, TRIM_EVERY_MS, logs.trim, {
      log,
      failure: "deleting old output of programs failed; will retry",
    }),
  ]

  hosts.onPressure(() => {
    const idle = [...living].filter(one => one.status === "RUNNING" && one.inFlight === 0 && !one.place)
    const [idlest] = idle.sort((a, b) => a.idleSinceMs - b.idleSinceMs)
    idlest?.giveUp()
    return idlest !== undefined
  })

  return {
    acquire: async (spec, signal) => {
      if (isClosed) throw new UnservedError("stopping", "the server is shutting down")
      return poolOf(spec).acquire(signal)
    },
    keep(wanted) {
      if (isClosed) return
      const named = new Set(wanted.map(({ spec }) => spec.id))
      for (const [id, pool] of pools) if (!named.has(id)) pool.keep(0)
      for (const { spec, instances } of wanted) poolOf(spec).keep(instances)
    },
    retire(isWanted) {
      for (const pool of pools.values()) if (!isWanted(pool.spec)) retire(pool)
    },
    replicas: revisionId => pools.get(revisionId)?.replicas ?? [],
    instances: () => [...living],
    logs,
    services: () => [...pools.values()].map(({ spec }) => spec.serviceId),
    waiting: serviceId =>
      [...pools.values(), ...retired]
        .filter(({ spec }) => serviceId === undefined || spec.serviceId === serviceId)
        .reduce((sum, pool) => sum + pool.waiting, 0),
    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const pool of [...pools.values(), ...retired])
        pool.close(new UnservedError("stopping", "the server is shutting down"))
      await stopAll(works)
      const all = [...living]
      for (const instance of all) instance.giveUp()
      await Promise.all(all.map(({ ended }) => ended))
      await logs.flush()
    },
  }
}
