/** From settings to what everything stands on: the control database, the master key, and news between processes. */

import { hkdfSync } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { Config } from "./config.ts"
import { checkMasterKey } from "./core/secrets/fingerprint.ts"
import { loadMasterKey } from "./core/secrets/master-key.ts"
import { createPortUrls, type PortUrls } from "./core/workloads/port-urls.ts"
import { listenForChanges } from "./kernel/db/changes.ts"
import { openDatabase } from "./kernel/db/database.ts"
import type { DataDirLock } from "./kernel/db/embedded/lock.ts"
import { startEmbeddedPostgres } from "./kernel/db/embedded/start.ts"
import { superviseEmbeddedPostgres } from "./kernel/db/embedded/supervise.ts"
import { checkExternalDatabase } from "./kernel/db/external.ts"
import { createDatabaseFanout } from "./kernel/db/fanout.ts"
import { migrate } from "./kernel/db/migrate.ts"
import type { Fanout } from "./kernel/fanout.ts"
import { createAddressRules } from "./kernel/outbound/addresses.ts"
import { createGuardedSockets } from "./kernel/outbound/sockets.ts"
import { StartupError } from "./kernel/startup-error.ts"
import { migrationSources } from "./migration-sources.ts"
import { openFanout } from "./ports/fanout/index.ts"
import { openMails } from "./ports/mail/index.ts"
import { openSecrets, type SecretsProvider } from "./ports/secrets/index.ts"
import type { MailSettings, PostgresSettings } from "./services.ts"
import type { Start } from "./start.ts"

/** Like `Promise.all`, but waits for every one: what did open must be known before it can be closed again. */
const allOf = async <Promises extends readonly unknown[] | []>(promises: Promises) => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** The control database: the operator's, or one that lives and dies with this process. */
const openControlDatabase = async ({ config, log, opened }: Start, lock: DataDirLock): Promise<string> => {
  if (config.databaseUrl !== undefined) return config.databaseUrl
  const start = () =>
    startEmbeddedPostgres({
      dataDir: config.dataDir,
      lock,
      runAs: config.runAs,
      log: line => log.debug({ postgres: line }),
    })
  const postgres = opened.use(await superviseEmbeddedPostgres(start, log))
  return postgres.connectionString
}

export const openMail = (config: Config, opened: AsyncDisposableStack) => {
  const sockets = opened.use(createGuardedSockets(config))
  const { hostname } = new URL(config.baseUrl)
  const relay = config.smtpServer && { ...config.smtpServer, maxPerSecond: null }
  const mails = opened.use(
    openMails({
      ...{ relay, direct: config.mailDirect === "on", helo: hostname, dnsServers: config.dnsServers },
      connect: sockets.connect,
    }),
  )
  return { mails, mailFrom: config.mailFrom ?? `no-reply@${hostname}` }
}

/** Clients of the wire protocol come to the host that everybody uses, unless the operator names another. */
export const postgresSettings = (config: Config, masterKey: Buffer): PostgresSettings => ({
  bindHost: config.host,
  bindPort: config.postgresPort,
  // A web address has brackets around an IPv6 address, which are no part of it.
  host: config.postgresHost ?? new URL(config.baseUrl).hostname.replace(/^\[(.*)\]$/, "$1"),
  requireTls: config.postgresTls,
  certFile: config.postgresTlsCert,
  keyFile: config.postgresTlsKey,
  certificateDir: config.dataDir,
  authoritySecret: Buffer.from(hkdfSync("sha256", masterKey, "svc:database-authority", "p-256", 32)),
  graceSeconds: config.databaseGraceSeconds,
  textToSqlMs: config.textToSqlMs,
  diskBytesMax: config.databaseDiskMb === undefined ? undefined : config.databaseDiskMb * 2 ** 20,
})

/** Names below `localhost` lead to whoever asks, as its own do. */
export const portUrls = ({ sandboxDomain, baseUrl }: Config, masterKey: Buffer): PortUrls | undefined => {
  const base = new URL(baseUrl)
  const domain = sandboxDomain ?? (base.hostname === "localhost" ? "sandboxes.localhost" : undefined)
  return domain === undefined ? undefined : createPortUrls({ base, domain, masterKey })
}

/** Names below it are buckets. */
export const s3Domain = ({ s3Domain, baseUrl }: Pick<Config, "s3Domain" | "baseUrl">): string | undefined =>
  s3Domain ?? (new URL(baseUrl).hostname === "localhost" ? "s3.localhost" : undefined)

export const mailSettings = (config: Config): MailSettings => {
  const ownHost = new URL(config.baseUrl).hostname
  const { mailHost = ownHost, trackingHost = ownHost, smtpPort, smtpHost = config.host } = config
  return {
    ...{ mailHost, trackingHost, spfTerms: config.mailSpf ?? `a:${mailHost}` },
    listenOn: smtpPort === undefined ? undefined : { host: smtpHost, port: smtpPort },
  }
}

/** Whether what a user's domain names may be reached at this address. */
export const mayReach = ({ outboundAllow }: Config) => {
  const verdictOf = createAddressRules(outboundAllow)
  return (address: string) => verdictOf(address) !== "refused"
}

const secretsProvider = ({ config, log }: Start, masterKey: Buffer): SecretsProvider => {
  const { vaultAddress: address, vaultToken: token, vaultTokenFile: tokenFile, vaultKey } = config
  if (address === undefined) return { driver: "local", masterKey }
  if (token === undefined && tokenFile === undefined) {
    throw new StartupError(
      "SVC_VAULT_ADDR names a Vault, and there is no token for it.",
      "Set SVC_VAULT_TOKEN or SVC_VAULT_TOKEN_FILE.",
    )
  }
  return {
    ...{ driver: "vault", masterKey, address, token, tokenFile, ...vaultKey },
    ...{ namespace: config.vaultNamespace, caFile: config.vaultCaFile },
    warn: line => log.warn({ secrets: line }),
  }
}

/** What carries the news between processes: NATS where there is one, else PostgreSQL itself. */
const openNews = async ({ config, log, opened }: Start, byDatabase: () => Fanout): Promise<Fanout> => {
  const { natsUrl: url, natsCredentialsFile: file, natsReplicas: replicas } = config
  if (url === undefined) return byDatabase()
  const credentials = file === undefined ? undefined : await readFile(file, "utf8")
  const warn = (line: string) =>
    log.warn({ nats: line }, "NATS connection failed; changes by other processes arrive late")
  return opened.use(await openFanout({ driver: "nats", url, credentials, replicas, log: warn }))
}

/** Opens what everything else stands on, and brings the control database up to date. */
export const openEngines = async (start: Start, lock: DataDirLock) => {
  const { config, log, modules, opened } = start
  const [connectionString, masterKey] = await allOf([
    openControlDatabase(start, lock),
    loadMasterKey(config.dataDir, config.masterKey, config.masterKeyFile),
  ])
  const onError = (error: Error) => log.warn({ reason: error.message }, "control database connection failed")
  const { databaseConnectionsMax: connectionsMax } = config
  const database = opened.use(openDatabase({ connectionString, connectionsMax, onError }))
  const keysDatabase = opened.use(openDatabase({ connectionString, connectionsMax: 1, onError }))
  if (config.databaseUrl !== undefined) await checkExternalDatabase(database)
  const [changes] = await allOf([
    listenForChanges(connectionString, log).then(changes => opened.use(changes)),
    migrate(database.pool, migrationSources(modules)),
  ])
  await checkMasterKey(database.db, masterKey)
  const secrets = opened.use(await openSecrets(secretsProvider(start, masterKey)))
  const fanout = await openNews(start, () => createDatabaseFanout(database.db, changes))
  return { database, keysDatabase, changes, fanout, masterKey, secrets }
}

export type Engines = Awaited<ReturnType<typeof openEngines>>
