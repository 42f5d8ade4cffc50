import type { Settings } from "../../kernel/setting.ts"
import { integer } from "../../kernel/setting-parsers.ts"

export const settings = {
  buildsAtOnce: {
    variable: "SVC_BUILDS_AT_ONCE",
    default: "2",
    description: "Builds that one process runs at the same time; one organization leaves a place to others.",
    parse: integer(1, 64, 2),
  },
  buildMemoryMb: {
    variable: "SVC_BUILD_MEMORY_MB",
    default: "1024",
    description: "Memory in MiB of the workload in which the steps of a build run.",
    parse: integer(64, 1_048_576, 1_024),
  },
  buildVcpus: {
    variable: "SVC_BUILD_VCPUS",
    default: "2",
    description: "Processors of the workload in which the steps of a build run.",
    parse: integer(1, 256, 2),
  },
  buildDiskMb: {
    variable: "SVC_BUILD_DISK_MB",
    default: "10240",
    description: "Disk in MiB of the workload in which the steps of a build run, and largest layer.",
    parse: integer(64, 1_048_576, 10_240),
  },
  buildCacheMb: {
    variable: "SVC_BUILD_CACHE_MB",
    default: "10240",
    description: "Disk space in MiB for what steps of earlier builds made.",
    parse: integer(0, 67_108_864, 10_240),
  },
} as const satisfies Settings
