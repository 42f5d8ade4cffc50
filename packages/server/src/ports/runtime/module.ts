import { defineService } from "../../kernel/service.ts"
import type { ValuesOf } from "../../kernel/setting.ts"
import { type Installation, installation, log } from "../../kernel/tokens.ts"
import { runtime } from "./port.ts"
import { settings } from "./settings.ts"

/** What the settings say of the driver that runs workloads. */
export const runtimeOptions = (
  values: ValuesOf<typeof settings>,
  { dataDir, mode, dnsServers }: Pick<Installation, "dataDir" | "mode" | "dnsServers">,
  write: (line: string) => void,
) => ({
  dataDir,
  log: write,
  demand: values.runtime,
  refusesWeak: mode === "production",
  dockerHost: values.dockerHost,
  runsc: values.runsc,
  qemuKernel: values.qemuKernel,
  kubernetes: {
    config: values.kubernetesConfig,
    namespace: values.kubernetesNamespace,
    image: values.kubernetesImage,
    runtimeClass: values.kubernetesRuntimeClass,
    storageClass: values.kubernetesStorageClass,
    seccompProfile: values.kubernetesSeccompProfile,
  },
  network: { mode: values.workloadNetwork, nameServers: dnsServers },
})

export const runtimeService = defineService({
  provides: runtime,
  settings,
  needs: { installation, log },
  async open({ settings: values, installation, log }, { opened }) {
    const { openRuntime } = await import("./index.ts")
    const write = (line: string) => log.debug({ runtime: line })
    return opened.use(await openRuntime(runtimeOptions(values, installation, write)))
  },
})
