import type { ClientPortSettings } from "../../services/postgres/client-port.ts"
import type { Needs } from "./needs.ts"

/** How tenant databases are reached and kept. */
export interface PostgresSettings extends ClientPortSettings {
  readonly graceSeconds: number
  /** Most disk of one database, whatever plans say. */
  readonly diskBytesMax: number | undefined
}

/** Clients of the wire protocol come to the host that everybody uses, unless the operator names another. */
export const postgresSettings = ({
  settings,
  installation,
  deriveSecret,
}: Pick<Needs, "settings" | "installation" | "deriveSecret">): PostgresSettings => ({
  // A web address has brackets around an IPv6 address, which are no part of it.
  host: settings.postgresHost ?? new URL(installation.baseUrl).hostname.replace(/^\[(.*)\]$/, "$1"),
  requireTls: settings.postgresTls,
  certFile: settings.postgresTlsCert,
  keyFile: settings.postgresTlsKey,
  certificateDir: installation.dataDir,
  authoritySecret: deriveSecret("svc:database-authority", "p-256"),
  graceSeconds: settings.databaseGraceSeconds,
  diskBytesMax: settings.databaseDiskMb === undefined ? undefined : settings.databaseDiskMb * 2 ** 20,
})
