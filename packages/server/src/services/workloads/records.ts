/** What is on record of how workloads begin and end. */

import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { WorkloadNeeds } from "./needs.ts"
import type { CommandWorkload, StopReason, WorkloadPolicy, WorkloadRow } from "./policy.ts"
import { reasonOf } from "./served.ts"
import { hostedWorkloads, workloadStore } from "./store.ts"
import type { Live } from "./workload.ts"

export const createRecords = <Row extends WorkloadRow, Item extends CommandWorkload>(
  policy: WorkloadPolicy<Row, Item>,
  { database, platformEvents, clock }: WorkloadNeeds,
) => {
  const now = () => new Date(clock.now())
  const ended = (own: Partial<Row>, stopped_at = now()): Partial<Row> => ({
    status: "STOPPED",
    stopped_at,
    updated_at: stopped_at,
    ...own,
  })
  const emit = async (db: Db, change: "started" | "stopped", rows: readonly Row[]) =>
    await platformEvents.emit(db, ...rows.flatMap(row => policy.eventOf(change, row) ?? []))

  return {
    /** Records an end, once: undefined when it is on record already. */
    recordStop: (
      { id, organization_id }: Pick<WorkloadRow, "id" | "organization_id">,
      reason: StopReason,
      live?: Live<Item>,
    ): Promise<Row | undefined> =>
      database.transaction(async tx => {
        const changes = {
          ...ended(policy.changes.stopped(reason)),
          ...(live && { last_activity_at: new Date(live.lastUsedMs) }),
        }
        const { stoppable } = policy.states
        const row = await workloadStore<Row>(tx, policy).update(organization_id, id, changes, stoppable)
        if (row) await emit(tx, "stopped", [row])
        return row
      }),

    /** Throws `notFound` when it was deleted while it started: it must not run. */
    recordStart: (
      { id, organization_id }: Pick<WorkloadRow, "id" | "organization_id">,
      live: Live<Item>,
      changes: { readonly image_digest: string | null; readonly provisionMs: number | undefined },
    ): Promise<Row> =>
      database.transaction(async tx => {
        const at = now()
        const row = await workloadStore<Row>(tx, policy).update(organization_id, id, {
          status: "RUNNING",
          status_reason: null,
          image_digest: changes.image_digest,
          started_at: at,
          stopped_at: null,
          updated_at: at,
          ...policy.changes.started(live, changes.provisionMs),
        } as Partial<Row>)
        if (!row) throw fault(policy.faults.notFound, { id })
        await emit(tx, "started", [row])
        return row
      }),

    async recordFailure({ id, organization_id, started_at }: Row, error: unknown): Promise<void> {
      const status = started_at === null ? policy.states.failed : "STOPPED"
      await workloadStore<Row>(database.db, policy).update(organization_id, id, {
        ...ended(policy.changes.failed()),
        status,
        status_reason: reasonOf(error),
      })
    },

    /** Records that what ran on hosts that are gone does not run. */
    async recordLoss(hostIds: readonly string[], which: "all" | "ephemeral"): Promise<void> {
      if (hostIds.length === 0) return
      await database.transaction(async tx => {
        const changes = ended(policy.changes.hostLost())
        const lost = await hostedWorkloads<Row>(tx, policy).lose(hostIds, which, changes)
        await emit(tx, "stopped", lost)
      })
    },
  }
}

export type Records<Row extends WorkloadRow, Item extends CommandWorkload> = ReturnType<
  typeof createRecords<Row, Item>
>
