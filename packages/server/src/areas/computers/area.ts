import { runtimeState } from "../../services/workloads/state.ts"
import { computerHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { createComputerPolicy } from "./policy.ts"
import { createSshGateway } from "./ssh/gateway.ts"
import { hostFingerprint, publicHostKey } from "./ssh/host-key.ts"
import { sshSettings } from "./ssh/settings.ts"

export const start = async (services: Needs) => {
  const { runtime, log } = services
  await using opened = new AsyncDisposableStack()
  const workloads = opened.use(await services.workloads.open(createComputerPolicy(log)))
  const { fleet } = workloads
  const settings = sshSettings(services)
  const gateway = settings && opened.use(createSshGateway({ ...services, settings, fleet }))
  const ssh = gateway && {
    host: settings.host,
    port: settings.port,
    hostKey: publicHostKey(settings.hostKey),
    fingerprint: hostFingerprint(settings.hostKey),
    keysChanged: gateway.keysChanged,
  }

  const resources = opened.move()
  return {
    operations: computerHandlers({ ...services, workloads, ssh }),
    serves: { ssh: gateway?.accept },
    state: () => runtimeState(runtime, { running: fleet.ids().length, ssh: ssh !== undefined }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
