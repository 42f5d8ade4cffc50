/** Brings what runs on this host in line with the rows: after a start of the process, and when hosts were lost. */

import { every, stopAll } from "../../kernel/every.ts"
import type { WorkloadParts } from "./lifecycle.ts"
import type { WorkloadNeeds } from "./needs.ts"
import type { CommandWorkload, WorkloadPolicy, WorkloadRow } from "./policy.ts"
import { hostedWorkloads } from "./store.ts"
import { meterDisks } from "./usage.ts"

const LOSS_EVERY_MS = 5_000

/** Of a workload that is deleted through another process than its host's. */
export const deletedTopic = (resource: string): string => `${resource}_deleted`

export const createReconciler = <Row extends WorkloadRow, Item extends CommandWorkload>(
  policy: WorkloadPolicy<Row, Item>,
  { database, hosts, fleet, records, lifecycle }: WorkloadNeeds & WorkloadParts<Row, Item>,
) => {
  const hosted = hostedWorkloads<Row>(database.db, policy)

  /** Ends what a row does not want to run any more; records again what ran on while its host was taken for lost. */
  const reconcileRunning = (id: string): Promise<void> =>
    fleet.withLock(id, async () => {
      const live = fleet.find(id)
      if (!live) return
      const found = await hosted.find(hosts.id, id)
      if (!found || (!found.isActive && live.item.spec.disk.kind !== "persistent"))
        return await fleet.destroy(id)
      if (found.isActive) return
      const { row, isHostLost } = found
      if (!isHostLost) return await fleet.stop(id)
      await records.recordStart(row, live, { image_digest: row.image_digest, provisionMs: undefined })
    })

  const startMissing = async (): Promise<void> => {
    for (const row of await hosted.shouldRun(hosts.id)) {
      // One that is ending is left alone: its end is recorded soon.
      if (!fleet.itemOf(row.id) && !fleet.isEnding(row.id)) lifecycle.launchSoon(row)
    }
  }

  const reconcile = async (): Promise<void> => {
    for (const id of fleet.ids()) await reconcileRunning(id)
  }

  return {
    reconcile,

    /** After a start of this process: nothing runs yet, whatever the rows say. */
    async recover(): Promise<void> {
      await records.recordLoss([hosts.id], "ephemeral")
      await startMissing()
    },

    /** When other hosts had taken this one for lost. */
    async rejoin(): Promise<void> {
      await reconcile()
      await startMissing()
    },
  }
}

interface Reconciler {
  readonly reconcile: () => Promise<void>
  readonly rejoin: () => Promise<void>
}

/** What happens to workloads beside calls. */
export const watchWorkloads = <Row extends WorkloadRow, Item extends CommandWorkload>(
  policy: WorkloadPolicy<Row, Item>,
  needs: WorkloadNeeds & WorkloadParts<Row, Item> & Reconciler,
): AsyncDisposable => {
  const { database, changes, clock, log, hosts, images, meters, fleet, records } = needs
  const { resource } = policy
  const hosted = hostedWorkloads<Row>(database.db, policy)
  hosts.keep(() => hosted.persistentIds(hosts.id))
  images.keep(() => hosted.imageDigests(hosts.id))
  hosts.onLapse(needs.rejoin)
  changes.subscribe(deletedTopic(resource), id => {
    // Without an id, any of them may have been deleted while notifications were lost.
    if (id !== undefined && !fleet.itemOf(id)) return
    const removed = id === undefined ? needs.reconcile() : fleet.withLock(id, () => fleet.destroy(id))
    removed.catch(error =>
      log.error({ err: error, [resource]: id }, `removing a deleted ${resource} from its host failed`),
    )
  })
  const losses = every(clock, LOSS_EVERY_MS, async () => records.recordLoss(await hosts.gone(), "all"), {
    log,
    failure: `marking ${resource}s of lost hosts as stopped failed; will retry`,
  })
  const disks = meterDisks({
    clock,
    meters,
    read: () => hosted.disks(hosts.id),
    failures: { log, failure: `metering ${resource} disks failed; will retry` },
  })
  return { [Symbol.asyncDispose]: () => stopAll([losses, disks]) }
}
