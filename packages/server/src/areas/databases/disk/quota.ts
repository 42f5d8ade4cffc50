import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { Clock } from "../../../kernel/clock.ts"
import { createMutex } from "../../../kernel/concurrency/semaphore.ts"
import type { Changes } from "../../../kernel/db/changes.ts"
import type { Database } from "../../../kernel/db/database.ts"
import { every, stopAll } from "../../../kernel/every.ts"
import type { Logger } from "../../../kernel/log.ts"
import type { EnginePort, PgVersion, Tier, VolumeRef } from "../../../ports/engine/port.ts"
import type { Compute } from "../compute.ts"
import { DATABASE_TOPIC, type Directory, type ReadyBranch } from "../directory.ts"
import { databaseStore } from "../store.ts"
import { diskStore, type MeasuredDatabase, type MeasuredVolume } from "./disk-store.ts"
import { type DiskLimits, nextState, type StorageState } from "./limits.ts"
import { createSchedule } from "./schedule.ts"

/** Measures databases, and keeps those that take too much disk from being written. */
export interface DiskQuota extends AsyncDisposable {
  /** Measures a branch's volume now, and applies what follows. */
  measure(branch: ReadyBranch): Promise<void>
}

const LOOK_EVERY_MS = 1_000
const JUDGE_EVERY_MS = 60_000
const PROJECTS_MAX = 1_000

export interface DiskQuotaNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly engine: EnginePort
  readonly directory: Directory
  readonly compute: Compute
  readonly platformEvents: PlatformEvents
  readonly clock: Clock
  readonly log: Logger
  readonly limitsOf: (plan: string) => DiskLimits
}

const refOf = (row: MeasuredVolume): VolumeRef => ({
  id: row.id,
  pgVersion: row.pg_version as PgVersion,
  tier: row.isolation as Tier,
})

const sum = (rows: readonly MeasuredVolume[], column: "data_size_bytes" | "history_size_bytes"): number =>
  rows.reduce((total, row) => total + row[column], 0)

const EVENTS = {
  ok: "database.writable",
  warning: "database.storage_warning",
  read_only: "database.read_only",
} as const

/** A database that falls from a warning to ok has always been writable: nothing to tell. */
const eventOf = (before: StorageState, now: StorageState) => {
  if (before === "read_only") return EVENTS.ok
  return now === "ok" ? undefined : EVENTS[now]
}

export const createDiskQuota = (needs: DiskQuotaNeeds): DiskQuota => {
  const { database, changes, engine, directory, compute, platformEvents, clock, log, limitsOf } = needs
  const store = databaseStore(database.db)
  const disk = diskStore(database.db)

  /** First the engine, then the record: a crash in between is made good by the next look. */
  const setReadOnly = async (organizationId: string, row: MeasuredVolume, readOnly: boolean) => {
    const branch = await directory.findByVolume(row.id)
    if (branch) await compute.suspend(branch)
    await engine.setReadOnly(refOf(row), readOnly)
    await store.updateVolume(organizationId, row.id, { read_only: readOnly })
  }

  const shorten = async (rows: readonly MeasuredVolume[], limit: number | null) => {
    const total = sum(rows, "history_size_bytes")
    if (limit === null || total <= limit) return
    for (const row of rows) {
      const share = Math.floor((limit * row.history_size_bytes) / total)
      if (row.history_size_bytes > 0) await engine.prune(refOf(row), new Date(0), share)
    }
  }

  interface Judged {
    readonly organizationId: string
    readonly projectId: string
    readonly volumes: readonly MeasuredVolume[]
    readonly projectBytes: number
  }

  const judgeDatabase = async (row: MeasuredDatabase, judged: Judged) => {
    const { organizationId, projectId, volumes, projectBytes } = judged
    const limits = limitsOf(row.plan)
    const own = volumes.filter(({ database_id }) => database_id === row.id)
    const used = sum(own, "data_size_bytes")
    const before = row.storage_state as StorageState
    const now = nextState(
      before,
      [
        { bytes: used, limit: limits.databaseBytes },
        { bytes: projectBytes, limit: limits.projectBytes },
      ],
      engine.capabilities,
    )
    await shorten(own, limits.historyBytes)
    const wrong = own.filter(({ read_only }) => read_only !== (now === "read_only"))
    for (const volume of wrong) await setReadOnly(organizationId, volume, now === "read_only")
    if (now !== before) {
      const type = eventOf(before, now)
      const data = {
        database_id: row.id,
        name: row.name,
        used_bytes: used,
        limit_bytes: limits.databaseBytes,
      }
      await database.transaction(async tx => {
        const record = { storage_state: now, ...(now !== "read_only" && { only_drop_frees: false }) }
        await databaseStore(tx).updateDatabase(organizationId, row.id, ["active"], record)
        if (type) await platformEvents.emit(tx, { organizationId, projectId, type, data })
      })
      log.info({ database: row.id, state: now, used }, "storage state of a database changed")
    }
    if (now !== before || wrong.length > 0) await changes.invalidate(database.db, DATABASE_TOPIC, row.id)
  }

  const judge = async (organizationId: string, projectId: string) => {
    const databases = await disk.databasesOf(organizationId, projectId)
    if (databases.length === 0) return
    const volumes = await disk.volumesOf(
      organizationId,
      databases.map(({ id }) => id),
    )
    const projectBytes = sum(volumes, "data_size_bytes")
    for (const row of databases)
      await judgeDatabase(row, { organizationId, projectId, volumes, projectBytes })
  }

  /** One project at a time: two who judge it at once would undo each other. */
  const mutex = createMutex()

  const measure = async ({ organizationId, projectId, volume }: ReadyBranch) => {
    const size = await engine.size(volume)
    const use = await engine.inspect(volume).catch(() => undefined)
    const known = await disk.findVolume(organizationId, volume.id)
    const found = {
      data_size_bytes: size.dataBytes,
      physical_size_bytes: size.physicalBytes,
      history_size_bytes: size.historyBytes,
      logical_size_bytes: use?.logicalBytes ?? known?.logical_size_bytes ?? 0,
    }
    const isNew = (Object.keys(found) as (keyof typeof found)[]).some(name => found[name] !== known?.[name])
    if (isNew) await store.updateVolume(organizationId, volume.id, found)
    await mutex.run(() => judge(organizationId, projectId))
  }

  const schedule = createSchedule({ engine, compute, clock })
  const measureDue = async (volumeId: string) => {
    const branch = await directory.findByVolume(volumeId)
    if (branch) await measure(branch)
  }
  const look = async () => {
    for (const volumeId of schedule.due())
      await measureDue(volumeId).catch(error =>
        log.warn({ err: error, volume: volumeId }, "measuring the size of a database failed; will retry"),
      )
  }

  const judgeAgain = async () => {
    for (const { organization_id, project_id } of await disk.projectsNearLimit(PROJECTS_MAX))
      await mutex.run(() => judge(organization_id, project_id))
  }

  const timers = [
    every(clock, LOOK_EVERY_MS, look),
    every(clock, JUDGE_EVERY_MS, judgeAgain, {
      log,
      failure: "checking database storage quotas failed; will retry",
    }),
  ]
  return {
    measure,
    async [Symbol.asyncDispose]() {
      await stopAll(timers)
      await mutex.run(async () => undefined)
    },
  }
}
