/** What is on record of how computers begin and end. */
import type { NewPlatformEvent, PlatformEvents } from "../../core/platform-events/platform-events.ts"
import { reasonOf } from "../../core/workloads/served.ts"
import type { Live } from "../../core/workloads/workload.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { ComputerItem } from "./items.ts"
import { type ComputerRow, computerStore } from "./store.ts"

type ComputerEvent = "computer.created" | "computer.started" | "computer.stopped" | "computer.deleted"

export const eventOf = (
  type: ComputerEvent,
  { id, name, organization_id, project_id }: ComputerRow,
): NewPlatformEvent<ComputerEvent> => ({
  ...{ organizationId: organization_id, projectId: project_id, type },
  data: { computer_id: id, name },
})

export const createRecords = (needs: {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly clock: Clock
}) => {
  const { database, platformEvents, clock } = needs
  const now = () => new Date(clock.now())

  const recordStop = (
    { id, organization_id }: Pick<ComputerRow, "id" | "organization_id">,
    reason: string | null,
    live?: Live<ComputerItem>,
  ): Promise<void> =>
    database.transaction(async tx => {
      const changes = {
        ...{
          status: "STOPPED",
          status_reason: reason,
          stopped_at: now(),
          updated_at: now(),
          host_lost: false,
        },
        ...(live && { last_activity_at: new Date(live.lastUsedMs) }),
      }
      const row = await computerStore(tx).update(organization_id, id, changes, [
        "CREATING",
        "RUNNING",
        "ERROR",
      ])
      if (row) await platformEvents.emit(tx, eventOf("computer.stopped", row))
    })

  const recordStart = ({ id, organization_id, image_digest }: ComputerRow): Promise<ComputerRow> =>
    database.transaction(async tx => {
      const row = await computerStore(tx).update(organization_id, id, {
        ...{ status: "RUNNING", status_reason: null, host_lost: false, image_digest },
        ...{ started_at: now(), stopped_at: null, updated_at: now() },
      })
      // Deleted while it started: it must not run.
      if (!row) throw fault("computer_not_found", { id })
      await platformEvents.emit(tx, eventOf("computer.started", row))
      return row
    })

  const recordFailure = async (
    { id, organization_id, started_at }: ComputerRow,
    error: unknown,
  ): Promise<void> => {
    const status = started_at === null ? "ERROR" : "STOPPED"
    await computerStore(database.db).update(organization_id, id, {
      ...{ status, status_reason: reasonOf(error), host_lost: false, stopped_at: now(), updated_at: now() },
    })
  }

  return { recordStop, recordStart, recordFailure }
}
