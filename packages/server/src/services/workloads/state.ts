import type { AreaState } from "../../kernel/area.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../hosts/hosts.ts"

/** How an area of workloads is: as its runtime is, with figures of its own among the capabilities. */
export const runtimeState = async (
  runtime: RuntimePort,
  figures: Readonly<Record<string, unknown>>,
): Promise<AreaState> => {
  const capabilities = { ...runtime.capabilities, ...figures }
  const health = await runtime.health()
  if (health.ok) return { status: "available", capabilities }
  return { status: "degraded", reason: health.reason ?? "workloads cannot be started", capabilities }
}

/** What the host has, and what of it is taken. */
export const hostFigures = (hosts: Hosts) => {
  const { memoryReservedBytes, workloads } = hosts.use()
  return { ...hosts.capacity, memoryReservedBytes, workloads }
}
