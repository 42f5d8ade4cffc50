import { PortError } from "../port-error.ts"
import type { RuntimePort } from "./port.ts"

/** Stands where nothing can run workloads, and says why. */
export const createAbsentRuntime = (reason: string): RuntimePort => {
  const refuse = async () => {
    throw new PortError("unavailable", reason)
  }
  return {
    capabilities: {
      ...{
        driver: "none",
        isolation: "process",
        network: "none",
        persistentDisks: false,
        scratchDisks: false,
        freeze: false,
      },
      ...{ overheadBytes: 0, outOfMemory: "workload" },
      terminalSignals: false,
      limits: { memory: false, cpu: false, processes: false, disk: false },
      ...{ separatesRoot: false, narrowsKernelFiles: false, mounts: false, installs: false },
      sharedResources: {},
      ...{ roots: [], reasons: [reason] },
    },
    health: async () => ({ ok: false, reason }),
    ...{ create: refuse, start: refuse, stats: refuse },
    running: () => undefined,
    stop: async () => undefined,
    destroy: async () => undefined,
    list: async () => [],
    [Symbol.asyncDispose]: async () => undefined,
  }
}
