import type { Settings } from "../../kernel/setting.ts"
import { integer, optional, optionalInteger, port, word } from "../../kernel/setting-parsers.ts"

export const settings = {
  postgresPort: {
    variable: "SVC_POSTGRES_PORT",
    default: "SVC_PORT plus one",
    description: "Port of the PostgreSQL protocol for tenant databases.",
    parse: port,
  },
  postgresHost: {
    variable: "SVC_POSTGRES_HOST",
    default: "the host of SVC_BASE_URL",
    description: "Host name in the connection strings of tenant databases.",
    parse: optional,
  },
  postgresTls: {
    variable: "SVC_POSTGRES_TLS",
    default: "remote",
    description: "Clients of tenant databases that must use TLS: `remote` ones, `always` all, `never` none.",
    parse: word("remote", "always", "never"),
  },
  postgresTlsCert: {
    variable: "SVC_POSTGRES_TLS_CERT",
    default: "a self-signed one in the data folder",
    description: "File with the certificate chain (PEM) of the PostgreSQL port.",
    parse: optional,
  },
  postgresTlsKey: {
    variable: "SVC_POSTGRES_TLS_KEY",
    default: "a self-signed one in the data folder",
    description: "File with the private key (PEM) of that certificate.",
    parse: optional,
  },
  databaseGraceSeconds: {
    variable: "SVC_DATABASE_GRACE_SECONDS",
    default: "604800",
    description: "Seconds for which a deleted tenant database can be restored.",
    parse: integer(0, 365 * 86_400, 7 * 86_400),
  },
  databaseDiskMb: {
    variable: "SVC_DATABASE_DISK_MB",
    default: "the limit of the organization's plan",
    description:
      "Largest disk space in MiB of a tenant database with its branches, if the plan allows more or is unlimited; all databases of a project, and the history of a database, get twice as much.",
    parse: optionalInteger(48, 1_073_741_824),
  },
} as const satisfies Settings
