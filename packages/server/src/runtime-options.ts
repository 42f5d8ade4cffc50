import type { Settings } from "./config.ts"

/** What the settings say of the driver that runs workloads. */
export const runtimeOptions = (config: Settings, log: (line: string) => void) => ({
  ...{ dataDir: config.dataDir, log },
  demand: config.runtime,
  refusesWeak: config.mode === "production",
  dockerHost: config.dockerHost,
  runsc: config.runsc,
  qemuKernel: config.qemuKernel,
  kubernetes: {
    config: config.kubernetesConfig,
    namespace: config.kubernetesNamespace,
    image: config.kubernetesImage,
    runtimeClass: config.kubernetesRuntimeClass,
    storageClass: config.kubernetesStorageClass,
    seccompProfile: config.kubernetesSeccompProfile,
  },
  network: { mode: config.workloadNetwork, nameServers: config.dnsServers },
})
