/** The workloads of one kind: records, placement, life, commands, files and terminals, by the kind's policy. */

import type { Db } from "../../kernel/db/database.ts"
import { createWorkloadCalls } from "./calls.ts"
import { createFleet, type Fleet } from "./fleet.ts"
import { createLifecycle, type Lifecycle } from "./lifecycle.ts"
import type { WorkloadNeeds } from "./needs.ts"
import type { CommandWorkload, WorkloadPolicy, WorkloadRow } from "./policy.ts"
import { createReconciler, watchWorkloads } from "./reconcile.ts"
import { createRecords } from "./records.ts"
import { workloadStore } from "./store.ts"
import { createTerminals } from "./terminals.ts"
import { createWorkloadUse } from "./use.ts"

export interface Workloads<Row extends WorkloadRow, Item extends CommandWorkload>
  extends Pick<Lifecycle<Row, Item>, "launchSoon" | "adopt">,
    AsyncDisposable {
  readonly fleet: Fleet<Item>
  readonly calls: ReturnType<typeof createWorkloadCalls<Row, Item>>
  readonly use: ReturnType<typeof createWorkloadUse<Row, Item>>
  store(db: Db): ReturnType<typeof workloadStore<Row>>
}

/** Resolves once what should run on this host is being started. */
export const openWorkloads = async <Row extends WorkloadRow, Item extends CommandWorkload>(
  policy: WorkloadPolicy<Row, Item>,
  needs: WorkloadNeeds,
): Promise<Workloads<Row, Item>> => {
  await using opened = new AsyncDisposableStack()
  const { hosts, log } = needs
  const records = createRecords(policy, needs)
  if (policy.persistent) {
    // What keeps nothing ends with this process.
    opened.defer(() =>
      records
        .recordLoss([hosts.id], "ephemeral")
        .catch(error =>
          log.warn(
            { err: error },
            `recording the end of ${policy.resource}s at shutdown failed; retried at the next start`,
          ),
        ),
    )
  }
  const fleet: Fleet<Item> = opened.use(
    createFleet<Item>({ ...needs, onEnd: (live, reason) => lifecycle.onEnd(live, reason) }),
  )
  const lifecycle: Lifecycle<Row, Item> = createLifecycle(policy, { ...needs, fleet, records })
  const reconciling = { ...needs, fleet, records, lifecycle }
  const reconciler = createReconciler(policy, reconciling)
  await reconciler.recover()
  opened.use(watchWorkloads(policy, { ...reconciling, ...reconciler }))
  const terminals = opened.use(createTerminals({ ...needs, db: needs.database.db, fleet }))
  const calls = createWorkloadCalls(policy, { ...needs, fleet, records, lifecycle })
  const use = createWorkloadUse(policy, { ...needs, fleet, terminals, usable: calls.usable })

  const resources = opened.move()
  return {
    fleet,
    calls,
    use,
    launchSoon: lifecycle.launchSoon,
    adopt: lifecycle.adopt,
    store: db => workloadStore<Row>(db, policy),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
