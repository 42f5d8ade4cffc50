/** What is on record of how sandboxes begin and end. */
import type { SandboxStopReason } from "@svc/contract"
import type { NewPlatformEvent, PlatformEvents } from "../../core/platform-events/platform-events.ts"
import { reasonOf } from "../../core/workloads/served.ts"
import type { Live } from "../../core/workloads/workload.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { SandboxItem } from "./items.ts"
import { type SandboxRow, sandboxStore } from "./store.ts"

export const eventOf = (
  type: "sandbox.started" | "sandbox.stopped",
  { id, organization_id, project_id }: SandboxRow,
): NewPlatformEvent<typeof type> => ({
  ...{ organizationId: organization_id, projectId: project_id, type },
  data: { sandbox_id: id },
})

export const createRecords = (needs: {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly clock: Clock
}) => {
  const { database, platformEvents, clock } = needs
  const now = () => new Date(clock.now())

  /** Puts an end on record, once. Undefined when it is on record already. */
  const recordStop = (
    { id, organization_id }: Pick<SandboxRow, "id" | "organization_id">,
    reason: SandboxStopReason,
    live?: Live<SandboxItem>,
  ): Promise<SandboxRow | undefined> =>
    database.transaction(async tx => {
      const at = now()
      const row = await sandboxStore(tx).update(organization_id, id, ["PROVISIONING", "RUNNING"], {
        ...{ status: "STOPPED", stop_reason: reason, expires_at: null, stopped_at: at, updated_at: at },
        ...(live && { last_activity_at: new Date(live.lastUsedMs) }),
      })
      if (row) await platformEvents.emit(tx, eventOf("sandbox.stopped", row))
      return row
    })

  const recordStart = (row: SandboxRow, live: Live<SandboxItem>, provisionMs: number): Promise<SandboxRow> =>
    database.transaction(async tx => {
      const { expiresAtMs } = live
      const started = await sandboxStore(tx).update(
        row.organization_id,
        row.id,
        ["PROVISIONING", "RUNNING", "STOPPED", "FAILED"],
        {
          ...{ status: "RUNNING", stop_reason: null, status_reason: null, cold_start: true },
          ...{ provision_ms: provisionMs, started_at: now(), stopped_at: null, updated_at: now() },
          ...{ image_digest: row.image_digest, cwd: row.cwd },
          expires_at: expiresAtMs === null ? null : new Date(expiresAtMs),
        },
      )
      // Deleted while it started: it must not run.
      if (!started) throw fault("sandbox_not_found", { id: row.id })
      await platformEvents.emit(tx, eventOf("sandbox.started", started))
      return started
    })

  const recordFailure = async (row: SandboxRow, error: unknown): Promise<void> => {
    const at = now()
    const isNew = row.started_at === null
    await sandboxStore(database.db).update(
      row.organization_id,
      row.id,
      ["PROVISIONING", "RUNNING", "STOPPED"],
      {
        ...{ status: isNew ? "FAILED" : "STOPPED", stop_reason: "error", status_reason: reasonOf(error) },
        ...{ expires_at: null, stopped_at: at, updated_at: at },
      },
    )
  }

  return { recordStop, recordStart, recordFailure }
}
