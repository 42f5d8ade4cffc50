/** Finds the workload that a call names, where it runs here. */
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Hosts } from "../hosts/hosts.ts"
import type { Fleet } from "./fleet.ts"
import { awaitStart } from "./served.ts"
import type { Live, Workload } from "./workload.ts"

/** Whose workloads a call may touch: a project's, or the organization's own. */
export interface WorkloadOwner {
  readonly organizationId: string
  readonly ownerId: string
}

/** Each host acts on its own workloads alone; the refusal says who acts on others. */
export const checkHost = ({ host_id }: { readonly host_id: string }, hosts: Hosts): void => {
  if (host_id === hosts.id) return
  const elsewhere = hosts.at(host_id)
  throw fault("host_unavailable", undefined, elsewhere && { elsewhere })
}

/** The caller's workload that runs here, awaited while it starts; without a query, for memory says whose it is. */
export const findLive = async <Item extends Workload>(
  fleet: Fleet<Item>,
  call: Call,
  id: string,
): Promise<Live<Item> | undefined> => {
  const item = fleet.itemOf(id)
  if (item?.ownerId !== call.owner || item.organizationId !== call.organization.id) return undefined
  const ready = fleet.ready(id)
  return ready instanceof Promise ? await awaitStart(ready, call.signal) : ready
}
