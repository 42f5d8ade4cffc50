/** Finds the computer that a call names: on record, or running here. */
import type { Hosts } from "../../core/hosts/hosts.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { awaitStart } from "../../core/workloads/served.ts"
import type { Live } from "../../core/workloads/workload.ts"
import type { Call } from "../../kernel/call.ts"
import { type Fault, fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import type { ComputerItem } from "./items.ts"
import { type ComputerRow, computerStore, type Owner } from "./store.ts"

export const ownerOf = ({ organization, owner }: Call): Owner => ({
  organizationId: organization.id,
  ownerId: owner,
})

export const found = async (call: Call, id: string, how: "find" | "lock" = "find"): Promise<ComputerRow> => {
  const row = isUuid(id) ? await computerStore(call.db)[how](ownerOf(call), id) : undefined
  if (!row) throw fault("computer_not_found", { id })
  return row
}

/** Each host acts on its own computers alone. */
export const checkHost = ({ host_id }: ComputerRow, hosts: Hosts): void => {
  if (host_id !== hosts.id) throw fault("host_unavailable")
}

export const notRunning = (state: string): Fault => fault("computer_not_running", { state })

/**
 * The running computer that a call uses, awaited while it starts. One that runs here is found without a query: memory
 * says whose it is.
 */
export const usable = async (
  { fleet, hosts }: { readonly fleet: Fleet<ComputerItem>; readonly hosts: Hosts },
  call: Call,
  id: string,
): Promise<Live<ComputerItem>> => {
  const item = fleet.itemOf(id)
  if (item?.ownerId === call.owner && item.organizationId === call.organization.id) {
    const ready = fleet.ready(id)
    const live = ready instanceof Promise ? await awaitStart(ready, call.signal) : ready
    if (live) return live
  }
  const row = await found(call, id)
  checkHost(row, hosts)
  throw notRunning(fleet.isEnding(id) ? "STOPPED" : row.status)
}
