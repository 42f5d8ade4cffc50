import { hostIdOf } from "../../services/hosts/identity.ts"
import { vpcHandlers } from "./handlers.ts"
import { createKeeper } from "./keeper.ts"
import type { Needs } from "./needs.ts"
import { engineState, probeOnce, whyUnavailable } from "./state.ts"
import { createWireGuardEngine } from "./wireguard/engine.ts"

export const start = async (services: Needs) => {
  const { installation, outbound, settings } = services
  const hostId = hostIdOf(installation.dataDir)
  const probe = await probeOnce(settings.vpcEngine)
  const { kind } = probe
  const reason = `${whyUnavailable(probe)}; the setting is SVC_VPC`
  const keeper = kind && createKeeper({ ...services, hostId }, createWireGuardEngine(kind, hostId))
  return {
    operations: vpcHandlers({
      ...services,
      hostId,
      keeper,
      reason,
      endpointHost: settings.vpcEndpoint ?? new URL(installation.baseUrl).hostname,
      portRange: settings.vpcPorts,
      urlProblem: outbound.urlProblem,
    }),
    state: () => engineState(settings.vpcEngine),
    [Symbol.asyncDispose]: async () => void (await keeper?.[Symbol.asyncDispose]()),
  }
}
