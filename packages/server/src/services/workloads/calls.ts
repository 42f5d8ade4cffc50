/** What callers do with workloads as a whole: make records, find, start, stop and delete. */

import type { Call } from "../../kernel/call.ts"
import { type Fault, fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import { type Env, sealEnv } from "./env.ts"
import type { WorkloadParts } from "./lifecycle.ts"
import { checkHost, findLive } from "./lookup.ts"
import type { WorkloadNeeds } from "./needs.ts"
import type { CommandWorkload, WorkloadPolicy, WorkloadRow } from "./policy.ts"
import { deletedTopic } from "./reconcile.ts"
import { workloadStore } from "./store.ts"
import type { Live } from "./workload.ts"

const targetOf = (type: string, { id, name }: WorkloadRow) => ({ type, id, ...(name !== null && { name }) })

export const createWorkloadCalls = <Row extends WorkloadRow, Item extends CommandWorkload>(
  policy: WorkloadPolicy<Row, Item>,
  needs: WorkloadNeeds & WorkloadParts<Row, Item>,
) => {
  const { runtime, hosts, box, platformEvents, changes, fleet, records, lifecycle } = needs
  const { resource, states, faults } = policy
  const store = ({ db }: Pick<Call, "db">) => workloadStore<Row>(db, policy)
  const describe = (call: Call, row: Row) => call.describe({ targets: [targetOf(resource, row)] })
  const notFound = (id: string): Fault => fault(faults.notFound, { id })
  const notRunning = (state: string): Fault => fault(faults.notRunning, { state })

  const find = async (call: Call, id: string): Promise<Row> => {
    const row = isUuid(id) ? await store(call).find(call.tenant, id) : undefined
    if (!row) throw notFound(id)
    return row
  }

  /** For a change that takes the host which has it. */
  const findHere = async (call: Call, id: string): Promise<Row> => {
    const row = await find(call, id)
    checkHost(row, hosts)
    describe(call, row)
    return row
  }

  return {
    notRunning,
    describe,
    find,

    async findForUpdate(call: Call, id: string): Promise<Row> {
      const row = isUuid(id) ? await store(call).findForUpdate(call.tenant, id) : undefined
      if (!row) throw notFound(id)
      checkHost(row, hosts)
      describe(call, row)
      return row
    },

    /** The running workload that a call uses, awaited while it starts. */
    async usable(call: Call, id: string): Promise<Live<Item>> {
      const live = await findLive(fleet, call, id)
      if (live) return live
      const row = await find(call, id)
      checkHost(row, hosts)
      throw notRunning(fleet.isEnding(id) ? states.ending : row.status)
    },

    /** The columns of a new one that every kind fills in the same way. */
    newColumns: async ({ organization, project, owner, now }: Call, id: string, env: Env) => ({
      id,
      organization_id: organization.id,
      owner_id: owner,
      project_id: project?.id ?? null,
      host_id: hosts.id,
      isolation: runtime.capabilities.isolation,
      env: await sealEnv(box, { organizationId: organization.id, kind: resource, id }, env),
      env_names: Object.keys(env),
      status_reason: null,
      last_activity_at: null,
      stopped_at: null,
      created_at: now,
      updated_at: now,
    }),

    async start(call: Call, id: string): Promise<Row> {
      const row = await findHere(call, id)
      if (row.status === "RUNNING" && fleet.find(id)) return row
      const hasEnded = row.status === "STOPPED" || row.status === states.failed
      if (hasEnded && !policy.isPersistent(row))
        throw fault("invalid_state_transition", { state: row.status })
      return await lifecycle.launch(row)
    },

    async stop(call: Call, id: string): Promise<Row> {
      const row = await findHere(call, id)
      await fleet.withLock(id, async () => {
        const live = fleet.find(id)
        await (policy.isPersistent(row) ? fleet.stop(id) : fleet.destroy(id))
        await records.recordStop(row, "stopped", live)
      })
      return await find(call, id)
    },

    async delete(call: Call, id: string): Promise<void> {
      const row = isUuid(id) ? await store(call).delete(call.tenant, id) : undefined
      if (!row) throw notFound(id)
      const event = policy.eventOf("deleted", row)
      if (event) await platformEvents.emit(call.db, event)
      if (row.host_id === hosts.id) call.committed(() => fleet.withLock(id, () => fleet.destroy(id)))
      else await changes.notify(call.db, deletedTopic(resource), id)
      describe(call, row)
    },
  }
}
