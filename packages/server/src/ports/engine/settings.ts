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
    otherwise: "none: databases run on this machine",
    meaning:
      "JSON file that names a Kubernetes with CloudNativePG to run tenant databases: `apiUrl`, `namespace`, `tokenFile`, `caFile`, `storageClass`, `storageSize`, `backup`, `network`, `imageNames`, `resources`, `instances`.",
    parse: cluster,
  },
  databaseTemplatesDir: {
    variable: "SVC_DATABASE_TEMPLATES_DIR",
    otherwise: "a folder of the data folder",
    meaning:
      "Folder of the data directories that new tenant databases are copied from; installations may share it.",
    parse: optional,
  },
  databaseMemoryMb: {
    variable: "SVC_DATABASE_MEMORY_MB",
    otherwise: "1024",
    meaning:
      "Memory of a tenant database's server, where control groups can be made; half of it is the most that one of its sessions gets, everywhere on Linux.",
    parse: integer(256, 4_194_304, 1024),
  },
  dedicatedCgroup: {
    variable: "SVC_DATABASE_CGROUP",
    otherwise: "none: there is no tier dedicated",
    meaning:
      "Control group (cgroup v2 folder) in which databases of tier `dedicated` get groups of their own.",
    parse: optional,
  },
  dedicatedMemoryMb: {
    variable: "SVC_DATABASE_DEDICATED_MEMORY_MB",
    otherwise: "2048",
    meaning: "Memory of a database of tier `dedicated`.",
    parse: integer(256, 4_194_304, 2048),
  },
  dedicatedCpus: {
    variable: "SVC_DATABASE_DEDICATED_CPUS",
    otherwise: "2",
    meaning: "Processors of a database of tier `dedicated`.",
    parse: integer(1, 1024, 2),
  },
  pgBinDir16: {
    variable: "PG_BIN_DIR_16",
    otherwise: "the embedded PostgreSQL 16",
    meaning: "Folder with the programs of another PostgreSQL 16, for tenant databases.",
    parse: optional,
  },
  pgBinDir17: {
    variable: "PG_BIN_DIR_17",
    otherwise: "the embedded PostgreSQL 17",
    meaning: "The same for PostgreSQL 17.",
    parse: optional,
  },
  pgBinDir18: {
    variable: "PG_BIN_DIR_18",
    otherwise: "the embedded PostgreSQL 18",
    meaning: "The same for PostgreSQL 18.",
    parse: optional,
  },
} as const satisfies Settings
