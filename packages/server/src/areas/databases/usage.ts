import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import type { EnginePort } from "../../ports/engine/port.ts"
import type { ReadyBranch } from "./directory.ts"
import { databaseStore } from "./store.ts"
import { sweepStore } from "./sweep-store.ts"

/** When databases were awake, and how large they are: for records, bills and advice. */
export interface Usage {
  awake(branch: ReadyBranch, at: Date, wakeMs: number): void
  asleep(branch: ReadyBranch, since: Date, at: Date): void
  isActive(branch: ReadyBranch): Promise<boolean>
}

const MS_PER_HOUR = 3_600_000

export const createUsage = (needs: {
  database: Database
  engine: EnginePort
  meters: BackgroundMeters
  log: Logger
}): Usage => {
  const { database, engine, meters, log } = needs
  const wakes = sweepStore(database.db)
  const store = databaseStore(database.db)

  /** Statistics; a call must not wait for them, nor fail with them. */
  const later = (work: Promise<unknown>) =>
    void work.catch(error => log.warn({ err: error }, "recording database compute time failed"))

  return {
    awake({ branchId, organizationId, databaseId }, at, wakeMs) {
      const row = { branch_id: branchId, organization_id: organizationId, started_at: at, ended_at: null }
      later(wakes.insertWake({ ...row, wake_ms: wakeMs }))
      later(store.updateDatabase(organizationId, databaseId, ["active"], { last_active_at: at }))
    },

    asleep({ branchId, organizationId, projectId, databaseId }, since, at) {
      const quantity = (at.getTime() - since.getTime()) / MS_PER_HOUR
      meters.count({ organizationId, projectId, metric: "database_hours", quantity, at })
      later(wakes.endWake(organizationId, branchId, since, at))
      later(store.updateDatabase(organizationId, databaseId, ["active"], { last_active_at: at }))
    },

    async isActive({ organizationId, volume }) {
      const use = await engine.inspect(volume)
      if (!use) return false
      await store.updateVolume(organizationId, volume.id, { logical_size_bytes: use.logicalBytes })
      return use.activeSessions > 0
    },
  }
}
