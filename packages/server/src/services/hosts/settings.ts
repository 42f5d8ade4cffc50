import { totalmem } from "node:os"
import type { Settings } from "../../kernel/setting.ts"
import { integer, url } from "../../kernel/setting-parsers.ts"

const memoryMb = Math.floor(totalmem() / 2 ** 20)

export const settings = {
  workloadMemoryMb: {
    variable: "SVC_WORKLOAD_MEMORY_MB",
    default: "the memory of this machine",
    description: "Memory in MiB that all workloads together may reserve.",
    parse: integer(64, 67_108_864, memoryMb),
  },
  workloadsMax: {
    variable: "SVC_WORKLOADS_MAX",
    default: "256",
    description: "Largest number of workloads that run at the same time.",
    parse: integer(1, 100_000, 256),
  },
  peerUrl: {
    variable: "SVC_PEER_URL",
    default: "none: workloads of this process can be used through this process only",
    description:
      "Address at which other processes of the installation reach this one, as `http://10.0.0.5:4800`. Requests for a workload are forwarded to its host, and new workloads to a host with free capacity. All processes need the same SVC_MASTER_KEY.",
    parse: url("http:", "https:"),
  },
} as const satisfies Settings
