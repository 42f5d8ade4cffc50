import type { AreaState } from "../../kernel/area.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { whyNone } from "./runtimes.ts"

export const stateOf = async (runtime: RuntimePort): Promise<AreaState> => {
  const reason = whyNone(runtime.capabilities)
  if (reason !== undefined) return { status: "not_configured", reason, setting: "SVC_RUNTIME" }
  const { ok } = await runtime.health()
  if (!ok) return { status: "degraded", reason: "instances cannot be started at the moment" }
  const { isolation, limits, network } = runtime.capabilities
  return { status: "available", capabilities: { isolation, limits, network } }
}
