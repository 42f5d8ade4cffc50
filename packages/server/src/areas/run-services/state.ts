import type { AreaState } from "../../kernel/area.ts"
import type { RuntimeCapabilities, RuntimePort } from "../../ports/runtime/port.ts"
import type { ServiceUrls } from "../../services/serving/urls.ts"

/** Why no service can run here, as the operator reads it; undefined where some can. */
export const whyNone = ({ driver, reasons }: RuntimeCapabilities): string | undefined =>
  driver === "none" ? `${reasons[0] ?? "nothing here runs workloads"} (SVC_RUNTIME)` : undefined

export const WHY_NO_URL = "there is no domain for the URLs of services (SVC_RUN_DOMAIN)"

export const stateOf = async (runtime: RuntimePort, urls: ServiceUrls | undefined): Promise<AreaState> => {
  const reason = whyNone(runtime.capabilities)
  if (reason !== undefined) return { status: "not_configured", reason, setting: "SVC_RUNTIME" }
  if (!urls) return { status: "not_configured", reason: WHY_NO_URL, setting: "SVC_RUN_DOMAIN" }
  const { ok } = await runtime.health()
  if (!ok) return { status: "degraded", reason: "instances cannot be started at the moment" }
  const { isolation, limits, network } = runtime.capabilities
  return { status: "available", capabilities: { isolation, limits, network } }
}
