import { totalmem } from "node:os"
import type { Settings } from "../../kernel/setting.ts"
import { integer, url } from "../../kernel/setting-parsers.ts"

const memoryMb = Math.floor(totalmem() / 2 ** 20)

export const settings = {
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
  peerUrl: {
    variable: "SVC_PEER_URL",
    otherwise: "none: what runs here is used through this process alone",
    meaning:
      "Where other processes of the same installation reach this one, as `http://10.0.0.5:4000`: what concerns a workload " +
      "goes on to the host that runs it, and one that finds no room to a host that has some. All need one SVC_MASTER_KEY.",
    parse: url("http:", "https:"),
  },
} as const satisfies Settings
