/** Settings of the databases of tenants. */
import { cluster, integer, optional, optionalInteger, port, word } from "./config-parsers.ts"
import type { Setting } from "./setting.ts"

export const databaseSettings = {
  postgresPort: {
    variable: "SVC_POSTGRES_PORT",
    otherwise: "SVC_PORT plus one",
    meaning: "Port on which tenant databases speak PostgreSQL's protocol.",
    parse: port,
  },
  postgresHost: {
    variable: "SVC_POSTGRES_HOST",
    otherwise: "the host of SVC_BASE_URL",
    meaning: "Host name in the connection strings of tenant databases.",
    parse: optional,
  },
  postgresTls: {
    variable: "SVC_POSTGRES_TLS",
    otherwise: "remote",
    meaning: "Which clients of tenant databases must use TLS: `remote` ones, `always`, or `never`.",
    parse: word("remote", "always", "never"),
  },
  postgresTlsCert: {
    variable: "SVC_POSTGRES_TLS_CERT",
    otherwise: "a self-made one in the data folder",
    meaning: "File with the certificate chain (PEM) of the PostgreSQL port.",
    parse: optional,
  },
  postgresTlsKey: {
    variable: "SVC_POSTGRES_TLS_KEY",
    otherwise: "a self-made one in the data folder",
    meaning: "File with the private key (PEM) of that certificate.",
    parse: optional,
  },
  databaseCluster: {
    variable: "SVC_DATABASE_CLUSTER",
    otherwise: "none: databases run on this machine",
    meaning:
      "JSON file that names a Kubernetes with CloudNativePG to run tenant databases: `apiUrl`, `namespace`, `tokenFile`, `caFile`, `storageClass`, `storageSize`, `backup`, `network`, `imageNames`, `resources`, `instances`.",
    parse: cluster,
  },
  databaseGraceSeconds: {
    variable: "SVC_DATABASE_GRACE_SECONDS",
    otherwise: "604800",
    meaning: "How long a deleted tenant database can be restored.",
    parse: integer(0, 365 * 86_400, 7 * 86_400),
  },
  textToSqlMs: {
    variable: "SVC_TEXT_TO_SQL_MS",
    otherwise: "200",
    meaning:
      "Longest time, in milliseconds, to turn a question into a statement without a language model; what takes longer is refused.",
    parse: integer(10, 60_000, 200),
  },
  databaseDiskMb: {
    variable: "SVC_DATABASE_DISK_MB",
    otherwise: "what the organization's plan says",
    meaning:
      "Most disk of one tenant database with its branches where the plan says more or nothing; a project's databases get twice that together, a database's history too.",
    parse: optionalInteger(48, 1_073_741_824),
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
} as const satisfies Record<string, Setting<unknown>>
