/** Finds the sandbox that a call names: on record, or running here. */
import type { Hosts } from "../../core/hosts/hosts.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { checkHost, findLive, ownerOf } from "../../core/workloads/lookup.ts"
import type { Live } from "../../core/workloads/workload.ts"
import type { Call } from "../../kernel/call.ts"
import { type Fault, fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import type { SandboxItem } from "./items.ts"
import { type SandboxRow, sandboxStore } from "./store.ts"

export const found = async (call: Call, id: string): Promise<SandboxRow> => {
  const row = isUuid(id) ? await sandboxStore(call.db).find(ownerOf(call), id) : undefined
  if (!row) throw fault("sandbox_not_found", { id })
  return row
}

export const notRunning = (state: string): Fault => fault("sandbox_not_running", { state })

/** The running sandbox that a call uses, awaited while it starts. */
export const usable = async (
  { fleet, hosts }: { readonly fleet: Fleet<SandboxItem>; readonly hosts: Hosts },
  call: Call,
  id: string,
): Promise<Live<SandboxItem>> => {
  const live = await findLive(fleet, call, id)
  if (live) return live
  const row = await found(call, id)
  checkHost(row, hosts)
  throw notRunning(fleet.isEnding(id) ? "STOPPING" : row.status)
}
