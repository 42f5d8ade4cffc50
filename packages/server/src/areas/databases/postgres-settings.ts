import { operatorUpstreams } from "../../core/ai/settings.ts"
import type { Needs } from "./needs.ts"

/** How tenant databases are reached and kept. */
export interface PostgresSettings {
  readonly bindHost: string
  /** 0: any that is free. */
  readonly bindPort: number
  /** In connection strings. */
  readonly host: string
  readonly requireTls: "remote" | "always" | "never"
  /** PEM files of the operator's. */
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  /** Where a self-made certificate is kept. */
  readonly certificateDir: string
  /** From which the key is made that signs them: 32 bytes, the same for all processes of an installation. */
  readonly authoritySecret: Buffer
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
  bindHost: installation.host,
  bindPort: settings.postgresPort ?? installation.portAfter(1),
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

/** The installation's first chat model; undefined where it has none. */
export const chatModelSettings = ({ settings }: Pick<Needs, "settings">) => {
  for (const { baseUrl, key, models } of operatorUpstreams(settings)) {
    const chat = models.find(({ kinds }) => kinds.includes("chat"))
    if (chat) return { baseUrl, key, model: chat.id }
  }
  return undefined
}
