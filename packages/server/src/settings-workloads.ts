/** Settings of what runs code of tenants. */
import { totalmem } from "node:os"
import { integer } from "./config-parsers.ts"
import type { Setting } from "./setting.ts"

const memoryMb = Math.floor(totalmem() / 2 ** 20)

export const workloadSettings = {
  workloadMemoryMb: {
    variable: "SVC_WORKLOAD_MEMORY_MB",
    otherwise: "the memory of this machine",
    meaning: "Memory that may be promised to all workloads together.",
    parse: integer(64, 67_108_864, memoryMb),
  },
  workloadsMax: {
    variable: "SVC_WORKLOADS_MAX",
    otherwise: "256",
    meaning: "Workloads that may run at a time.",
    parse: integer(1, 100_000, 256),
  },
  sandboxPoolMax: {
    variable: "SVC_SANDBOX_POOL",
    otherwise: "8",
    meaning:
      "Sandboxes that may be kept started for the next who asks, of the shapes that were asked for lately; 0 for none.",
    parse: integer(0, 1_000, 8),
  },
} as const satisfies Record<string, Setting<unknown>>
