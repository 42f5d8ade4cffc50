import type { AreaState } from "../../kernel/area.ts"
import type { RuntimeCapabilities, RuntimePort } from "../../ports/runtime/port.ts"

/** Why nothing can run here, as the operator reads it; undefined where something can. */
export const whyNone = ({ driver, reasons }: RuntimeCapabilities): string | undefined =>
  driver === "none" ? `${reasons[0] ?? "nothing here runs workloads"} (SVC_RUNTIME)` : undefined

/** Whether each instance has a kernel of its own. */
export const runsMachines = ({ isolation }: RuntimeCapabilities): boolean =>
  isolation === "microvm" || isolation === "microvm-emulated"

export const stateOf = async (runtime: RuntimePort): Promise<AreaState> => {
  const { capabilities } = runtime
  const reason = whyNone(capabilities)
  if (reason !== undefined) return { status: "not_configured", reason, setting: "SVC_RUNTIME" }
  const { ok } = await runtime.health()
  if (!ok) return { status: "degraded", reason: "instances cannot be started at the moment" }
  const { isolation, limits, network } = capabilities
  const kinds = runsMachines(capabilities) ? ["container", "vm"] : ["container"]
  return { status: "available", capabilities: { isolation, limits, network, kinds } }
}
