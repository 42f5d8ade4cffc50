import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every, stopAll } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import type { EnginePort, PgVersion, Tier, VolumeRef } from "../../ports/engine/port.ts"
import { DATABASE_TOPIC } from "./directory.ts"
import { type DatabaseRow, databaseStore } from "./store.ts"
import { type Gone, sweepStore } from "./sweep-store.ts"

/** Ends what is over, and frees what nobody uses. */
export interface Sweeper extends AsyncDisposable {
  /** What an ended process with this data folder left half-made; before this process makes anything. */
  recover(): Promise<void>
  /** One round. Runs by itself every minute. */
  sweep(): Promise<void>
}

const EVERY_MS = 60_000
const PRUNE_EVERY_MS = 600_000
const BATCH = 100
const WAKES_KEPT_MS = 90 * 86_400_000

export interface SweeperNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly engine: EnginePort
  readonly clock: Clock
  readonly log: Logger
  readonly graceSeconds: number
  /** Of this process. */
  readonly creatorId: string
}

export const createSweeper = (needs: SweeperNeeds): Sweeper => {
  const { database, changes, engine, clock, log, graceSeconds, creatorId } = needs
  const store = databaseStore(database.db)
  const sweeps = sweepStore(database.db)
  const now = () => new Date(clock.now())

  const doomVolumes = async ({ organization_id, id }: DatabaseRow) => {
    const branches = await store.branchesOf(organization_id, id)
    await database.transaction(async tx => {
      const rows = databaseStore(tx)
      for (const { volume_id } of branches) {
        await rows.updateVolume(organization_id, volume_id, { state: "doomed" })
      }
      await rows.deleteDatabase(organization_id, id)
    })
    await changes.invalidate(database.db, DATABASE_TOPIC, id)
  }

  const free = async (gone: Gone) => {
    for (const row of await sweeps.unfinished(gone, BATCH)) {
      const volume: VolumeRef = {
        id: row.id,
        pgVersion: row.pg_version as PgVersion,
        tier: row.isolation as Tier,
      }
      await engine.destroy(volume)
      await store.deleteVolume(row.organization_id, row.id)
    }
  }

  const removeAbandoned = async (gone: Gone) => {
    for (const row of await sweeps.abandoned(gone)) await doomVolumes(row)
    for (const { id, organization_id, volume_id } of await sweeps.abandonedBranches(gone)) {
      await database.transaction(async tx => {
        const rows = databaseStore(tx)
        await rows.deleteBranch(organization_id, id)
        await rows.updateVolume(organization_id, volume_id, { state: "doomed" })
      })
    }
  }

  /** A deleted project takes its databases with it, as if each had been deleted by hand. */
  const followProjects = async () => {
    const at = now()
    for (const { organization_id, id } of await sweeps.orphaned(BATCH)) {
      await store.updateDatabase(organization_id, id, ["active"], {
        ...{ state: "deleted", deleted_at: at, updated_at: at },
        purge_at: new Date(at.getTime() + graceSeconds * 1000),
      })
      await changes.invalidate(database.db, DATABASE_TOPIC, id)
    }
  }

  const expireBranches = async () => {
    for (const { id, organization_id, database_id } of await sweeps.expiredBranches(now(), BATCH)) {
      const branch = await store.findBranch(organization_id, database_id, id)
      if (!branch) continue
      await database.transaction(async tx => {
        const rows = databaseStore(tx)
        await rows.deleteBranch(organization_id, id)
        await rows.updateVolume(organization_id, branch.volume_id, { state: "doomed" })
      })
      await changes.invalidate(database.db, DATABASE_TOPIC, database_id)
    }
  }

  /** Sizes for records and bills, and history that is older than wanted. */
  const tendVolumes = async () => {
    let after = "00000000-0000-0000-0000-000000000000"
    for (;;) {
      const volumes = await sweeps.volumesInUse(after, BATCH)
      for (const row of volumes) {
        const volume = { id: row.id, pgVersion: row.pg_version as PgVersion, tier: row.isolation as Tier }
        await engine.prune(volume, new Date(clock.now() - row.history_retention_seconds * 1000))
        const size = await engine.size(volume)
        await store.updateVolume(row.organization_id, row.id, {
          data_size_bytes: size.dataBytes,
          physical_size_bytes: size.physicalBytes,
          history_size_bytes: size.historyBytes,
        })
      }
      const last = volumes.at(-1)
      if (!last || volumes.length < BATCH) return
      after = last.id
    }
  }

  const steps = [
    followProjects,
    expireBranches,
    async () => {
      for (const row of await sweeps.purgeable(now(), BATCH)) await doomVolumes(row)
    },
    () => removeAbandoned({ now: now() }),
    () => free({ now: now() }),
    () => sweeps.forgetWakes(new Date(clock.now() - WAKES_KEPT_MS)),
  ]

  const attempt = async (step: () => Promise<void>) => {
    try {
      await step()
    } catch (error) {
      log.error({ err: error }, "cleanup of databases failed; will retry")
    }
  }

  const sweep = async () => {
    for (const step of steps) await attempt(step)
  }

  const timers = [
    every(clock, EVERY_MS, sweep),
    every(clock, PRUNE_EVERY_MS, tendVolumes, {
      log,
      failure: "measuring and pruning database volumes failed; will retry",
    }),
  ]

  return {
    async recover() {
      await sweeps.closeWakes(now())
      const gone = { now: now(), creatorId }
      await removeAbandoned(gone)
      await attempt(() => free(gone))
    },
    sweep,
    [Symbol.asyncDispose]: () => stopAll(timers),
  }
}
