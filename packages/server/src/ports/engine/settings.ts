import { readFileSync } from "node:fs"
import type { Settings } from "../../kernel/setting.ts"
import { integer, optional } from "../../kernel/setting-parsers.ts"

/** Where tenant databases run when not on this machine. What the fields mean is the driver's to say. */
export const cluster = (
  path: string | undefined,
): (object & { apiUrl: string; namespace: string }) | undefined => {
  if (path === undefined) return undefined
  try {
    const options = JSON.parse(readFileSync(path, "utf8"))
    if (typeof options.apiUrl === "string" && typeof options.namespace === "string") return options
  } catch (error) {
    throw new RangeError(
      `must name a JSON file that can be read: ${error instanceof Error ? error.message : error}`,
    )
  }
  throw new RangeError("must name a JSON file with at least apiUrl and namespace")
}

export const settings = {
  databaseCluster: {
    variable: "SVC_DATABASE_CLUSTER",
    default: "none: databases run on this machine",
    description:
      "JSON file that names a Kubernetes with CloudNativePG to run tenant databases: `apiUrl`, `namespace`, `tokenFile`, `caFile`, `storageClass`, `storageSize`, `backup`, `network`, `imageNames`, `resources`, `instances`.",
    parse: cluster,
  },
  databaseTemplatesDir: {
    variable: "SVC_DATABASE_TEMPLATES_DIR",
    default: "a folder of the data folder",
    description:
      "Folder of the data directories that new tenant databases are copied from; installations may share it.",
    parse: optional,
  },
  databaseMemoryMb: {
    variable: "SVC_DATABASE_MEMORY_MB",
    default: "1024",
    description:
      "Memory in MiB of a tenant database's server, where control groups can be created; on Linux one session gets at most half of it.",
    parse: integer(256, 4_194_304, 1024),
  },
  dedicatedCgroup: {
    variable: "SVC_DATABASE_CGROUP",
    default: "none: the tier `dedicated` is not available",
    description:
      "Control group (cgroup v2 folder) in which databases of tier `dedicated` get groups of their own.",
    parse: optional,
  },
  dedicatedMemoryMb: {
    variable: "SVC_DATABASE_DEDICATED_MEMORY_MB",
    default: "2048",
    description: "Memory in MiB of a database of tier `dedicated`.",
    parse: integer(256, 4_194_304, 2048),
  },
  dedicatedCpus: {
    variable: "SVC_DATABASE_DEDICATED_CPUS",
    default: "2",
    description: "CPUs of a database of tier `dedicated`.",
    parse: integer(1, 1024, 2),
  },
  pgBinDir16: {
    variable: "PG_BIN_DIR_16",
    default: "the embedded PostgreSQL 16",
    description: "Folder with the programs of another PostgreSQL 16, for tenant databases.",
    parse: optional,
  },
  pgBinDir17: {
    variable: "PG_BIN_DIR_17",
    default: "the embedded PostgreSQL 17",
    description: "The same for PostgreSQL 17.",
    parse: optional,
  },
  pgBinDir18: {
    variable: "PG_BIN_DIR_18",
    default: "the embedded PostgreSQL 18",
    description: "The same for PostgreSQL 18.",
    parse: optional,
  },
} as const satisfies Settings
