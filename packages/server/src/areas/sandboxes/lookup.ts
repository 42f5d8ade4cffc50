/** Finds the sandbox that a call names: on record, or running here. */
import type { Hosts } from "../../core/hosts/hosts.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { awaitStart } from "../../core/workloads/served.ts"
import type { Live } from "../../core/workloads/workload.ts"
import type { Call } from "../../kernel/call.ts"
import { type Fault, fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import type { SandboxItem } from "./items.ts"
import { type Owner, type SandboxRow, sandboxStore } from "./store.ts"

export const ownerOf = ({ organization, owner }: Call): Owner => ({
  organizationId: organization.id,
  ownerId: owner,
})

export const found = async (call: Call, id: string): Promise<SandboxRow> => {
  const row = isUuid(id) ? await sandboxStore(call.db).find(ownerOf(call), id) : undefined
  if (!row) throw fault("sandbox_not_found", { id })
  return row
}

/** Each host acts on its own sandboxes alone. */
export const checkHost = ({ host_id }: SandboxRow, hosts: Hosts): void => {
  if (host_id !== hosts.id) throw fault("host_unavailable")
}

export const notRunning = (state: string): Fault => fault("sandbox_not_running", { state })

/**
 * The running sandbox that a call uses, awaited while it starts. One that runs here is found without a query: memory
 * says whose it is.
 */
export const usable = async (
  { fleet, hosts }: { readonly fleet: Fleet<SandboxItem>; readonly hosts: Hosts },
  call: Call,
  id: string,
): Promise<Live<SandboxItem>> => {
  const item = fleet.itemOf(id)
  if (item?.ownerId === call.owner && item.organizationId === call.organization.id) {
    const ready = fleet.ready(id)
    const live = ready instanceof Promise ? await awaitStart(ready, call.signal) : ready
    if (live) return live
  }
  const row = await found(call, id)
  checkHost(row, hosts)
  throw notRunning(fleet.isEnding(id) ? "STOPPING" : row.status)
}
