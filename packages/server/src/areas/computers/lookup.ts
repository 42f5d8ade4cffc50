/** Finds the computer that a call names: on record, or running here. */
import type { Hosts } from "../../core/hosts/hosts.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { checkHost, findLive, ownerOf } from "../../core/workloads/lookup.ts"
import type { Live } from "../../core/workloads/workload.ts"
import type { Call } from "../../kernel/call.ts"
import { type Fault, fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import type { ComputerItem } from "./items.ts"
import { type ComputerRow, computerStore } from "./store.ts"

export const found = async (call: Call, id: string, how: "find" | "lock" = "find"): Promise<ComputerRow> => {
  const row = isUuid(id) ? await computerStore(call.db)[how](ownerOf(call), id) : undefined
  if (!row) throw fault("computer_not_found", { id })
  return row
}

export const notRunning = (state: string): Fault => fault("computer_not_running", { state })

/** The running computer that a call uses, awaited while it starts. */
export const usable = async (
  { fleet, hosts }: { readonly fleet: Fleet<ComputerItem>; readonly hosts: Hosts },
  call: Call,
  id: string,
): Promise<Live<ComputerItem>> => {
  const live = await findLive(fleet, call, id)
  if (live) return live
  const row = await found(call, id)
  checkHost(row, hosts)
  throw notRunning(fleet.isEnding(id) ? "STOPPED" : row.status)
}
